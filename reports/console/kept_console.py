"""What a published network keeps, as a table on a terminal."""

from collections.abc import Sequence

from rich.table import Table

from ...graphs.measures.utility import Kept


def kept_lines(kept: Sequence[Kept]) -> Table:
    """What a published network keeps, measure by measure."""
    table = Table(title="What is kept (100 %: as in the original)", title_justify="left")
    for column in ("measure", "before", "after", "kept %"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for one in kept:
        table.add_row(one.name, f"{one.before:.4g}", f"{one.after:.4g}", f"{100 * one.score:.1f}")
    return table
