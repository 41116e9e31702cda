"""A reproduced table or figure on a terminal: the answer first, then the numbers."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable

from ...reproductions.comparison import state_of
from ...reproductions.experiment import Experiment
from ...reproductions.records import Record
from ..text.reproduced import HOW_TO_READ, heading, reasons, reproduced_tables, statements
from ..text.table import Table
from .plain_console import say_on

MOST_COLUMNS = 8
"""Of a table on a terminal."""


def print_reproduction(console: Console, experiment: Experiment, records: Sequence[Record]) -> None:
    """State, tables, statements of the paper, reasons and conditions."""
    state = state_of(experiment, records)
    say_on(console, f"{heading(experiment)}.", "bold")
    say_on(console, f"State: {state.word}. {state.sentence}")
    for table in reproduced_tables(experiment, records, MOST_COLUMNS):
        console.print(_drawn(table))
    decided, undecided = statements(experiment, records)
    for title, lines in (
        ("Statements, and whether they hold:", decided + undecided),
        ("Why numbers differ, as far as we know:", reasons(experiment, records)),
        ("Conditions:", list(experiment.conditions)),
    ):
        if lines and records:
            say_on(console, title, "bold")
            for one in lines:
                say_on(console, f"- {one}")
    if records:
        say_on(console, HOW_TO_READ)


def print_catalogue(console: Console, listed: Sequence[tuple[Experiment, Sequence[Record]]]) -> None:
    """Every table and figure with its state."""
    table = RichTable()
    for column in ("name", "what", "state", "in words"):
        table.add_column(column, overflow="fold")
    for experiment, records in listed:
        state = state_of(experiment, records)
        words = " ".join(filter(None, [state.sentence, state.why]))
        table.add_row(experiment.name, experiment.title, state.word, words)
    console.print(table)


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(title=table.caption, title_justify="left")
    for place, column in enumerate(table.columns):
        drawn.add_column(column, justify="right" if place in table.numbers else "left")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn
