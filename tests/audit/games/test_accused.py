"""Accusations beside the truth: right, with label and owner, and only of people who are asked about."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.attacks.attack import Accusation, Scores
from gaudit.audit.games.referee import accused
from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.statistics.accused import UNSAID, Accused, accusations
from gaudit.reports.text.accusations import accusing
from gaudit.targets.game import Grant
from gaudit.targets.games.membership import LabelMembership

NODES = 40


def world(seed):
    """A game whose subjects are in no order, and a grant that calls nodes by other ids."""
    rng = np.random.default_rng(seed)
    subjects = rng.permutation(NODES)[:25]
    truth = np.arange(25) < 10
    game = LabelMembership(subjects=subjects, truth=truth, owners=rng.integers(0, 3, 25))
    ids = rng.permutation(NODES)
    theirs = np.argsort(ids)[subjects]
    order = np.sort(theirs)
    data = Data(y=torch.from_numpy(rng.integers(0, 4, NODES)))
    return game, Grant(None, ids), order, data, rng


@pytest.mark.parametrize("seed", range(5))
def test_each_accusation_is_judged_by_the_truth_about_its_own_node(seed):
    """Against a dictionary by node, made without any sorting."""
    game, grant, order, data, rng = world(seed)
    of = {int(node): k for k, node in enumerate(game.subjects)}
    made = [
        Accusation(int(at), int(rng.integers(4)), int(rng.integers(3)), bool(rng.integers(2)), (1,) * int(at % 3))
        for at in rng.permutation(25)[:15]
    ]
    asked = rng.random(25) < 0.7
    found = accused(Scores(order, np.zeros(25), None, tuple(made)), grant, game, data, asked)
    in_question = {int(n) for n, one in zip(np.sort(game.subjects), asked, strict=True) if one}
    wanted = {}
    for said in made:
        node = int(grant.ids[order[said.subject]])
        if node in in_question:
            right = game.truth[of[node]]
            label, owner = said.label == int(data.y[node]), said.owner == game.owners[of[node]]
            wanted[node] = (right, label, owner, said.proven, len(said.alike))
    rows = zip(found.right, found.label, found.owner, found.proven, found.alike, strict=True)
    assert dict(zip(found.subjects.tolist(), map(tuple, rows), strict=True)) == wanted
    assert found.members == sum(game.truth[of[node]] for node in in_question)


def test_who_only_ranks_accuses_nobody():
    game, grant, order, data, _ = world(0)
    assert accused(Scores(order, np.zeros(25)), grant, game, data, np.ones(25, dtype=bool)) is None


def of_run(right, label, members=10, alike=0):
    size = len(right)
    subjects, unsaid = np.arange(size), np.full(size, UNSAID, dtype=np.int8)
    right, label = np.array(right, dtype=bool), np.array(label, dtype=np.int8)
    return Accused(subjects, right, label, unsaid, right, np.full(size, alike), members)


def test_counts_are_of_members_with_their_own_label():
    found = accusations([of_run([1, 1, 0], [1, 0, 1]), of_run([1], [1])])
    assert (found.accused, found.named, found.labelled, found.owned) == ((3, 1), (2, 1), (1, 1), None)
    assert found.false == (1, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"subjects": np.array([1, 1])},
        {"right": np.array([True])},
        {"label": np.array([1.0, 0.0])},
        {"members": 0},
    ],
)
def test_parts_that_do_not_fit_are_refused(change):
    """A ledger may come from somebody else."""
    with pytest.raises(ValueError, match="accus"):
        Accused(**{**vars(of_run([1, 1], [1, 1])), **change})


class Outcome:
    """What of an outcome is read."""

    def __init__(self, *runs):
        self.accusations = accusations(runs) if runs else None
        self.plan = AttackPlan("label-pursuit")


def test_sentences_say_what_was_counted():
    assert accusing(Outcome()) == ""
    assert accusing(Outcome(of_run([], []))) == "The attack label-pursuit accuses nobody outright."
    assert accusing(Outcome(of_run([1, 1, 0], [1, 0, 1], alike=1))) == (
        "The attack label-pursuit names 2 of 10 members outright and wrongly accuses 1 other. It also tells the "
        "right label of 1 of these members. 2 accusations are proven: nobody else who is asked about explains what "
        "was sent. "
        "3 accusations stand for a group of people whom the attack cannot tell apart."
    )
    text = accusing(Outcome(of_run([1, 1, 0], [1, 1, 1]), of_run([1], [1])), "Without a defense")
    assert text.startswith(
        "Without a defense, on average over 2 runs the attack label-pursuit names 1.5 (1 to 2) of 10 members "
        "outright and wrongly accuses 0.5 (0 to 1) others. It also tells the right label of each of these members."
    )


def test_one_is_not_told_in_the_plural():
    text = accusing(Outcome(of_run([1], [1], alike=1), of_run([1], [1], alike=1)))
    assert text.startswith(
        "In each of 2 runs the attack label-pursuit names 1 of 10 members outright and accuses nobody"
    )
    assert "1 accusation is proven" in text
    assert "1 accusation stands for a group" in text
