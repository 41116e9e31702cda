"""Measured numbers beside published ones, and whether what a paper says in words was found again."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from ..audit.statistics.finding import Finding
from ..audit.statistics.metrics import mean_difference
from .experiment import Claim, Experiment, Measure, Place, Row
from .records import Record

At = int | float | str | None
BAR = 2.0
"""Points up to which a share agrees with the published one."""
ROUNDED = 1e-4
"""Points by which a mean of recorded shares may be off, since they have six decimals."""
TENTH = 0.1
"""Part of a published number that is no share up to which a measured one agrees with it."""
Verdict = Literal["within", "not told apart", "outside", ""]
TOLD = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "open": ("is open", "are open"),
}
"""How verdicts on statements begin, and what is said of one and of several such statements."""
OTHER_MACHINES = "The paper's numbers are of other machines, and no bar is set."


@dataclass(frozen=True)
class Number:
    """One measured number beside the published one, both as they are printed: shares in percent, bytes in MB.

    Attributes:
        dataset: graph.
        row: row.
        measure: what it is.
        at: place of the axis.
        values: of the seeds that ran.
        refused: seeds that could not run.
        published: by the paper, or None.
        reason: why they differ, as far as that is known.
    """

    dataset: str
    row: Row
    measure: Measure
    at: At
    values: tuple[float, ...]
    refused: int
    published: float | None
    reason: str

    @property
    def finding(self) -> Finding | None:
        """The mean over seeds with Student's t interval; None where nothing ran."""
        if not self.values:
            return None
        limits = (0.0, 100.0) if self.measure.percent else (-math.inf, math.inf)
        return mean_difference(self.values, [0.0] * len(self.values), metric=self.measure.name, limits=limits)

    @property
    def apart(self) -> float | None:
        """Measured less published; None where one of them is missing or no bar."""
        found = self.finding
        if found is None or found.estimate is None or self.published is None or not self.measure.compared:
            return None
        return found.estimate - self.published

    @property
    def verdict(self) -> Verdict:
        """Whether the measured mean is near the published number, or seeds scatter too much to say."""
        apart, found = self.apart, self.finding
        if apart is None or found is None or self.published is None:
            return ""
        bar = BAR + ROUNDED if self.measure.percent else TENTH * abs(self.published)
        if abs(apart) <= bar + 1e-9:
            return "within"
        inside = found.low is not None and found.high is not None and found.low <= self.published <= found.high
        return "not told apart" if inside else "outside"


def numbers(experiment: Experiment, records: Iterable[Record]) -> list[Number]:
    """All numbers of a table or figure, measured or published, in the order of the paper."""
    chosen = selected(records)
    found = []
    for dataset in experiment.datasets:
        for row in experiment.rows_on(dataset):
            for at in experiment.places(dataset, row):
                for measure in experiment.measures_of(row):
                    found.append(_number(experiment, chosen, dataset, row, measure, at))
    return found


def selected(records: Iterable[Record]) -> list[Record]:
    """Of trials that differ in tried settings alone the one with the best accuracy on validation nodes."""

    def cell(one: Record) -> tuple[str, ...]:
        return one.dataset, one.row, str(one.at), str(one.seed)

    groups = (list(group) for _, group in groupby(sorted(records, key=cell), key=cell))
    return [max(group, key=_worth) for group in groups]


def _worth(record: Record) -> float:
    return float("-inf") if record.refused or record.validation is None else record.validation


def _number(
    experiment: Experiment, records: Sequence[Record], dataset: str, row: Row, measure: Measure, at: At
) -> Number:
    here = [r for r in records if (r.dataset, r.row) == (dataset, row.name) and r.at in (None, at)]
    values = dict(_values(here, measure, at)).values()
    reasons = [r.why for r in experiment.reason if r.holds(dataset, row.name, measure.key, at)]
    published = experiment.publishes(dataset, row.name, measure.key, at)
    refused = sum(bool(r.refused) for r in here)
    return Number(dataset, row, measure, at, tuple(values), refused, published, " ".join(reasons))


def _values(records: Iterable[Record], measure: Measure, at: At) -> Iterator[tuple[int, float]]:
    """Seed and number, as it is printed."""
    for record in sorted(records, key=lambda one: one.seed):
        value = record.values.get(measure.key)
        if isinstance(value, dict):
            value = value.get(str(at))
        if value is not None:
            yield record.seed, measure.factor * value


@dataclass(frozen=True)
class Judged:
    """What became of a statement of the paper on one graph.

    Attributes:
        claim: the statement.
        dataset: graph.
        differences: what is said to be larger less what is said to be smaller, at each place of the axis.
    """

    claim: Claim
    dataset: str
    differences: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """Whether it holds at every place, as far as the seeds can tell."""
        if not self.differences:
            return "not measured"
        told = [_told(found, self.claim.by) for found in self.differences]
        total, wrong, right = len(told), told.count("wrong"), told.count("right")
        places = "" if total == 1 else f" at {wrong or right} of {total} places"
        if wrong:
            return f"does not hold{places}"
        return f"holds{places}" if right == total else f"open{'' if not right else f', holds{places}'}"


def _told(found: Finding, by: float) -> str:
    """One seed has no interval, so its order shows nothing."""
    if found.low is None or found.high is None:
        return "open"
    return "right" if found.low > by else "wrong" if found.high < by else "open"


