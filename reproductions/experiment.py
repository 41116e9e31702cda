"""A published table or figure as a plan file: what to run, what to read off each run, and what the paper prints.

A row is a way to run a system, a measure is a number that is read off a run, and an axis is a setting that takes
several values. A cell is a row on a graph at a place of the axis; it is run with several seeds.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import ConfigDict, Field, field_validator, model_validator

from ..errors import unknown_name
from ..settings import Settings
from ..untrusted import read_text, toml_of

LARGEST_PLAN = 2**18
"""Bytes of a plan file."""
GRAPH = "graph"
"""The row of statistics: the graph itself."""
COUNTED = ("nodes", "edges", "features", "classes")
"""What statistics count."""
Kind = Literal["table", "figure", "statistics", "drawing"]
Read = Literal[
    "accuracy",
    "before-tuning",
    "validation",
    "auc",
    "plain-auc",
    "tpr",
    "average-precision",
    "even-average-precision",
    "precision",
    "transfer",
    "figure",
    "seconds",
    "bytes",
]
SHARES = frozenset(get_args(Read)) - {"figure", "seconds", "bytes"}
"""What is a share of one and is printed in percent."""
MB_PER_BYTE = 1e-6
OF_ATTACKS = frozenset({"auc", "plain-auc", "tpr", "average-precision", "even-average-precision", "precision"})


class Measure(Settings):
    """A number that is read off each run.

    Attributes:
        key: by which published values name it.
        name: the head of its column.
        of: what is read: the test accuracy of the release that validation chose (``accuracy``), that before local
            tuning, the validation accuracy, an attack's AUC (``auc`` within what is public, ``plain-auc`` over
            all subjects, as papers have it), its true-positive rate over all subjects at 1 % false positives, its
            average precision at the true prevalence or at as many members as others (``even-average-precision``),
            its precision at as many guesses as there are members, the accuracy of another architecture
            (``transfer``), a figure that the run tells, the CPU seconds of the trial, or the bytes of all
            messages that the observer sees.
        named: the architecture of ``transfer``, or the name of a ``figure``.
        attack: whose number it is.
        observer: who mounts it, or whose messages are counted.
        settings: of the attack.
        within: attributes of the subjects that count, such as client = "0".
        blind: the same attack without the release.
        release: the release that is read: the one that validation chose, the first, or the last.
        compared: whether a published value is a bar; times of other machines are none.
        share: whether a ``figure`` is a share of one, to be printed in percent.
    """

    key: str
    name: str
    of: Read = "accuracy"
    named: str | None = None
    attack: str | None = None
    observer: str = "public"
    settings: dict[str, Any] = Field(default_factory=dict)
    within: dict[str, str] = Field(default_factory=dict)
    blind: bool = False
    release: Literal["chosen", "first", "last"] = "chosen"
    compared: bool = True
    share: bool = False

    @property
    def percent(self) -> bool:
        """Whether it is a share of one and is printed in percent."""
        return self.share or self.of in SHARES

    @property
    def factor(self) -> float:
        """What a recorded number is multiplied with to be printed: shares in percent, bytes in MB."""
        return 100.0 if self.percent else MB_PER_BYTE if self.of == "bytes" else 1.0

    @model_validator(mode="after")
    def _names_what_it_reads(self) -> Self:
        if (self.of in OF_ATTACKS) != (self.attack is not None):
            raise ValueError(f"the measure '{self.key}' reads {self.of}: it names an attack if that is an attack's")
        if self.of in ("transfer", "figure") and self.named is None:
            raise ValueError(f"the measure '{self.key}' reads a {self.of}: say which with 'named'")
        return self


class Row(Settings):
    """One way to run a system.

    Attributes:
        name: as the table calls it.
        target: a registered target.
        like: names of settings that several rows share (`Experiment.base`), laid on one another in this order.
        settings: besides its preset ``paper`` and those.
        on: settings on one graph alone, by its name.
        defense: a registered defense.
        strength: its settings; "none" stands for no value, which TOML cannot write.
        tried: values of settings of which validation accuracy chooses in each trial, where the paper is silent.
        datasets: graphs that it runs on; all by default.
        measures: keys of the measures that are read off it; all by default.
        ours: a row that the paper lacks, such as a trivial alternative.
        once: whether the axis does not concern it: it is run at a single place and printed once.
    """

    name: str
    target: str
    like: tuple[str, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    on: dict[str, dict[str, Any]] = Field(default_factory=dict)
    defense: str = "none"
    strength: dict[str, Any] = Field(default_factory=dict)
    tried: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    datasets: tuple[str, ...] | None = None
    measures: tuple[str, ...] | None = None
    ours: bool = False
    once: bool = False

    @field_validator("strength")
    @classmethod
    def _no_value(cls, strength: dict[str, Any]) -> dict[str, Any]:
        return {name: None if value == "none" else value for name, value in strength.items()}


class Axis(Settings):
    """A setting that takes several values; they are the columns of a table or the abscissa of a figure.

    Attributes:
        name: as a reader calls it.
        setting: of the target, with dots into nested ones; ``defense.`` before it means the defense's; ``round``
            means the releases of one run.
        values: in the order of the paper.
        by_target: the setting where one target calls it otherwise, by the target's name.
        on: values on one graph alone, by its name.
    """

    name: str
    setting: str
    by_target: dict[str, str] = Field(default_factory=dict)
    values: tuple[int | float | str, ...] = Field(min_length=1)
    on: dict[str, tuple[int | float | str, ...]] = Field(default_factory=dict)

    def values_on(self, dataset: str) -> tuple[int | float | str, ...]:
        """Values on a graph."""
        return self.on.get(dataset, self.values)

    def setting_of(self, target: str) -> str:
        """What a target calls it."""
        return self.by_target.get(target, self.setting)


class Place(Settings):
    """Cells that a reason or a claim speaks of; what is left out is everything."""

    dataset: str | None = None
    row: str | None = None
    measure: str | None = None
    at: int | float | str | None = None

    def holds(self, dataset: str, row: str, measure: str, at: int | float | str | None) -> bool:
        """Whether a number is among them."""
        pairs = ((self.dataset, dataset), (self.row, row), (self.measure, measure), (self.at, at))
        return all(asked is None or asked == own for asked, own in pairs)


class Reason(Place):
    """Why measured numbers differ from the published ones, as far as that is known."""

    why: str


class Claim(Settings):
    """What the paper says of its figure, as an order: one number is larger than another in every cell of the axis.

    Attributes:
        says: the paper's statement, in our words.
        larger: a row and a measure.
        smaller: another.
        by: by how much, in the measure's own unit, at least.
        datasets: graphs that it is about; all by default.
    """

    says: str
    larger: Place
    smaller: Place
    by: float = 0.0
    datasets: tuple[str, ...] | None = None


Values = dict[str, dict[str, dict[str, float | tuple[float, ...]]]]


class Experiment(Settings):
    """A table or a figure of a paper.

    Attributes:
        paper: a folder of plans: fedgc, fedgm, fedc4, sos.
        item: table2, figure7, ...
        title: what it is about, as one phrase.
        kind: ``statistics`` are numbers of graphs that are only counted; a ``drawing`` has nothing to run.
        datasets: graphs of the paper that can be had.
        lacking: those of which we have no data, or more nodes than the pipeline takes.
        conditions: sentences that a reader needs.
        seeds: how many by default.
        settings: of all rows' targets.
        on: settings of all rows' targets on one graph alone, by its name.
        base: settings that some rows share, by a name of our own.
        quick: settings of all rows' targets for a first look, by target.
        quick_strength: settings of all rows' defenses for a first look, by defense.
        axis: what varies besides rows.
        row: ways to run.
        measure: numbers to read.
        published: by graph, row and measure; along the axis a list, in which nan stands for what is not printed;
            a single value for rows that the axis does not concern.
        reason: why numbers differ.
        claim: what the paper says in words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=True)

    paper: str
    item: str = Field(pattern=r"^(table|figure)\d+[a-z]?$")
    title: str
    kind: Kind
    datasets: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    seeds: int = Field(3, ge=1)
    settings: dict[str, Any] = Field(default_factory=dict)
    on: dict[str, dict[str, Any]] = Field(default_factory=dict)
    base: dict[str, dict[str, Any]] = Field(default_factory=dict)
    quick: dict[str, dict[str, Any]] = Field(default_factory=dict)
    quick_strength: dict[str, dict[str, Any]] = Field(default_factory=dict)
    axis: Axis | None = None
    row: tuple[Row, ...] = ()
    measure: tuple[Measure, ...] = ()
    published: Values = Field(default_factory=dict)
    reason: tuple[Reason, ...] = ()
    claim: tuple[Claim, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _counts(cls, content: Any) -> Any:
        """Of statistics of graphs the one row and the columns, which are always the same."""
        if not isinstance(content, dict) or content.get("kind") != "statistics":
            return content
        columns = [{"key": name, "name": name, "of": "figure", "named": name} for name in COUNTED]
        return {**content, "row": [{"name": GRAPH, "target": GRAPH}], "measure": columns}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.kind in ("table", "figure") and self.datasets and not (self.row and self.measure):
            raise ValueError("a table or a figure that can be run has rows and measures")
        rows, measures = {row.name for row in self.row}, {measure.key for measure in self.measure}
        if len(rows) < len(self.row) or len(measures) < len(self.measure):
            raise ValueError("two rows or two measures have one name")
        for row in self.row:
            if not set(row.like) <= set(self.base):
                raise ValueError(
                    f"the row '{row.name}' is like {', '.join(row.like)}: not all are settings in 'base'"
                )
        once = {row.name for row in self.row if row.once}
        for dataset, name, measure, value in self.printed():
            if name not in rows or measure not in measures:
                raise ValueError(f"a value is published for '{name}', '{measure}', which no row or measure is")
            wanted = 1 if self.axis is None or name in once else len(self.axis.values_on(dataset))
            if len(value) != wanted:
                raise ValueError(f"{dataset}, '{name}', '{measure}' has {len(value)} values and not {wanted}")
        for place in (*self.reason, *(p for c in self.claim for p in (c.larger, c.smaller))):
            if (place.row or None) not in {None, *rows} or (place.measure or None) not in {None, *measures}:
                raise ValueError(f"a reason or a claim speaks of '{place.row}', '{place.measure}': there is none")
        return self

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a TOML file.

        Raises:
            InputError: it cannot be read, or does not say what it must.
        """
        return cls.checked(f"plan {path.name}", toml_of(read_text(path, "plan", LARGEST_PLAN), f"plan {path}"))

    @property
    def name(self) -> str:
        """As a user asks for it: fedgc:table2."""
        return f"{self.paper}:{self.item}"

    @property
    def called(self) -> str:
        """As a reader calls it: Table 2."""
        word = "Table" if self.item.startswith("table") else "Figure"
        return f"{word} {self.item.removeprefix(word.lower())}"

    def printed(self) -> Iterator[tuple[str, str, str, tuple[float, ...]]]:
        """Graph, row, measure and the values along the axis."""
        for dataset, rows in self.published.items():
            for row, measures in rows.items():
                for measure, value in measures.items():
                    yield dataset, row, measure, value if isinstance(value, tuple) else (value,)

    def publishes(self, dataset: str, row: str, measure: str, at: int | float | str | None) -> float | None:
        """The printed value of a cell, or None."""
        found = self.published.get(dataset, {}).get(row, {}).get(measure)
        if isinstance(found, tuple):
            assert self.axis is not None
            found = found[self.axis.values_on(dataset).index(at)] if at in self.axis.values_on(dataset) else None
        return None if found is None or math.isnan(found) else found

    def places(self, dataset: str, row: Row | None = None) -> tuple[int | float | str | None, ...]:
        """Places of the axis on a graph; a single one without an axis, and for a row that it does not concern."""
        if self.axis is None or (row is not None and row.once):
            return (None,)
        return self.axis.values_on(dataset)

    def settings_of(self, row: Row, dataset: str) -> Iterator[dict[str, Any]]:
        """Settings of a row's target on a graph, to be laid on one another in this order."""
        yield self.settings
        yield from (self.base[name] for name in row.like)
        yield from (self.on.get(dataset, {}), row.settings, row.on.get(dataset, {}))

    def rows_on(self, dataset: str) -> tuple[Row, ...]:
        """Rows that run on a graph."""
        return tuple(row for row in self.row if row.datasets is None or dataset in row.datasets)

    def only(self, datasets: Sequence[str], rows: Sequence[str]) -> Self:
        """The part of it with some graphs and rows; without any named all of them.

        Raises:
            InputError: it has no such graph or row.
        """
        for kind, asked, there in (
            ("graph", datasets, self.datasets),
            ("row", rows, [row.name for row in self.row]),
        ):
            for name in asked:
                if name not in there:
                    raise unknown_name(f"{kind} of {self.name}:", name, there)
        kept = tuple(row for row in self.row if not rows or row.name in rows)
        named = {row.name for row in kept}
        claims = tuple(c for c in self.claim if {c.larger.row, c.smaller.row} <= {None, *named})
        graphs = tuple(d for d in self.datasets if not datasets or d in datasets)
        reasons = tuple(r for r in self.reason if r.row in {None, *named} and r.dataset in {None, *graphs})
        some = {"datasets": graphs, "row": kept, "claim": claims, "reason": reasons}
        return self.model_copy(update=some)

    def measures_of(self, row: Row) -> tuple[Measure, ...]:
        """Measures that are read off a row."""
        return tuple(m for m in self.measure if row.measures is None or m.key in row.measures)
