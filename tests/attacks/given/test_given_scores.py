"""Scores of others: their null, their planted leak, and the numbers that gaudit's own attacks give."""

import numpy as np
import pytest

import gaudit
from gaudit import find
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.targets.controls.planted_scores import PlantedScores


def table(members, score, **columns):
    return {"id": np.arange(len(members)), "member": members.astype(int), "score": score, **columns}


def test_null_scores_that_know_nothing_are_chance():
    """20 tables of noise: no interval at 99.9 % may miss 0.5, which fails once in 50 such tests."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = gaudit.score(table(rng.random(300) < 0.4, rng.normal(size=300)), seed=seed)
        auc = found.auc["given-scores"]
        reach = 3.29 / 1.96
        centre, half = (auc.high + auc.low) / 2, (auc.high - auc.low) / 2
        assert abs(centre - 0.5) < reach * half + 1e-3


def test_planted_scores_are_found():
    result = gaudit.score(table(np.arange(200) < 80, (np.arange(200) < 80) + 0.0))
    assert result.auc["given-scores"].estimate == 1
    plan = TrialPlan(PlantedScores.name, {}, "none", {}, (AttackPlan("given-scores"),), 0, 0)
    (attacked,) = run_trial(plan, gaudit.load_dataset("planted")).attacked
    assert auc_finding([attacked.judged.plainly()]).low > 0.75


def test_scores_of_a_built_in_attack_give_its_numbers_to_the_last_digit():
    """What LiRA scored, its blind scores and its strata, written as a table and read again."""
    data, members = gaudit.load_dataset("citations"), np.arange(0, 1200, 3)
    rng = np.random.default_rng(0)
    drawn = rng.permutation(data.num_nodes)[:900]
    members, others = drawn[:400], drawn[400:]
    answers = np.full((data.num_nodes, int(data.y.max()) + 1), 0.05)
    answers[np.arange(len(answers)), data.y] = 0.7 + 0.1 * rng.random(len(answers))
    answers[members, data.y[members]] += 0.05
    answers /= answers.sum(1, keepdims=True)
    own = gaudit.audit(data, members=members, non_members=others, answers=answers, attacks="loss", progress=False)
    subjects = np.concatenate([members, others])
    frame = {
        "id": subjects,
        "member": np.isin(subjects, members).astype(int),
        "label": data.y[subjects].numpy(),
        **{f"p{k}": np.float32(answers)[subjects, k].astype(float) for k in range(answers.shape[1])},
    }
    given = gaudit.score(frame)
    (ours,), (theirs,) = own.audit.findings(), given.audit.findings()
    assert ours.attack.plain_auc.estimate == pytest.approx(theirs.attack.auc.estimate, abs=1e-12)
    assert ours.attack.plain_auc.low == pytest.approx(theirs.attack.auc.low, abs=1e-12)


def test_a_column_of_blind_scores_is_the_baseline():
    rng = np.random.default_rng(0)
    members, noise = np.arange(600) < 300, rng.normal(size=600)
    score = members + noise
    alone = gaudit.score(table(members, score)).audit.findings()[0].attack
    blind = gaudit.score(table(members, score, blind=score)).audit.findings()[0].attack
    assert alone.unexplained
    assert alone.blind.estimate == 0.5
    assert not blind.unexplained
    assert blind.blind.estimate == alone.auc.estimate


def test_persons_are_compared_within_their_stratum():
    """A score that says the class alone is chance within classes."""
    rng = np.random.default_rng(0)
    stratum = rng.integers(0, 2, 800)
    members = rng.random(800) < np.where(stratum, 0.7, 0.2)
    score = stratum + 0.01 * rng.normal(size=800)
    plain = gaudit.score(table(members, score)).auc["given-scores"]
    within = gaudit.score(table(members, score, stratum=stratum)).auc["given-scores"]
    assert plain.low > 0.6
    assert within.low < 0.5 < within.high


def test_it_applies_to_its_messages_alone():
    attack = find("attacks", "given-scores")()
    assert attack.planted == "planted-scores"
    assert attack.games == ("label-membership", "node-presence", "edge-presence")
