"""Peak memory of an audit of many trials, and of its report, beside those of few.

    python benchmarks/trial_memory.py                # 500 trials on two workers, beside 50

An audit of each size runs in a process of its own, with workers beside it; the resident memory of all of them is
read five times a second. A report of each ledger is then written in a process of its own in every format.
"""

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click

PLAN = """
name = "memory"
datasets = ["citations"]
seeds = {seeds}
alternatives = false
target = [{{ name = "classifier", settings = {{ recipe = {{ hidden = 16, epochs = 10 }} }} }}]
defense = [{{ name = "label-noise", strengths = [0.5, 1.0, 2.0, 4.0] }}]
attack = [{{ name = "loss" }}, {{ name = "rmia-offline", settings = {{ shadows = 4 }} }}]
"""
VARIANTS = 5
GAUDIT = (sys.executable, "-c", "from gaudit.commands.main import main; main()")
PAUSE = 0.2
MIB = 2**20


@click.command()
@click.option("--trials", "sizes", type=int, multiple=True, default=(50, 500), show_default=True)
@click.option("--workers", default=2, show_default=True)
def main(sizes: tuple[int, ...], workers: int) -> None:
    """Measure each size and print a row for it."""
    click.echo("| trials | audit, MiB | its workers, MiB | a worker's growth after its first tenth | report, MiB |")
    click.echo("|---:|---:|---|---|---|")
    for trials in sizes:
        with TemporaryDirectory() as folder:
            click.echo(measured(Path(folder), trials, workers))


def measured(folder: Path, trials: int, workers: int) -> str:
    plan, ledger = folder / "plan.toml", folder / "audit.db"
    plan.write_text(PLAN.format(seeds=trials // VARIANTS))
    audit, beside, growth = audited(plan, ledger, workers)
    reports = {ending: written(ledger, folder / f"report.{ending}") for ending in ("json", "html", "md", "csv")}
    cells = (
        f"{trials}",
        f"{audit:.0f}",
        ", ".join(f"{peak:.0f}" for peak in beside),
        ", ".join(f"{more:+.0f}" for more in growth),
        ", ".join(f"{ending} {peak:.0f}" for ending, peak in reports.items()),
    )
    return f"| {' | '.join(cells)} |"


def audited(plan: Path, ledger: Path, workers: int) -> tuple[float, list[float], list[float]]:
    """Peak memory of an audit and of each worker, and how much a worker grew after a tenth of its samples."""
    command = [*GAUDIT, "audit", str(plan), "--ledger", str(ledger), "--workers", str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen: dict[int, list[float]] = defaultdict(list)
    while process.poll() is None:
        for pid in (process.pid, *children(process.pid)):
            seen[pid].append(resident(pid))
        time.sleep(PAUSE)
    if process.returncode:
        raise click.ClickException(f"the audit ended with exit code {process.returncode}")
    audit = max(seen.pop(process.pid))
    computing = sorted(seen.values(), key=max)[-workers:]
    growth = [max(of) - max(of[: max(1, len(of) // 10)]) for of in computing]
    return audit, [max(of) for of in computing], growth


def children(parent: int) -> Iterator[int]:
    for place in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            yield from map(int, place.read_text().split())
        except OSError:  # the thread has ended
            continue


def resident(pid: int) -> float:
    """Resident memory of a process, in MiB; 0 where it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def written(ledger: Path, output: Path) -> float:
    """Peak memory of writing a report, in MiB."""
    process = subprocess.Popen([*GAUDIT, "report", str(ledger), "-o", str(output)], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise click.ClickException(f"the report ended with status {status}")
    return used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