def judged(experiment: Experiment, records: Iterable[Record]) -> list[Judged]:
    """Every statement of the paper that its plan lists, on every graph that it is about."""
    chosen = selected(records)
    return [
        Judged(claim, dataset, tuple(_differences(experiment, chosen, claim, dataset)))
        for claim in experiment.claim
        for dataset in claim.datasets or experiment.datasets
    ]


def _differences(
    experiment: Experiment, records: Sequence[Record], claim: Claim, dataset: str
) -> Iterator[Finding]:
    fixed = claim.larger.at is not None or claim.smaller.at is not None
    places = (None,) if fixed else experiment.places(dataset)
    level = 1 - 0.05 / len(places)  # that one of many places is off by chance contradicts nobody
    for at in places:
        larger, smaller = (
            _read(experiment, records, place, dataset, at) for place in (claim.larger, claim.smaller)
        )
        seeds = sorted(larger.keys() & smaller.keys())
        if seeds:
            yield mean_difference([larger[s] for s in seeds], [smaller[s] for s in seeds], level)


def _read(
    experiment: Experiment, records: Sequence[Record], place: Place, dataset: str, at: At
) -> dict[int, float]:
    at = place.at if place.at is not None else at
    row = place.row or experiment.row[0].name
    measure = next(m for m in experiment.measure if place.measure in (None, m.key))
    here = [r for r in records if (r.dataset, r.row) == (dataset, row) and r.at in (None, at)]
    return dict(_values(here, measure, at))


@dataclass(frozen=True)
class State:
    """How far a table or figure was reproduced, in a word and in sentences; why the worst number is missed."""

    word: Literal[
        "reproduced", "measured", "differs", "in part", "not run yet", "short runs", "needs data", "drawing"
    ]
    sentence: str
    why: str = ""


def state_of(experiment: Experiment, records: Sequence[Record]) -> State:
    """How far a table or figure was reproduced."""
    lacking = f"Needs data that gaudit lacks: {', '.join(experiment.lacking)}." if experiment.lacking else ""
    if experiment.kind == "drawing":
        return State("drawing", "There is nothing to run.")
    if not experiment.datasets or not experiment.row:
        return State("needs data", lacking)
    if not records:
        return State("not run yet", lacking)
    if any(record.quick for record in records):
        return State("short runs", "These numbers are a first look and no reproduction.")
    found = numbers(experiment, records)
    compared = [n for n in found if n.verdict]
    outside = [n for n in compared if n.verdict == "outside"]
    open_ = [n for n in compared if n.verdict == "not told apart"]
    statements = [j for j in judged(experiment, records) if j.differences]
    broken = [j for j in statements if j.verdict.startswith("does not hold")]
    said = [*_of_numbers(len(compared), outside, len(open_)), *_of_claims(statements)]
    missing = [n for n in found if n.published is not None and not n.values and n.measure.compared]
    if missing:
        said.append(
            f"{_counted(len(missing), 'published number')} {'is' if len(missing) == 1 else 'are'} not measured."
        )
    word: Any = "reproduced" if said else "measured"
    if not said:
        printed = any(n.published is not None for n in found)
        said.append(OTHER_MACHINES if printed else "The paper prints no number to compare with.")
    not_run = _not_run(experiment, found)
    said += [f"Left to run: {not_run}."] if not_run else []
    undecided = missing or open_ or not_run or any(j.verdict.startswith("open") for j in statements)
    if outside or broken or undecided:
        word = "differs" if outside or broken else "in part"
    return State(word, " ".join(filter(None, [*said, lacking])), _worst(outside).reason if outside else "")


def _not_run(experiment: Experiment, found: Sequence[Number]) -> str:
    """The paper's rows of a figure that lack a number; of a table the missing published numbers say it."""
    if experiment.kind != "figure":
        return ""
    parts = []
    for dataset in experiment.datasets:
        own = [n for n in found if n.dataset == dataset and not n.row.ours]
        rows = dict.fromkeys(n.row.name for n in own)
        left = dict.fromkeys(n.row.name for n in own if not n.values and not n.refused)
        if left:
            untouched = not any(n.values or n.refused for n in own)
            parts.append(dataset if untouched and left == rows else f"{', '.join(left)} on {dataset}")
    return "; ".join(parts)


def _of_numbers(compared: int, outside: Sequence[Number], open_: int) -> Iterator[str]:
    if not compared:
        return
    within = compared - len(outside) - open_
    yield f"{within} of {_counted(compared, 'published number')} {'is' if compared == 1 else 'are'} met."
    if open_:
        yield f"{open_} cannot be told apart from the measured ones."
    if outside:
        worst = _worst(outside)
        place = ", ".join(filter(None, [worst.dataset, worst.row.name, "" if worst.at is None else str(worst.at)]))
        are = "is" if len(outside) == 1 else "are"
        yield f"{len(outside)} {are} missed, most by {worst.apart:+.1f} ({place}, {worst.measure.name})."


def _worst(outside: Sequence[Number]) -> Number:
    return max(outside, key=lambda n: abs(n.apart or 0.0))


def _of_claims(statements: Sequence[Judged]) -> Iterator[str]:
    counts = Counter(next(verdict for verdict in TOLD if one.verdict.startswith(verdict)) for one in statements)
    told = [f"{counts[v]} {one if counts[v] == 1 else many}" for v, (one, many) in TOLD.items() if counts[v]]
    if len(told) == 1:
        yield f"{_counted(len(statements), 'statement')} {told[0].partition(' ')[2]}."
    elif told:
        yield f"Of {len(statements)} statements {', '.join(told[:-1])} and {told[-1]}."


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
