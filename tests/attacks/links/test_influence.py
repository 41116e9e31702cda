"""Influence: exact on a graph small enough to list, nothing where nodes are answered for alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.attacks.links.influence import Influence, Probe, influence, influence_scores, probes_of, usual_answers
from gaudit.audit.games.referee import judge
from gaudit.audit.statistics.metrics import auc
from gaudit.defenses.answers.noisy_answers import NoisyAnswers
from gaudit.defenses.uploads.rounded_posteriors import RoundedPosteriors
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.game import Adversary
from gaudit.targets.messages import PROBED, PROBED_KIND

NODES, CLASSES = 40, 3
SEED = np.random.SeedSequence(0)


def graph(seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((NODES, NODES)) < 0.06, 1)
    masks = {f"{m}_mask": torch.ones(NODES, dtype=torch.bool) for m in ("train", "val", "test")}
    return Data(
        x=torch.from_numpy(rng.random((NODES, 6)).astype(np.float32)),
        y=torch.arange(NODES) % CLASSES,
        edge_index=torch.from_numpy(np.stack(np.nonzero(upper | upper.T))),
        **masks,
    )


def ran(recipe=None, defense=None, **probing):
    made = Classifier(
        game="edge-presence",
        publish=["service"],
        recipe={"hidden": 8, "epochs": 20, **(recipe or {})},
        probing=probing,
    )
    return made(graph(), defense or find("defenses", "none")(), SEED, lambda message: True)


def judged(run, change=lambda knowledge: knowledge, **settings):
    attack, secrets = Influence(**settings), run.secrets["edge-presence"]
    given, _ = secrets.grant(graph(), Adversary(attack), SEED)
    view = given.renamed(run.transcript.seen_by("public"))
    return judge(attack(view, change(given.knowledge), SEED), given, secrets)


def area(run, **settings) -> float:
    found = judged(run, **settings)
    return auc(found.truth, found.score)


def test_influence_is_that_of_the_definition():
    """From tables of answers about three nodes, by hand."""
    usual = torch.tensor([[0.5, 0.5], [0.8, 0.2], [0.1, 0.9]])
    moved = torch.tensor([[0.6, 0.4], [0.8, 0.2], [0.3, 0.7]])
    again = torch.tensor([[0.5, 0.5], [0.8, 0.2], [0.05, 0.95]])
    channel, every = Channel(), torch.arange(3)
    for factors, table in (([1, 1, 1], usual), ([3, 1, 1], moved), ([1, 1, 3], again)):
        told = {"nodes": every, "factors": torch.tensor(factors).float(), "posteriors": table}
        channel.send(PROBED_KIND, "server", "public", 1, told)
    probes = probes_of(channel.transcript.seen_by("public").carrying(PROBED), 3)
    found = influence_scores(probes, np.array([[0, 1], [0, 2], [1, 2]]), 3)

    def odds(p):
        return np.log(p / (1 - p))

    of_0 = abs(odds(0.3) - odds(0.1)) / abs(odds(0.6) - odds(0.5))
    np.testing.assert_allclose(found, [0, of_0 / 2, 0], rtol=1e-5)  # 2 does not move 0
    one = influence_scores(probes[:2], np.array([[0, 2], [1, 2]]), 3)
    np.testing.assert_allclose(one, [of_0, np.nan], rtol=1e-5)


def test_who_is_within_two_hops_has_influence_and_nobody_else():
    found, data = judged(ran()), graph()
    step = torch.eye(NODES)
    step[data.edge_index[0], data.edge_index[1]] = 1
    near = ((step @ step) > 0).numpy()
    low, high = np.divmod(found.subjects, NODES)
    assert not (found.score[~near[low, high]] > 0).any()
    assert (found.score[found.truth] > 0).mean() > 0.9  # some hidden units are dead
    assert auc(found.truth, found.score) > 0.95


@pytest.mark.parametrize("recipe", [{"architecture": "sage"}, {"architecture": "gat", "heads": 2}])
def test_other_architectures_give_links_away_too(recipe):
    assert area(ran(recipe)) > 0.9


def test_null_an_mlp_has_no_influence_on_others():
    found = judged(ran({"architecture": "mlp"}))
    assert not found.score.any()


def test_null_answers_that_do_not_depend_on_the_query_tell_nothing():
    run = ran()
    view = run.transcript.messages
    usual = next(m for m in view if m.kind == PROBED_KIND).tensors["posteriors"]
    run.transcript.messages[:] = [
        replace(m, tensors={**m.tensors, "posteriors": usual[m.tensors["nodes"]]}) if m.kind == PROBED_KIND else m
        for m in view
    ]
    assert not judged(run).score.any()


def test_rounding_hides_influence_and_not_all_of_it():
    exact, rounded, alone = (
        area(ran(defense=d)) for d in (None, RoundedPosteriors(step=0.01), RoundedPosteriors(step=1.0))
    )
    assert exact > rounded > 0.6
    assert alone < rounded


def test_a_larger_budget_tells_more():
    areas = [area(ran(nodes=nodes)) for nodes in (4, 15, 40)]
    assert areas == sorted(areas)
    assert areas[2] - areas[0] > 0.2


def test_pairs_that_were_not_asked_about_come_after_all_influence_and_before_none():
    found, everything = judged(ran(nodes=15)), judged(ran())
    order = np.searchsorted(everything.subjects, found.subjects)
    no_influence = everything.score[order] == 0
    zero, least = found.score == 0, found.score[found.score > 0].min()
    assert no_influence[zero].all()
    assert 0 < least < 0.5


def noisy(message, coins):
    table = message.tensors["posteriors"]
    told = (table + 0.02 * torch.randn(table.shape, generator=coins)).clamp_min(1e-3)
    return replace(message, tensors={**message.tensors, "posteriors": told / told.sum(1, keepdim=True)})


def test_repeated_queries_average_noise_out():
    """The same noise in every answer; the mean of 30 leaves less than a fifth of it."""

    def told(repeats):
        run, coins = ran(repeats=repeats), torch.Generator().manual_seed(1)
        run.transcript.messages[:] = [
            noisy(m, coins) if m.kind == PROBED_KIND else m for m in run.transcript.messages
        ]
        return area(run)

    once, often = told(1), told(30)
    assert often > once + 0.05


def test_a_negative_factor_shows_through_labels():
    labels = RoundedPosteriors(step=1.0)
    assert area(ran(defense=labels, factor=-10)) > area(ran(defense=labels)) + 0.1


def test_who_knows_of_noise_compares_probabilities():
    """By hand: the answer about 1 moves, and that about 2 has noise on a probability of nearly 0."""
    usual = np.array([[0.5, 0.5], [0.5, 0.5], [1 - 1e-6, 1e-6]])
    moved = Probe(0, 2.0, np.arange(3), np.array([[0.6, 0.4], [0.7, 0.3], [1 - 1e-3, 1e-3]]))
    logs, probabilities = (influence([moved], usual, noise) for noise in ("none", "posteriors"))
    assert logs[2] > logs[1]
    assert probabilities[2] < 0.01 * probabilities[1]


def test_who_knows_of_noise_compares_with_the_median():
    probes = [Probe(k - 1, 2.0, np.arange(2), np.full((2, 2), value)) for k, value in enumerate((0.9, 0.5, 0.4))]
    np.testing.assert_array_equal(usual_answers(probes, 2, "logits"), np.full((2, 2), 0.5))
    np.testing.assert_array_equal(usual_answers(probes, 2, "none"), np.full((2, 2), 0.9))


def test_frozen_noise_is_averaged_by_other_factors_and_not_by_the_same():
    def told(frozen, repeats, spread=0.0):
        noisy = NoisyAnswers(scale=0.1, frozen=frozen)
        return judged(ran(defense=noisy, factor=-10, repeats=repeats, spread=spread), noise="posteriors").score

    once, again = told(True, 1), told(True, 20)
    np.testing.assert_allclose(again, once)
    exact = judged(ran(factor=-10, repeats=1), noise="posteriors").score
    errors = [np.abs(found - exact).mean() for found in (once, told(False, 20), told(True, 20, 0.2))]
    assert max(errors[1:]) < errors[0] / 2


def test_a_mean_over_factors_is_that_of_the_slopes():
    """By hand: an answer that moves by 0.1 for each one that features are multiplied by more."""
    usual = np.array([[0.5, 0.5], [0.5, 0.5]])
    told = [np.array([[0.5, 0.5], [0.5 + step, 0.5 - step]]) for step in (0.1, 0.3)]
    same = [Probe(0, factor, np.arange(2), table) for factor, table in zip((2.0, 4.0), told, strict=True)]
    np.testing.assert_allclose(influence(same, usual, "posteriors"), [0, 0.1 * np.sqrt(2)])


def test_what_it_cannot_read_is_refused():
    run = ran(nodes=2)
    probes = [m for m in run.transcript.messages if m.kind == PROBED_KIND]
    with pytest.raises(InputError, match="features as they are"):
        probes_of(tuple(probes[1:]), NODES)
    both = replace(
        probes[1], tensors={**probes[1].tensors, "factors": torch.full_like(probes[1].tensors["factors"], 2)}
    )
    with pytest.raises(InputError, match="one query for each"):
        probes_of((probes[0], both), NODES)
    told = probes[1].tensors
    kept = told["factors"] != 1
    other = replace(probes[1], tensors={name: part[kept] for name, part in told.items()})
    with pytest.raises(InputError, match="differ"):
        probes_of((probes[0], probes[1], other), NODES)
    bare = replace(probes[1], tensors={"nodes": probes[1].tensors["nodes"]})
    with pytest.raises(InputError, match="must hold"):
        probes_of((probes[0], bare), NODES)
