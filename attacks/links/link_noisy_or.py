"""Links of one type from edges of others, or from numbers of them (Zheleva and Getoor, PinKDD 2007)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field
from torch import Tensor, from_numpy, randint

from ...errors import InputError
from ...graphs.network import Floats, Ints, Network
from ...graphs.pair_codes import codes
from ...graphs.tables.agreement import agreements
from ...settings import Settings
from ...targets.games.links import LinkKnowledge
from ...targets.messages import PUBLISHED_GRAPH, Carrying
from ...targets.transcript import View
from .link_attack import LinkAttack, Part, cosine_of_pairs
from .link_randomisation import published_network
from .link_similarity import common_neighbours
from .noisy_or import fit

LEAST_LINKS = 4
BACKGROUND = 100_000
"""Published edges, and pairs without one, that stand for all pairs, at most each."""


class LinkNoisyOrSettings(Settings):
    """Settings of `LinkNoisyOr`."""

    known: float = Field(0.3, gt=0, lt=1, description="share of the links that the adversary knows beforehand")


@dataclass(frozen=True, eq=False)
class Observations:
    """What was observed of pairs: how often [s, l], and with which probability each time, [s, l]."""

    counts: Floats
    presence: Floats

    def beside(self, other: "Observations") -> "Observations":
        """Both together."""
        return Observations(np.hstack([self.counts, other.counts]), np.hstack([self.presence, other.presence]))

    @classmethod
    def certain(cls, *columns: Floats) -> "Observations":
        """Observations that were made for certain, one column [s] for each type."""
        counts = np.column_stack(columns).astype(np.float64)
        return cls(counts, np.ones(counts.shape))


class LinkNoisyOr(LinkAttack):
    """Each observation of a pair is a cause of its own; how strong, known links tell.

    Observed are, as far as they are published: an edge of each type; common neighbours; of each attribute of people
    that both ends have the same value, with the probability that what is told of them leaves, and values that are
    near in their order; and where classes of nodes are published with numbers of edges between them, an edge of
    each type with the probability number / pairs.
    Beside these stands what is known beforehand: the cosine of features, and common neighbours among the known
    links. The blind baseline is the same without the release. The noisy-or is fitted to the known links and to a
    sample of all pairs as their background (see `noisy_or`): how many links there are is known, and of the pairs
    that are known to be none hardly one has an edge of another type.
    """

    name = "link-noisy-or"
    needs: ClassVar[tuple[Carrying, ...]] = (PUBLISHED_GRAPH,)
    observer: ClassVar[str] = "public"
    planted: ClassVar[str] = "planted-network"
    Settings = LinkNoisyOrSettings
    settings: LinkNoisyOrSettings

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.knows_links = self.settings.known

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        return self._fitted(part, published_network(view, part))

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """The noisy-or of features and known links alone."""
        return self._fitted(part, None)

    def _fitted(self, part: Part, network: Network | None) -> Tensor:
        """-log of the probability that there is no link, of each pair in question."""
        links = part.known.t().cpu().numpy()
        if len(links) < LEAST_LINKS:
            raise InputError(
                f"the attack '{self.name}' knows {len(links)} links of {part.sender} and needs {LEAST_LINKS}: "
                "raise known"
            )
        rng = np.random.default_rng(int(randint(2**62, ())))
        others, weights = background(len(part.nodes), network, rng)
        asked = part.pairs.cpu().numpy()
        seen = observed(part, network, np.concatenate([links, others, asked]))
        known = len(links) + len(others)
        linked = np.arange(known) < len(links)
        each = part.edges / len(links)
        weights = np.concatenate([np.full(len(links), each), weights])
        # shrunk as by one known pair without a link for each type: else a single known link could make one certain
        model = fit(seen.counts[:known], linked, weights, seen.presence[:known], each, background=True)
        return from_numpy(model.strength(seen.counts[known:], seen.presence[known:]))


def background(nodes: int, network: Network | None, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """A sample of all pairs of the first nodes, [s, 2], and how many each stands for, [s].

    Published edges are drawn apart from the others: they are few among all pairs, and what they tell is most.
    """
    edges = np.empty(0, dtype=np.int64)
    if network is not None:
        low, high = network.plain().edges
        edges = codes(low, high, nodes)[high < nodes]
    drawn = rng.permutation(edges)[:BACKGROUND]
    every = nodes * (nodes - 1) // 2
    if every <= BACKGROUND:
        others = codes(*np.triu_indices(nodes, 1), nodes)
    else:
        low, high = rng.integers(nodes, size=(2, BACKGROUND))
        others = codes(low, high, nodes)[low != high]
    others = others[~np.isin(others, edges)]
    strata = ((drawn, len(edges)), (others, every - len(edges)))
    weights = [np.full(len(some), sampling_weight / max(len(some), 1)) for some, sampling_weight in strata]
    pairs = np.concatenate([drawn, others])
    return np.stack([pairs // nodes, pairs % nodes], 1), np.concatenate(weights)


def observed(part: Part, network: Network | None, pairs: Ints) -> Observations:
    """All that is known of pairs [s, 2], with or without a release."""
    seen = beforehand(part, pairs)
    return seen if network is None else seen.beside(in_release(network, pairs))


def beforehand(part: Part, pairs: Ints) -> Observations:
    """What is known of pairs [s, 2] without a release: cosines of features, and common known neighbours."""
    alike = cosine_of_pairs(part.x.cpu(), from_numpy(pairs)).double().numpy().clip(0)
    known = Network.from_edges(len(part.nodes), *np.unique(np.sort(part.known.cpu().numpy(), axis=0), axis=1))
    return Observations.certain(alike, common_neighbours(known, pairs))


def in_release(network: Network, pairs: Ints) -> Observations:
    """What a published network tells of pairs [s, 2] of its nodes."""
    seen = Observations.certain(np.zeros(len(pairs)))
    if network.size:
        asked = codes(pairs[:, 0], pairs[:, 1], network.nodes)
        kinds = np.zeros(network.size) if network.types is None else network.types
        edges = [np.isin(asked, network.codes[kinds == kind]).astype(float) for kind in np.unique(kinds)]
        seen = seen.beside(Observations.certain(*edges, common_neighbours(network, pairs)))
    if network.people is not None:
        chances = agreements(network.people, pairs)
        seen = seen.beside(Observations(np.ones(chances.shape), chances))
    if network.groups is not None:
        chances = presences(network, pairs)
        seen = seen.beside(Observations(np.ones(chances.shape), chances))
    return seen


def presences(network: Network, pairs: Ints) -> Floats:
    """The probability of an edge of each type between two nodes of their classes, [s, types].

    Numbers of edges are those published; where there are none, those of the published edges between classes.

    Raises:
        InputError: not every node has a class, or numbers are not those of classes.
    """
    groups = network.groups
    if groups is None or len(groups) != network.nodes or groups.min(initial=0) < 0:
        raise InputError("the published network does not give every node a class, a whole number from 0")
    sizes = np.bincount(groups)
    counts = _numbers(network, groups) if network.counts is None else network.counts
    rows = counts.ndim == 2 and counts.shape[1] == 4
    if not rows or counts.min(initial=0) < 0 or counts[:, :2].max(initial=0) >= max(len(sizes), 1):
        raise InputError("the published numbers of edges are no rows of two classes, a type and a number")
    if (counts[:, 0] > counts[:, 1]).any() or len(np.unique(counts[:, :3], axis=0)) < len(counts):
        raise InputError("published numbers of edges must name the smaller class first, and classes and type once")
    one, other = np.sort(groups[pairs], axis=1).T
    room = np.where(one == other, sizes[one] * (sizes[one] - 1) // 2, sizes[one] * sizes[other])
    key, keys = one * len(sizes) + other, counts[:, 0] * len(sizes) + counts[:, 1]
    own = [counts[:, 2] == kind for kind in np.unique(counts[:, 2])]
    found = [_looked_up(keys[kind], counts[kind, 3], key) for kind in own]
    chances: Floats = np.column_stack([np.zeros(len(pairs)), *found]) / np.maximum(room, 1)[:, None]
    return chances.clip(0, 1)


def _numbers(network: Network, groups: Ints) -> Ints:
    """Rows of two classes, a type, and the number of published edges between them, [c, 4]."""
    kinds = np.zeros(network.size, dtype=np.int64) if network.types is None else network.types
    edges = np.column_stack([*np.sort(groups[network.edges], axis=0), kinds])
    rows, number = np.unique(edges, axis=0, return_counts=True)
    return np.column_stack([rows, number]).astype(np.int64)


def _looked_up(keys: Ints, values: Ints, asked: Ints) -> Floats:
    """The value of each asked key, 0 where there is none."""
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys[order], asked), len(keys) - 1)]
    return np.where(keys[at] == asked, values[at], 0).astype(np.float64)
