"""The same model judged with three kinds of knowledge: its own training function, a declared recipe, answers alone.

    python benchmarks/own_training.py --dataset Cora --seeds 5

The model is a GCN with batch norm, which no declared recipe has. Beside the three stands what one does by hand: 16
of the user's own models on random halves of the nodes in question, and LiRA's likelihood ratio written down here,
without gaudit's attacks. All four judge the same target. TPR is at 1 % false positives, and figures are plain:
everybody is compared with everybody.
"""

from typing import Any

import click
import numpy as np
import torch
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, roc_curve
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import gaudit

RECIPE = {"architecture": "gcn", "hidden": 64, "epochs": 200, "lr": 0.01, "weight_decay": 5e-4, "dropout": 0.5}
"""What a user would declare of the model below: all but its batch norm."""


class Net(torch.nn.Module):
    """Two GCN layers with batch norm between them."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first, self.norm = GCNConv(features, 64), torch.nn.BatchNorm1d(64)
        self.second = GCNConv(64, classes)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        hidden = F.dropout(F.relu(self.norm(self.first(x, edges))), 0.5, self.training)
        return self.second(hidden, edges)


def train(data: Data, mask: torch.Tensor, seed: int) -> Net:
    """A user's own training loop."""
    torch.manual_seed(seed)
    net = Net(data.num_features, int(data.y.max()) + 1)
    steps = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(200):
        net.train()
        steps.zero_grad()
        F.cross_entropy(net(data.x, data.edge_index)[mask], data.y[mask]).backward()
        steps.step()
    return net.eval()


def ask(net: Net, x: torch.Tensor, edges: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """A user's own way to ask."""
    return net(x, edges)[nodes]


def by_hand(data: Data, members: np.ndarray, subjects: np.ndarray, target: Net, seed: int) -> tuple[float, float]:
    """AUC and TPR of LiRA with 16 own models, 8 masks and their complements, one pooled variance a side."""
    rng, margins, inside = np.random.default_rng(seed), [], []
    for k in range(8):
        half = rng.permutation(subjects)[: len(subjects) // 2]
        for part in (half, np.setdiff1d(subjects, half)):
            mask = torch.zeros(int(data.num_nodes or 0), dtype=torch.bool)
            mask[torch.from_numpy(part)] = True
            margins.append(_margin(train(data, mask, 1000 * seed + 2 * k + (part is half)), data, subjects))
            inside.append(np.isin(subjects, part))
    values, within = np.stack(margins), np.stack(inside)
    ratio = _log_density(_margin(target, data, subjects), values, within)
    truth = np.isin(subjects, members)
    false, true, _ = roc_curve(truth, ratio)
    return float(roc_auc_score(truth, ratio)), float(true[false <= 0.01].max())


def _margin(net: Net, data: Data, subjects: np.ndarray) -> np.ndarray:
    """Log-odds of the right class among all."""
    with torch.no_grad():
        told = net(data.x, data.edge_index)[torch.from_numpy(subjects)].double().log_softmax(1)
    right = told.gather(1, data.y[torch.from_numpy(subjects)][:, None]).squeeze(1)
    return (right - torch.log1p(-right.exp().clamp(max=1 - 1e-12))).numpy()


def _log_density(target: np.ndarray, values: np.ndarray, within: np.ndarray) -> np.ndarray:
    sides = []
    for side in (within, ~within):
        mean = np.where(side, values, 0).sum(0) / side.sum(0)
        spread = np.sqrt(np.where(side, (values - mean) ** 2, 0).sum() / (side.sum() - side.shape[1]))
        sides.append(norm.logpdf(target, mean, spread))
    return sides[0] - sides[1]


def measured(data: Data, members: np.ndarray, others: np.ndarray, seed: int, shadows: int) -> list[dict[str, Any]]:
    """One target, judged in four ways."""
    mask = torch.zeros(int(data.num_nodes or 0), dtype=torch.bool)
    mask[torch.from_numpy(members)] = True
    target = train(data, mask, seed)
    everybody = torch.arange(int(data.num_nodes or 0))
    with torch.no_grad():
        told = ask(target, data.x, data.edge_index, everybody).softmax(1)
    who = {"members": members, "non_members": others, "attacks": "lira", "shadows": shadows, "seed": seed}
    who |= {"queries": ("full",), "progress": False, "workers": 1}
    prepared = iter([target])  # the first model that is asked for is the one on the members
    ways: dict[str, dict[str, Any]] = {
        "own training function": {"fit": lambda d, m, s: next(prepared, None) or train(d, m, s), "predict": ask},
        "declared recipe": {"answers": told, "recipe": RECIPE},
        "answers alone": {"answers": told},
    }
    rows = []
    for name, way in ways.items():
        attacks = {"attacks": "loss"} if name == "answers alone" else {}
        result = gaudit.audit(data, **{**who, **way, **attacks})
        (place,) = result.audit.findings()
        more = place.attack.more
        rows.append({"way": name, "auc": more["plain_auc"].estimate, "tpr": more["plain_tpr"].estimate})
    auc, tpr = by_hand(data, members, np.sort(np.concatenate([members, others])), target, seed)
    return [*rows, {"way": "by hand, 16 own models", "auc": auc, "tpr": tpr}]


@click.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--shadows", default=16, show_default=True)
@click.option("--in-question", default=2000, show_default=True, help="Nodes, half of them members.")
def main(dataset: str, seeds: int, shadows: int, in_question: int) -> None:
    """Prints the four ways beside each other, mean and standard deviation over targets."""
    torch.set_num_threads(1)
    data, rows = gaudit.load_dataset(dataset), []
    for seed in range(seeds):
        drawn = np.random.default_rng(seed).permutation(int(data.num_nodes or 0))[:in_question]
        half = in_question // 2
        rows += measured(data, np.sort(drawn[:half]), np.sort(drawn[half:]), seed, shadows)
        click.echo(f"seed {seed} done", err=True)
    click.echo(f"| {dataset}, {seeds} targets | AUC | TPR at 1 % FPR |\n|---|---:|---:|")
    for way in dict.fromkeys(row["way"] for row in rows):
        cells = []
        for what in ("auc", "tpr"):
            values = np.array([row[what] for row in rows if row["way"] == way], dtype=float)
            cells.append(f"{values.mean():.3f} ({values.std(ddof=1):.3f})" if seeds > 1 else f"{values.mean():.3f}")
        click.echo(f"| {way} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
