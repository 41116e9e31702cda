"""The answer that is printed first says what the numbers say."""

from dataclasses import replace

import pytest

from gaudit.reports.text.short_answer import short_answer, strongest
from support.audits import simulated

CONTROL = ("none", None)
NOISE = ("label-noise", 1.0)


def outcomes(leaks, **how):
    (section,) = simulated(leaks, **how).sections
    return section.outcomes


def test_a_leak_is_told_in_cases_and_what_the_defense_leaves_of_it():
    found = outcomes({CONTROL: (1.5, 0.8), NOISE: (0.0, 0.7)}, listed=("label-noise",))
    who, how_well, defended = short_answer(found, "the model")
    auc, left = found[0].attacks[0].auc, found[1].attacks[0].auc
    assert who.startswith("Someone who holds the model")
    assert f"picks the right one in {100 * auc.estimate:.0f} of 100 cases" in how_well
    assert f"{100 * auc.low:.0f} to {100 * auc.high:.0f})" in how_well
    assert defended.startswith("With randomised labels (epsilon 1) no leak is shown")
    assert f"{100 * left.estimate:.0f} of 100" in defended
    assert f"{100 * found[1].cost.estimate:.1f}" in defended


def test_nothing_is_told_where_nothing_is_found():
    who, how_well = short_answer(outcomes({CONTROL: (0.0, 0.8)}, members=1000, others=3000), "the model")
    assert who.startswith(("Nothing shows that", "It is open whether"))
    assert " picks the right one in " in how_well


def test_no_sentence_is_long():
    found = outcomes({CONTROL: (1.5, 0.8), NOISE: (0.0, 0.7)}, listed=("label-noise",))
    for line in short_answer(found, "the model"):
        assert all(len(sentence.split()) <= 30 for sentence in line.split(". ")), line


def test_a_defense_is_judged_by_the_strongest_attack_on_it():
    """Not by the one that was strongest without it."""
    found = outcomes({CONTROL: (1.5, 0.8), NOISE: (0.5, 0.7)}, attacks=("loss", "mia"), listed=("label-noise",))
    weak = replace(found[1].attacks[0], auc=replace(found[1].attacks[0].auc, estimate=0.5, low=0.4, high=0.6))
    defended = replace(found[1], attacks=(weak, found[1].attacks[1]))
    assert strongest(defended, "label-membership").plan.name == "mia"
    assert "attack mia picks" in short_answer([found[0], defended], "the model")[2]


@pytest.mark.parametrize("defenses", [2, 5])
def test_no_more_defenses_are_told_than_can_be_read(defenses):
    leaks = {CONTROL: (1.5, 0.8)} | {("label-noise", float(k + 1)): (1.0, 0.7) for k in range(defenses)}
    said = short_answer(outcomes(leaks, listed=("label-noise",)), "the model")
    assert len(said) == 2 + min(defenses, 4)
