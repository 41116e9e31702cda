"""A request of the command line becomes the trials that it asks for."""

from dataclasses import replace

import pytest

from gaudit import InputError, find, load_dataset, registered
from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.request import AttackRequest, plan_of

LINKS = AttackRequest(target="fedavg", attacks=("graphmi",), dataset="karate", settings={"clients": 1}, seeds=1)


def trials(**asked):
    """The trials of a request, without controls, by defense."""
    request = AttackRequest(**{**vars(LINKS), **asked})
    plan, data, _ = plan_of(request)
    return [task.plan for task in laid_out(plan, dict.fromkeys(plan.datasets, data)).tasks if task.cell >= 0]


def resolved(group, name, preset, **more):
    kind = find(group, name)
    return kind(**{**kind.preset(preset), **more}).settings


@pytest.mark.parametrize("preset", ["quick", "paper"])
@pytest.mark.parametrize("name", [n for n, p in registered("attacks").items() if p.value.startswith("gaudit.")])
def test_an_attack_runs_with_the_preset_that_was_asked_for(name, preset):
    (none, *_) = trials(attacks=(name,), preset=preset)
    assert none.attacks[0].make().settings == resolved("attacks", name, preset)


@pytest.mark.parametrize("preset", ["quick", "paper"])
@pytest.mark.parametrize("name", ["ib-subgraph", "fewer-edges", "ldp"])
def test_a_defense_runs_with_the_preset_that_was_asked_for(name, preset):
    none, defended = trials(defenses=((name, {}),), preset=preset)
    assert (none.defense, defended.defense) == ("none", name)
    assert defended.make_defense().settings == resolved("defenses", name, preset)


def test_what_is_written_goes_before_the_preset():
    given = (("ib-subgraph", {"epochs": 7}),)
    _, defended = trials(defenses=given, attack_settings={"iterations": 3}, strength=0.4)
    assert defended.make_defense().settings == resolved("defenses", "ib-subgraph", "quick", epochs=7, rho=0.4)
    assert defended.attacks[0].settings["iterations"] == 3


def test_a_target_runs_with_the_preset_that_was_asked_for():
    data = load_dataset("karate")
    for preset in ("quick", "paper"):
        kind = find("targets", "fedavg")
        assert (
            trials(preset=preset)[0].make_target().settings
            == kind(**{**kind.preset(preset, data), "clients": 1}).settings
        )


def test_a_sweep_runs_at_each_strength_that_the_graph_allows():
    published = {"target": "publish", "attacks": ("refinement",), "settings": {}}
    swept = trials(**published, defenses=(("k-degree", {}),), sweep=True)
    assert [t.defense_settings.get("k") for t in swept] == [None, 2, 5, 10]  # groups of 20 need 40 nodes to be two
    assert len(trials(**published, defenses=(("k-degree", {"k": 3}),), sweep=True)) == 2


@pytest.mark.parametrize(
    ("target", "asked", "beside"),
    [
        ("fedgc", "mia", ["nearest"]),
        ("fedgc", "nearest", []),
        ("classifier", "lira", ["loss"]),
        ("publish", "subgraph-query", ["refinement"]),
        ("fedavg", "graphmi", []),
    ],
)
def test_attacks_that_cost_next_to_nothing_run_beside_dearer_ones(target, asked, beside):
    request = AttackRequest(target=target, attacks=(asked,), dataset="citations", seeds=1, beside=True)
    assert [attack.name for attack in plan_of(request)[0].attack] == [asked, *beside]
    alone = AttackRequest(target=target, attacks=(asked,), dataset="citations", seeds=1)
    assert [attack.name for attack in plan_of(alone)[0].attack] == [asked]


def test_a_target_without_a_device_is_not_asked_for_one():
    """Nobody named a device: the default of the command line is no setting of a target that computes nothing."""
    assert "device" not in find("targets", "planted").Settings.model_fields
    asked = AttackRequest(target="planted", attacks=("loss",), dataset="planted", seeds=1)
    assert "device" not in plan_of(asked)[0].target[0].settings
    with pytest.raises(InputError, match="device"):
        plan_of(replace(asked, device="cuda"))
