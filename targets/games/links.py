"""Links as secrets: pairs of nodes of one client, and whether there is an edge between them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...graphs.pair_codes import codes, distinct, ends, listed
from ...randomness import branch
from ..party import Client
from ..target import UNITS, Secrets

GAME = "edge-presence"
NON_EDGES = 12_000
"""Non-edges in question where there are more: enough to tell a true-positive rate at 0.1 % false positives."""
MATCHED = "degree-matched"
DROPPED = "an end dropped by the defense"
KEPT = "both ends kept by the defense"


def link_secrets(
    clients: Sequence[Client],
    nodes: int,
    seed: np.random.SeedSequence,
    non_edges: int = NON_EDGES,
    defended: Sequence[Client] = (),
) -> Secrets:
    """Which pairs of nodes within one client are linked.

    In question are all edges, and non-edges drawn uniformly from all pairs within a client (all of them where
    there are no more than ``non_edges``): AUC and false-positive rates are those over all pairs, and each
    non-edge stands for as many as it was drawn from. Beside them stands a sample as large as the edges of which
    each pair has the degrees of an edge's ends (``degree-matched``), which a guess from degrees cannot tell apart.

    Args:
        clients: with their own edges, before any defense.
        nodes: N.
        seed: of the sample.
        non_edges: how many to draw at most.
        defended: the clients after a defense of their data; pairs are then also reported apart by whether it
            dropped one of their ends, which is a node that it left without edges and without a label.

    Raises:
        InputError: all clients together have no edge, or no non-edge.
    """
    parts = [
        _pairs_of(c, nodes, non_edges, clients, np.random.default_rng(branch(seed, c.number))) for c in clients
    ]
    edges, others, matched = (np.concatenate([p[k] for p in parts]) for k in range(3))
    subjects = np.concatenate([edges, others, distinct(matched[~listed(matched, np.sort(others))])])
    truth = np.arange(len(subjects)) < len(edges)
    if not truth.any() or truth.all():
        raise InputError("there is no edge, or nothing but edges, within the clients: nothing is in question")
    owner = np.full(nodes, -1)
    for client in clients:
        owner[client.nodes.cpu().numpy()] = client.number
    uniform = truth | np.isin(subjects, others)
    every = sum(len(c.nodes) * (len(c.nodes) - 1) // 2 for c in clients) - len(edges)
    return Secrets(
        GAME,
        UNITS[GAME],
        subjects,
        truth,
        _by_fate(subjects, nodes, clients, defended),
        owner[ends(subjects, nodes)[0]],
        nodes=nodes,
        holders=owner,
        sampling_weight=every / max(len(others), 1),
        asked=uniform,
        samples={MATCHED: truth | np.isin(subjects, matched)},
    )


def _pairs_of(
    client: Client, nodes: int, non_edges: int, clients: Sequence[Client], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of a client's edges, of uniform non-edges, and of non-edges with the degrees of its edges' ends."""
    own, edges = client.nodes.cpu().numpy(), client.edges.cpu().numpy()
    row, col = edges[:, edges[0] < edges[1]]
    linked = distinct(codes(row, col, len(own)))
    every = len(own) * (len(own) - 1) // 2
    total = sum(len(c.nodes) * (len(c.nodes) - 1) // 2 for c in clients)
    share = round(non_edges * every / max(total, 1))
    uniform = _all_pairs(len(own)) if total <= non_edges else _drawn(len(own), share, linked, rng)
    uniform = distinct(uniform[~listed(uniform, linked)])
    ours = (np.concatenate([row, col]), np.concatenate([col, row]))
    matched = _matched(ours, linked, len(own), rng)
    return tuple(_global(part, own, nodes) for part in (linked, uniform, matched))  # type: ignore[return-value]


def _global(coded: np.ndarray, own: np.ndarray, nodes: int) -> np.ndarray:
    low, high = ends(coded, len(own))
    return codes(own[low], own[high], nodes)


def _all_pairs(size: int) -> np.ndarray:
    return codes(*np.triu_indices(size, 1), size)


def _drawn(size: int, count: int, linked: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``count`` different non-edges, or all there are."""
    room = size * (size - 1) // 2 - len(linked)
    if count >= room:
        every = _all_pairs(size)
        return every[~listed(every, linked)]
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        low, high = rng.integers(size, size=(2, 2 * count + 10))
        fresh = codes(low, high, size)[low != high]
        fresh = fresh[~listed(fresh, linked)]
        both = np.concatenate([found, fresh])
        found = both[np.sort(np.unique(both, return_index=True)[1])]
    return found[:count]


def _matched(
    stubs: tuple[np.ndarray, np.ndarray], linked: np.ndarray, size: int, rng: np.random.Generator, tries: int = 20
) -> np.ndarray:
    """For each edge a non-edge: one end stays, the other becomes the end of another edge (a node by its degree).

    So both ends are drawn as an edge's ends are, by degree. Fewer where none is found.
    """
    source, target = stubs
    half = len(source) // 2
    kept, found = source[:half].copy(), np.empty(0, dtype=np.int64)
    flip = rng.random(half) < 0.5
    kept[flip] = target[:half][flip]
    for _ in range(tries):
        other = target[rng.integers(len(target), size=len(kept))] if len(target) else kept
        fresh = codes(kept, other, size)
        good = (kept != other) & ~listed(fresh, linked) & ~np.isin(fresh, found)
        first = np.zeros(len(fresh), dtype=bool)
        first[np.unique(fresh, return_index=True)[1]] = True
        found = np.concatenate([found, fresh[good & first]])
        kept = kept[~(good & first)]
        if not len(kept):
            break
    return found


def _by_fate(
    subjects: np.ndarray, nodes: int, clients: Sequence[Client], defended: Sequence[Client]
) -> dict[str, np.ndarray]:
    """Masks of pairs with an end that the defense dropped, and of those without; none where it dropped nobody."""
    gone = np.zeros(nodes, dtype=bool)
    for before, after in zip(clients, defended, strict=False):  # there may have been no defense
        gone[before.nodes[remaining(before) & ~remaining(after)].cpu().numpy()] = True
    low, high = ends(subjects, nodes)
    touched = gone[low] | gone[high]
    return {DROPPED: touched, KEPT: ~touched} if touched.any() and not touched.all() else {}


def remaining(client: Client) -> Tensor:
    """Which nodes take part in a client's training: those with an edge or a label, [n] bool."""
    linked = torch.zeros(len(client.nodes), dtype=torch.bool, device=client.nodes.device)
    linked[client.edges.flatten()] = True
    return linked | client.train


@dataclass(frozen=True, eq=False)
class Links:
    """Links that an adversary knows beforehand.

    Attributes:
        owner: the client that holds each node, -1 for none, [n].
        counts: number of edges within each client; GraphMI's authors let the attacker know the density.
        known: edges that it knows, each once with the smaller id first [2, p].
        known_not: pairs of which it knows that they are no edges [2, q].
        named: whether a network is published, and it knows which published node each node is.
        featured: whether nodes have features and classes, which it knows then.
        parties: number of clients.
    """

    owner: Tensor
    counts: Tensor
    known: Tensor
    known_not: Tensor
    named: bool = False
    featured: bool = True

    @property
    def parties(self) -> int:
        return len(self.counts)

    def to(self, device: str) -> "Links":
        """The same on another device."""
        owner, counts, known, known_not = (
            part.to(device) for part in (self.owner, self.counts, self.known, self.known_not)
        )
        return Links(owner, counts, known, known_not, self.named, self.featured)
