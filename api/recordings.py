"""Audits of runs that were recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..audit.planning.recorded_plan import recorded_plan
from .own_graph import graph_given
from .result import Result
from .running import attack_names, folder_for_what_is_at_hand, plain_recipe, run_plan

if TYPE_CHECKING:
    from torch_geometric.data import Data


def recorded(
    recordings: str | Path | Sequence[str | Path],
    *,
    data: Data | str | Path,
    members: Any = None,
    non_members: Any = None,
    holders: Any = None,
    recipe: Mapping[str, Any] | None = None,
    game: str | None = None,
    attacks: str | Sequence[str] = "auto",
    observer: str | None = None,
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: bool = True,
) -> Result:
    """Audits runs that were recorded (`gaudit.recording`): do their messages tell who or what was in the data?

    Args:
        recordings: folders or files; several are repetitions.
        data: the private graph, its file, or a dataset's name.
        members: as in `audit`; those that a recording names come first.
        non_members: as in `audit`.
        holders: the number of the client that holds each node [n], -1 for none, or the .npy file that says so; else
            what the recording or the graph says. With it links and lone nodes are in question too.
        recipe: how the models were trained (`TrainingConfig`), where the recordings do not say and you know.
        game: which membership is in question, where they do not say.
        attacks: names, or ``auto`` for all that read something of what was sent.
        observer: who attacks; by default who sees what an attack reads.
        seed: root of all randomness.
        ledger: file to keep every trial in.
        progress: show how far it is.

    Raises:
        InputError: something does not fit, in one line.

    Example:
        >>> gaudit.recorded("run/", data=graph, holders=owner).table()    # doctest: +SKIP
    """
    paths = [recordings] if isinstance(recordings, str | Path) else list(recordings)
    name, graph = graph_given(data, members, non_members)
    with folder_for_what_is_at_hand() as folder:
        told = {"game": game, "recipe": None if recipe is None else plain_recipe(recipe)}
        plan = recorded_plan(
            [str(path) for path in paths],
            name,
            None if holders is None else str(_holders_file(holders, folder)),
            () if attacks == "auto" else attack_names(attacks),
            observer,
            {key: value for key, value in told.items() if value is not None},
            seed=seed,
            at_hand=True,
        )
        return run_plan(plan, {name: graph}, None, ledger, progress)


def _holders_file(holders: Any, folder: Path) -> Path:
    if isinstance(holders, str | Path):
        return Path(holders)
    np.save(folder / "holders.npy", np.asarray(holders), allow_pickle=False)
    return folder / "holders.npy"
