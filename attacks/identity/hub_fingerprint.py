"""Who is who from the distances to the best connected nodes: hub fingerprint queries (Hay et al. 2008)."""

from typing import Literal

import numpy as np
from pydantic import Field

from ...graphs.network import Ints, Network, Original
from .colour_refinement import stable_colours, structure
from .identity_attack import Candidates, Facts, shared
from .valued_query import ValuedQuery, ValuedQuerySettings, in_turn

SELF = -1
"""Distance of a hub to itself; 0 already says that a node is not within reach."""
TIE_ROUNDS = 50
"""Rounds of refinement to spend on ties: enough for real networks, and no n / 2 rounds on a path."""


class HubFingerprintSettings(ValuedQuerySettings):
    """Settings of `HubFingerprint`."""

    hubs: int = Field(5, ge=1, description="how many nodes of highest degree are hubs (Hay et al.: 5 or 10)")
    depth: int = Field(3, ge=1, description="distances up to this are known")
    world: Literal["closed", "open"] = Field(
        "closed", description="closed: an unknown distance is larger than depth; open: it may be any"
    )


class HubFingerprint(ValuedQuery):
    """Knows each person's distances to the hubs, and takes published nodes with the same ones for candidates.

    It finds the hubs in the published network by their degree; among nodes of one degree those of the smaller
    colour (`colour_refinement`) come first, which depends on no id, and only then the smaller id. Nodes of one
    colour are nearly always images of each other, but where two such nodes tie, fingerprints may fail to match.

    Where weights or types of edges are published, a candidate also has the same values at its own edges
    (``values``); where no node has both, these alone count, and then the fingerprint alone.

    In a closed world a candidate has the same fingerprint. In an open one it needs to agree where a person's
    distance is known, so persons out of reach of all hubs may be anybody.
    """

    name = "hub-fingerprint"
    Settings = HubFingerprintSettings
    settings: HubFingerprintSettings

    @property
    def knows(self) -> str:
        hubs, depth = self.settings.hubs, self.settings.depth
        far = "that it is further" if self.settings.world == "closed" else "nothing of those further away"
        return f"the distance of each to the {hubs} nodes of highest degree where it is at most {depth}, else {far}"

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """The fingerprint of each person, [p, h]."""
        found = fingerprints(original.network, self.settings.hubs, self.settings.depth)
        return {"fingerprints": found[: original.people], **self.learned_values(original)}

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        known = facts["fingerprints"]
        if published.counts is not None:
            return Candidates.of_keys(
                np.zeros(len(known), dtype=np.int64), np.zeros(published.nodes, dtype=np.int64)
            )
        seen = fingerprints(published, self.settings.hubs, self.settings.depth)
        alike = closed_world if self.settings.world == "closed" else open_world
        keys, same = self.compared_values(published, facts), alike(known, seen)
        if keys is None:
            return same
        place = 1 + np.unique(np.concatenate(keys), return_inverse=True)[1]  # 0 would be unknown
        mine, theirs = np.split(place[:, None], [len(known)])
        return in_turn(alike(np.column_stack([known, mine]), np.column_stack([seen, theirs])), keys, same)


def hubs_of(network: Network, count: int) -> Ints:
    """The nodes of highest degree, highest first; ties by colour, then by id, [min(count, n)]."""
    colours = stable_colours(structure(network), rounds=TIE_ROUNDS)[0]
    return np.lexsort((np.arange(network.nodes), colours, -network.degrees))[:count].astype(np.int64)


def fingerprints(network: Network, hubs: int, depth: int) -> Ints:
    """Distances of each node to the hubs: 0 where larger than ``depth``, `SELF` at the hub itself, [n, hubs].

    Columns of hubs that a smaller network has not are 0. Time and memory: O(depth hubs m) and O(hubs n).
    """
    found = hubs_of(network, hubs)
    distance = np.zeros((network.nodes, hubs), dtype=np.int64)
    last = np.zeros((network.nodes, len(found)))
    last[found, np.arange(len(found))] = 1
    distance[:, : len(found)][last > 0] = SELF
    for step in range(1, depth + 1):
        reached = (network.adjacency @ last > 0) & (distance[:, : len(found)] == 0)
        distance[:, : len(found)][reached] = step
        last = reached.astype(np.float64)
    return distance


def closed_world(known: Ints, seen: Ints) -> Candidates:
    """Published nodes [n', h] with the very fingerprint of a person [p, h]."""
    keys = np.unique(np.concatenate([known, seen]), axis=0, return_inverse=True)[1].ravel()
    return Candidates.of_keys(keys[: len(known)], keys[len(known) :])


def open_world(known: Ints, seen: Ints) -> Candidates:
    """Published nodes [n', h] that agree with a person [p, h] wherever its distance is known.

    Not classes: a node may be a candidate of persons who are none of each other's. Persons with the same
    fingerprint share a set.
    """
    asked, person = np.unique(known, axis=0, return_inverse=True)
    rows, row = np.unique(seen, axis=0, return_inverse=True)
    sets = [np.flatnonzero(((rows == one) | (one == 0)).all(1)[row.ravel()]) for one in asked]
    return shared(sets, person.ravel())
