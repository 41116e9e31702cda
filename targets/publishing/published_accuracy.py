"""What a model that is trained on a published network reaches."""

import numpy as np
import torch
from torch_geometric.data import Data

from ...graphs.network import Network
from ..models.recipe import Recipe
from ..models.shadow_models import ask_models, train_models
from ..models.shadow_task import Query, Task


def gnn_accuracy(data: Data, published: Network, seed: np.random.SeedSequence) -> float:
    """Test accuracy of a GCN on the published edges, trained with the owner's features and labels.

    Nodes that a defense added are left out; the others keep their place in ``published``.
    """
    edges = published.plain().edges
    edges = edges[:, edges[1] < data.num_nodes]
    seen = data.clone()
    seen.edge_index = torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1)).to(data.x.device)
    task = Task(seen, data.train_mask[None], Recipe(architecture="gcn"), int(data.y.max()) + 1, False)
    weights = train_models(task, [], seed, keep_weights=True).weights
    logits = ask_models(task, [Query(torch.arange(data.num_nodes), seen.edge_index)], weights)[0][0]
    return float((logits.argmax(1) == data.y)[data.test_mask].float().mean())
