"""A plan that names no attack gets those that read something of its targets and do not cost much."""

import pytest

from gaudit.attacks.attack import Attack
from gaudit.audit.planning.automatic_plan import with_attacks
from gaudit.audit.planning.plan import Plan
from gaudit.errors import InputError
from gaudit.registry import find


def planned(*names, target="classifier", dataset="patients"):
    content = {"target": [{"name": target}], "datasets": [dataset], "attack": [{"name": name} for name in names]}
    return Plan.of(content, "plan.toml")


@pytest.mark.parametrize("names", [(), ("auto",)])
def test_attacks_are_chosen_where_none_is_named(names):
    complete = with_attacks(planned(*names))
    found = [attack.name for attack in complete.plan.attack]
    assert "base-offline" in found
    assert "lira" not in found
    kinds: list[type[Attack]] = [find("attacks", name) for name in found]
    assert not any(kind.dear for kind in kinds)
    runs, left_out = complete.sentences()
    assert "base-offline" in runs
    assert left_out.startswith("Left out: ")
    assert "lira" in left_out


def test_one_that_is_named_beside_auto_keeps_its_settings_and_its_cost_is_accepted():
    complete = with_attacks(planned("lira", "auto"))
    assert complete.plan.attack[0].name == "lira"
    assert not any("lira," in line for line in complete.sentences()[1:])


def test_a_plan_with_names_stays_as_it_is():
    plan = planned("loss")
    assert with_attacks(plan).plan is plan
    assert with_attacks(plan).sentences() == []


def test_targets_that_nothing_reads_are_refused(monkeypatch):
    monkeypatch.setattr("gaudit.audit.planning.automatic.registered", lambda group: {})
    with pytest.raises(InputError, match="no attack reads"):
        with_attacks(planned())


def test_each_target_of_one_name_gets_its_attacks():
    targets = [{"name": "classifier", "settings": {"game": "edge-presence"}}, {"name": "classifier"}]
    links, members, both = (
        {attack.name for attack in with_attacks(Plan.of(content, "plan.toml")).plan.attack}
        for content in ({"target": some, "datasets": ["patients"]} for some in (targets[:1], targets[1:], targets))
    )
    assert links - members
    assert members - links
    assert both == links | members
