"""Who mounts an attack where nobody says so."""

import pytest

from gaudit.audit.planning.automatic import automatic
from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.observers import chosen, default_observer, reads
from gaudit.audit.planning.plan import Plan
from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.registry import find
from support.pipelines import pipelines

FEDC4 = {"name": "fedc4", "settings": {"clients": 2}}


@pytest.mark.parametrize(
    ("target", "attack", "observer"),
    [
        ("fedc4", "nearest", "client:0"),  # condensed rows go from client to client, and to nobody else
        ("fedgc", "nearest", "public"),
        ("fedc4", "mia", "public"),
        ("fedgc", "gradient-readout", "server"),
    ],
)
def test_the_only_one_who_receives_what_an_attack_reads_mounts_it(target, attack, observer):
    assert default_observer(find("attacks", attack), find("targets", target)()) == observer


def test_where_nobody_or_several_receive_it_the_attack_s_own_observer_stays():
    classifier = find("targets", "classifier")()
    assert default_observer(find("attacks", "gradient-readout"), classifier) == "server"
    assert default_observer(find("attacks", "nearest"), classifier) == "public"


def observers(plan: dict) -> set[tuple[int, str]]:
    grid = laid_out(Plan.of({"datasets": ["karate"], "seeds": 1, **plan}, "test"))
    return {(task.cell, a.observer) for task in grid.tasks for a in task.plan.attacks}


def test_a_plan_s_trials_have_that_observer_and_a_planted_leak_who_receives_it():
    assert observers({"target": [FEDC4], "attack": [{"name": "nearest"}]}) == {(0, "client:0"), (-1, "public")}


def test_an_observer_that_a_plan_names_stays():
    attack = {"name": "nearest", "observers": ["public"]}
    assert observers({"target": [FEDC4], "attack": [attack]}) == {(0, "public"), (-1, "public")}


@pytest.mark.parametrize("target", pipelines())
def test_what_was_planted_reaches_whoever_attacks_it(target):
    """Peers read each other's models there, and the control has a server that reads uploads."""
    attacks = [{"name": name} for name in automatic(find("targets", target)()).chosen]
    graph = "molecules" if find("targets", target).collections else "karate"
    plan = {"datasets": [graph], "seeds": 1, "target": [{"name": target}], "attack": attacks}
    planted = [task.plan for task in laid_out(Plan.of(plan, "test")).tasks if task.cell < 0]
    mounted = [(a, trial.make_target()) for trial in planted for a in trial.attacks]
    assert mounted
    assert all(reads(find("attacks", a.name), control, a.observer, sent=True) for a, control in mounted)


def test_what_was_chosen_is_said_once_and_what_was_not_is_not():
    mounted = [("fedc4", AttackPlan("nearest", observer="client:0"))] * 2 + [("fedgc", AttackPlan("nearest"))]
    (said,) = chosen(mounted)
    assert said.startswith("nearest is mounted by client:0: in fedc4 ")
