"""Identities by a passive attack: friends who are in the network find themselves again, and those they know."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Ints, Network, Original
from .active_walk import RecoverySettings, recovered, tolerant, victims
from .identity_attack import Candidates, Facts, IdentityAttack, shared
from .walk_recovery import Pattern, marks

FIRST = 0.1
"""Share of the persons, those with most links, of whom one begins a coalition."""


class PassiveCoalitionSettings(RecoverySettings):
    """Settings of `PassiveCoalition`."""

    members: int = Field(6, ge=2, le=60, description="persons who collude")


class PassiveCoalition(IdentityAttack):
    """The passive attack of a coalition (Backstrom, Dwork and Kleinberg 2007).

    Some persons who know each other well collude after the release. They have put nothing into the network, and
    know as much as anybody there: who their neighbours are. They look for themselves by their degrees and the links
    among them, and then for others by which of them these are linked to. Otherwise it is `ActiveWalk`.
    """

    name: ClassVar[str] = "passive-coalition"
    Settings = PassiveCoalitionSettings
    settings: PassiveCoalitionSettings

    @property
    def knows(self) -> str:
        return f"the links of {self.settings.members} persons who collude, among themselves and to others by name"

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        members = coalition(original, self.settings.members, rng)
        pattern = Pattern.of(original.network, members)
        links = marks(original.network, members)[: original.people]
        return {"members": members, "inside": pattern.inside, "degrees": pattern.degrees, "links": links}

    def asked(self, facts: Facts) -> NDArray[np.bool_]:
        """Those who are linked to any of them, and none of them."""
        linked: NDArray[np.bool_] = facts["links"] != 0
        linked[facts["members"]] = False
        return linked

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        found = recovered(published, Pattern(facts["inside"], facts["degrees"]), self.settings)
        sets, own = victims(published, found, facts["links"], tolerant(self.settings))
        if found.complete and len(found.embeddings):
            own[facts["members"]] = len(sets) + np.arange(len(facts["members"]))
            sets = [*sets, *(np.unique(place) for place in found.embeddings.T)]
        return shared(sets, own)


def coalition(original: Original, members: int, rng: np.random.Generator) -> Ints:
    """Persons who know each other well [k], in an order in which each is linked to an earlier one.

    It grows from a random person among the tenth with most links; next comes who is linked to the most of those
    who are in, a random one of these where there are several.

    Raises:
        InputError: no group of so many persons is connected.
    """
    from scipy.sparse.csgraph import connected_components

    degrees = original.network.degrees[: original.people]
    among = original.network.adjacency[: original.people, : original.people]
    part = connected_components(among, directed=False)[1]
    able = np.flatnonzero(np.bincount(part)[part] >= members)
    if not len(able):
        raise InputError(
            f"no {members} persons of {original.people} are connected: set fewer members of the passive coalition"
        )
    many = able[np.argsort(-degrees[able], kind="stable")][: max(round(FIRST * len(able)), 1)]
    found, links = [int(rng.choice(many))], np.zeros(original.people, dtype=np.int64)
    while len(found) < members:
        links[among.indices[among.indptr[found[-1]] : among.indptr[found[-1] + 1]]] += 1
        links[found] = 0
        found.append(int(rng.choice(np.flatnonzero(links == links.max()))))
    return np.array(found, dtype=np.int64)
