"""A paper's tables and figures as a page of Markdown: what holds and what does not, then the numbers."""

from collections.abc import Iterator, Mapping, Sequence

from ...reproductions.catalogue import paper_of
from ...reproductions.experiment import Experiment
from ...reproductions.records import Record
from ..text.reproduced import HOW_TO_READ, heading, reasons, reproduced_tables, state_line, statements
from ..text.table import Table

MADE = "<!-- made by gaudit reproduce {paper} --recorded -o FILE: change the plan files, not this page -->"


def page_of(
    paper: str, found: Sequence[tuple[Experiment, Sequence[Record]]], figures: Mapping[str, str] | None = None
) -> str:
    """The page of a paper; the same records give the same bytes.

    Args:
        paper: its folder.
        found: tables and figures with what was measured.
        figures: where drawings are, as the page links to them, by the name of the table or figure.
    """
    return "\n".join(_page(paper, found, figures or {})).strip() + "\n"


def _page(
    paper: str, found: Sequence[tuple[Experiment, Sequence[Record]]], figures: Mapping[str, str]
) -> Iterator[str]:
    about = paper_of(paper)
    yield from (f"# {about.name}, reproduced", "", MADE.format(paper=paper), "")
    yield f"{about.title} ({about.source})."
    if about.more:
        yield f"The page [how we read it]({about.more}) has the experiments that say why numbers differ."
    for title, said in (
        ("What holds", about.holds),
        ("What does not hold", about.differs),
        ("What we found", about.found),
    ):
        if said:
            yield from ("", f"**{title}.** {' '.join(said)}")
    yield from ("", "## Every table and figure", "", "```", f"gaudit reproduce {paper} --recorded", "```", "")
    yield from _rows(("item", "about", "state"), ((f"`{e.name}`", e.title, _state(e, r)) for e, r in found))
    yield from ("", HOW_TO_READ)
    for experiment, records in found:
        if records:
            yield ""
            yield from part_of(experiment, records, figures)


def _state(experiment: Experiment, records: Sequence[Record]) -> str:
    word, sentence = state_line(experiment, records)
    return f"{word.capitalize()}. {sentence}"


def part_of(
    experiment: Experiment, records: Sequence[Record], figures: Mapping[str, str] | None = None
) -> Iterator[str]:
    """One table or figure."""
    yield f"## {heading(experiment)}"
    yield from ("", _state(experiment, records))
    yield from ("", "```", f"gaudit reproduce {experiment.name}", "```")
    if experiment.name in (figures or {}):
        yield from ("", f"![{experiment.title}]({(figures or {})[experiment.name]})")
    for table in reproduced_tables(experiment, records):
        yield from ("", f"**{table.caption}**", "")
        yield from _table(table)
    for title, lines in (
        ("Statements, and whether they hold", statements(experiment, records)),
        ("Why numbers differ, as far as we know", reasons(experiment)),
    ):
        if lines:
            yield from ("", f"{title}:", "", *(f"- {line}" for line in lines))
    if experiment.conditions:  # folded: who compares needs them, and who reads does not
        yield from ("", '??? note "Conditions"', "", *(f"    - {line}" for line in experiment.conditions))


def _table(table: Table) -> Iterator[str]:
    return _rows(table.columns, table.rows)


def _rows(head: Sequence[str], rows: "Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]") -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
