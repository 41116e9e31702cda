"""Plans of one target, run at once in this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..audit.planning.grid import laid_out
from ..audit.planning.plan import Plan
from ..audit.results.assemble import assemble
from ..audit.running.ledger import Ledger
from ..audit.running.runner import run_audit
from ..errors import InputError
from ..registry import registered
from ..reports.console.progress import staged
from .result import Result

if TYPE_CHECKING:
    from torch_geometric.data import Data


@contextmanager
def folder_for_what_is_at_hand() -> Iterator[Path]:
    """A folder for files that are made of a caller's own objects; errors call the objects, not the files."""
    with TemporaryDirectory(prefix="gaudit-") as folder:
        try:
            yield Path(folder)
        except InputError as error:
            place = re.compile(rf"{re.escape(folder)}/([\w-]+)\.\w+")
            raise InputError(place.sub(lambda found: f"the {found[1].replace('-', ' ')}", str(error))) from error


def run_target(
    target: str,
    settings: Mapping[str, Any],
    attacks: Sequence[Mapping[str, Any]],
    seeds: int,
    seed: int,
    graphs: Mapping[str, Data],
    workers: int | None,
    ledger: str | Path | None,
    progress: bool,
) -> Result:
    """Runs a plan of one target in this process; its shadow models are trained side by side."""
    content = {
        "name": target,
        "datasets": tuple(graphs) or ("citations",),
        "seeds": seeds,
        "seed": seed,
        "alternatives": False,
        "target": ({"name": target, "settings": dict(settings)},),
        "attack": tuple(attacks),
    }
    return run_plan(Plan.checked("audit", content), graphs, workers, ledger, progress)


def run_plan(
    plan: Plan, graphs: Mapping[str, Data], workers: int | None, ledger: str | Path | None, progress: bool
) -> Result:
    """Runs a plan in this process, and gives its results.

    Raises:
        InputError: a trial failed, for its reason.
    """
    grid = laid_out(plan, graphs)
    folder = TemporaryDirectory(prefix="gaudit-") if ledger is None else None
    place = Path(folder.name) / "audit.db" if folder is not None else Path(str(ledger))
    with Ledger(place, write=True) as book:
        if progress:
            with staged() as report:
                _trials(plan, grid, book, workers, report)
        else:
            _trials(plan, grid, book, workers, None)
        found = assemble(book.content(trust_code=True))
    for failure in found.failures:
        raise InputError(failure.reason)
    return Result(found, place, folder)


def _trials(plan: Plan, grid: Any, book: Ledger, workers: int | None, report: Callable[..., None] | None) -> None:
    run_audit(plan, grid, book, lambda task, done: None, workers, report=report, here=True, retry=True)


def attack_names(attacks: str | Sequence[str]) -> tuple[str, ...]:
    """The attacks that somebody named, one or several.

    Raises:
        InputError: none.
    """
    names = (attacks,) if isinstance(attacks, str) else tuple(attacks)
    if not names:
        raise InputError(f"no attack is named: known are {', '.join(registered('attacks'))}")
    return names


def plain_recipe(recipe: Mapping[str, Any] | Any) -> dict[str, Any]:
    """A recipe (`TrainingConfig`) as settings hold it."""
    return dict(recipe) if isinstance(recipe, Mapping) else recipe.model_dump()
