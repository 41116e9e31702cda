"""Predicted labels under shaken queries."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.attacks.membership.label_only import LabelOnly
from gaudit.attacks.membership.shadow_models import shadow_models
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.training_task import Query


def with_weights(model, change):
    """The same published model with changed weights."""
    channel = Channel()
    weights = model.transcript.seen_by("public").last("model").tensors
    channel.send("model", "server", "public", 1, change({name: w.clone() for name, w in weights.items()}))
    return replace(model, transcript=channel.transcript)


def with_table(model, kind: str, **rows: torch.Tensor):
    """A table about all nodes in the model's place, in our ids."""
    channel = Channel()
    channel.send(kind, "server", "public", 1, {"nodes": torch.arange(model.world.data.num_nodes), **rows})
    return replace(model, transcript=channel.transcript)


def test_it_reads_nothing_but_predicted_labels(leaky_models):
    """Logits four times as large plus a constant: all confidences differ, no prediction does."""
    model = leaky_models[0]

    def louder(weights):
        return {**weights, "w2": 4 * weights["w2"], "b2": 4 * weights["b2"] + 3}

    np.testing.assert_array_equal(
        with_weights(model, louder).scores(LabelOnly()).score, model.scores(LabelOnly()).score
    )


def test_other_predictions_change_the_scores(leaky_models):
    model = leaky_models[0]

    def turned(weights):
        return {**weights, "w2": weights["w2"].roll(1, 1), "b2": weights["b2"].roll(1)}

    assert not np.array_equal(
        with_weights(model, turned).scores(LabelOnly()).score, model.scores(LabelOnly()).score
    )


@pytest.mark.parametrize("answers", ["a model that is not shaken", "a table"])
def test_without_shaking_it_is_the_gap_attack_less_what_is_usual(leaky_models, answers):
    """A table cannot be shaken, so neither are the shadow models."""
    model = leaky_models[0]
    known = model.given.knowledge
    pool, plain = shadow_models(known, known.recipe, 16, offline=False), Query(known.subjects, known.edges)
    labels = known.labels[known.subjects]
    right = (pool.ask(plain).argmax(2) == labels).numpy()
    if answers == "a table":
        predicted = torch.arange(len(known.x)) % 3
        ours = predicted[torch.from_numpy(model.given.ids).argsort()]
        found = with_table(model, "labels-full", labels=ours).scores(LabelOnly()).score
        told = predicted[known.subjects] == labels
    else:
        found = model.scores(LabelOnly(shakes=1, lost_features=0, lost_edges=0)).score
        weights = {name: w[None] for name, w in model.view.last("model").tensors.items()}
        told = ask_models(pool.task, [plain], weights)[0][0].argmax(1) == labels
    for i, node in enumerate(known.subjects.tolist()):
        usual = right[~pool.inside[:, node], i].mean()
        assert abs(found[i] - (float(told[i]) - usual)) < 1e-9


@pytest.mark.parametrize("lost", [0.0, 0.3, 0.6])
def test_queries_lose_the_stated_share_and_edges_go_in_both_directions(leaky_models, lost):
    known = leaky_models[0].given.knowledge
    attack = LabelOnly(lost_features=lost, lost_edges=lost)
    torch.manual_seed(0)
    query = attack._shaken(known)
    kept = {tuple(pair) for pair in query.edges.T.tolist()}
    assert kept <= {tuple(pair) for pair in known.edges.T.tolist()}
    assert {(v, u) for u, v in kept} == kept
    edges, ones = known.edges.shape[1] // 2, int(known.x.sum())
    for left, total in ((len(kept) / 2, edges), (int(query.x.sum()), ones)):
        assert abs(left / total - (1 - lost)) <= 4 * np.sqrt(lost * (1 - lost) / total)
    assert bool((query.x <= known.x).all())


def test_a_table_of_labels_is_asked_once_and_posteriors_say_no_more(leaky_models):
    model = leaky_models[0]
    draw = torch.Generator().manual_seed(1)
    posteriors = torch.rand(model.world.data.num_nodes, 3, generator=draw).softmax(1)
    hard = with_table(model, "labels-full", labels=posteriors.argmax(1)).scores(LabelOnly()).score
    soft = with_table(model, "posteriors-full", posteriors=posteriors).scores(LabelOnly()).score
    np.testing.assert_array_equal(hard, soft)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"lost_edges": 1.0}, "'lost_edges' of attack 'label-only'"),
        ({"shakes": 0}, "'shakes' of attack 'label-only'"),
    ],
)
def test_settings_are_checked(settings, says):
    with pytest.raises(InputError, match=says):
        LabelOnly(**settings)
