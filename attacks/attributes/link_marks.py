"""How strong a link is, or of which type, from a published network that does not tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs.network import Floats, Network
from ...graphs.pair_codes import codes, ends
from ...targets.games.link_marks import LinkMarkKnowledge, LinkType, LinkWeight
from ...targets.messages import PUBLISHED_GRAPH, Carrying
from ...targets.published import network_of
from ...targets.transcript import View
from ..attack import Attack
from ..links.link_similarity import adamic_adar, common_neighbours
from .attribute_attack import FOLDS
from .best_guess import Columns, best_guess, folds_of

if TYPE_CHECKING:
    from torch import Tensor

PRIOR = 1.0
"""Known links whose marks are those of all, added to those at an end."""


class LinkMarks(Attack[LinkMarkKnowledge]):
    """Guesses how strong a link is, or of which type, from the links around it.

    Friends of friends are close friends: it reads how many neighbours the two ends share and how many they have
    (Granovetter 1973), and weights and types where they are published after all. Without the release it knows the
    marks of known links at the two ends, which is imputation. Guesses are chosen as with attributes (`best_guess`),
    and no known link's own mark gets into its own columns.
    """

    name = "link-marks"
    games: ClassVar[tuple[str, ...]] = (LinkWeight.name, LinkType.name)
    needs: ClassVar[tuple[Carrying, ...]] = (PUBLISHED_GRAPH,)
    planted = "planted-marks"

    def score(self, view: View, knowledge: LinkMarkKnowledge) -> Tensor:
        network = network_of(view.carrying(PUBLISHED_GRAPH)[-1])
        if network.nodes < knowledge.people or not network.size:
            raise InputError(
                f"the published network tells {network.nodes} nodes and {network.size} edges: links of all "
                f"{knowledge.people} people are needed"
            )
        return _guess(knowledge, network)

    def blind_score(self, knowledge: LinkMarkKnowledge) -> Tensor:
        return _guess(knowledge, None)


def _guess(knowledge: LinkMarkKnowledge, network: Network | None) -> Tensor:
    """The best guess about the links in question, [s]."""
    import torch

    known, told = knowledge.known.cpu().numpy(), knowledge.told.cpu().numpy()
    fold = folds_of(told, FOLDS, torch.randperm(len(known)).numpy())
    pairs = np.concatenate([known, knowledge.subjects.cpu().numpy()])
    low, high = ends(pairs, knowledge.people)
    own = at_ends(low, high, told, fold, knowledge.people)
    more = {} if network is None else around(network, low, high)
    found = best_guess(Columns(own, more), np.arange(len(known)), told, fold)
    return torch.from_numpy(found[len(known) :])


def at_ends(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    told: NDArray[np.bool_],
    fold: NDArray[np.intp],
    people: int,
) -> Floats:
    """Shares of known links with the mark at either end of each link: their sum, product and distance, [s, 3].

    Known links come first in ``low`` and ``high``; their columns are made without the marks of their fold.
    """
    found = _shares(low, high, np.arange(len(told)), told, people)
    for number in np.unique(fold):
        inside = np.flatnonzero(fold == number)
        left = np.flatnonzero(fold != number)
        found[inside] = _shares(low, high, left, told[left], people)[inside]
    return np.column_stack([found.sum(1), found.prod(1), np.abs(found[:, 0] - found[:, 1])])


def _shares(
    low: NDArray[np.int64], high: NDArray[np.int64], known: NDArray[np.intp], told: NDArray[np.bool_], people: int
) -> Floats:
    """The share of some known links with the mark at both ends of all links, drawn to that of all, [s, 2]."""
    both = np.concatenate([low[known], high[known]])
    having = np.bincount(both, np.tile(told, 2), minlength=people)
    share = (having + PRIOR * told.mean()) / (np.bincount(both, minlength=people) + PRIOR)
    return np.column_stack([share[low], share[high]])


def around(network: Network, low: NDArray[np.int64], high: NDArray[np.int64]) -> dict[str, Floats]:
    """What a published network tells of each link: what its ends share, their degrees, and weights and types."""
    pairs = np.column_stack([low, high])
    plain = network.plain()
    shared, degree = common_neighbours(network, pairs), plain.degrees.astype(np.float64)
    either = np.maximum(degree[low] + degree[high] - shared, 1)
    sizes = np.sort(np.log1p(np.column_stack([degree[low], degree[high]])), axis=1)
    found = {
        "shared": shared[:, None],
        "rare shared": adamic_adar(network, pairs)[:, None],
        "share of neighbours": (shared / either)[:, None],
        "degrees": sizes,
    }
    place = codes(low, high, network.nodes)
    if network.weights is not None:
        found["weights"] = _told(network, network.weights, place)
    if network.types is not None:
        kinds = np.unique(network.types)
        found["types"] = np.hstack([_told(network, (network.types == kind) * 1.0, place) for kind in kinds])
    return found


def _told(network: Network, values: Floats, place: NDArray[np.int64]) -> Floats:
    """The sum of values of the published edges of each pair, [s, 1]; 0 where none is published."""
    low, high = network.edges
    known, which = np.unique(codes(low, high, network.nodes), return_inverse=True)
    if not len(known):
        return np.zeros((len(place), 1))
    sums = np.bincount(which, values)
    at = np.minimum(np.searchsorted(known, place), len(known) - 1)
    return np.where(known[at] == place, sums[at], 0.0)[:, None]
