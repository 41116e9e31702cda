from dataclasses import replace

import pytest

from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.results.outcome import AttackOutcome, BlindBaseline, DefenseOutcome
from gaudit.audit.statistics.finding import Finding
from gaudit.reports.text.sentences import actor, blind_warning, last_line, who
from gaudit.reports.text.words import words


def finding(estimate, low=None, high=None):
    return Finding("auc", estimate, low, high, 0.95, "made up", "valid")


def attacked(auc, name="mia", beyond=0.1, observer="public"):
    gap = finding(beyond, beyond - 0.05, beyond + 0.05)
    chance = finding(0.5, 0.4, 0.6)
    return AttackOutcome(AttackPlan(name, observer=observer), 5, "", auc, chance, gap, (), chance, {})


def defended(name, phrase, attacks, cost=None):
    accuracy = finding(0.8, 0.7, 0.9)
    return DefenseOutcome(name, phrase, None, {}, accuracy, accuracy, cost, attacks, (), {}, {}, (), (), {})


CONTROL = defended("none", "undefended", (attacked(finding(0.74, 0.70, 0.78)),))


def test_the_sentence_names_attack_defense_and_cost():
    ib = defended("ib", "with a lid", (attacked(finding(0.58, 0.53, 0.63)),), finding(0.012, -0.01, 0.034))
    assert last_line([CONTROL, ib], "the graph") == (
        "An outsider who holds the graph tells members from non-members with AUC 0.74 [0.70, 0.78]; "
        "with a lid 0.58 [0.53, 0.63], at a cost of 1.2 [-1.0, 3.4] points of accuracy (mia)."
    )


def test_gained_accuracy_is_not_called_a_cost():
    ib = defended("ib", "with a lid", CONTROL.attacks, finding(-0.02, -0.03, -0.01))
    assert "with 2.0 points of accuracy gained [1.0, 3.0]" in last_line([CONTROL, ib], "the graph")


@pytest.mark.parametrize(("low", "claimed"), [(0.51, True), (0.5, False), (0.4, False)])
def test_chance_is_not_called_telling(low, claimed):
    control = replace(CONTROL, attacks=(attacked(finding(0.55, low, 0.6)),))
    assert ("is not shown to tell" in last_line([control], "the graph")) != claimed


def test_an_attack_that_only_a_defense_allows_has_its_own_line():
    adaptive = attacked(finding(0.7, 0.6, 0.8), "mia-adaptive", observer="client:0")
    ib = defended("ib", "with a lid", (*CONTROL.attacks, adaptive))
    said = last_line([CONTROL, ib], "it").split("\n")[1]
    assert said.startswith("With a lid, client 0 who holds it and what it is sent tells")


def test_another_game_of_the_same_attack_is_no_measure_of_a_defense():
    """Where a defense drops people an attack may ask who took part: that is no rest of who holds whom."""
    mine, other = (
        replace(attacked(finding(auc, auc - 0.05, auc + 0.05), "unmoved-words", observer="server"), game=game)
        for auc, game in ((0.8, "node-ownership"), (0.95, "contribution"))
    )
    control = replace(CONTROL, attacks=(mine,))
    first, second = last_line([control, defended("ib", "with a lid", (other,))], "it").split("\n")
    assert "a client's own nodes from other nodes with AUC 0.80" in first
    assert "lid" not in first
    assert second.startswith("With a lid, the server that reads what clients send it tells nodes that took part")


def test_who_sees_nothing_is_not_said_to_hold_the_release():
    control = replace(CONTROL, attacks=(attacked(finding(0.7, 0.6, 0.8), "blind"),))
    assert last_line([control], "the graph").startswith("Someone who sees no message at all tells")


