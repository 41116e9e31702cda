"""What targets that release condensed graphs do in the end: who was a member, what are the releases worth."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from .condensed import CondensedGraph
from .evaluation import Bench, TestPhase
from .party import Client
from .randomness import branch
from .target import UNITS, Progress, Secrets, Utility

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


def utilities(
    bench: Bench, releases: Sequence[tuple[int, CondensedGraph]], seed: np.random.SeedSequence, progress: Progress
) -> tuple[tuple[Utility, ...], int]:
    """The worth of each release, and which of them is best on validation nodes."""
    found = []
    for done, (round_, release) in enumerate(releases):
        found.append(bench.utility(release, round_, branch(seed, round_)))
        progress("measuring utility", done + 1, len(releases))
    return tuple(found), int(np.argmax([u.validation for u in found]))


def transferred(
    release: CondensedGraph,
    data: Data,
    clients: Sequence[Client],
    phase: TestPhase,
    seed: np.random.SeedSequence,
    progress: Progress,
    across: bool = True,
) -> dict[str, float]:
    """Test accuracy of other architectures on the whole graph, with the features and edges that the clients hold.

    Each client tunes them on its own labels if the test phase has it so, as FedGC's does (section 3.1).

    Edges between clients count only if what they condensed from knew them (``across``).
    """
    from .downstream import ARCHITECTURES, Share, WholeGraph, transfer

    x = torch.zeros(data.x.shape, device=clients[0].x.device)
    for client in clients:
        x[client.nodes] = client.x
    edges = [c.nodes[c.edges] for c in clients]
    if across:
        edges += [torch.stack([c.nodes[c.cut[0]], c.cut[1]]) for c in clients]

    def told(client: Client, mask: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return client.nodes[mask], labels[mask]

    shares = [Share(told(c, c.train, c.y_train), told(c, c.val, c.y), told(c, c.test, c.y)) for c in clients]
    return transfer(
        release,
        WholeGraph(x, torch.cat(edges, dim=1), tuple(shares)),
        clients[0].classes,
        phase,
        seed,
        progress=lambda done: progress("training other architectures", done, len(ARCHITECTURES)),
    )
