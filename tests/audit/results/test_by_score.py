"""Judging depends on scores, not on names or on the order of rows; what reads names still gets them."""

import numpy as np
import pytest

from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.results.outcomes import attack_outcome
from gaudit.audit.running.trial import Attacked
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.graphs.pair_codes import codes
from gaudit.targets.games.ownership import pair_of

PEOPLE, NODES, PAIRS = 300, 60, 400


def attacked(subjects, game="label-membership", nodes=None, order=slice(None), seed=0):
    """One run: scores, truth, strata and groups by the place in the list, whoever stands there."""
    rng, size = np.random.default_rng(seed), len(subjects)
    truth, strata = rng.random(size) < 0.4, rng.integers(3, size=size)
    score, blind = (rng.normal(size=size) + shift * truth for shift in (1.0, 0.2))
    more = {"nodes": nodes, "strata": strata}
    judged, unseen = (ScoredSubjects(subjects, part, truth, **more).where(order) for part in (score, blind))
    samples = {"drawn": judged.where(np.arange(size) < size // 2)}
    kind = np.array(["a", "b"])[rng.integers(2, size=size)][order]
    given = {"attributes": {"kind": kind}, "samples": samples if isinstance(order, slice) else {}}
    baselines = {"degree": unseen}
    return Attacked(AttackPlan("loss"), 0, judged, unseen, {"some": kind == "a"}, "", game, baselines, **given)


def numbers(outcome):
    told = [outcome.auc, outcome.blind, outcome.beyond_blind, *outcome.tpr, *outcome.more.values()]
    told += [*outcome.groups.values(), *(f for by in outcome.risk.values() for f in by.values())]
    return [(found.metric, found.estimate, found.low, found.high) for found in told]


@pytest.mark.parametrize("names", ["other numbers", "words"])
def test_people_may_be_called_and_listed_as_one_likes(names):
    called = np.random.default_rng(7).permutation(10 * PEOPLE)[:PEOPLE]
    ids = called if names == "other numbers" else np.array([f"person {name}" for name in called])
    order = np.random.default_rng(8).permutation(PEOPLE)
    first = attack_outcome({0: attacked(np.arange(PEOPLE)), 1: attacked(np.arange(PEOPLE), seed=1)})
    # the runs come in another order, too
    again = attack_outcome({1: attacked(ids, order=order, seed=1), 0: attacked(ids, order=order)})
    assert numbers(first) == numbers(again)
    assert {row.subject for row in first.exposed} <= set(range(PEOPLE))


def test_nodes_of_pairs_may_be_called_as_one_likes():
    low, high = np.triu_indices(NODES, 1)
    chosen = np.random.default_rng(3).permutation(len(low))[:PAIRS]
    low, high = low[chosen], high[chosen]
    other, order = np.random.default_rng(4).permutation(NODES), np.random.default_rng(5).permutation(PAIRS)
    first = attacked(codes(low, high, NODES), nodes=NODES, order=np.arange(PAIRS))
    again = attacked(codes(other[low], other[high], NODES), nodes=NODES, order=order)
    assert numbers(attack_outcome({0: first})) == numbers(attack_outcome({0: again}))


def test_a_metric_that_reads_what_a_subject_is_gets_it():
    """Owners named are told from pairs of a node and a client: numbered anew, all would be of one node."""
    node, client = np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40)
    truth = client == node % 3
    judged = ScoredSubjects(pair_of(node, client), truth + 10.0 * node, truth)  # highest of its node alone
    nothing = ScoredSubjects(judged.subjects, np.zeros(120), truth)
    run = Attacked(AttackPlan("update-codes"), 0, judged, nothing, {}, "", "node-ownership")
    assert attack_outcome({0: run}).more["owners named"].estimate == 1
