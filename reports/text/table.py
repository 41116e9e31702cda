"""A table of words and numbers, ready to be shown in any format."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of text; a cell that is a `Level` may be shown as one.

    Attributes:
        caption: what it shows.
        columns: their titles.
        rows: as many cells each; the first one names the row.
        numbers: indices of columns that are aligned as numbers.
        note: what belongs to all rows.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table '{self.caption}': each row needs {len(self.columns)} cells")
