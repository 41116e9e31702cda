"""Links as secrets: pairs of nodes of one client, and whether there is an edge between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from ...errors import InputError
from ...graphs.network import Floats
from ...graphs.pair_codes import codes, distinct, ends, first_of_each, listed
from ...graphs.pyg import is_plain
from ...randomness import branch
from ..game import Adversary, Game, Grant, GraphKnowledge, Words, as_it_is, in_thirds, without_ancestry
from ..messages import PUBLISHED_GRAPH
from ..party import Client
from ..published import network_of, tensors_of
from ..transcript import Message, View
from .public_columns import PRIVATE, pair_columns

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

NON_EDGES = 12_000
"""Non-edges in question where there are more: enough to tell a true-positive rate at 0.1 % false positives."""
MATCHED = "degree-matched"
DROPPED = "an end dropped by the defense"
KEPT = "both ends kept by the defense"

SAME_CLASS = "one class"


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

    def to(self, device: str) -> Links:
        """The same on another device."""
        owner, counts, known, known_not = (
            part.to(device) for part in (self.owner, self.counts, self.known, self.known_not)
        )
        return Links(owner, counts, known, known_not, self.named, self.featured)


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkKnowledge(GraphKnowledge):
    """What an adversary knows beforehand who asks for links; subjects are codes of pairs (`pair_codes.codes`).

    Attributes:
        links: what it knows of links, and of who holds which node.
    """

    links: Links

    def to(self, device: str) -> Self:
        return replace(super().to(device), links=self.links.to(device))

    def sentence(self) -> str:
        links, nodes = self.links, len(self.x)
        known = links.known.shape[1]
        counts = " or ".join(map(str, sorted(set(links.counts.tolist()))))
        if links.named:
            where = f"which published node each of {nodes} nodes is, and that {counts} edges are secret"
        else:
            where = f"which of the {links.parties} clients holds which, and that each has {counts} edges"
        return (
            f"knows {f'features and classes of all {nodes} nodes, ' if links.featured else ''}{where}"
            f"{f', {known} of the edges and as many pairs that are none' if known else ', no single edge'}, "
            f"{self._defense()}"
        )


@dataclass(frozen=True, kw_only=True)
class EdgePresence(Game):
    """Which pairs of nodes within one client are linked; subjects are codes of pairs (`pair_codes.codes`).

    Attributes:
        nodes: N.
        holders: the client that holds each of the N nodes, -1 for none.
        image: the published node of each of the N nodes, where a network is published: adversaries know who is who.
    """

    name = "edge-presence"
    unit = "one edge between two nodes"
    words = Words(
        "Edge presence: is there an edge between these two nodes?",
        "Are these two people linked?",
        "the linked pairs",
        "linked pairs from others",
        "pair without a link",
        "pairs without a link",
        "The same, by what the defense did to the ends of a pair",
        "among",
        "what else tells links",
        "whose ends are of the same classes",
    )
    metrics = ("precision", "samples", "within one class")
    private_baselines = (PRIVATE,)

    nodes: int
    holders: np.ndarray
    owners: np.ndarray
    image: np.ndarray | None = None

    @property
    def pairs_of(self) -> int | None:
        return self.nodes

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        return () if self.image is None else (adversary.identity, self.image.tobytes(), None)

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """Prior knowledge of a curious server (Zhang et al., AsiaCCS 2023, section 3.2).

        It knows features and classes of all nodes, if they have any, who holds them and how many edges there are
        within each client; where a network is published also which published node each node is. One that knows a
        share of the edges (``knows_links``) knows as many pairs that are none too (He et al. 2021).
        """
        import torch

        rng, share = np.random.default_rng(branch(seed, "grant")), adversary.attack.knows_links
        nodes = data.num_nodes
        ours = rng.permutation(nodes)
        theirs = np.empty(nodes, dtype=np.int64)
        theirs[ours] = np.arange(nodes)
        told = self._told(share, rng)

        def renamed(pairs: np.ndarray) -> np.ndarray:
            low, high = ends(pairs, nodes)
            return codes(theirs[low], theirs[high], nodes)

        def pairs_among(keep: np.ndarray) -> Tensor:
            return torch.from_numpy(np.stack(ends(np.sort(renamed(self.subjects[keep])), nodes)))

        of_edges = np.bincount(self.owners[self.truth], minlength=int(self.holders.max()) + 1)
        knowledge = LinkKnowledge(
            x=data.x.cpu()[torch.from_numpy(ours)],
            labels=data.y.cpu()[torch.from_numpy(ours)],
            subjects=torch.from_numpy(np.sort(renamed(self.subjects[~told]))),
            members=int(self.truth[~told].sum()),
            classes=int(data.y.max()) + 1,
            knows_defense=adversary.knows_defense,
            game=self.name,
            recipe=adversary.recipe,
            seed=without_ancestry(branch(seed, "coins")),
            links=Links(
                torch.from_numpy(self.holders[ours]),
                torch.from_numpy(of_edges),
                pairs_among(told & self.truth),
                pairs_among(told & ~self.truth),
                named=self.image is not None,
                featured=not is_plain(data),
            ),
        )
        left = (lambda game: game.without(told)) if told.any() else as_it_is
        return LinkGrant(knowledge, ours, self.image), left

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        return pair_columns(data, *ends(np.sort(self.subjects), self.nodes))

    def compared_within(self, data: Data) -> np.ndarray | None:
        """The class of both ends, or that they are of two classes; nothing where nodes have no features."""
        if is_plain(data):
            return None
        low, high = ends(np.sort(self.subjects), self.nodes)
        classes = data.y.cpu().numpy()
        return np.where(classes[low] == classes[high], classes[low], -1)

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """Degrees of both ends multiplied in thirds, whether they are of one class, ``client``."""
        order = np.argsort(self.subjects)
        low, high = ends(self.subjects[order], self.nodes)
        degree = np.bincount(data.edge_index[0].cpu().numpy(), minlength=data.num_nodes)
        labels = data.y.cpu().numpy()
        return {
            "degree": in_thirds(np.maximum(degree[low], 1) * np.maximum(degree[high], 1)),
            "classes": np.where(labels[low] == labels[high], SAME_CLASS, "two classes"),
            "client": self.owners[order].astype(str),
        }

    def _told(self, share: float, rng: np.random.Generator) -> np.ndarray:
        """Which subjects the adversary knows beforehand: a share of the edges, and as many that are none."""
        known = np.zeros(len(self.truth), dtype=bool)
        edges, others = (rng.permutation(np.flatnonzero(kind)) for kind in (self.truth, ~self.truth))
        count = int(share * len(edges))
        known[edges[:count]] = True
        known[others[: min(count, len(others) // 2)]] = True
        return known


@dataclass(frozen=True)
class LinkGrant(Grant):
    """An adversary's knowledge about nodes, and the way back from its pairs to ours.

    Attributes:
        image: the published node of each of our nodes, where a network is published: it knows who is who.
    """

    image: np.ndarray | None = None

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        low, high = ends(granted, len(self.ids))
        return codes(self.ids[low], self.ids[high], len(self.ids))

    def renamed(self, view: View) -> View:
        """What an observer sees, with the adversary's ids of nodes, also of a published network's."""
        named = super().renamed(view)
        return replace(named, messages=tuple(self._named(message) for message in named.messages))

    def _named(self, message: Message) -> Message:
        if self.image is None or not PUBLISHED_GRAPH.covers(message.kind):
            return message
        network = network_of(message)
        published = np.empty(network.nodes, dtype=np.int64)
        published[self.image[self.ids]] = np.arange(len(self.ids))
        added = np.setdiff1d(np.arange(network.nodes), self.image)
        published[added] = np.arange(len(self.ids), network.nodes)
        return replace(message, tensors=tensors_of(network.renamed(published)))


def edge_presence(
    clients: Sequence[Client],
    nodes: int,
    seed: np.random.SeedSequence,
    non_edges: int = NON_EDGES,
    defended: Sequence[Client] = (),
) -> EdgePresence:
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
    uniform = truth | listed(subjects, np.sort(others))
    every = sum(len(c.nodes) * (len(c.nodes) - 1) // 2 for c in clients) - len(edges)
    return EdgePresence(
        subjects=subjects,
        truth=truth,
        groups=_by_fate(subjects, nodes, clients, defended),
        owners=owner[ends(subjects, nodes)[0]],
        nodes=nodes,
        holders=owner,
        sampling_weight=every / max(len(others), 1),
        asked=uniform,
        samples={MATCHED: truth | listed(subjects, np.sort(matched))},
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
        found = both[first_of_each(both)]
    return found[:count]


def _matched(
    stubs: tuple[np.ndarray, np.ndarray], linked: np.ndarray, size: int, rng: np.random.Generator, tries: int = 20
) -> np.ndarray:
    """For each edge a non-edge: one end stays, the other becomes the end of another edge (a node by its degree).

    So both ends are drawn as an edge's ends are, by degree. Fewer where none is found.
    """
    source, target = stubs
    half = len(source) // 2
    kept, found, taken = source[:half].copy(), [np.empty(0, dtype=np.int64)], np.empty(0, dtype=np.int64)
    flip = rng.random(half) < 0.5
    kept[flip] = target[:half][flip]
    for _ in range(tries):
        other = target[rng.integers(len(target), size=len(kept))] if len(target) else kept
        fresh = codes(kept, other, size)
        good = (kept != other) & ~listed(fresh, linked) & ~listed(fresh, taken) & first_of_each(fresh)
        found.append(fresh[good])
        kept, taken = kept[~good], np.sort(np.concatenate([taken, fresh[good]]))
        if not len(kept):
            break
    return np.concatenate(found)


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
    import torch

    linked = torch.zeros(len(client.nodes), dtype=torch.bool, device=client.nodes.device)
    linked[client.edges.flatten()] = True
    return linked | client.train
