"""The script `train_gcn.py` with four more lines at its end, which audit the model that it trains."""

import torch
from torch.nn import functional as F
from torch_geometric import seed_everything
from torch_geometric.datasets import FakeDataset
from torch_geometric.nn import GCNConv
from torch_geometric.transforms import RandomNodeSplit

import gaudit


class GCN(torch.nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.first, self.second = GCNConv(features, 16), GCNConv(16, classes)
        self.norm = torch.nn.BatchNorm1d(16)

    def forward(self, x, edge_index):
        x = F.dropout(F.relu(self.norm(self.first(x, edge_index))), p=0.5, training=self.training)
        return self.second(x, edge_index)


def train(data, epochs=60):
    model = GCN(data.num_features, int(data.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        out = model(data.x, data.edge_index)
        F.cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    return model.eval()


seed_everything(0)
dataset = FakeDataset(num_graphs=1, avg_num_nodes=600, avg_degree=6, num_channels=32, num_classes=4)
data = RandomNodeSplit(num_val=60, num_test=200)(dataset[0])
model = train(data)
right = model(data.x, data.edge_index).argmax(1) == data.y
print(f"test accuracy {right[data.test_mask].float().mean():.2f}")

result = gaudit.audit(data, fit=lambda d, mask, seed: train(d), predict=lambda m, x, e, nodes: m(x, e)[nodes])
print(result)
result.save("audit.db")
result.report("report.html")
