"""Edge lists of real networks, where they are there."""

from pathlib import Path

import numpy as np
import pandas as pd

from gaudit.graphs.network import Network


def snap(folder: Path, name: str) -> Network:
    """A network of the folder's ``snap`` part: loops and repeated edges dropped, ids in ascending order."""
    rows = pd.read_csv(
        folder / f"snap/{name}.txt.gz", sep=r"\s+", header=None, usecols=[0, 1], comment="#"
    ).to_numpy()
    ids, ends = np.unique(rows, return_inverse=True)
    low, high = np.sort(ends.reshape(-1, 2), axis=1).T
    pairs = np.unique((low * len(ids) + high)[low != high])
    return Network.from_edges(len(ids), pairs // len(ids), pairs % len(ids))
