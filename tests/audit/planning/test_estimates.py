"""What trials take, told before they run: what is refused, how many run side by side, how much memory there is."""

import pytest

from gaudit.audit.planning import estimates
from gaudit.audit.planning.estimates import costs_of, fitting, free_memory
from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.plan import Plan
from gaudit.errors import InputError

PLAN = {
    "datasets": ["karate"],
    "seeds": 3,
    "alternatives": False,
    "target": [{"name": "classifier"}],
    "attack": [{"name": "loss"}],
}


@pytest.fixture(scope="module")
def grid():
    return laid_out(Plan.checked("here", PLAN))


@pytest.fixture
def keys(grid):
    return {task.key for task in grid.tasks if task.cell >= 0}


def test_a_trial_that_does_not_fit_is_refused_in_a_line(grid, keys):
    with pytest.raises(InputError) as told:
        fitting(grid, keys, None, 0.25 * estimates.GIB)
    said = str(told.value)
    assert said.startswith("classifier on karate, none, seed ")
    assert "needs about 0.6 GiB of memory, and 0.2 are free" in said
    assert "--anyway" in said
    assert "\n" not in said


def test_as_many_as_were_asked_for_must_fit_together(grid, keys):
    need = max(cost.memory for cost in costs_of(grid, keys).values())
    assert fitting(grid, keys, 2, 2.5 * need) == 2
    with pytest.raises(InputError, match=r"3 trials side by side need about 1.7 GiB .* --workers 2, or --anyway"):
        fitting(grid, keys, 3, 2.5 * need)
    assert fitting(grid, keys, 64, 3.5 * need) == 64  # there are three trials


def test_fewer_run_side_by_side_where_nobody_said_how_many(grid, keys, monkeypatch):
    need = max(cost.memory for cost in costs_of(grid, keys).values())
    monkeypatch.setattr(estimates.os, "cpu_count", lambda: 64)
    assert fitting(grid, keys, None, 1.5 * need) == 1
    assert fitting(grid, keys, None, 3.5 * need) is None


def test_nothing_is_refused_where_nobody_tells_or_nothing_is_to_run(grid, keys):
    assert fitting(grid, keys, 5, None) == 5
    assert fitting(grid, set(), 5, 1.0) == 5


MACHINE = "MemTotal:       24000 kB\nMemFree:        100 kB\nMemAvailable:   16000 kB\n"


def test_the_least_of_what_the_system_tells_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(estimates, "MEMORY_INFO", tmp_path / "meminfo")
    monkeypatch.setattr(estimates, "GROUPS", tmp_path)
    assert free_memory() is None
    (tmp_path / "meminfo").write_text(MACHINE)
    assert free_memory() == 16000 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("3000000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 1000000\n")
    assert free_memory() == 16000 * 1024
    (tmp_path / "memory.max").write_text("8000000\n")
    assert free_memory() == 6_000_000
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("5000000\n")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("2000000\n")
    assert free_memory() == 3_000_000
