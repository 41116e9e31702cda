"""Ledgers and baselines of simulated audits, as files."""

from pathlib import Path

from gaudit.audit.checks.baseline import Baseline
from gaudit.audit.running.ledger import Ledger
from gaudit.audit.running.serialization import dumps
from support.audits import parts, simulated

SEEDS = 5


def write_ledger(path: Path, leak: float, without: int = 0, **how) -> None:
    """Leaves a ledger of an undefended classifier's audit, without the last few trials."""
    plan, grid, results = parts({("none", None): (leak, 0.8)}, **{"seeds": SEEDS, **how})
    path.unlink(missing_ok=True)
    with Ledger(path, write=True) as ledger:
        ledger.begin(plan, grid)
        for task in grid.tasks[: len(grid.tasks) - without]:
            ledger.note_result(task.key, dumps(results[task.key]), 1.0)


def write_baseline(path: Path, leak: float) -> None:
    """Leaves a baseline that accepts such an audit."""
    audit = simulated({("none", None): (leak, 0.8)}, seeds=SEEDS)
    path.write_text(Baseline.of(audit, "first").text(), encoding="utf-8")
