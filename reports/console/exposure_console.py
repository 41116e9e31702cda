"""What each observer sees, as a table on a terminal."""

from collections.abc import Sequence

from rich.table import Table

from ...targets.transcript import Exposure
from ..text.exposed import readable_bytes, rounds_of


def exposure_table(rows: Sequence[Exposure]) -> Table:
    """Who sees what: message kinds x observers."""
    table = Table(title="What each observer sees", title_justify="left")
    for column in ("observer", "message kind", "messages", "bytes", "rounds", "readable"):
        table.add_column(column, justify="right" if column in ("messages", "bytes") else "left")
    before = None
    for row in rows:
        if before not in (None, row.observer):
            table.add_section()
        table.add_row(
            row.observer if row.observer != before else "",
            row.kind,
            f"{row.count:,}",
            readable_bytes(row.nbytes),
            rounds_of(row),
            "yes" if row.readable else "sealed",
        )
        before = row.observer
    return table
