"""A graph of 60 nodes in three classes, with 6, 4 and 2 labelled nodes, for condensation tests."""

import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.utils import stochastic_blockmodel_graph

from gaudit.graphs.checks import check_graph


def sixty_nodes() -> Data:
    """The same graph at every call."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        y = torch.arange(60) // 20
        chances = [[0.2 if i == j else 0.03 for i in range(3)] for j in range(3)]
        edges = stochastic_blockmodel_graph([20] * 3, chances)
        place = torch.arange(60) % 20  # of each class first the labelled, then 5 for validation and 8 for testing
        labelled = torch.tensor([6, 4, 2])[y]
        train, val = place < labelled, (place >= labelled) & (place < labelled + 5)
        test = (place >= labelled + 5) & (place < labelled + 13)
        x = torch.randn(60, 5) + 2 * F.one_hot(y, 5)
        masks = {"train_mask": train, "val_mask": val, "test_mask": test}
        return check_graph(Data(x=x, y=y, edge_index=edges, **masks), "sixty")
