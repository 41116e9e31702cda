"""A paper's tables and figures as a page of Markdown: what holds and what does not, then the numbers."""

from collections.abc import Iterator, Mapping, Sequence

from ...reproductions.catalogue import paper_of
from ...reproductions.comparison import state_of
from ...reproductions.experiment import Experiment
from ...reproductions.records import Record
from ..text.reproduced import HOW_TO_READ, heading, reasons, reproduced_tables, statements
from ..text.table import Table

MADE = "<!-- made by gaudit reproduce {paper} --recorded -o FILE: change the plan files, not this page -->"
SHARED = "Conditions of several tables and figures"
OPEN = "Statements of which too few seeds were run, or which they leave open"


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
            yield from ("", f"**{title}**", "", *(f"- {point}" for point in said))
    yield from ("", "## Every table and figure", "", "```", f"gaudit reproduce {paper} --recorded", "```", "")
    yield from _rows(("item", "about", "state"), (_overview(*one) for one in found))
    yield from ("", HOW_TO_READ)
    shown = [experiment for experiment, records in found if records]
    shared = _shared(shown)
    if shared:
        yield from _folded(SHARED, [f"{line} ({_together(items)})" for line, items in shared.items()])
    for experiment, records in found:
        if records:
            yield ""
            yield from part_of(experiment, records, figures, frozenset(shared))


def _shared(experiments: Sequence[Experiment]) -> dict[str, list[str]]:
    """Conditions that hold of more than one table or figure, and of which."""
    of: dict[str, list[str]] = {}
    for experiment in experiments:
        for line in experiment.conditions:
            of.setdefault(line, []).append(experiment.called)
    return {line: items for line, items in of.items() if len(items) > 1}


def _together(called: Sequence[str]) -> str:
    """Table 2, Figures 5, 7: the word for a kind of item stands once."""
    numbers_of: dict[str, list[str]] = {}
    for one in called:
        word, number = one.split()
        numbers_of.setdefault(word, []).append(number)
    return ", ".join(
        f"{word}{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}" for word, numbers in numbers_of.items()
    )


def _folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """A list that is closed at first: who compares needs it, and who reads does not."""
    yield from ("", f'??? note "{title}"', "", *(f"    - {line}" for line in lines))


def _overview(experiment: Experiment, records: Sequence[Record]) -> tuple[str, str, str]:
    """A table or figure in a line: its state in a word where a part of the page says more."""
    state = state_of(experiment, records).word.capitalize() if records else _state(experiment, records)
    return f"`{experiment.name}`", experiment.title, state


def _state(experiment: Experiment, records: Sequence[Record]) -> str:
    state = state_of(experiment, records)
    return f"{state.word.capitalize()}. {state.sentence}"


def part_of(
    experiment: Experiment,
    records: Sequence[Record],
    figures: Mapping[str, str] | None = None,
    told: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """One table or figure; conditions that are ``told`` already are left out."""
    yield f"## {heading(experiment)}"
    yield from ("", _state(experiment, records))
    yield from ("", "```", f"gaudit reproduce {experiment.name}", "```")
    if experiment.name in (figures or {}):
        yield from ("", f"![{experiment.title}]({(figures or {})[experiment.name]})")
    for table in reproduced_tables(experiment, records):
        yield from ("", f"**{table.caption}**", "")
        yield from _table(table)
    decided, undecided = statements(experiment, records)
    for title, lines in (
        ("Statements", decided),
        ("Why numbers differ, as far as we know", reasons(experiment, records)),
    ):
        if lines:
            yield from ("", f"{title}:", "", *(f"- {line}" for line in lines))
    if undecided:
        yield from _folded(OPEN, undecided)
    own = [line for line in experiment.conditions if line not in told]
    if own:
        yield from _folded("Conditions of this one alone" if told else "Conditions", own)


def _table(table: Table) -> Iterator[str]:
    return _rows(table.columns, table.rows)


def _rows(head: Sequence[str], rows: "Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]") -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
