"""A classifier of whole graphs: who is in question, what is sent, what it is refused for."""

import numpy as np
import pytest
import torch

from gaudit.audit.conformance.small_graphs import forty_graphs, sixty_nodes
from gaudit.audit.planning.grid import leak_for
from gaudit.audit.planning.resolve import target_of
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.graphs.collection import by_graph
from gaudit.registry import find
from gaudit.targets.classification.graph_classifier import GraphClassifier, task_of
from gaudit.targets.defense import Defense
from gaudit.targets.messages import MODEL_KIND, labels_kind, posteriors_kind
from gaudit.targets.models.graph_recipe import GraphRecipe
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.training_task import Query
from gaudit.targets.recording import about_recording, kinds_in, read_recording

FAST = {"recipe": {"epochs": 30, "hidden": 16, "lr": 0.01}}


@pytest.fixture(scope="module")
def data():
    return forty_graphs()


def run(data, seed=0, defense=None, **settings):
    made = GraphClassifier(**(FAST | settings))
    return made(data, defense or Defense(), np.random.SeedSequence(seed), lambda message: True)


def test_half_of_those_in_question_are_members_and_others_with_another_seed(data):
    secrets = run(data).secrets["graph-membership"]
    assert len(secrets.subjects) == 32
    assert secrets.truth.sum() == 16
    other = run(data, seed=1).secrets["graph-membership"]
    assert not np.array_equal(secrets.subjects[secrets.truth], other.subjects[other.truth])


def test_the_collections_own_split(data):
    secrets = run(data, split="dataset").secrets["graph-membership"]
    assert secrets.truth.tolist() == by_graph(data, "train_mask")[secrets.subjects].tolist()


def test_what_is_sent_is_the_model_and_its_answers(data):
    done = run(data, features="given")
    view = done.transcript.seen_by("public")
    weights = {name: weight[None] for name, weight in view.last(MODEL_KIND).tensors.items()}
    recipe = GraphRecipe(**FAST["recipe"])
    asked = task_of(data, torch.ones(40, dtype=torch.bool), recipe)
    queries = [Query(torch.arange(40), data.edge_index), Query(torch.arange(40), None)]
    for way, (logits,) in zip(("full", "0-hop"), ask_models(asked, queries, weights), strict=True):
        told = view.last(posteriors_kind(way)).tensors
        assert torch.allclose(told["posteriors"], logits.softmax(1))
        assert torch.equal(view.last(labels_kind(way)).tensors["labels"], logits.argmax(1))
    secrets = done.secrets["graph-membership"]
    others = secrets.subjects[~secrets.truth]
    told = view.last(labels_kind("full")).tensors["labels"]
    assert done.utility.test == pytest.approx(float((told == asked.data.y)[others].float().mean()))


def test_what_is_not_published_is_not_sent(data):
    view = run(data, publish=("labels",)).transcript.seen_by("public")
    assert {message.kind for message in view.messages} == {labels_kind("full"), labels_kind("0-hop")}
    assert GraphClassifier(publish=("labels",)).sent() == {labels_kind("full"), labels_kind("0-hop")}


def test_the_model_has_seen_members_alone(data):
    """Graphs that are no members may be anything: the model is the same to the last bit."""
    done = run(data, features="given")
    secrets = done.secrets["graph-membership"]
    inside = torch.zeros(40, dtype=torch.bool)
    inside[torch.from_numpy(secrets.subjects[secrets.truth])] = True
    other = data.clone()
    other.x = torch.where(inside[data.graph_of][:, None], data.x, -data.x)
    again = run(other, features="given")
    one, two = (r.transcript.seen_by("public").last(MODEL_KIND).tensors for r in (done, again))
    assert all(torch.equal(one[name], two[name]) for name in one)
    other.x = torch.where(inside[data.graph_of][:, None], -data.x, data.x)
    two = run(other, features="given").transcript.seen_by("public").last(MODEL_KIND).tensors
    assert not torch.equal(one["w"], two["w"])


def test_each_sort_of_graph_has_its_targets(data):
    with pytest.raises(InputError, match="needs a collection"):
        target_of("graph-classifier", "quick", sixty_nodes())
    for name in ("classifier", "publish"):
        with pytest.raises(InputError, match="--target graph-classifier"):
            target_of(name, "quick", data)
    assert target_of("graph-classifier", "quick", data).name == "graph-classifier"


def test_controls_are_those_of_the_game():
    loss, planted = find("attacks", "loss"), find("targets", "planted")
    assert leak_for(loss, GraphClassifier().plays) == "planted-graphs"
    assert leak_for(loss, planted().plays) == "planted"
    assert leak_for(find("attacks", "nearest"), GraphClassifier().plays) == find("attacks", "nearest").planted


def test_nobody_is_left_on_one_side(data):
    with pytest.raises(InputError, match="must leave some of each"):
        run(data, in_question=0.02)


def test_defenses_of_messages_alone_have_a_place():
    target = GraphClassifier()
    found = {name: target.why_not(find("defenses", name)()) for name in ("none", "noisy-answers", "ldp")}
    assert found["none"] is None
    assert found["noisy-answers"] is None
    assert found["ldp"] is not None


def test_what_was_sent_can_be_recorded(data, tmp_path):
    """What was sent is kept; how models of whole graphs were trained has no place in a record."""
    settings = GraphClassifier(**FAST).settings.model_dump()
    where = str(tmp_path / "sent")
    run_trial(
        TrialPlan("graph-classifier", settings, "none", {}, (AttackPlan("loss"),), 0, 0, transcript=where), data
    )
    assert {MODEL_KIND, posteriors_kind("full")} <= kinds_in(read_recording(where))
    about = about_recording(where)
    assert about.pipeline == "graph-classifier"
    assert about.recipe is None
    assert about.features is None
