"""What a private release promises, to which unit, and what came out of it."""

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from ..errors import InputError
from ..graphs.network import Floats, Ints
from .public_inputs import exact_epsilon, whole

Unit = Literal["edge", "node", "node-label", "node-features", "client", "event", "edge-history", "graph"]
Adjacency = Literal["add/remove", "zero-out", "replace"]
Model = Literal["central", "local"]

MOST_SPELT_OUT = 20
"""Epsilons up to which e^epsilon is written out as a number."""
BASIC = "basic: epsilons add up, and so do deltas"
"""How pure guarantees on the same data compose."""

NEIGHBOURS: dict[tuple[Unit, Adjacency], str] = {
    ("edge", "add/remove"): "have the same nodes and differ in one edge, which one of them lacks",
    ("edge", "zero-out"): "have the same nodes and differ in one edge, which one of them lacks",
    ("edge", "replace"): "have the same nodes and differ in one edge, which lies elsewhere in the other",
    ("node", "add/remove"): "differ in one node with all its edges, which one of them lacks",
    ("node", "zero-out"): "have the same nodes, one of them blank in one input (no features, label or edges)",
    ("node", "replace"): "have the same nodes and differ in all that belongs to one of them, its edges too",
    ("node-label", "add/remove"): "differ in one node's label, which one of them lacks",
    ("node-label", "zero-out"): "have the same nodes, one of them without its label in one input",
    ("node-label", "replace"): "differ in one node's label, which is another one in the other",
    ("node-features", "add/remove"): "differ in one node's features, which one of them lacks",
    ("node-features", "zero-out"): "have the same nodes, one of them without its features in one input",
    ("node-features", "replace"): "differ in one node's features, which are others in the other",
    ("client", "add/remove"): "differ in one client with all its data, whom one of them lacks",
    ("client", "zero-out"): "have the same clients, one of whom has nothing to give in one input",
    ("client", "replace"): "differ in all the data of one client",
    ("event", "add/remove"): "differ in one message with its time, which one of them lacks",
    ("event", "zero-out"): "have the same messages but one, which is blank in one input",
    ("event", "replace"): "have as many messages and differ in one, which is another one in the other",
    ("edge-history", "add/remove"): "differ in all messages of one pair of nodes, which one of them lacks",
    ("edge-history", "zero-out"): "have the same nodes, and one pair of them has no message in one input",
    ("edge-history", "replace"): "differ in all messages of one pair of nodes, which has others in the other",
    ("graph", "add/remove"): "are collections of graphs that differ in one graph with its label, which one lacks",
    ("graph", "zero-out"): "are collections of as many graphs, one of which is blank in one input",
    (
        "graph",
        "replace",
    ): "are collections of as many graphs that differ in one graph, which is another in the other",
}


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy, with everything that must be said for the number to mean something.

    For any two neighbouring inputs, and any set of outputs, its probability under one is at most e^epsilon times
    that under the other, plus delta (Dwork et al. 2006).

    Attributes:
        unit: what is protected. An edge is two nodes being linked or not. In a network of messages, an event is one
            of them, and an edge-history all those of two nodes, at whatever time. A graph is one record of a
            collection: its nodes, edges and label.
        adjacency: whether neighbouring inputs differ by one unit more or less, by a blank in the place of one, or
            in what the unit is. Where the number of units is public, or says who is drawn for training, one unit
            less would be seen, or move others: its place stays blank then (zero-out; Ponomareva et al. 2023).
        model: whether noise is added by one who holds all data, or by each holder of its own.
        epsilon: kept as an exact fraction (`public_inputs.exact_epsilon`); 0 where the unit is not read at all.
        delta: from 0 to below 1.
        accountant: what the two numbers follow from.
        public: what the release takes as known to everybody and does not protect.
        composes: how guarantees of several releases add up.
        covers: what is released under it, where that is not all there is.

    Raises:
        InputError: an unknown unit, adjacency or model, an epsilon below 0, a delta out of range.
    """

    unit: Unit
    adjacency: Adjacency
    model: Model
    epsilon: Fraction | float
    delta: float = 0.0
    accountant: str = "epsilon is a property of the mechanism"
    public: tuple[str, ...] = ()
    composes: str = BASIC
    covers: str = "what is released"

    def __post_init__(self) -> None:
        for name, kinds in (("unit", Unit), ("adjacency", Adjacency), ("model", Model)):
            if getattr(self, name) not in get_args(kinds):
                raise InputError(f"{name} is {getattr(self, name)!r}: expected one of {', '.join(get_args(kinds))}")
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon) if self.epsilon else Fraction(0))
        if not 0 <= self.delta < 1:
            raise InputError(f"delta is {self.delta}: expected a number from 0 to below 1, such as 1e-6")

    def sentence(self) -> str:
        """The promise in plain words."""
        delta = f", up to a probability of {float(self.delta):.3g}" if self.delta else ""
        known = f" Taken as public: {', '.join(self.public)}." if self.public else ""
        who = "who holds all data adds the noise" if self.model == "central" else "each holder adds noise"
        who = who if self.epsilon else "no noise is needed"
        return (
            f"Suppose two inputs {NEIGHBOURS[self.unit, self.adjacency]}. Then no outcome of {self.covers} is more"
            f" than {_times(float(self.epsilon))} as likely with one of them as with the other{delta}; {who}"
            f" ({self.unit}-level differential privacy, {self.adjacency}, {self.model} model).{known}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**asdict(self), "epsilon": float(self.epsilon), "delta": float(self.delta)}

    def repeated(self, times: int) -> "Guarantee":
        """What so many releases on the same data promise together, each under this guarantee: basic composition.

        Raises:
            InputError: fewer than one time, or deltas that add up to 1 or more.
        """
        times = whole("the number of releases", times, 1)
        return replace(self, epsilon=Fraction(self.epsilon) * times, delta=self.delta * times)

    def beside(self, other: "Guarantee") -> "Guarantee":
        """What both releases on the same data promise together: basic composition.

        Raises:
            InputError: they protect different units, have other neighbours or another model (such guarantees do not
                add up to one number), or the deltas add up to 1 or more.
        """
        for name in ("unit", "adjacency", "model"):
            one, two = getattr(self, name), getattr(other, name)
            if one != two:
                raise InputError(f"guarantees for {name} {one} and {name} {two} do not add up: state each alone")
        return replace(
            self,
            epsilon=Fraction(self.epsilon) + Fraction(other.epsilon),
            delta=self.delta + other.delta,
            accountant="; ".join(dict.fromkeys((self.accountant, other.accountant))),
            public=tuple(dict.fromkeys(self.public + other.public)),
            composes="; ".join(dict.fromkeys((self.composes, other.composes))),
            covers=" and ".join(dict.fromkeys((self.covers, other.covers))),
        )

    def compares_with(self, unit: Unit) -> bool:
        """Whether this epsilon may stand beside a bound that was measured for such a unit: only if it is the same.

        An epsilon for edges says nothing of nodes: one with d edges is protected at d times epsilon, and an attack
        on nodes that finds more refutes nothing.

        Raises:
            InputError: no such unit.
        """
        if unit not in get_args(Unit):
            raise InputError(f"unit is {unit!r}: expected one of {', '.join(get_args(Unit))}")
        return self.unit == unit


@dataclass(frozen=True, eq=False)
class Released:
    """What a mechanism gives out. All of it may be published: nothing here but ``values`` depends on the edges.

    Attributes:
        values: one number, or an array of them.
        guarantee: what the release promises.
        sensitivity: most that one unit changes what noise is added to, in the measure that the mechanism states.
        notes: what a reader of the values must know. The same for any two neighbouring inputs.
    """

    values: Ints | Floats | int | float
    guarantee: Guarantee
    sensitivity: Fraction | int
    notes: tuple[str, ...] = ()


def _times(epsilon: float) -> str:
    """How many times as likely epsilon lets something be."""
    factor = f" = {math.exp(epsilon):.3g}" if epsilon <= MOST_SPELT_OUT else ""
    return f"e^{epsilon:.6g}{factor} times"
