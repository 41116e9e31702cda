"""What `gaudit anonymize` will tell of a network, and what it will not: said before the work."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...graphs.files.network_file import ReadNetwork
from ...graphs.network import MARKS, Network
from ...graphs.told_weights import ToldWeights
from ...mechanisms.guarantee import Guarantee
from ...targets.defense import Defense
from .edge_marks import dropped_marks
from .people import remarks_on_people, told_of_people

MOST_LISTED = 20
"""Names that are printed of types, or of attributes."""
GROUPS = "the group of each node"
WINDOWS = (
    "The file has times of edges, and all edges are taken for one window: --windows 8 publishes eight windows of "
    "time, which the defense then protects together."
)
LINKS = ("edge", "event", "edge-history")
"""Units of a promise by which a node has an edge or none."""


@dataclass(frozen=True)
class Telling:
    """What a release tells of its source, known before it is made.

    Attributes:
        read: what was read, in words.
        told: what the result tells.
        untold: what the source tells and the result does not.
        remarks: what else a reader must know of the input, in sentences.
    """

    read: str
    told: tuple[str, ...]
    untold: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The same as lines to print."""
        untold = listed(self.untold) or "nothing that was read"
        return (
            f"Read: {self.read}.",
            f"Will be published: {listed(self.told)}.",
            f"Will be left out: {untold}.",
            *self.remarks,
        )


def telling(
    read: ReadNetwork,
    before: Network,
    defense: Defense,
    weights: ToldWeights | None,
    whole: Network | None = None,
) -> Telling:
    """What will become of what was read.

    Args:
        read: the source, by windows of time where these are published.
        before: what the defense is given of it; one with differential privacy tells edges, and
            what it publishes by design.
        defense: that will change it.
        weights: how weights are told, where not as they are.
        whole: the source as the file tells it, where windows of its times are published.
    """
    source, given = (
        whole or read.network,
        before if defense.promise() is None else before.telling(defense.publishes),
    )
    types = () if given.types is None else read.type_names
    marks = [name for name in MARKS if getattr(source, name) is not None]
    kept = [name for name in marks if getattr(given, name) is not None and (whole is None or name != "types")]
    told = [_edges(defense), *(_mark(name, weights) for name in kept)]
    told += [f"which of {len(types):,} windows of time each edge is in"] if whole is not None and types else []
    told += [GROUPS] if "groups" in defense.publishes else []
    told += told_of_people(given)
    untold = [f"{name} of edges" for name in marks if name not in kept]
    untold += ["times of edges"] if source.events is not None else []
    untold += ["directions of edges"] if read.dropped.merged else []
    untold += [f"{what} of nodes" for what in _of_nodes(read)]
    untold += [part for part in read.dropped.columns.split("; ") if "not read" in part]
    remarks = (
        read.dropped.sentence,
        _not_written(read),
        _types_by_number(types) if whole is None else "",
        WINDOWS if whole is None and source.events is not None and kept_apart(defense, source) else "",
        _told_by_nodes(defense.promise(), read.unlisted),
        *dropped_marks(read.network, before),
        *remarks_on_people(given),
    )
    size = f"{source.nodes:,} nodes and {source.size:,} edges"
    return Telling(size, tuple(told), tuple(untold), tuple(filter(None, remarks)))


def kept_apart(defense: Defense, source: Network) -> bool:
    """Whether a defense publishes edges by windows of time, or by type, and there are no types."""
    return "types" in defense.publishes and source.types is None


def listed(names: Sequence[str]) -> str:
    """Names in a line, and how many more there are."""
    more = [f"and {len(names) - MOST_LISTED:,} more"] if len(names) > MOST_LISTED else []
    return ", ".join([*names[:MOST_LISTED], *more])


def _edges(defense: Defense) -> str:
    """What a defense publishes of who is linked to whom."""
    if "counts" in defense.publishes:
        return "numbers of edges between groups"
    return "edges, or their numbers between groups" if "groups" in defense.publishes else "edges"


def _mark(name: str, weights: ToldWeights | None) -> str:
    way = f" ({weights.way})" if name == "weights" and weights is not None else ""
    return f"{name} of edges{way}"


def _of_nodes(read: ReadNetwork) -> list[str]:
    """What the file tells of nodes; no defense that acts here changes it, and none of it is written."""
    given = {"features": read.x is not None, "classes": read.y is not None}
    return [*(name for name, there in given.items() if there), *map(repr, read.attributes)]


def _not_written(read: ReadNetwork) -> str:
    told = listed(_of_nodes(read))
    return f"not written: {told} of nodes, which tell people apart whatever is done to edges" if told else ""


def _types_by_number(names: Sequence[str]) -> str:
    """What each type is called in the file: settings and guarantees call them by number."""
    return f"types of edges: {listed([f'{k} is {name}' for k, name in enumerate(names)])}" if names else ""


def _told_by_nodes(promise: Guarantee | None, unlisted: int) -> str:
    """What a promise about edges does not cover, where nodes follow from them."""
    if promise is None or promise.unit not in LINKS or not unlisted:
        return ""
    return (
        f"nodes that only edges name: {unlisted:,}. Whoever sees such a node in the result knows that it has an "
        "edge, which the promise below takes as public. List all nodes in the file, with or without edges, in "
        "lines '#@node ID'"
    )
