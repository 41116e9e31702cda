"""Uploaded gradients as secrets: is the gradient of one class of one client that of a single node?"""

from collections.abc import Sequence

import numpy as np

from ..party import Client
from ..target import UNITS, Secrets

GAME = "lone-node"


def lone_node_secrets(clients: Sequence[Client]) -> Secrets:
    """Which cells (a client and a class that it has labels of) hold exactly one labelled node.

    A subject is ``client * C + class``.
    """
    classes = clients[0].classes
    counts = np.stack([c.class_counts().cpu().numpy() for c in clients])
    owner, label = counts.nonzero()
    return Secrets(
        GAME,
        UNITS[GAME],
        owner * classes + label,
        counts[owner, label] == 1,
        owners=owner,
        cells=classes,
    )