@pytest.mark.parametrize(
    ("plan", "game", "said"),
    [
        (AttackPlan("mia"), "label-membership", "An outsider who holds it"),
        (
            AttackPlan("lira"),
            "label-membership",
            "Someone who holds it and knows every edge and the labels of all",
        ),
        (
            AttackPlan("lira", observer="server"),
            "label-membership",
            "The server who holds it and knows every edge",
        ),
        (
            AttackPlan("mia", neighbours="apart"),
            "label-membership",
            "Someone who holds it and knows which edges run between members and non-members",
        ),
        (
            AttackPlan("link-noisy-or", {"known": 0.25}, "server"),
            "edge-presence",
            "The server who holds it and knows 25 % of the links",
        ),
        (
            AttackPlan("label-pursuit", observer="server"),
            "label-membership",
            "The server that reads what clients send it",
        ),
        (AttackPlan("graphmi", observer="server"), "edge-presence", "The server that reads what clients send it"),
    ],
)
def test_an_adversary_is_called_by_what_it_is_granted(plan, game, said):
    attack = replace(attacked(finding(0.7, 0.6, 0.8)), plan=plan, game=game)
    told = actor(attack, "it")
    assert told.startswith(said)
    assert ("knows" in told) == ("knows" in said)


def test_no_better_than_blind_is_said():
    assert blind_warning(attacked(finding(0.7, 0.6, 0.8), beyond=0.1)) is None
    assert "does not show a leak" in (blind_warning(attacked(finding(0.7, 0.6, 0.8), beyond=0.0)) or "")


@pytest.mark.parametrize(
    ("observer", "name"),
    [
        ("server", "The server"),
        ("client:4", "Client 4"),
        ("server+client:4", "Whoever puts together what"),
    ],
)
def test_observers_have_names(observer, name):
    assert who(observer).startswith(name)


def test_a_group_that_is_told_is_named_where_all_together_are_not():
    """A release of twelve members' own rows said nothing, as sixty were in question."""
    groups = {"members copied at first": finding(1.0, 0.74, 1.0), "members never copied": finding(0.44, 0.3, 0.58)}
    open_ = replace(attacked(finding(0.55, 0.41, 0.68)), groups=groups)
    said = last_line([replace(CONTROL, attacks=(open_,))], "the graph")
    assert "but does so among members copied at first (AUC 1.00 [0.74, 1.00]) (mia)." in said
    for other in (
        replace(open_, auc=finding(0.7, 0.6, 0.8)),
        replace(open_, groups={"few": finding(0.7, 0.4, 0.9)}),
    ):
        assert "among" not in last_line([replace(CONTROL, attacks=(other,))], "the graph")


@pytest.mark.parametrize(
    ("auc", "beyond_blind", "beyond_degree", "says"),
    [
        ((0.7, 0.6, 0.8), 0.0, 0.2, "0.50 [0.40, 0.60] without the release"),
        ((0.7, 0.6, 0.8), 0.2, 0.0, "0.55 [0.45, 0.65] from the public graph by degree"),
        (
            (0.7, 0.6, 0.8),
            0.0,
            0.0,
            "0.50 [0.40, 0.60] without the release or 0.55 [0.45, 0.65] from the public graph by degree",
        ),
        ((0.7, 0.4, 0.9), 0.2, 0.2, "chance"),
    ],
)
def test_only_what_is_not_beaten_is_named_and_nothing_is_said_to_be_as_good(auc, beyond_blind, beyond_degree, says):
    gap = finding(beyond_degree, beyond_degree - 0.05, beyond_degree + 0.05)
    degree = BlindBaseline(finding(0.55, 0.45, 0.65), gap)
    attack = replace(attacked(finding(*auc), beyond=beyond_blind), baselines={"degree": degree})
    assert blind_warning(attack) == f"mia: not shown to be better than {says}; this AUC alone does not show a leak"
    said = last_line([replace(CONTROL, attacks=(attack,))], "the graph")
    assert (f", not shown to be more than {says} (mia)." in said) == (says != "chance")


def test_the_game_of_links_names_no_client_where_there_may_be_none():
    told = [value for value in vars(words("edge-presence")).values() if isinstance(value, str)]
    assert len(told) > 5
    assert "client" not in " ".join(told)
