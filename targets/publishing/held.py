"""A second network, of some of the same people, that an adversary holds: brought as a file."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from pydantic import Field, model_validator
from torch_geometric.data import Data

from ...errors import InputError, quoted
from ...graphs.files.network_file import read_network
from ...graphs.files.table import read_table
from ...graphs.network import Ints, Network
from ...graphs.pyg import name_of, network_of_data, node_names
from ...settings import Settings
from .who_is_who import DEVIATIONS, Named, shared_links, source_of

COLUMNS = ("original", "auxiliary")
"""Names in the original, and in the second network."""


@dataclass(frozen=True)
class Held:
    """A network that the adversary holds.

    Attributes:
        network: under the numbers of the original's people; of these, some may have no edge. Others come behind.
        note: who is in it, and what it shares with the original, in words.
    """

    network: Network
    note: str


class HeldSettings(Settings):
    """Settings of targets in which the adversary may hold a second network."""

    auxiliary: str | None = Field(
        None, description="another network of some of the same people, which attacks that match hold with its names"
    )
    auxiliary_same: str | None = Field(
        None, description="table with the columns original,auxiliary; without it people have the same names in both"
    )

    @model_validator(mode="after")
    def _a_table_of_something(self) -> Self:
        if self.auxiliary_same is not None and self.auxiliary is None:
            raise ValueError("auxiliary_same says who is who in a second network: give that as auxiliary too")
        return self

    @property
    def held_files(self) -> tuple[str, ...]:
        """The files that the second network is read from."""
        return tuple(file for file in (self.auxiliary, self.auxiliary_same) if file is not None)

    def held(self, data: Data) -> Held | None:
        """The second network, under the numbers of a graph's nodes; None where there is none.

        Raises:
            InputError: as `held_network` does.
        """
        if self.auxiliary is None:
            return None
        original = Named(name_of(data) or "the original", node_names(data))
        return held_network(self.auxiliary, self.auxiliary_same, network_of_data(data), original)


def held_network(path: str, same: str | None, before: Network, original: Named) -> Held:
    """The network in a file, under the numbers of the original's people.

    Args:
        path: of the network.
        same: a table with the columns ``original`` and ``auxiliary``; without it names are the same in both.
        before: the original.
        original: its names.

    Raises:
        InputError: the files cannot be read; nobody is in both; a row names a node that is not there, or again; or
            without a table both share no more links than under random names.
    """
    read = read_network(path, directed="merge")
    other, people = Named(source_of(path), read.ids), before.nodes
    placed = _by_name(original, other) if same is None else _by_table(same, original, other)
    known = placed >= 0
    placed[~known] = people + np.arange((~known).sum())
    low, high = read.network.plain().edges
    held = Network.from_edges(people + int((~known).sum()), placed[low], placed[high])
    between = held.edges[:, held.edges[1] < people]
    if not between.shape[1]:
        raise InputError(f"{other.source}: no edge between people of {original.source}: it tells nothing of them")
    within = Network(people, between)
    shared, usual, deviation = shared_links(before, within)
    if same is None and shared <= usual + DEVIATIONS * deviation and shared < min(before.plain().size, within.size):
        raise InputError(
            f"{other.source} has names of {original.source}, but only {shared:,} of the {within.size:,} links "
            f"between these ({usual:.0f} by chance): say who is who in a table with the columns "
            f"{' and '.join(COLUMNS)}"
        )
    note = (
        f"the adversary holds {other.source}: {int(known.sum()):,} of the {people:,} people with {within.size:,} "
        f"links between them, of which {shared:,} are links of {original.source} ({usual:.0f} would be by chance)"
    )
    return Held(held, note)


def _by_name(original: Named, other: Named) -> Ints:
    """The person that each node of another network is, -1 for others, where people have one name in both."""
    persons = original.places()
    return _checked(np.array([persons.get(name, -1) for name in other.places()], dtype=np.int64), original, other)


def _by_table(path: str, original: Named, other: Named) -> Ints:
    """The same as a table says."""
    table = read_table(path)
    table.require(COLUMNS)
    persons, nodes = original.places(), other.places()
    placed, named = np.full(len(nodes), -1, dtype=np.int64), np.zeros(len(persons), dtype=bool)
    rows = zip(table.text(COLUMNS[0]).tolist(), table.text(COLUMNS[1]).tolist(), strict=True)
    for row, (person, node) in enumerate(rows, start=1):
        for name, known, source in ((person, persons, original.source), (node, nodes, other.source)):
            if name not in known:
                raise InputError(f"{table.source}: row {row}: {source} has no node {quoted(name)}")
        if named[persons[person]] or placed[nodes[node]] >= 0:
            raise InputError(f"{table.source}: row {row} names {quoted(person)} or {quoted(node)} again")
        placed[nodes[node]], named[persons[person]] = persons[person], True
    return _checked(placed, original, other)


def _checked(placed: Ints, original: Named, other: Named) -> Ints:
    if (placed < 0).all():
        raise InputError(
            f"{other.source} has no node of {original.source}: say who is who in a table with the columns "
            f"{' and '.join(COLUMNS)}"
        )
    return placed
