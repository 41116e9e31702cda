"""What structural queries share that know values of edges too, and use them where these are published."""

from collections.abc import Mapping

import numpy as np
from pydantic import Field

from ...graphs.network import MARKS, Ints, Network, Original
from .degree_profiles import backed_by
from .edge_values import Values, fact, tellings, usable, value_keys
from .identity_attack import Candidates, Facts, StructuralQuery, StructuralQuerySettings

KEYS = "values"
"""What is known of persons' own edges is called so among facts."""
KNOWN: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "sums": {
        "weights": "the sum of the weights at each",
        "types": "the number of edges of each type at each",
        "directions": "how many edges lead to each and away from it",
    },
    "multisets": {
        "weights": "the weight of each edge",
        "types": "the type of each edge",
        "directions": "which way each edge leads",
    },
}
"""What is known of weights, types and directions, in words."""


class ValuedQuerySettings(StructuralQuerySettings):
    """Settings of every query that knows values of edges."""

    values: Values = Field(
        "sums",
        description="what is known of weights, types and directions, and used where these are published: sums (of "
        "each node the sum of its weights and its number of edges of each type and direction), multisets (the "
        "weight, type and direction of each of its edges), or none",
    )


class ValuedQuery(StructuralQuery):
    """Base of structural queries that know what edges tell (`MARKS`), and use it where the release tells them.

    A subclass learns `learned_values`, and asks `compared_values` for keys that a person and its node share.
    """

    Settings = ValuedQuerySettings
    settings: ValuedQuerySettings

    def says(self, facts: Facts) -> str:
        known = {name for name in MARKS if fact(KEYS, (name,)) in facts}
        words = [words for name, words in KNOWN[self.settings.values].items() if name in known]
        return f"{self.knows}, and {' and '.join(words)}" if words else self.knows

    def learned_values(self, original: Original) -> dict[str, Ints]:
        """What is known of each person's own edges [p], by what a release may tell of edges."""
        if self.settings.values == "none":
            return {}
        return {
            fact(KEYS, told): value_keys(original.network.telling(told), self.settings.values)[: original.people]
            for told in tellings(original.network)
        }

    def compared_values(self, published: Network, facts: Facts) -> tuple[Ints, Ints] | None:
        """Keys of persons [p] and of published nodes [n'] by their own edges; None if nothing can be compared."""
        told = usable(published, facts, KEYS)
        if not told:
            return None
        return facts[fact(KEYS, told)], value_keys(published.telling(told), self.settings.values)


def agree(structure: Candidates, known: Ints, seen: Ints) -> bool:
    """Whether a release tells the values that an adversary knows: most whom structure alone finds have theirs.

    Args:
        structure: who fits each person by structure alone.
        known: keys of the values of persons [p].
        seen: keys of those of published nodes [n'].

    Returns:
        True also where structure alone finds nobody, for nothing speaks against it then.
    """
    found = np.flatnonzero(structure.sizes == 1)
    own = structure.listed[structure.start[found]]
    return not len(found) or bool(2 * (known[found] == seen[own]).sum() >= len(found))


def in_turn(both: Candidates, values: tuple[Ints, Ints], structure: Candidates) -> Candidates:
    """Who fits a person by structure and its own edges; where nobody does, by its edges alone, then by structure.

    A change elsewhere in the network changes what structure tells of a person, and not its own edges.
    """
    return backed_by(both, backed_by(Candidates.of_keys(*values), structure))
