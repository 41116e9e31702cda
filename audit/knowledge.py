"""Hands an adversary exactly what the game grants it, under ids that say nothing."""

from dataclasses import dataclass

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from ..attacks.attack import Knowledge, Neighbours
from ..targets.errors import InputError
from ..targets.randomness import branch
from ..targets.target import Secrets

SMALLEST_SHADOW = 8


@dataclass(frozen=True)
class Grant:
    """An adversary's knowledge, and the referee's way back from its node ids to ours."""

    knowledge: Knowledge
    ids: np.ndarray

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        """Our ids of nodes that the adversary names."""
        ids: np.ndarray = self.ids[granted]
        return ids


def grant(
    data: Data, secrets: Secrets, neighbours: Neighbours, knows_defense: bool, seed: np.random.SeedSequence
) -> Grant:
    """The prior knowledge of the shadow-model adversary (FedGC, appendix E).

    Shadow nodes are drawn from those that are neither train nor test nodes of the target, as many as there
    are subjects or as many as there are.

    Raises:
        InputError: too few nodes are left for a shadow.
    """
    rng = np.random.default_rng(branch(seed, "grant"))
    nodes = data.num_nodes
    ours = rng.permutation(nodes)
    theirs = np.empty(nodes, dtype=np.int64)
    theirs[ours] = np.arange(nodes)
    left = np.setdiff1d(np.arange(nodes), secrets.subjects)
    if len(left) < SMALLEST_SHADOW:
        raise InputError(
            f"only {len(left)} nodes are neither train nor test nodes, a shadow model needs {SMALLEST_SHADOW}: "
            "leave more nodes out of the masks"
        )
    shadow = np.sort(theirs[rng.choice(left, size=min(len(left), len(secrets.subjects)), replace=False)])
    edges = torch.from_numpy(theirs)[data.edge_index.cpu()]
    known = torch.from_numpy(shadow)
    labels = torch.full((nodes,), -1, dtype=torch.long)
    labels[known] = data.y.cpu()[torch.from_numpy(ours[shadow])]
    inside, _ = subgraph(known, edges, num_nodes=nodes)
    knowledge = Knowledge(
        x=data.x.cpu()[torch.from_numpy(ours)],
        edges=_asked_with(edges, neighbours, rng),
        neighbours=neighbours,
        labels=labels,
        subjects=torch.from_numpy(np.sort(theirs[secrets.subjects])),
        shadow=known,
        shadow_edges=inside,
        members=int(secrets.truth.sum()),
        classes=int(data.y.max()) + 1,
        knows_defense=knows_defense,
    )
    return Grant(knowledge, ours)


def _asked_with(edges: torch.Tensor, neighbours: Neighbours, rng: np.random.Generator) -> torch.Tensor:
    """The edges of the adversary's queries: all, a random half (both directions together), or none."""
    if neighbours == "true":
        return edges
    if neighbours == "none":
        return edges[:, :0]
    once = edges[:, edges[0] < edges[1]]
    once = once[:, torch.from_numpy(rng.permutation(once.shape[1])[: once.shape[1] // 2])]
    return torch.cat([once, once.flip(0)], dim=1)
