"""Audits of scores that another tool made."""

from pathlib import Path
from typing import Any

from ..errors import InputError
from .result import Result
from .running import folder_for_what_is_at_hand, run_target


def score(
    table: str | Path | Any,
    *,
    id: str = "id",
    member: str = "member",
    score: str = "score",
    run: str = "run",
    blind: str = "blind",
    stratum: str = "stratum",
    game: str = "auto",
    seed: int = 0,
    ledger: str | Path | None = None,
) -> Result:
    """Judges scores that another tool made, as gaudit's own attacks are judged: AUC, rates, levels, intervals.

    Args:
        table: a file (CSV, TSV, Parquet, npz), a pandas DataFrame, or a dictionary of columns.
        id: the column that names each person (for pairs there is ``id2`` beside it).
        member: the column that says who is a member: 1 or 0.
        score: the column of scores, the higher the likelier a member. Without it posteriors p0, p1, ... and a
            column ``label`` are scored by the log-probability of the label.
        run: the column that tells repetitions apart, if there is one.
        blind: the column of the same attack's scores without the release, if there is one.
        stratum: a column of what is public and tells members (a class): subjects are compared within it.
        game: ``label-membership``, ``node-presence`` or ``edge-presence``; ``auto`` takes pairs for edges.
        seed: of the permutations.
        ledger: file to keep it in.

    Raises:
        InputError: a column or a value is wrong, in one line that names it.

    Example:
        >>> gaudit.score("scores.csv").assert_below(tpr_at_1=0.05)    # doctest: +SKIP
    """
    from ..targets.external.scores import ScoresSettings, read_scores

    with folder_for_what_is_at_hand() as folder:
        file = table if isinstance(table, str | Path) else _table_file(table, folder)
        columns = {"id": id, "member": member, "score": score, "run": run, "blind": blind, "stratum": stratum}
        settings = {"file": str(file), **columns, "game": game}
        runs = len(read_scores(ScoresSettings.checked("target 'scores'", settings)).runs)
        planned = [{"name": "given-scores"}]
        return run_target("scores", settings, planned, runs, seed, {}, 1, ledger, False)


def _table_file(table: Any, folder: Path) -> Path:
    import pandas as pd

    place = folder / "table.csv"
    try:
        pd.DataFrame(table).to_csv(place, index=False, float_format="%.17g")
    except (TypeError, ValueError) as error:
        raise InputError(f"the table is neither a file nor columns of one length: {error}") from error
    return place
