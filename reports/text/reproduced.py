"""A published table or figure beside what was measured, in tables and sentences."""

from collections.abc import Iterator, Mapping, Sequence

from ...reproductions.comparison import BAR, At, Number, judged, numbers
from ...reproductions.experiment import Experiment, Measure, Row
from ...reproductions.records import Record
from .table import Table

MISSING = "not run"
OURS = "*"
"""Marks rows that the paper lacks."""
HOW_TO_READ = (
    "Measured numbers are means over seeds with Student's 95 % intervals. A number is met where the mean is within "
    f"{BAR:g} points of the published one, or within a tenth of it where it is no percentage. It is not told apart "
    "where it is further away and the published number lies within the interval. A number without an interval is "
    "of one seed. A statement is open where the seeds do not show an order. Rows with a star are not in the paper."
)


def heading(experiment: Experiment) -> str:
    """What it is, in a line."""
    return f"{experiment.called}: {experiment.title}"


def reproduced_tables(experiment: Experiment, records: Sequence[Record], columns: int = 100) -> Iterator[Table]:
    """Measured beside published: for each graph one table, and for each measure where there is an axis.

    A table with more than so many ``columns`` has a line for each number in their place.
    """
    every = numbers(experiment, records)
    for dataset in experiment.datasets:
        here = [n for n in every if n.dataset == dataset]
        if not any(n.values or n.refused for n in here):
            continue
        if experiment.axis is None:
            wide = _by_measure(experiment, dataset, here)
            yield wide if len(wide.columns) <= columns else _number_by_number(dataset, here)
        else:
            for measure in experiment.measure:
                own = [n for n in here if n.measure.key == measure.key]
                if any(n.values for n in own):
                    yield _by_place(experiment, dataset, measure, own)


def _by_measure(experiment: Experiment, dataset: str, found: Sequence[Number]) -> Table:
    """A row for each way to run, and for each measure its number, the published one and the verdict."""
    measures = [m for m in experiment.measure if any(n.measure.key == m.key and n.values for n in found)]
    beside = {m.key for m in measures if any(n.measure.key == m.key and n.published is not None for n in found)}
    columns = ["", "seeds"]
    for measure in measures:
        columns += [measure.name, "published"] if measure.key in beside else [measure.name]
    rows = []
    for row in _rows(experiment, dataset, found):
        own = {n.measure.key: n for n in found if n.row.name == row.name}
        cells = [_row_name(row.name, row.ours), _seeds(list(own.values()))]
        for measure in measures:
            cells += _cells(own.get(measure.key))[: 2 if measure.key in beside else 1]
        rows.append(tuple(cells))
    return Table(dataset, tuple(columns), tuple(rows), tuple(range(1, len(columns))))


def _number_by_number(dataset: str, found: Sequence[Number]) -> Table:
    rows = []
    for number in found:
        if number.values or number.published is not None:
            cells = _row_name(number.row.name, number.row.ours), number.measure.name, _seeds([number])
            rows.append((*cells, *_cells(number)))
    return Table(dataset, ("", "what", "seeds", "measured", "published"), tuple(rows), (2, 3, 4))


def _by_place(experiment: Experiment, dataset: str, measure: Measure, found: Sequence[Number]) -> Table:
    """A row for each way to run, and for each place of the axis the measured and the published number."""
    assert experiment.axis is not None
    places = experiment.places(dataset)
    beside = any(n.published is not None for n in found)
    columns = ["", "seeds"]
    for at in places:
        columns += [f"{experiment.axis.name} {at}", "published"] if beside else [f"{experiment.axis.name} {at}"]
    rows = []
    for row in _rows(experiment, dataset, found):
        own: dict[At, Number] = {n.at: n for n in found if n.row.name == row.name}
        cells = [_row_name(row.name, row.ours), _seeds(list(own.values()))]
        for at in places:
            cells += _cells(own.get(at, own.get(None)))[: 2 if beside else 1]
        rows.append(tuple(cells))
    return Table(f"{dataset}: {measure.name}", tuple(columns), tuple(rows), tuple(range(1, len(columns))))


def _rows(experiment: Experiment, dataset: str, found: Sequence[Number]) -> list[Row]:
    """Rows that have run or that the paper has a number for."""
    filled = {n.row.name for n in found if n.values or n.refused or n.published is not None}
    return [row for row in experiment.rows_on(dataset) if row.name in filled]


def _row_name(name: str, ours: bool) -> str:
    return f"{name} {OURS}" if ours else name


def _seeds(found: Sequence[Number]) -> str:
    counts = [len(n.values) for n in found if n.values] or [0]
    refused = max((n.refused for n in found), default=0)
    ran = str(max(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"{ran} ({refused} could not run)" if refused else ran


def _cells(number: Number | None) -> tuple[str, str]:
    """The measured number, and the published one with the verdict."""
    if number is None:
        return "", ""
    finding, digits, apart = number.finding, _digits(number.measure), number.apart
    measured = (MISSING if number.published is not None else "") if finding is None else finding.text(digits)
    published = "" if number.published is None else f"{number.published:g}"
    if apart is None:
        return measured, published
    missed = f"missed by {apart:+.{digits}f}" if number.verdict == "outside" else number.verdict
    return measured, f"{published} ({'met' if number.verdict == 'within' else missed})"


def _digits(measure: Measure) -> int:
    if measure.percent or measure.of == "bytes":
        return 1
    return 0 if measure.of == "seconds" else 3


def statements(experiment: Experiment, records: Sequence[Record]) -> tuple[list[str], list[str]]:
    """What the paper says in words, and on which graphs it was found again.

    The second list has those of which the seeds show nothing, on any graph and at any place of the axis.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for one in judged(experiment, records):
        if one.differences:
            found.setdefault(one.claim.says, {}).setdefault(one.verdict, []).append(one.dataset)
    decided: list[str] = []
    open_: list[str] = []
    for says, of in found.items():
        (open_ if set(of) == {"open"} else decided).append(_said(says, of))
    return decided, open_


def _said(says: str, of: Mapping[str, Sequence[str]]) -> str:
    return f"{says} {'; '.join(f'{_listed(where)}: {verdict}' for verdict, where in of.items())}."


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def reasons(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """Why numbers differ, each reason once; those of a graph only where something was measured on it."""
    measured = {record.dataset for record in records}
    told = (r.why for r in experiment.reason if r.dataset is None or r.dataset in measured)
    return list(dict.fromkeys(told))
