"""Writes registry.npz: a made-up registry of 300 patients, joined where their measurements are alike.

Diagnoses follow the measurements only in part, as real ones do; a model that fits all of them has learned some
patients by heart.
"""

from pathlib import Path

import numpy as np
import torch
from sklearn.neighbors import kneighbors_graph
from torch_geometric.data import Data

from gaudit.graphs.checks import check_graph
from gaudit.graphs.files.data_file import write_graph

PATIENTS, MEASUREMENTS, DIAGNOSES, UNEXPLAINED = 300, 20, 3, 0.3


def registry(seed: int = 0) -> Data:
    """The registry as a graph."""
    rng = np.random.default_rng(seed)
    usual = rng.integers(0, DIAGNOSES, PATIENTS)
    x = rng.normal(size=(PATIENTS, MEASUREMENTS)) + 1.2 * rng.normal(size=(DIAGNOSES, MEASUREMENTS))[usual]
    y = np.where(rng.random(PATIENTS) < UNEXPLAINED, rng.integers(0, DIAGNOSES, PATIENTS), usual)
    near = kneighbors_graph(x, 3).tocoo()
    data = Data(
        x=torch.from_numpy(x.round(2)).float(),
        y=torch.from_numpy(y),
        edge_index=torch.from_numpy(np.stack([near.row, near.col])).long(),
    )
    masks = rng.permutation(PATIENTS) % 3
    for part, name in enumerate(("train_mask", "val_mask", "test_mask")):
        data[name] = torch.from_numpy(masks == part)
    return check_graph(data, "registry")


if __name__ == "__main__":
    write_graph(registry(), Path(__file__).parent / "registry.npz")
