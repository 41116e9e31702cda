"""Marks of links as secrets: is this link a strong one, or one of this type?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs.network import Network
from ...graphs.pair_codes import codes, ends
from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, Words, as_it_is, in_thirds, without_ancestry
from .links import LinkGrant

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

FEWEST = 10
"""Links with the mark, and without it, of which an adversary must know, and about which it must be asked."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkMarkKnowledge(Knowledge):
    """What an adversary knows beforehand of links; subjects are codes of linked pairs (`pair_codes.codes`).

    Attributes:
        people: n, the number of people.
        known: codes of the links whose mark it knows, ascending [k].
        told: whether each of these has the mark, [k] bool.
        mark: what is asked about, in words.
    """

    people: int
    known: Tensor
    told: Tensor
    mark: str

    def sentence(self) -> str:
        return (
            f"knows which published node each of {self.people} people is, of {len(self.known)} links whether "
            f"{self.mark}, and that {self.members} of the {len(self.subjects)} links in question are so, "
            f"{self._defense()}"
        )


@dataclass(frozen=True, kw_only=True)
class LinkMark(Game):
    """Base of games about what a link is like; subjects are codes of linked pairs (`pair_codes.codes`).

    Attributes:
        nodes: n, the number of people.
        known: codes of the links whose mark adversaries know, ascending [k].
        told: whether each of these has the mark, [k] bool.
        mark: what is asked about, in words.
        image: the published node of each person: adversaries know who is who.
    """

    metrics = ("excess over imputation",)

    nodes: int
    known: NDArray[np.int64]
    told: NDArray[np.bool_]
    mark: str
    image: np.ndarray

    @property
    def pairs_of(self) -> int | None:
        return self.nodes

    @property
    def key(self) -> tuple[object, ...]:
        return *super().key, self.known.tobytes(), self.told.tobytes(), self.mark

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Who is who in the published network is told of each one anew."""
        return (self.image.tobytes(),)

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """That those in question are linked, the marks of known links, and who is who."""
        import torch

        ours = np.random.default_rng(branch(seed, "grant")).permutation(self.nodes)
        theirs = np.argsort(ours)

        def renamed(pairs: np.ndarray) -> NDArray[np.int64]:
            low, high = ends(pairs, self.nodes)
            return codes(theirs[low], theirs[high], self.nodes)

        known = renamed(self.known)
        order = np.argsort(known)
        knowledge = LinkMarkKnowledge(
            subjects=torch.from_numpy(np.sort(renamed(self.subjects))),
            members=int(self.truth.sum()),
            knows_defense=adversary.knows_defense,
            game=self.name,
            seed=without_ancestry(branch(seed, "coins")),
            people=self.nodes,
            known=torch.from_numpy(known[order]),
            told=torch.from_numpy(self.told[order]),
            mark=self.mark,
        )
        return LinkGrant(knowledge, ours, self.image), as_it_is

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``degree`` of both ends multiplied, in thirds."""
        low, high = ends(np.sort(self.subjects), self.nodes)
        degree = np.bincount(data.edge_index[0].cpu().numpy(), minlength=self.nodes)
        return {"degree": in_thirds(degree[low].astype(float) * degree[high])}


class LinkWeight(LinkMark):
    """Is this link among the stronger half?"""

    name = "link-weight"
    unit = "the weight of one link"
    words = Words(
        "Link weight: is this link among the stronger half?",
        "Can it be told how close two linked people are?",
        "the stronger links",
        "stronger links from weaker ones",
        "weaker link",
        "weaker links",
        public="what else tells how strong links are",
        background="the strength of some links",
    )
    asked_with = "--set mark=weight"


class LinkType(LinkMark):
    """Is this link of the type that is asked about?"""

    name = "link-type"
    unit = "the type of one link"
    words = Words(
        "Link type: is this link of the type that is asked about?",
        "Can it be told what links two people?",
        "the links of that type",
        "links of a type from others",
        "link of another type",
        "links of other types",
        public="what else tells types of links",
        background="the type of some links",
    )
    asked_with = "--set mark=type:K"


GAMES: dict[str, type[LinkMark]] = {"weight": LinkWeight, "type": LinkType}


def link_mark(
    network: Network, asked: str, share: float, seed: np.random.SeedSequence, image: np.ndarray
) -> LinkMark:
    """The game about a mark of the links of a network.

    Several edges of a pair are one link, whose weight is their sum, and which is of each of their types.

    Args:
        network: as it was before it was published.
        asked: ``weight``, or ``type:K``.
        share: of the links whose mark adversaries know, drawn at random.
        seed: of that.
        image: the published node of each person, [n].

    Raises:
        InputError: the network has no such mark, or too few links have it, or lack it.
    """
    kind, colon, number = asked.partition(":")
    if kind not in GAMES or (kind == "type") != number.isdecimal() or (kind == "weight" and colon):
        raise InputError(f"mark={asked}: expected weight, or type:K")
    low, high = network.edges
    pairs, place = np.unique(codes(low, high, network.nodes), return_inverse=True)
    if kind == "weight":
        has, words = _stronger(network, place)
    else:
        if network.types is None:
            raise InputError(f"mark={asked}: edges have no types here")
        has, words = np.bincount(place, network.types == int(number)) > 0, f"they are of type {number}"
    drawn = np.random.default_rng(branch(seed, "known")).permutation(len(pairs))
    known, subjects = (np.sort(part) for part in np.split(drawn, [round(share * len(pairs))]))
    fewest = min(int((has[part] == side).sum()) for part in (known, subjects) for side in (True, False))
    if fewest < FEWEST:
        raise InputError(
            f"mark={asked}: {int(has.sum())} of {len(has)} links have it, which leaves {fewest} with it or without "
            f"it among those that are known or in question: at least {FEWEST} are needed"
        )
    return GAMES[kind](
        subjects=pairs[subjects],
        truth=has[subjects],
        known=pairs[known],
        told=has[known],
        mark=words,
        nodes=network.nodes,
        image=image,
    )


def _stronger(network: Network, place: NDArray[Any]) -> tuple[NDArray[np.bool_], str]:
    """Which links are above the median weight, and the words for it; with many at the median, from it on."""
    if network.weights is None:
        raise InputError("mark=weight: edges have no weights here")
    weights = np.bincount(place, network.weights)
    middle = float(np.median(weights))
    above = weights > middle
    if above.mean() >= 0.25:
        return above, f"they weigh more than {middle:g}"
    return weights >= middle, f"they weigh {middle:g} or more"
