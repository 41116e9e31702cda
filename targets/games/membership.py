"""Membership as a secret: whose label was trained on?"""

from collections.abc import Mapping, Sequence

import numpy as np
from torch_geometric.data import Data

from ..party import Client
from ..target import UNITS, Secrets

GAME = "label-membership"


def label_membership(
    data: Data, clients: Sequence[Client], groups: Mapping[str, np.ndarray] | None = None
) -> Secrets:
    """Members: nodes whose label was trained on. Non-members: test nodes.

    Args:
        data: the whole graph.
        clients: who holds which node.
        groups: for each group of members or non-members that is reported apart, which of the N nodes it leaves out.
    """
    train = data.train_mask.cpu().numpy()
    subjects = np.flatnonzero(train | data.test_mask.cpu().numpy())
    owners = np.empty(len(train), dtype=np.int64)
    for client in clients:
        owners[client.nodes.cpu().numpy()] = client.number
    apart = {name: ~left_out[subjects] for name, left_out in (groups or {}).items()}
    return Secrets(GAME, UNITS[GAME], subjects, train[subjects], apart, owners[subjects])


def channels_of_leakage(train: np.ndarray, copied: np.ndarray) -> dict[str, np.ndarray]:
    """Which nodes each group of members leaves out [N]: of those whose rows a release starts from, and of the
    others.

    The first are told by the start, the others by the matching alone.
    """
    return {"members copied at first": train & ~copied, "members never copied": train & copied}
