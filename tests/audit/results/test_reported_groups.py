"""Groups that are reported apart: clients that a client heard from, and groups that lack one side."""

import numpy as np
import pytest

from gaudit.audit.games.referee import HEARD, told_by
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.results.outcomes import _in_group
from gaudit.audit.running.trial import run_trial
from gaudit.targets.transcript import Message, View
from support.audits import attacked
from support.sixty_nodes import sixty_nodes

FEDC4 = {"clients": 3, "hidden": 8, "rounds": 3, "local_epochs": 2, "partition": "metis"}
FEDC4 |= {"condensing": {"ratio": 0.25, "rounds": 10, "hidden": 8, "init": "real"}}


def message(kind, sender, receiver, content=True):
    return Message(kind, sender, receiver, 0, {"x": np.zeros(1)} if content else {})


def test_a_client_hears_from_who_sent_it_something_that_the_attack_reads():
    sent = [
        message("rows", "client:2", "client:0"),
        message("rows", "client:2", "client:0"),
        message("rows", "client:1", "client:0", content=False),
        message("other", "client:3", "client:0"),
        message("rows", "client:4", "clients"),
        message("rows", "server", "client:0"),
        message("rows", "client:0", "client:5"),
    ]
    assert told_by(View("client:0", tuple(sent)), ("rows",)) == [2]
    assert told_by(View("client:0", tuple(sent)), ("other", "rows")) == [2, 3]
    assert told_by(View("client:0", tuple(sent)), ("third",)) == []


def heard(attack="nearest", **changes):
    attack = AttackPlan(attack, {}, "client:0")
    plan = TrialPlan("fedc4", FEDC4 | changes, "none", {}, (attack,), 0, 0)
    return run_trial(plan, sixty_nodes())


def test_nodes_of_clients_that_told_nothing_are_left_out():
    """Without a limit all tell all; a client that is heard in part is told apart from who is not heard."""
    (told,) = heard(broadcast="full").attacked
    assert told.groups[HEARD].all()
    some = []
    for delta in (0.05, 0.1, 0.2, 0.4, 0.8):
        for told in heard(delta=delta).attacked:
            some.append(told.groups[HEARD])
    assert any(0 < group.sum() < len(group) for group in some)


def test_who_told_nothing_that_the_attack_reads_was_not_heard():
    """All tell all of their means in the first round; nodes' embeddings, which are compared, go with the rows."""
    for delta in (0.05, 0.1, 0.2, 0.4, 0.8):
        groups = [
            {tuple(told.groups[HEARD]) for told in heard(attack, delta=delta).attacked if HEARD in told.groups}
            for attack in ("nearest", "nearest-embedding")
        ]
        assert groups[0] == groups[1]


def test_an_attack_on_what_is_public_hears_from_nobody():
    plan = TrialPlan(
        "gcond", {"ratio": 0.15, "rounds": 2, "checkpoints": (2,)}, "none", {}, (AttackPlan("nearest"),), 0, 0
    )
    (told,) = run_trial(plan, sixty_nodes()).attacked
    assert HEARD not in told.groups


def test_a_release_of_all_labelled_rows_is_measured():
    """Nobody is left who was never copied: that group says so, and the others are told."""
    plan = TrialPlan("random", {"ratio": 1.0, "ratio_of": "labelled"}, "none", {}, (AttackPlan("nearest"),), 0, 0)
    (told,) = run_trial(plan, sixty_nodes()).attacked
    assert _in_group([told], "members copied at first").estimate > 0.99
    never = _in_group([told], "members never copied")
    assert never.estimate is None
    assert never.note == "no member of this group"


@pytest.mark.parametrize(
    ("kept", "lacks"), [("members", "non-member"), ("others", "member"), ("nobody", "non-member")]
)
def test_a_group_without_one_side_is_not_measured(kept, lacks):
    (cell,) = [attacked(AttackPlan("loss"), 1.0, np.random.default_rng(0))]
    truth = cell.judged.truth
    cell.groups["some"] = {"members": truth, "others": ~truth, "nobody": truth & False}[kept]
    assert _in_group([cell], "some").note == f"no {lacks} of this group"


def test_a_group_that_a_run_lacks_is_not_measured():
    with_it, without = (attacked(AttackPlan("loss"), 1.0, np.random.default_rng(n)) for n in (0, 1))
    with_it.groups["some"] = np.ones(len(with_it.judged.truth), dtype=bool)
    assert _in_group([with_it], "some").estimate > 0.6
    assert _in_group([with_it, without], "some").estimate is None
