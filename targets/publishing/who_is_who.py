"""Which published node stands for which person: a table that the owner has, or names that were kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError, quoted, visible
from ...graphs.files.name_map import COLUMNS
from ...graphs.files.table import read_table
from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes, listed

ORIGINAL, PUBLISHED = COLUMNS
SHUFFLES, DEVIATIONS = 40, 6
"""Random maps that tell how many links are shared by chance, and by how many deviations more must be shared."""


@dataclass(frozen=True)
class Named:
    """Nodes by their names, and where these are from.

    Attributes:
        source: the file or the graph, for errors.
        names: of all nodes, in their order [n].
    """

    source: str
    names: tuple[str, ...]

    def places(self) -> dict[str, int]:
        """The position of each node by its name as a line shows it.

        Raises:
            InputError: two names look the same.
        """
        shown = [visible(name).strip() for name in self.names]
        found = {name: place for place, name in enumerate(shown)}
        if len(found) < len(shown):
            twice = next(name for place, name in enumerate(shown) if found[name] != place)
            raise InputError(f"{self.source}: two nodes have names that look like {quoted(twice)}: rename one")
        return found


def by_table(path: str, original: Named, published: Named) -> Ints:
    """The published node of each person [p], as a table with the columns ``original`` and ``published`` says.

    A row without an ``original`` names a published node that stands for nobody, as those do that a tool added.

    Raises:
        InputError: as `read_table` does; a row names a node that is not there, or again; a person or a published
            node is in no row.
    """
    table = read_table(path)
    table.require(COLUMNS)
    persons, nodes = original.places(), published.places()
    image = np.full(len(persons), -1, dtype=np.int64)
    named = np.zeros(len(nodes), dtype=bool)
    rows = zip(table.text(ORIGINAL, empty=True).tolist(), table.text(PUBLISHED).tolist(), strict=True)
    for row, (person, node) in enumerate(rows, start=1):
        where = f"{table.source}: row {row}"
        if node not in nodes:
            raise InputError(
                f"{where}: {published.source} has no node {quoted(node)} (nodes without edges must be listed "
                "there, in an edge list in lines '#@node ID')"
            )
        if named[nodes[node]]:
            raise InputError(f"{where} names the published node {quoted(node)} again: each stands for one person")
        named[nodes[node]] = True
        if not person:
            continue
        if person not in persons:
            raise InputError(f"{where}: {original.source} has no node {quoted(person)}")
        if image[persons[person]] >= 0:
            raise InputError(f"{where} names the person {quoted(person)} again: each has one published node")
        image[persons[person]] = nodes[node]
    _check_whole(table.source, image, named, original, published)
    return image


def _check_whole(source: str, image: Ints, named: np.ndarray, original: Named, published: Named) -> None:
    """Refuses persons without a published node, and published nodes in no row."""
    lacking = np.flatnonzero(image < 0)
    if len(lacking):
        raise InputError(
            f"{source}: {_counted(len(lacking), 'person')} of {original.source} without a published node, such as "
            f"{quoted(original.names[lacking[0]])}: give each a row, or leave these persons out of the original"
        )
    alone = np.flatnonzero(~named)
    if len(alone):
        raise InputError(
            f"{source}: {_counted(len(alone), 'node')} of {published.source} without a person, such as "
            f"{quoted(published.names[alone[0]])}: give each a row, with an empty original if it stands for nobody"
        )


def by_name(original: Named, published: Named) -> Ints:
    """The published node of each person [p] where all nodes kept their names.

    Raises:
        InputError: a name of one is not there in the other.
    """
    persons, nodes = original.places(), published.places()
    _refuse_strangers(persons.keys() - nodes.keys(), "person", original, published)
    _refuse_strangers(nodes.keys() - persons.keys(), "published node", published, original)
    return np.array([nodes[name] for name in persons], dtype=np.int64)


def _refuse_strangers(names: Iterable[str], what: str, here: Named, there: Named) -> None:
    strangers = sorted(names)
    if strangers:
        raise InputError(
            f"{here.source}: {_counted(len(strangers), what)} that {there.source} does not name, such as "
            f"{quoted(strangers[0])}: say who is who in a table with the columns {' and '.join(COLUMNS)}"
        )


def check_kept(before: Network, after: Network, original: Named, published: Named) -> None:
    """Refuses names that agree by chance: numbers that were drawn anew look like numbers that were kept.

    A network of which every link is in the other passes, however small it is.

    Args:
        before: the original.
        after: the published network under the names of the original.
        original: where the original is from.
        published: where the published one is from.

    Raises:
        InputError: both have no more links in common than under random names.
    """
    shared, usual, deviation = shared_links(before, after)
    if shared <= usual + DEVIATIONS * deviation and shared < min(before.plain().size, after.plain().size):
        raise InputError(
            f"{published.source} has the names of {original.source}, but only {shared:,} of its {after.size:,} "
            f"links ({usual:.0f} by chance): if nodes were renamed say who is who in a table with the columns "
            f"{' and '.join(COLUMNS)}; if they were not, a table that calls each node the same says so"
        )


def shared_links(before: Network, after: Network) -> tuple[int, float, float]:
    """Links that two networks of the same first nodes have in common, and under random names: mean, deviation."""
    rng, nodes = np.random.default_rng(0), max(before.nodes, after.nodes)
    low, high = before.plain().edges
    old, (one, other) = codes(low, high, nodes), after.plain().edges

    def shared(new: Ints) -> int:
        return int(listed(np.sort(codes(new[one], new[other], nodes)), old).sum())

    drawn = [shared(rng.permutation(nodes)) for _ in range(SHUFFLES)]
    return shared(np.arange(nodes)), float(np.mean(drawn)), max(float(np.std(drawn)), 1.0)


def in_order(names: Sequence[str]) -> Ints:
    """The order of nodes that does not depend on that of a file: by number where all are numbers, else by name."""
    whole = all(name.isascii() and name.isdigit() for name in names)
    keys = [(int(name), name) if whole else (0, name) for name in names]
    return np.array(sorted(range(len(names)), key=keys.__getitem__), dtype=np.int64)


def source_of(name: str) -> str:
    """A file's name as errors call it."""
    return Path(name).name


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"
