"""Who is who from the friends of a person and who of them are friends: neighbourhoods (Zhou and Pei 2008)."""

import numpy as np

from ...graphs.neighbourhoods import digests
from ...graphs.network import Ints, Network, Original
from .edge_values import joined
from .identity_attack import Candidates, Facts, shared
from .valued_query import ValuedQuery, agree, in_turn


class NeighbourhoodQuery(ValuedQuery):
    """Knows the graph that each person's neighbours form, and takes nodes with an isomorphic one for candidates.

    The neighbourhood of a person is the subgraph that its neighbours induce; who is who in it is unknown. Exact:
    neighbourhoods are compared by their canonical form (BLISS), not by what a cheap invariant says of them.
    Where weights or types of edges are published, a candidate also has the same values at its own edges
    (``values``); where no node has both, these alone count, and then the neighbourhood alone.

    Keys are 64-bit digests of canonical forms: that two of N different ones agree has probability N^2 / 2^65.
    """

    name = "neighbourhood-query"

    @property
    def knows(self) -> str:
        return "the subgraph that the neighbours of each form"

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """The digest of each person's neighbourhood, [p]."""
        return {"neighbourhoods": digests(original.network)[: original.people], **self.learned_values(original)}

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        known = facts["neighbourhoods"]
        if published.counts is not None:
            return shared([np.arange(published.nodes)], np.zeros(len(known), dtype=np.int64))
        seen, keys = digests(published), self.compared_values(published, facts)
        same = Candidates.of_keys(known, seen)
        if keys is None or not agree(same, *keys):
            return same
        return in_turn(Candidates.of_keys(*joined((known, seen), keys)), keys, same)
