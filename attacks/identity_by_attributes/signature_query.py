"""Who is who by signature: the attributes that are published, together with numbers of neighbours."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...graphs.arcs import degree_pairs
from ...graphs.network import Ints, Network, Original
from ...graphs.snapshots import degree_vectors
from ..identity.identity_attack import Candidates, Facts, StructuralQuery, StructuralQuerySettings

AT_ONCE = 1 << 26


class SignatureQuerySettings(StructuralQuerySettings):
    """Settings of `SignatureQuery`."""

    degrees: Literal["all", "total", "none"] = Field(
        "all",
        description="numbers of neighbours that are known: of each published type and direction, of all together, "
        "or none, which leaves attributes alone",
    )
    attributes: bool = Field(True, description="whether published attributes of people are known")


class SignatureQuery(StructuralQuery):
    """Knows a person's attributes and numbers of neighbours, and takes the nodes that may have them for candidates.

    Attributes are those that are published, as exactly as the owner has them; a node may have them where each value
    is among those that are told of it. Of these nodes the candidates are those with the person's numbers of
    neighbours, or with the nearest ones (sum of absolute differences) where none has the same; numbers count by
    types and directions where these are published. Where no node may have a person's attributes, the numbers alone
    are used. With ``of=published`` the adversary knows what is told of the person instead of its own values, and
    the published numbers: candidates are then the classes that guarantees speak of. The sensitive attribute is
    never known.

    Source:
        The signature of Hoang, Carminati and Ferrari, "Cluster-Based Anonymization of Knowledge Graphs", ACNS 2020:
        attributes, out- and in-degree for each relation.
    """

    name = "signature-query"
    Settings = SignatureQuerySettings
    settings: SignatureQuerySettings

    @property
    def knows(self) -> str:
        numbers = {
            "all": "how many neighbours each has, by published types and directions",
            "total": "how many neighbours each has",
            "none": "",
        }[self.settings.degrees]
        parts = ["the published attributes of each"] if self.settings.attributes else []
        return " and ".join([*parts, *([numbers] if numbers else [])]) or "nothing of each"

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """Of each person what is told of its attributes [p, q, r, 2], and its degrees in several readings."""
        network, people = original.network, original.people
        facts = {name: degrees[:people] for name, degrees in _degrees(network).items()}
        if self.settings.attributes and network.people is not None:
            facts["attributes"] = network.people.runs[:people]
        return facts

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        everybody, people = np.arange(published.nodes), len(facts["total"])
        known, seen = self._numbers(published, facts)
        told = published.people if "attributes" in facts else None
        if published.counts is not None:
            return Candidates.of_sets([everybody] * people)
        if told is None:
            rows, own = np.unique(known, axis=0, return_inverse=True)
            sets = [_nearest(everybody, row, seen) for row in rows]
            return _by_row(sets, own)
        runs = facts["attributes"].reshape(people, -1)
        both = np.unique(np.hstack([runs, known]), axis=0, return_inverse=True)
        sets = list[Ints]()
        first = np.unique(both[1], return_index=True)[1]
        step = max(1, AT_ONCE // max(published.nodes, 1))
        for at in range(0, len(first), step):
            some = first[at : at + step]
            fits = self._fits(published, facts["attributes"][some])
            for person, fit in zip(some.tolist(), fits, strict=True):
                among = np.flatnonzero(fit)
                sets.append(_nearest(among if len(among) else everybody, known[person], seen))
        return _by_row(sets, both[1])

    def _fits(self, published: Network, runs: Ints) -> NDArray[np.bool_]:
        """Which nodes may have each person's attributes, [s, n]."""
        table = published.people
        assert table is not None
        if self.of == "published":
            rows = np.vstack([runs.reshape(len(runs), -1), table.runs.reshape(table.nodes, -1)])
            together = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
            fits: NDArray[np.bool_] = together[: len(runs), None] == together[None, len(runs) :]
            return fits
        return table.fitting(runs[:, :, 0, 0])

    def _numbers(self, published: Network, facts: Facts) -> tuple[Ints, Ints]:
        """Degrees that are known [p, c], and the same of published nodes [n, c]."""
        people = len(facts["total"])
        if self.settings.degrees == "none":
            return np.empty((people, 0), dtype=np.int64), np.empty((published.nodes, 0), dtype=np.int64)
        seen = _degrees(published)
        told = [name for name in ("types", "ways") if name in seen and name in facts]
        names = told if told and self.settings.degrees == "all" else ["total"]
        parts = [(facts[name], seen[name]) for name in names]
        wide = [max(one.shape[1], other.shape[1]) for one, other in parts]
        known, found = (
            np.hstack([_wide(part[side], width) for part, width in zip(parts, wide, strict=True)])
            for side in (0, 1)
        )
        return known, found


def _degrees(network: Network) -> dict[str, Ints]:
    """Numbers of neighbours: in all [n, 1], by types and by directions where the network tells these."""
    found = {"total": network.plain().degrees[:, None]}
    if network.types is not None:
        found["types"] = degree_vectors(network)
    if network.directions is not None:
        found["ways"] = degree_pairs(network)
    return found


def _nearest(among: Ints, known: Ints, seen: Ints) -> Ints:
    """Of some nodes those with the nearest numbers of neighbours."""
    apart = np.abs(seen[among] - known).sum(1)
    return among[apart == apart.min()] if len(among) else among


def _by_row(sets: list[Ints], own: Ints) -> Candidates:
    """Candidates of persons by the row that each of them has."""
    found = Candidates.of_sets(sets)
    row = own.ravel()
    return Candidates(found.start[row], found.sizes[row], found.listed)


def _wide(columns: Ints, width: int) -> Ints:
    """The same with zeros behind the last column, [n, width]."""
    return np.pad(columns, ((0, 0), (0, width - columns.shape[1])))
