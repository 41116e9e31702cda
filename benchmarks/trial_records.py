"""Trials of a benchmark, one line of JSON each: added when they are done, kept beside the benchmark, shown later.

A trial is made once: what the file holds already is not run again, on whatever machine it ran.
"""

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.stats import t as student

RECORDED = Path(__file__).parent / "recorded"


class TrialRecords:
    """The file; a trial's name says all that makes it another one: dataset, method, seed, and so on."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @cached_property
    def trials(self) -> dict[str, dict[str, Any]]:
        """Every trial by its name, in the order of names; of two with one name, the later.

        Raises:
            click.ClickException: a line is not what `make` writes, such as one that was cut short.
        """
        found = {}
        for number, line in enumerate(self.file.read_text().splitlines() if self.file.exists() else [], 1):
            try:
                one = json.loads(line)
                found[one.pop("trial")] = one
            except (ValueError, KeyError, AttributeError) as error:
                raise click.ClickException(f"{self.file}, line {number} is no recorded trial: remove it") from error
        return dict(sorted(found.items()))

    def make(self, name: str, run: Callable[[], dict[str, Any]]) -> None:
        """Run the trial, unless the file holds it by now, and add its line at once."""
        if name in TrialRecords(self.file).trials:  # another process may have made it
            return
        found = run()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as file:
            file.write(json.dumps({"trial": name, **found}) + "\n")
        click.echo(f"{name} recorded: {found.get('accuracy', found)}")

    def seeds(self, name: str) -> list[dict[str, Any]]:
        """The trials of this name with each of the seeds that follow it."""
        return [found for trial, found in self.trials.items() if trial.rsplit(" ", 1)[0] == name]


def records_option(benchmark: str) -> Callable[..., Any]:
    """The option ``--records`` of a benchmark, whose file lies in ``recorded`` unless another one is named."""
    return click.option(
        "--records",
        type=click.Path(path_type=Path),
        default=RECORDED / f"{benchmark}.jsonl",
        show_default=f"recorded/{benchmark}.jsonl",
        callback=lambda context, parameter, file: TrialRecords(file),
        help="Where trials are kept; those that it holds are not run again.",
    )


def percent(shares: list[float]) -> str:
    """The mean over seeds in percent, with its 95 % interval by Student's t."""
    mean, half = _over_seeds(shares)
    return f"{mean:.1f}" if half is None else f"{mean:.1f} [{max(mean - half, 0):.1f}, {min(mean + half, 100):.1f}]"


def points(differences: list[float]) -> str:
    """The mean over seeds of differences of shares, in points, with its 95 % interval by Student's t."""
    mean, half = _over_seeds(differences)
    return f"{mean:+.1f}" if half is None else f"{mean:+.1f} [{mean - half:+.1f}, {mean + half:+.1f}]"


def _over_seeds(values: list[float]) -> tuple[float, float | None]:
    """Hundred times the mean, and half of its interval where there are two at least."""
    mean = 100 * float(np.mean(values))
    if len(values) < 2:
        return mean, None
    return mean, float(student.ppf(0.975, len(values) - 1) * 100 * np.std(values, ddof=1) / len(values) ** 0.5)
