"""Exports of two audits of one plan are the same bytes; what differs between them is apart."""

import csv
import io

import pytest

from gaudit.audit.results.assemble import read_audit
from gaudit.audit.results.audit_result import Audit
from gaudit.audit.running.ledger import Ledger
from gaudit.audit.running.serialization import dumps
from gaudit.registry import find, registered
from support.audits import parts

LEAKS = {("none", None): (1.2, 0.8), ("label-noise", 1.0): (0.4, 0.7)}


@pytest.fixture(scope="module")
def audits(tmp_path_factory) -> list[Audit]:
    """Two audits of one plan from their ledgers: in another order and other times, with the same failure."""
    folder = tmp_path_factory.mktemp("ledgers")
    found = []
    for number, step in enumerate((1, -1)):
        plan, grid, results = parts(LEAKS, seeds=3)
        path = folder / f"{number}.db"
        with Ledger(path, write=True) as ledger:
            ledger.begin(plan, grid)
            ledger.note_failure(grid.tasks[-1].key, "out of luck", 3.5 + number)
            for place, task in enumerate(grid.tasks[:-1][::step]):
                ledger.note_result(task.key, dumps(results[task.key]), 1.25 + number + place)
        found.append(read_audit(path))
    return found


@pytest.mark.parametrize("name", sorted(set(registered("formats")) - {"timings"}))
def test_two_audits_of_one_plan_give_the_same_bytes(audits, name):
    one, other = (find("formats", name)(audit) for audit in audits)
    assert one == other
    assert len(one) > 100


def test_times_have_an_export_of_their_own(audits):
    one, other = (list(csv.DictReader(io.StringIO(find("formats", "timings")(audit)))) for audit in audits)
    assert len({row["trial"] for row in one}) == len(one) == 7
    assert sum(float(row["cpu_seconds"]) for row in one) == pytest.approx(audits[0].seconds)
    assert [row["cpu_seconds"] for row in one if row["ended"] == "failed"] == ["3.500"]
    assert one != other
