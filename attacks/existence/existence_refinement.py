"""Who is in a published network, by whether anybody there looks like the person."""

import numpy as np

from ...graphs.network import Floats, Network, Original
from ...settings import Settings
from ...targets.messages import PUBLISHED_GRAPH
from ..identity.degree_profiles import degree_profiles
from ..identity.identity_attack import Facts
from .existence_attack import ExistenceAttack


class ExistenceRefinement(ExistenceAttack):
    """Knows the degrees of each person's neighbours, and asks whether any published node has such neighbours.

    The knowledge is that of the vertex refinement query H_2 (Hay et al. 2008), told as a degree profile
    (`degree_profiles`). A person's score falls with the city-block distance to the nearest profile of any published
    node: 0 where one has the same. Whoever is left out changes the degrees of neighbours who stay, so this attack
    is weak where many are left out, and strong where people of two networks are told apart.
    """

    name = "existence-refinement"
    cheap = (PUBLISHED_GRAPH,)
    Settings = Settings

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        return {"profiles": degree_profiles(original.network.plain())}

    def says(self, facts: Facts) -> str:
        return "the degrees of each one's neighbours"

    def found(self, published: Network, facts: Facts) -> Floats:
        from scipy.spatial import cKDTree

        seen = degree_profiles(published.plain())
        return -np.asarray(cKDTree(seen).query(facts["profiles"], p=1)[0], dtype=np.float64)
