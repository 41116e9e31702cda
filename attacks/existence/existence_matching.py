"""Who is in a published network, by how well a matching places each person there."""

import numpy as np

from ...graphs.network import Floats, Ints, Network, Original
from ..identity.graph_matching import expansion
from ..identity.identity_attack import Facts
from ..identity.seeded_matching import HELD, AuxiliarySettings, auxiliary, auxiliary_network, known_network
from .existence_attack import ExistenceAttack


class ExistenceMatching(ExistenceAttack):
    """Graph matching without seeds, whose own confidence says who is there at all.

    The adversary has another network, with names, of which only some people are in the published one. It matches
    the two as `seedless-matching` does. A person's score is the number of its neighbours that are matched to
    neighbours of its match, over the geometric mean of both degrees; 0 for whoever is matched to nobody. Where a
    person is not there, nodes that are left over may be matched to it, and their neighbours do not agree.
    """

    name = "existence-matching"
    Settings = AuxiliarySettings
    settings: AuxiliarySettings

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        return auxiliary(original, self.settings.overlap, rng)

    def says(self, facts: Facts) -> str:
        return HELD if "held" in facts else known_network(self.settings.overlap)

    def found(self, published: Network, facts: Facts) -> Floats:
        from ..identity.structural_seeds import structural_seeds

        s, own, plain = self.settings, auxiliary_network(facts), published.plain()
        nobody: Ints = np.empty((2, 0), dtype=np.int64)
        guessed = structural_seeds(own, plain, s.landmarks) if s.landmarks else nobody
        return agreement(own, plain, expansion(own, plain, nobody, guessed, s.threshold))


def agreement(one: Network, other: Network, image: Ints) -> Floats:
    """Of each node of a graph how far its neighbours are matched to neighbours of its own match, in 0 to 1, [n].

    Args:
        one: of n nodes.
        other: of n' nodes.
        image: the match of each node of the one in the other, -1 where there is none, [n].
    """
    low, high = one.edges
    both = np.stack([image[low], image[high]])
    there = (both >= 0).all(0)
    kept = np.zeros(one.size, dtype=bool)
    ordered = np.sort(both[:, there], axis=0)
    kept[there] = np.isin(ordered[0] * other.nodes + ordered[1], other.codes)
    shared = np.bincount(one.edges[:, kept].ravel(), minlength=one.nodes)
    theirs = np.where(image >= 0, other.degrees[image], 0)
    found: Floats = shared / np.sqrt(np.maximum(one.degrees * theirs, 1))
    return found
