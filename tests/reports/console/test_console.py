"""Tables on a terminal say which result is meant."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.results.outcome import AttackOutcome, BlindBaseline, DefenseOutcome
from gaudit.audit.statistics.finding import Finding
from gaudit.reports.console.outcome_console import print_outcomes


def finding(estimate, low, high):
    return Finding("auc", estimate, low, high, 0.95, "made up", "valid")


def attacked(ahead):
    """An attack that tells more than the degree does, or not."""
    chance, gap = finding(0.5, 0.4, 0.6), finding(0.1, 0.05 if ahead else -0.05, 0.2)
    made_up = AttackOutcome(AttackPlan("mia"), 5, "", finding(0.7, 0.65, 0.75), chance, gap, (chance,), chance, {})
    return replace(made_up, baselines={"degree": BlindBaseline(chance, gap)})


def printed(*ahead):
    accuracy = finding(0.8, 0.7, 0.9)
    noisy = DefenseOutcome("noise", "with it", None, {}, accuracy, accuracy, None, (), (), {}, {}, (), (), {})
    swept = [
        replace(noisy, attacks=(attacked(a),), label=f"noise, scale {scale}") for scale, a in enumerate(ahead, 1)
    ]
    text = StringIO()
    print_outcomes(Console(file=text, width=200), swept, "it", ())
    return text.getvalue()


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        ((True, False), "mia (noise, scale 2)"),
        ((False, False), "│ all "),
        ((True, True), "│ none "),
        ((False,), "mia (noise, scale 1)"),
    ],
)
def test_who_tells_no_more_than_the_public_graph_is_named_with_its_strength(ahead, said):
    (row,) = [line for line in printed(*ahead).splitlines() if line.startswith("│ degree")]
    assert said in row


@pytest.mark.parametrize(("low", "shown"), [(0.02, True), (-0.02, False)])
def test_what_is_found_beyond_imputation_is_printed_with_its_interval(low, shown):
    accuracy, found = finding(0.8, 0.7, 0.9), finding(0.061, low, 0.09)
    attack = replace(attacked(True), more={"excess over imputation": found})
    plain = DefenseOutcome("none", "", None, {}, accuracy, accuracy, None, (attack,), (), {}, {}, (), (), {})
    text = StringIO()
    print_outcomes(Console(file=text, width=250), [plain], "it", ())
    (line,) = [line for line in text.getvalue().splitlines() if "imputation" in line]
    assert f"6.1 % [{100 * low:.1f} %, 9.0 %]" in line
    assert ("not shown" in line) != shown


def test_games_are_named_apart_each_with_what_the_public_graph_tells_of_it():
    owner = replace(attacked(True), game="node-ownership", more={"owners named": finding(0.981, 0.97, 0.99)})
    label, accuracy = attacked(False), finding(0.8, 0.7, 0.9)
    plain = DefenseOutcome("none", "", None, {}, accuracy, accuracy, None, (owner, label), (), {}, {}, (), (), {})
    text = StringIO()
    print_outcomes(Console(file=text, width=250), [plain], "it", ())
    rows = [line for line in text.getvalue().splitlines() if "mia" in line and "server" not in line]
    assert "Node ownership" in rows[0]
    assert "Node ownership" not in rows[1]
    said = " ".join(text.getvalue().split())
    assert "Without any release: what the public graph alone tells of who holds whom" in said
    assert "and names who holds 98.1 % [97.0 %, 99.0 %] of the nodes" in said
    behind = [line for line in text.getvalue().splitlines() if line.startswith("│ degree")]
    assert ["mia" in line for line in behind] == [False, True]
    assert "names who holds" not in printed(True)
