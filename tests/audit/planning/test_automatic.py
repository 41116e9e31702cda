"""What runs where nobody names an attack: all that read something, but for what costs much, which is named."""

import pytest

from gaudit.audit.planning.automatic import automatic
from gaudit.audit.planning.observers import default_observer, reads
from gaudit.audit.planning.request import AttackRequest, plan_of
from gaudit.errors import InputError
from gaudit.registry import find, registered


@pytest.mark.parametrize("name", ["fedgc", "fedgm", "fedc4", "classifier", "sos", "fedavg", "publish", "gcond"])
def test_what_is_chosen_reads_something_and_the_rest_is_named_with_a_reason(name):
    target = find("targets", name)()
    choice = automatic(target)
    left = {attack for names in choice.left_out.values() for attack in names}
    games = target.plays
    assert choice.chosen
    assert not left & set(choice.chosen)
    assert all(choice.left_out)
    for attack in registered("attacks"):
        kind = find("attacks", attack)
        fits = games & set(kind.games) and reads(kind, target, default_observer(kind, target), sent=True)
        assert (attack in left | set(choice.chosen)) == bool(fits and kind.kinds()), attack
    assert all(attack in " ".join(choice.sentences()) for attack in left)


def test_rows_of_real_nodes_are_looked_for_without_being_asked():
    assert {"nearest", "mia", "base-offline"} <= set(automatic(find("targets", "gcond")()).chosen)
    assert "label-pursuit" in automatic(find("targets", "fedgc")()).chosen


def test_what_is_named_beside_auto_runs_too_and_is_spelt():
    plan, _, target = plan_of(AttackRequest("gcond", ("auto", "lira")))
    assert {a.name for a in plan.attack} == {*automatic(target).chosen, "lira"}
    left = automatic(target, named=("auto", "lira")).left_out
    assert "lira" not in {attack for names in left.values() for attack in names}
    with pytest.raises(InputError, match="lirra"):
        plan_of(AttackRequest("gcond", ("auto", "lirra")))


@pytest.mark.parametrize("asked", [(), ("auto",)])
def test_a_request_without_names_is_one_for_all_of_them(asked):
    plan, _, target = plan_of(AttackRequest("gcond", asked))
    assert tuple(a.name for a in plan.attack) == automatic(target).chosen
