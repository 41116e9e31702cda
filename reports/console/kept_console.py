"""What a published network keeps, as a table on a terminal."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from ...graphs.measures.utility import Kept
from ..text.kept_text import kept_cells, kept_note


def kept_lines(kept: Sequence[Kept]) -> Table:
    """What a published network keeps, measure by measure."""
    title, note = "What is kept (100 %: as in the original)", kept_note(kept)
    table = Table(title=title, title_justify="left", caption=escape(note) or None, caption_justify="left")
    for column in ("measure", "before", "after", "kept %"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for one in kept:
        table.add_row(one.name, *map(escape, kept_cells(one)))
    return table
