"""Who is who from the degrees around a person: vertex refinement queries (Hay et al. 2008)."""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from ...graphs.network import Floats, Ints, Network, Original
from ...targets.messages import PUBLISHED_GRAPH
from .colour_refinement import colours_at, stable_colours, structure
from .degree_profiles import backed_by, degree_profiles, nearest, nearest_of_key, of_degrees
from .edge_values import fact, tellings, usable, value_profile, valued_colours
from .identity_attack import Candidates, Facts, shared
from .valued_query import ValuedQuery, ValuedQuerySettings, agree


def _whole_or_stable(value: object) -> object:
    """One message for both choices; pydantic has one for each."""
    if value == "stable" or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    raise ValueError("expected a whole number from 0 on, or 'stable'")


class RefinementSettings(ValuedQuerySettings):
    """Settings of `Refinement`."""

    depth: Annotated[int | Literal["stable"], BeforeValidator(_whole_or_stable)] = Field(
        2,
        description="of the query H_i: 0 is nothing but values of edges, 1 the degree, 2 the degrees of the "
        "neighbours; or stable: until the original's classes split no more",
    )
    match: Literal["nearest", "exact"] = Field(
        "nearest",
        description="where no published node has the same H_i, take those with the nearest degrees around them, "
        "or nobody",
    )


class Refinement(ValuedQuery):
    """Knows H_i of each person, and takes every published node with the same H_i for a candidate.

    H_0 is nothing, H_1(x) the degree, H_i(x) the multiset of H_{i-1} of x's neighbours. What any knowledge of a
    naively published network's structure leaves is the automorphism orbit; "stable" comes close to it from above,
    at the cost of sums over neighbours. A path of n nodes needs n / 2 rounds for that, real networks about ten.

    A defense that changes a few edges changes H_i of many nodes, and an adversary would not give up then: where no
    node fits exactly, the published nodes with the nearest degree profile (`degree_profiles`; the nearest degree
    where it knows no more) are the candidates.

    Where weights, types or directions of edges are published, every degree comes with what is known of these
    (``values``). A person whom no node fits in all then is looked for among those with the same values at their own
    edges, by the nearest profile; then among those with the same H_i, by the nearest values; and only then among
    all. Where the release was told other values than the true ones (rounded, or with noise), equal values mean
    nothing, and only near ones do: the adversary sees that from people whom structure alone finds (`agree`).

    Keys are 64-bit hashes, see `colour_refinement` for how unlikely it is that two different ones agree. A release
    that tells numbers of edges instead of edges leaves everybody a candidate.
    """

    name = "refinement"
    cheap = (PUBLISHED_GRAPH,)
    Settings = RefinementSettings
    settings: RefinementSettings

    @property
    def knows(self) -> str:
        depth = self.settings.depth
        first = {0: "nothing", 1: "the degree of each", 2: "the degrees of each one's neighbours"}
        if depth == "stable":
            return "all that colour refinement tells of each one's place (H_i until no class splits any more)"
        return first.get(
            depth, f"the vertex refinement query H_{depth} of each, the degrees up to {depth - 1} steps away"
        )

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """Of each person [p] its colour, how many rounds that took (the same for all), and its degree profile."""
        graph, rounds = structure(original.network), self.settings.depth
        if rounds == "stable":
            colours, rounds = stable_colours(graph)
        else:
            colours = colours_at(graph, rounds)
        known = colours[: original.people].view(np.int64)
        profile = _profiles(original.network, int(rounds))[: original.people]
        found = {"colours": known, "rounds": np.full(original.people, rounds), "profiles": profile}
        return found | self._learned(original)

    def _learned(self, original: Original) -> dict[str, NDArray[Any]]:
        """The same by what a release may tell of edges, [p] each."""
        found: dict[str, NDArray[Any]] = dict(self.learned_values(original))
        for told in tellings(original.network) if found else []:
            network = original.network.telling(told)
            colours, rounds = valued_colours(network, self.settings.depth, self.settings.values)
            found[fact("colours", told)] = colours[: original.people]
            found[fact("rounds", told)] = np.full(original.people, rounds)
            found[fact("profiles", told)] = value_profile(network)[: original.people]
        return found

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        people = len(facts["colours"])
        if published.counts is not None or not people:
            return shared([np.arange(published.nodes)], np.zeros(people, dtype=np.int64))
        rounds = int(facts["rounds"][0])
        structural = facts["colours"], colours_at(structure(published), rounds).view(np.int64)
        told, keys = usable(published, facts, "colours"), self.compared_values(published, facts)
        alike = Candidates.of_keys(*structural)
        same = alike
        if told:
            depth = int(facts[fact("rounds", told)][0])
            seen = valued_colours(published.telling(told), depth, self.settings.values)[0]
            same = Candidates.of_keys(facts[fact("colours", told)], seen)
        if self.settings.match == "exact":
            return same
        known, profiles = facts["profiles"], _profiles(published, rounds)
        if keys is not None:
            mine, theirs = facts[fact("profiles", told)], value_profile(published.telling(told))
            known, profiles = np.column_stack([known, mine]), np.column_stack([profiles, theirs])
            by_structure = nearest_of_key(mine, theirs, *structural)
            by_values = backed_by(same, nearest_of_key(known, profiles, *keys))
            same = backed_by(by_values, by_structure) if agree(alike, *keys) else by_structure
        return backed_by(same, nearest(known, profiles))


def _profiles(network: Network, depth: int) -> Floats:
    """What is compared where colours differ: degrees of the neighbours, or as little as H_depth tells, [n, q]."""
    if depth == 0:
        return np.zeros((network.nodes, 1))
    return of_degrees(network.degrees) if depth == 1 else degree_profiles(network)
