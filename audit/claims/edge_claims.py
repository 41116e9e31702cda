"""What is condensed from without edges, the defense `edge-free`, as a mechanism whose claim is checked."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from ...defenses.training.edge_free import EdgeFree
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism, MechanismSettings
from ...targets.channel import Channel
from ...targets.defense import Defense
from ...targets.federated.neighbour_exchange import exchange
from ...targets.partition import Partition
from ...targets.party import Client, clients_of


class EdgeFreeClaimSettings(MechanismSettings):
    """Settings of `PropagatedRows`."""

    epsilon: float = Field(0.0, ge=0, le=0, description="nothing else is promised")


class PropagatedRows(Mechanism):
    """The rows that every condensation reads of a client, propagated twice, after its edges were taken away.

    All that is sent and released is made of these, of labels, and of coins. That every message of every
    condensation is the same whatever the edges, to the last bit, is tested on runs; this is the claim on what they
    start from.
    """

    name = "edge-free"
    differ_in = "edge"
    Settings = EdgeFreeClaimSettings
    defense: ClassVar[Defense] = EdgeFree()

    @property
    def guarantee(self) -> Guarantee:
        return EdgeFree().promise()

    def inputs(self) -> tuple[Client, Client]:
        """Two nodes with a feature each of its own, without an edge and with one."""
        from torch_geometric.data import Data

        alone = Data(x=torch.eye(2), y=torch.tensor([0, 1]), edge_index=torch.empty((2, 0), dtype=torch.long))
        alone.train_mask = torch.ones(2, dtype=torch.bool)
        alone.val_mask = alone.test_mask = ~alone.train_mask
        (client,) = clients_of(alone, Partition.undivided(2))
        return client, replace(client, edges=torch.tensor([[0, 1], [1, 0]]))

    def release(self, data: Client, rng: np.random.Generator) -> np.ndarray:
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        client = self.defense.on_data(data, None, seed, lambda kind, tensors: None)
        (near,) = exchange([client], 2, len(data.nodes), Channel(retain=lambda message: False), encrypted=False)
        found: np.ndarray = (near.second @ near.rows.to_dense()).numpy()
        return found

    def score(self, released: np.ndarray) -> float:
        """How much of one node's feature came to the other."""
        return float(released[0, 1])
