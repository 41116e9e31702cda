"""Wrong: noise for one node's clipped term, where a node's neighbours have terms that depend on it too.

A sum over records with one clipped term each changes by one clip if a record goes, and accountants reckon so.
On a graph a node's features pass to its neighbours first, so that all their terms change with it. Seen where an
optimiser for independent records is put on a network that passes messages.
"""

import numpy as np

from gaudit.audit.claims.upload_claims import GaussianSettings
from gaudit.graphs.network import Network
from gaudit.mechanisms.gaussian import distance_of
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.mechanisms.mechanism import Mechanism

CLIP, LEAVES = 1.0, 20


class AccountantPerNode(Mechanism):
    """A sum of nodes' clipped terms with Gaussian noise for one of them."""

    name = "accountant-per-node"
    differ_in = "node"
    gaussian = True
    Settings = GaussianSettings

    @property
    def guarantee(self):
        settings = self.settings
        return Guarantee("node", "add/remove", "central", settings.epsilon, settings.delta, accountant="per node")

    def inputs(self):
        """Nodes of feature -1 that nothing links; and with one of feature 9 that is linked to all of them."""
        alone = Network.from_edges(LEAVES, [], []), np.full(LEAVES, -1.0)
        star = Network.from_edges(LEAVES + 1, [LEAVES] * LEAVES, list(range(LEAVES)))
        return alone, (star, np.append(alone[1], 9.0))

    def release(self, data, rng):
        network, features = data
        terms = np.clip(features + network.adjacency @ features, -CLIP, CLIP)
        return terms.sum() + CLIP / distance_of(self.settings.epsilon, self.settings.delta) * rng.standard_normal()

    def score(self, released):
        return float(released)
