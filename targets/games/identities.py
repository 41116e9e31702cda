"""Identities as secrets: which published node is this person?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graphs.network import Ints
from ...graphs.pair_codes import codes, ends
from ..target import UNITS, Secrets

GAME = "identity"
OTHERS = 12_000
"""Pairs of a person and another one's node in question: enough for a false-positive rate of 0.1 %."""


@dataclass(frozen=True, eq=False)
class Background:
    """What an adversary knows of people before a network is published.

    Attributes:
        persons: p, the number of people.
        nodes: n', the number of published nodes.
        facts: what it knows of each person, arrays by name.
        seeds: persons whose published node it knows, and these nodes, [2, s].
        sentence: what it knows, for the report.
    """

    persons: int
    nodes: int
    facts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    seeds: Ints = field(default_factory=lambda: np.empty((2, 0), dtype=np.int64))
    sentence: str = ""


def identity_codes(persons: Ints, published: Ints, people: int, nodes: int) -> Ints:
    """One whole number for each pair of a person [s] and a published node [s]; nodes count on after people.

    Published nodes are told by their published names, as adversaries have them, or by whom they stand for.
    """
    coded: Ints = codes(persons, people + published, people + nodes)
    return coded


def identity_pairs(coded: Ints, people: int, nodes: int) -> tuple[Ints, Ints]:
    """The person and the published node of each code: the inverse of `identity_codes`."""
    person, other = ends(coded, people + nodes)
    return person, other - people


def identity_secrets(
    image: Ints,
    nodes: int,
    seed: np.random.SeedSequence,
    others: int = OTHERS,
    persons: Ints | None = None,
) -> Secrets:
    """Who is who: in question are each person with its own node, and people with nodes of others.

    Published names are drawn anew in each run, so a subject tells its published node by the person that it stands
    for: over several runs it is the same subject then. Nodes that stand for nobody in question (an adversary's
    accounts, and what a defense added) come behind the people.

    Args:
        image: the published node of each person, [p].
        nodes: n', the number of published nodes.
        seed: of the sample.
        others: how many pairs of a person and another's node to draw, of all that there are.
        persons: who is in question; all by default.
    """
    rng, people = np.random.default_rng(seed), len(image)
    persons = np.arange(people) if persons is None else persons
    every = len(persons) * (nodes - 1)
    drawn = np.arange(every) if every <= others else np.unique(rng.integers(every, size=others))
    who, which = persons[drawn // (nodes - 1)], drawn % (nodes - 1)
    which = which + (which >= image[who])  # every node but the person's own
    placed = np.concatenate([image, np.setdiff1d(np.arange(nodes), image)])
    one, other = np.concatenate([persons, who]), np.concatenate([image[persons], which])
    return Secrets(
        GAME,
        UNITS[GAME],
        identity_codes(one, np.argsort(placed)[other], people, nodes),
        np.arange(len(persons) + len(drawn)) < len(persons),
        nodes=people + nodes,
        people=people,
        image=placed,
        sampling_weight=every / max(len(drawn), 1),
    )
