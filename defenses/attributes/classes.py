"""Classes of people in a release, their degrees, and the check of what is promised of them."""

from collections.abc import Sequence

import numpy as np

from ...graphs.network import Ints, Network, Verified, aside
from ...graphs.tables.column import Column
from ...graphs.tables.node_table import UNTOLD, NodeTable
from ..degrees.degree_groups import medians_of, realisable
from ..degrees.degree_realisation import nearby
from .requirement import ClassSettings, Requirement, members

STRUCTURE = (
    "It says nothing against somebody who knows more of the links than their number, such as who a person is "
    "linked to, or how many neighbours the neighbours have."
)


def table_of(network: Network) -> NodeTable:
    """What is told of people; without any attribute all of them are alike."""
    none = np.empty((network.nodes, 0), dtype=np.int64)
    return NodeTable.of_values((), none) if network.people is None else network.people


def degree_column(degrees: Ints) -> tuple[Column, Ints]:
    """Degrees as one more attribute, on a logarithmic scale, and the place of each person's in it, [n]."""
    known, place = np.unique(degrees, return_inverse=True)
    column = Column("degree", tuple(map(str, known.tolist())), np.log1p(known.astype(np.float64)))
    return column, place.ravel().astype(np.int64)


def told_of_classes(columns: Sequence[Column], values: Ints, group: Ints) -> Ints:
    """What is told of each person's attributes: the narrowest range that its class is in, [n, q, 1, 2]."""
    runs = np.empty((*values.shape, 1, 2), dtype=np.int64)
    for rows in members(group):
        for place, column in enumerate(columns):
            own = values[rows, place]
            runs[rows, place, 0] = np.stack(column.told(own.min(), own.max()))
    return runs


def with_common_degrees(network: Network, group: Ints, rng: np.random.Generator) -> Network:
    """The network with edges changed until all people of a class have the same number of neighbours."""
    plain = network.plain()
    common = medians_of(plain.degrees[:, None], group)[:, 0]
    wanted = realisable(plain.degrees, group, common)[group]
    return network.with_edges(nearby(plain, wanted, rng), rng)


def classes_in(network: Network, degrees: bool) -> Ints:
    """The class of each person in a release, [n]: the same is told of attributes, and the degree is the same."""
    keys = [table_of(network).classes]
    keys += [network.plain().degrees] if degrees else []
    return np.unique(np.stack(keys, 1), axis=0, return_inverse=True)[1].ravel()


def verified(settings: ClassSettings, before: Network, after: Network) -> Verified:
    """Counts the classes of a release, and what is true of the sensitive attribute in them."""
    told, group = Requirement.of(settings, after), classes_in(after, settings.degrees)
    classes = list(members(group))
    smallest = min(map(len, classes), default=settings.k)
    parts = [f"{len(classes)} classes, the smallest of {smallest}"]
    if settings.l_diversity > 1:
        parts.append(
            f"the least diverse counts {min(map(told.diversity, classes), default=0):.3g} sensitive values"
        )
    if settings.t_closeness < 1:
        parts.append(f"the farthest is {max(map(told.distance, classes), default=0):.3f} from everybody")
    wrong = untrue(table_of(before), table_of(after))
    if settings.degrees:
        changed = np.abs(after.plain().degrees - before.plain().degrees).sum() if _same_size(before, after) else -1
        parts.append(f"degrees changed by {changed} in all")
    parts += [loss_of(after), *([wrong] if wrong else [])]
    return Verified(
        f"{promised(settings, told.columns)}{aside(after)}",
        not wrong and all(map(told.met, classes)),
        "; ".join(filter(None, parts)),
        f"This holds against somebody who knows a person's attributes{_known(settings)}. {STRUCTURE}",
        "" if settings.degrees else "Edges stay: attributes with the number of neighbours may name people.",
    )


def promised(settings: ClassSettings, columns: int = 1) -> str:
    """What holds of every class, in words."""
    found = f"each person shares its published attributes{_known(settings)} with at least {settings.k - 1} others"
    found += diverse(settings, columns)
    if settings.t_closeness < 1:
        each = " in each column" if columns > 1 else ""
        found += f", their sensitive values are at most {settings.t_closeness:g} from those of everybody{each}"
    return found


def diverse(settings: ClassSettings, columns: int = 1) -> str:
    """How diverse the sensitive values of every class are, in words; nothing where they need not be.

    Args:
        settings: l, and how diversity is counted.
        columns: sensitive ones.
    """
    among = " and of those among them who share their other sensitive values"
    which = "" if columns == 1 else f" (each column{among if settings.several == 'given-others' else ''})"
    how = {
        "share": f"no sensitive value is that of more than 1/{settings.l_diversity} of them",
        "distinct": f"they have {settings.l_diversity} different sensitive values",
        "entropy": f"the entropy of their sensitive values is at least log {settings.l_diversity}",
    }
    return f", {how[settings.diversity]}{which}" if settings.l_diversity > 1 else ""


def loss_of(network: Network) -> str:
    """How much of the attributes is not told, in words; nothing where there are none."""
    table = table_of(network)
    if not table.attributes or not table.columns or not table.nodes:
        return ""
    losses = table.losses()
    left = int((table.sensitive == UNTOLD).any(1).sum()) if table.sensitive is not None else 0
    rows = f", sensitive values of {left} people not told" if left else ""
    return f"{100 * (losses > 0).mean():.1f} % of cells coarser, certainty lost {losses.mean():.3f} of 1{rows}"


def _known(settings: ClassSettings) -> str:
    return " and its number of neighbours" if settings.degrees else ""


def _same_size(before: Network, after: Network) -> bool:
    return before.nodes == after.nodes


def untrue(before: NodeTable, after: NodeTable) -> str:
    """What a release tells falsely of people, or nothing."""
    if before.runs.shape[:2] != after.runs.shape[:2]:
        return "attributes are missing, or those of other people"
    own, low, high = before.values[:, :, None], after.runs[..., 0], after.runs[..., 1]
    if not ((low <= own) & (own <= high)).any(2).all():
        return "somebody's own value is not among those that are told"
    if (before.sensitive is None) != (after.sensitive is None):
        return "the sensitive attribute was lost or added"
    if before.sensitive is not None and after.sensitive is not None:
        same = (after.sensitive == before.sensitive) | (after.sensitive == UNTOLD)
        return "" if same.all() else "somebody's sensitive value is another one"
    return ""
