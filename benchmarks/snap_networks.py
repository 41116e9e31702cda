"""Edge lists of real networks, from the folder that GAUDIT_DATA names."""

import os
from pathlib import Path

import click
import numpy as np
import pandas as pd

from gaudit.graphs.network import Network


def snap(name: str) -> Network:
    """A network of the folder's ``snap`` part: loops and repeated edges dropped, ids in ascending order.

    Raises:
        click.UsageError: no folder is named.
    """
    folder = os.environ.get("GAUDIT_DATA")
    if not folder:
        raise click.UsageError("GAUDIT_DATA names no folder with downloaded datasets")
    file = Path(folder) / f"snap/{name}.txt.gz"
    rows = pd.read_csv(file, sep=r"\s+", header=None, usecols=[0, 1], comment="#").to_numpy()
    ids, ends = np.unique(rows, return_inverse=True)
    low, high = np.sort(ends.reshape(-1, 2), axis=1).T
    pairs = np.unique((low * len(ids) + high)[low != high])
    return Network.from_edges(len(ids), pairs // len(ids), pairs % len(ids))
