"""Who is alone in a network by what somebody may know of a person, before it is published and after."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...output_files import write
from ..network import Ints, Network
from .edge_marks import like_them, mark_keys, type_keys, way_keys

COLUMNS: Mapping[str, str] = {
    "degree": "how many neighbours they have",
    "edges": "the weights, types or windows of time of their edges",
    "directions": "how many edges lead to them and away from them",
    "attributes": "their attributes and how many neighbours they have",
    "snapshots": "their attributes and how many neighbours they have in each snapshot, or of each type",
    "neighbours": "how many neighbours each of their neighbours has",
}
"""What somebody may know of a person, in words, by the beginning of a column's name."""
SUFFIX = ".csv"


@dataclass(frozen=True, eq=False)
class AtRisk:
    """How many are like each person, itself included: 1 is a person who is alone.

    Attributes:
        before: in the original, by the keys of `COLUMNS`, [p] each.
        after: in the published network, with the same keys.
    """

    before: Mapping[str, Ints]
    after: Mapping[str, Ints]

    @property
    def listed(self) -> Ints:
        """Persons who are alone by anything, before or after, ascending."""
        alone = [sizes == 1 for sizes in (*self.before.values(), *self.after.values())]
        return np.flatnonzero(np.any(alone, axis=0))

    def alone(self, by: str) -> tuple[int, int]:
        """How many are alone by one of the keys: before and after."""
        return int((self.before[by] == 1).sum()), int((self.after[by] == 1).sum())


def at_risk(before: Network, after: Network) -> AtRisk:
    """Who is alone before and after.

    By ``degree``; by ``edges`` (the weight and type of each of its edges, as far as either network tells them; only
    where one does); by ``directions`` (how many edges lead to it and away from it, where either is directed); by
    ``attributes`` (what is told of them, together with the degree, where either tells any); by ``snapshots`` (the
    same with the degree in each window of time or of each type, in and out where either is directed); by
    ``neighbours`` (the degrees of its neighbours, the query H_2 of Hay et al. 2008, section 2.2). Where the release
    tells groups and numbers of edges between them, those of a group are alike.

    Args:
        before: the original, of p people.
        after: the published network; node i is person i, and nodes that were added come behind.
    """
    people = before.nodes
    return AtRisk(_sizes(before, after, people), _sizes(after, before, people))


def _sizes(network: Network, other: Network, people: int) -> dict[str, Ints]:
    both = (network, other)
    told = {
        "edges": any(n.weights is not None or n.types is not None for n in both),
        "directions": any(n.directions is not None for n in both),
        "attributes": any(n.people is not None for n in both),
    }
    told["snapshots"] = told["attributes"] and any(n.types is not None for n in both)
    names = [name for name in COLUMNS if told.get(name, True)]
    if network.counts is not None and network.groups is not None:
        return dict.fromkeys(names, like_them(network.groups)[:people])
    keys = {"degree": _degrees, "edges": mark_keys, "directions": way_keys, "attributes": _attributes}
    keys |= {"snapshots": _attributes_by_type, "neighbours": neighbour_keys}
    return {name: like_them(keys[name](network))[:people] for name in names}


def _degrees(network: Network) -> NDArray[Any]:
    return network.plain().degrees


def _attributes(network: Network) -> NDArray[Any]:
    """A number for what is told of each node's attributes, and its degree, [n]; for the degree where nothing is."""
    told = np.zeros(network.nodes, dtype=np.int64) if network.people is None else network.people.classes
    keys: Ints = told * (network.nodes + 1) + _degrees(network)
    return keys


def _attributes_by_type(network: Network) -> NDArray[Any]:
    """A number for what is told of each node's attributes, and its degrees by type and by the way of edges, [n]."""
    told = np.zeros(network.nodes, dtype=np.int64) if network.people is None else network.people.classes
    pairs = np.stack([told.astype(np.uint64), type_keys(network)], 1)
    return np.unique(pairs, axis=0, return_inverse=True)[1].ravel()


def neighbour_keys(network: Network) -> NDArray[Any]:
    """A number for each node that it shares with those whose neighbours have the same degrees, [n].

    It is a sum of random numbers for degrees: two nodes that differ share one with a chance of about 2^-64.
    """
    plain = network.plain()
    numbers = np.random.default_rng(0).integers(2**64, size=int(plain.degrees.max(initial=0)) + 1, dtype=np.uint64)
    keys = np.zeros(network.nodes, dtype=np.uint64)
    for end, neighbour in (plain.edges, plain.edges[::-1]):
        np.add.at(keys, end, numbers[plain.degrees[neighbour]])
    return keys


def check_at_risk_name(path: Path) -> None:
    """Refuses a file that is there already, and a name that is none of a table.

    Raises:
        InputError: it is one of both.
    """
    if path.suffix.lower() != SUFFIX:
        raise InputError(f"{path}: who is at risk is written as a table: choose a name that ends in {SUFFIX}")
    if path.exists() and path.is_file():
        raise InputError(f"{path}: is there already, and is not overwritten: remove it, or choose another name")


def write_at_risk(path: Path, ids: Sequence[str], found: AtRisk) -> None:
    """Writes a row for each person who is alone by anything; only the owner may read them.

    The columns are ``id``, and ``degree_before``, ``degree_after`` and so on: how many are like the person.

    Raises:
        InputError: it cannot be written, is there already, or its name does not end in ``.csv``.
    """
    check_at_risk_name(path)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(["id", *(f"{name}_{when}" for name in found.before for when in ("before", "after"))])
    columns = [sizes for name in found.before for sizes in (found.before[name], found.after[name])]
    for person in found.listed.tolist():
        table.writerow([ids[person], *(int(sizes[person]) for sizes in columns)])
    write(path, text.getvalue(), private=True)
