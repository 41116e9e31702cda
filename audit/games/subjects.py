"""Attributes of the subjects by which risk is broken down."""

import numpy as np
from torch_geometric.data import Data

from ...graphs.pair_codes import ends
from ...targets.target import Secrets

SAME_CLASS = "one class"
THIRDS = np.array(["low", "middle", "high"])


def attributes(data: Data, secrets: Secrets) -> dict[str, np.ndarray]:
    """What is told of each subject, in ascending order of id: one label each, [s].

    Of nodes ``degree`` and ``homophily`` (share of neighbours with the same label) in thirds of the subjects,
    ``class``, and ``client`` where there are several; of a person and a published node the person's ``degree``.
    """
    order = np.argsort(secrets.subjects)
    if secrets.cells is not None:
        client, label = np.divmod(secrets.subjects[order], secrets.cells)
        return {"client": client.astype(str), "class": label.astype(str)}
    if secrets.people is not None and secrets.original is not None:
        person = ends(secrets.subjects[order], int(secrets.nodes or 0))[0]
        return {"degree": in_thirds(secrets.original.network.degrees[person])}
    nodes = secrets.subjects[order]
    row, col = data.edge_index.cpu().numpy()
    labels = data.y.cpu().numpy()
    degree = np.bincount(row, minlength=data.num_nodes)
    if secrets.nodes is not None:
        return _of_pairs(nodes, secrets, order, degree, labels)
    same = np.bincount(row, weights=labels[row] == labels[col], minlength=data.num_nodes)
    found = {
        "degree": in_thirds(degree[nodes]),
        "homophily": in_thirds(same[nodes] / np.maximum(degree[nodes], 1)),
        "class": labels[nodes].astype(str),
    }
    if secrets.owners is not None and (secrets.owners >= 0).all():  # else who has an owner is a member
        found["client"] = secrets.owners[order].astype(str)
    return found


def _of_pairs(
    pairs: np.ndarray, secrets: Secrets, order: np.ndarray, degree: np.ndarray, labels: np.ndarray
) -> dict[str, np.ndarray]:
    """Of pairs of nodes: degrees of both ends multiplied in thirds, whether they are of one class, ``client``."""
    low, high = ends(pairs, int(secrets.nodes or 0))
    found = {
        "degree": in_thirds(np.maximum(degree[low], 1) * np.maximum(degree[high], 1)),
        "classes": np.where(labels[low] == labels[high], SAME_CLASS, "two classes"),
    }
    return found if secrets.owners is None else {**found, "client": secrets.owners[order].astype(str)}


def in_thirds(values: np.ndarray) -> np.ndarray:
    """``low``, ``middle`` or ``high`` for each value; equal values are in one third, so thirds may be unequal."""
    lower, upper = np.quantile(values, [1 / 3, 2 / 3])
    named: np.ndarray = THIRDS[(values > lower).astype(int) + (values > upper)]
    return named
