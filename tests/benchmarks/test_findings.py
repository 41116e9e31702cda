"""The tables of docs/findings.md: settings that fit, intervals that are wide enough, figures as recorded."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from findings import END, PAGE, START, SYSTEMS, Mounted, lead, main, over_seeds, plan_of, strongest, tables
from trial_records import RECORDED, TrialRecords

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find

ROWS = [(system, row) for system, one in SYSTEMS.items() for row in one.rows | one.more]


@pytest.fixture(scope="module")
def citations():
    return load_dataset("citations")


@pytest.mark.parametrize(("system", "row"), ROWS)
def test_every_row_is_a_trial_that_can_run(citations, system, row):
    plan = plan_of(citations, system, row, 0)
    target, defense = plan.make_target(), plan.make_defense()
    assert target.why_not(defense) is None
    for attack in plan.attacks:
        attack.make()
        assert find("attacks", attack.name).name == attack.name
    promise = defense.promise()
    assert (promise is not None) == row.startswith("private teacher")
    if promise is not None:
        assert row.endswith(f"epsilon {float(promise.epsilon):g}")


def test_the_rows_of_a_system_differ_in_what_they_say_alone(citations):
    for system, one in SYSTEMS.items():
        plans = [plan_of(citations, system, row, 0) for row in one.rows]
        assert len({(p.defense, str(p.defense_settings), str(p.target_settings)) for p in plans}) == len(plans)
        assert all(p.attacks == plans[0].attacks for p in plans)


def test_one_run_keeps_its_own_interval():
    assert over_seeds([[0.7, 0.6, 0.75]]) == pytest.approx((0.7, 0.6, 0.75))


def test_the_reach_over_seeds_is_added_in_squares():
    mean, low, high = over_seeds([[0.68, 0.66, 0.71], [0.70, 0.68, 0.73]])
    apart = 12.7062 * 0.01  # Student's t with one degree of freedom, times half of what two runs differ by
    assert mean == pytest.approx(0.69)
    assert low == pytest.approx(0.69 - np.hypot(apart, 0.02), abs=1e-5)
    assert high == pytest.approx(0.69 + np.hypot(apart, 0.03), abs=1e-5)


def test_an_interval_ends_where_shares_end():
    assert over_seeds([[0.6, 0.57, 0.63], [0.8, 0.77, 0.83]])[1:] == (0.0, 1.0)


def test_a_run_that_does_not_measure_it_leaves_no_mean():
    assert over_seeds([[0.7, 0.6, 0.8], [None, None, None]]) is None
    assert over_seeds([]) is None


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_the_interval_holds_its_level_whatever_runs_share_of_their_subjects(shared):
    """Runs of standard deviation 0.02 by training and 0.03 by subjects, of which a share is the same in all."""
    rng, missed, tries, runs = np.random.default_rng(3), 0, 2000, 5
    for _ in range(tries):
        same = np.sqrt(shared) * 0.03 * rng.normal()
        own = np.sqrt(1 - shared) * 0.03 * rng.normal(size=runs)
        values = 0.5 + same + own + 0.02 * rng.normal(size=runs)
        _, low, high = over_seeds([[v, v - 1.96 * 0.03, v + 1.96 * 0.03] for v in values])
        missed += not low <= 0.5 <= high
    assert missed / tries < 0.055


def figures(auc, blind):
    return {"auc": [auc, auc, auc], "blind": [blind, blind, blind]}


def test_strongest_is_who_adds_most_to_what_is_known_without_the_release():
    mounted = (Mounted("loud", "public"), Mounted("quiet", "server"), Mounted("silent", "server"))
    trials = [{"attacks": {"loud, public": figures(0.9, 0.88), "quiet, server": figures(0.7, 0.5)}}]
    assert lead(trials, "loud, public") == pytest.approx(0.02)
    assert strongest(trials, mounted) == "quiet, server"
    assert strongest(trials, mounted[:1]) == "loud, public"
    assert strongest([{"attacks": {}}], mounted) is None


def recorded(folder: Path) -> TrialRecords:
    """Two seeds of one row."""
    records = TrialRecords(folder / "records.jsonl")
    for seed, auc in enumerate((0.6, 0.64)):
        attack = {"game": "label-membership", "auc": [auc, auc - 0.05, auc + 0.05], "plain": [0.5, 0.4, 0.6]}
        attack |= {"tpr": [None, None, None], "blind": [0.5, 0.45, 0.55], "epsilon": 0.2, "validity": "indicative"}
        cell = {
            "accuracy": 0.8,
            "promised": None,
            "attacks": {"mia, public": attack},
            "refused": {},
            "seconds": 1.0,
        }
        records.make(f"Cora: fedgc: nothing: {seed}", lambda cell=cell: cell)
    return TrialRecords(folder / "records.jsonl")


def test_tables_tell_means_and_what_cannot_be_measured(tmp_path):
    told = tables(recorded(tmp_path), "Cora", "fedgc")
    (line,) = [row for row in told.splitlines() if row.startswith("| nothing | 2 |")]
    assert "| 80.0 [80.0, 80.0] | nothing | `mia` by public | 62.0 [" in line
    assert "| not measurable | 50.0 [45.0, 55.0] | 0.20 (indicative) |" in line
    assert "| nothing | `nearest` by public | 0 | nothing to read |" in told
    assert tables(recorded(tmp_path), "CiteSeer", "fedgc") == ""


def test_show_writes_between_its_marks_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    file = recorded(tmp_path).file
    done = CliRunner().invoke(main, ["show", "--page", str(page), "--records", str(file)])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert text.startswith(f"before\n{START}\n\n### FedGC on Cora\n")
    assert text.endswith(f"\n\n{END}\nafter\n")
    assert "old" not in text


def test_a_page_without_marks_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    done = CliRunner().invoke(main, ["show", "--page", str(page), "--records", str(recorded(tmp_path).file)])
    assert done.exit_code == 1
    assert START in done.output
    assert page.read_text() == "nothing\n"


def test_the_page_shows_what_is_recorded(tmp_path):
    page = tmp_path / "findings.md"
    page.write_text(PAGE.read_text())
    records = RECORDED / "findings.jsonl"
    assert TrialRecords(records).trials
    done = CliRunner().invoke(main, ["show", "--page", str(page), "--records", str(records)])
    assert done.exit_code == 0, done.output
    assert page.read_text() == PAGE.read_text()
