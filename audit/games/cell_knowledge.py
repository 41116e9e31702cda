"""Hands an adversary who reads uploads what that game grants it: next to nothing."""

import numpy as np
import torch
from torch_geometric.data import Data

from ...attacks.attack import Knowledge
from ...randomness import branch
from ...targets.target import Secrets
from .knowledge import Grant, without_ancestry


def grant_cells(data: Data, secrets: Secrets, knows_defense: bool, seed: np.random.SeedSequence) -> Grant:
    """It knows which client uploaded which class's gradient, as the upload says, and no node at all."""
    nothing, no_edges = torch.empty(0, dtype=torch.long), torch.empty((2, 0), dtype=torch.long)
    knowledge = Knowledge(
        x=torch.empty((0, data.num_features)),
        edges=no_edges,
        neighbours="true",
        labels=nothing,
        subjects=torch.from_numpy(np.sort(secrets.subjects)),
        shadow=nothing,
        shadow_edges=no_edges,
        members=int(secrets.truth.sum()),
        classes=int(secrets.cells or 0),
        knows_defense=knows_defense,
        game=secrets.game,
        seed=without_ancestry(branch(seed, "coins")),
    )
    return CellGrant(knowledge, np.arange(data.num_nodes))


class CellGrant(Grant):
    """Cells are told by client and class as they are."""

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        return granted
