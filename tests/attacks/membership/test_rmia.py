"""Shares of population nodes that a node beats, online."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

from gaudit.attacks.membership.base_membership import BASE
from gaudit.attacks.membership.calibrated import Answers, Evidence
from gaudit.attacks.membership.rmia import RMIA
from gaudit.attacks.membership.shadow_models import shadow_models


def evidence(seed: int, nodes: int = 9, population: int = 12, shadows: int = 6) -> Evidence:
    """What target and shadow models answer about some nodes and about a population, at random."""
    rng = np.random.default_rng(seed)

    def answers(count: int, inside: np.ndarray) -> Answers:
        draw = rng.standard_normal((shadows + 1, count, 3)) * 2
        labels = torch.from_numpy(rng.integers(0, 3, count))
        return Answers(torch.from_numpy(draw[0]), torch.from_numpy(draw[1:]), inside, labels)

    half = rng.random((shadows // 2, nodes)) < 0.5
    inside = np.stack([half, ~half], 1).reshape(shadows, nodes)
    subjects = answers(nodes, inside)
    others = answers(population, np.zeros((shadows, population), dtype=bool))
    return Evidence(subjects, others, lambda: subjects, np.arange(shadows) // 2)


def ratios(told: Answers, mean_p) -> list[float]:
    """p of the target over mean p of the shadow models, node by node."""
    found = []
    for i, label in enumerate(told.labels.tolist()):
        p = [float(one[i].softmax(-1)[label]) for one in told.shadows]
        found.append(float(told.target[i].softmax(-1)[label]) / mean_p(p, told.inside[:, i]))
    return found


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_score_is_the_share_of_population_nodes_that_are_beaten(seed, gamma):
    seen = evidence(seed)
    found = RMIA(gamma=gamma).judge(seen)
    mine = ratios(seen.subjects, lambda p, inside: np.mean(p))
    theirs = ratios(seen.population, lambda p, inside: np.mean(p))
    for ratio, score in zip(mine, found, strict=True):
        beaten = sum(ratio / other >= gamma for other in theirs)
        assert beaten <= score * (len(theirs) + 1) < beaten + 1  # the rest breaks ties by the ratio


def test_a_node_beats_its_equal():
    """Pr(LR >= gamma), not >: against a population of its likes the best of n nodes beats n of n."""
    seen = evidence(4)
    beaten = np.floor(RMIA().judge(replace(seen, population=seen.subjects)) * (len(seen.subjects.labels) + 1))
    assert sorted(beaten) == list(range(1, len(seen.subjects.labels) + 1))


@pytest.mark.parametrize("gamma", [0.25, 1.0, 2.0, 8.0])
def test_it_ranks_exactly_as_base_with_alpha_1(leaky_models, gamma):
    """One population for all: whatever gamma, the share only coarsens the ratio."""
    for model in leaky_models:
        assert len(model.given.knowledge.population) >= 50
        rmia, base = model.scores(RMIA(gamma=gamma)).score, model.scores(BASE(alpha=1)).score
        np.testing.assert_array_equal(rankdata(rmia), rankdata(base))
    assert RMIA.ranks_as == "base"


def test_tied_ratios_stay_tied_whatever_the_order_of_nodes(leaky_models):
    """Where only labels are told many nodes are alike; none of them may come first for its place in a table."""
    model = leaky_models[0]
    rmia, base = (model.scores(a).score for a in (RMIA(labels_only=True), BASE(alpha=1, labels_only=True)))
    assert len(set(base.round(9))) < len(base) / 2
    np.testing.assert_array_equal(rankdata(rmia.round(9)), rankdata(base.round(9)))


def test_without_a_population_it_is_the_ratio():
    seen = evidence(0)
    alone = Evidence(seen.subjects, None, seen.pool, seen.rounds)
    expected = np.log(ratios(seen.subjects, lambda p, inside: np.mean(p)))
    np.testing.assert_allclose(RMIA().judge(alone), expected, atol=1e-9)


@pytest.mark.parametrize("offline", [False, True])
def test_the_population_is_in_nobodys_training_set(null_models, offline):
    for model in null_models[:4]:
        known = model.given.knowledge
        assert len(known.population) >= 50
        assert not set(known.population.tolist()) & set(known.subjects.tolist())
        pool = shadow_models(known, known.recipe, 16, offline)
        assert not pool.inside[:, known.population.numpy()].any()
        assert not pool.reference_members[known.population].any()
