"""Scores of others: their null, their planted leak, and the numbers that gaudit's own attacks give."""

from itertools import combinations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import gaudit
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.ledger import Ledger
from gaudit.audit.running.trial import run_trial
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.targets.controls.planted_scores import PlantedScores
from support.own_models import ask, train


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


def test_scores_of_a_built_in_attack_give_its_numbers_to_the_last_digit(tmp_path):
    """What LiRA scored, its blind scores, strata and groups, written as a table and read again: every number."""
    data = uneven(500)
    functions = {"fit": train, "predict": ask, "shadows": 4, "workers": 1, "queries": ("0-hop",), "seeds": 2}
    own = gaudit.audit(data, **functions, attacks="lira", ledger=tmp_path / "own.db", progress=False)
    with Ledger(tmp_path / "own.db") as book:
        results = [r for r in book.content(trust_code=True).results.values() if r.plan.target == "own"]
        results.sort(key=lambda result: result.plan.index)  # a ledger lists them by their keys
        rows = [one_run(attacked, run) for run, result in enumerate(results) for attacked in result.attacked]
    told = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    assert len(set(told["stratum"])) > 1
    order = np.random.default_rng(0).permutation(len(told["id"]))
    given = gaudit.score({name: values[order] for name, values in told.items()})
    (ours,), (theirs,) = ([place.attack for place in found.audit.findings()] for found in (own, given))
    for name in ("auc", "blind", "beyond_blind", "plain_auc", "tpr", "more", "risk", "decisive"):
        assert numbers(getattr(ours, name)) == numbers(getattr(theirs, name)), name


@pytest.mark.parametrize("pairs", [False, True])
def test_neither_names_nor_the_order_of_rows_move_a_number_where_scores_are_equal(pairs):
    """In each run hundreds share one of ten scores, and only the other run tells them apart."""
    rng = np.random.default_rng(5)
    names = combinations(range(33), 2) if pairs else [(node,) for node in range(500)]
    who, run = np.array(list(names)[:500] * 2), np.repeat([0, 1], 500)
    member, lasting = np.tile(rng.random(500) < 0.3, 2), np.tile(rng.normal(size=500), 2)
    score = np.round(2 * lasting + rng.normal(size=1000) / 2 + 2 * member)
    rename, order = rng.permutation(500), rng.permutation(1000)
    told = [
        gaudit.score({**ids(people[rows]), "member": member[rows], "score": score[rows], "run": run[rows]})
        for people, rows in ((who, np.arange(1000)), (rename[who], order))
    ]
    one, other = (found.audit.findings()[0].attack for found in told)
    for name in ("auc", "tpr", "risk"):
        assert numbers(getattr(one, name)) == numbers(getattr(other, name)), name


def ids(who):
    return {"id": who[:, 0]} if who.shape[1] == 1 else {"id": who[:, 0], "id2": who[:, 1]}


def uneven(nodes):
    """A graph whose classes have other shares of members, so that people are compared within classes."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, nodes)
    members = rng.random(nodes) < np.array([0.2, 0.4, 0.7])[y]
    ends = rng.integers(0, nodes, (2, nodes))
    x = rng.normal(size=(nodes, 8)) + 0.8 * np.eye(3, 8)[y]
    masks = {"train_mask": torch.from_numpy(members), "test_mask": torch.from_numpy(~members)}
    edges = torch.from_numpy(np.concatenate([ends, ends[::-1]], axis=1)[:, np.tile(ends[0] != ends[1], 2)])
    return Data(x=torch.from_numpy(x).float(), y=torch.from_numpy(y), edge_index=edges, **masks)


def one_run(attacked, run):
    """The table of one run, as its owner might export it; persons have names."""
    judged = attacked.judged
    assert np.array_equal(judged.subjects, attacked.blind.subjects)
    return {
        "id": np.array([f"person {subject * 7919 % 10007}" for subject in judged.subjects]),
        "member": judged.truth.astype(int),
        "score": judged.score,
        "blind": attacked.blind.score,
        "stratum": judged.labels,
        "run": np.full(len(judged.score), run),
        **{f"group_{name}": told for name, told in attacked.attributes.items()},
    }


def numbers(found):
    """Estimates and intervals of findings, whatever they are kept in."""
    if isinstance(found, Finding):
        return found.estimate, found.low, found.high
    if isinstance(found, dict):
        return {name: numbers(value) for name, value in found.items()}
    return [numbers(value) for value in found] if isinstance(found, tuple) else found
