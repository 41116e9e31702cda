"""Links from what randomisation may have done to a published network (Ying and Wu, SDM 2009)."""

import random
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from ...errors import InputError
from ...graphs.network import Floats, Ints, Network
from ...graphs.pair_codes import codes, listed
from ...settings import Settings
from ...targets.games.links import LinkKnowledge
from ...targets.messages import PUBLISHED_GRAPH, Carrying
from ...targets.published import network_of
from ...targets.transcript import View
from .link_attack import LinkAttack, Part, cosine_of_pairs

Change = Literal["switch", "edit"]


class PublishedLinkAttack(LinkAttack):
    """Base of attacks that read the edges of a published network. A subclass writes `score_pairs`."""

    needs: ClassVar[tuple[Carrying, ...]] = (PUBLISHED_GRAPH,)
    observer: ClassVar[str] = "public"
    planted: ClassVar[str] = "planted-network"

    @abstractmethod
    def score_pairs(self, network: Network, part: Part, rng: np.random.Generator) -> Floats:
        """One score per pair in question, [s]; the published network's node ids are those of the part."""

    def why_not(self, view: View, knowledge: LinkKnowledge) -> str | None:
        reason = super().why_not(view, knowledge)
        if reason is None and not network_of(view.carrying(PUBLISHED_GRAPH)[-1]).size:
            return "the published network tells no edges"
        return reason

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        return self.scores_of(published_network(view, part), part)

    def scores_of(self, network: Network, part: Part) -> Tensor:
        """Scores of a part's pairs from a network, with torch's randomness."""
        rng = np.random.default_rng(int(torch.randint(2**62, ())))
        return torch.from_numpy(np.ascontiguousarray(self.score_pairs(network, part, rng)))

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """Cosine of features."""
        return cosine_of_pairs(part.x, part.pairs)


def published_network(view: View, part: Part) -> Network:
    """The last published network; nodes that were added to it come after those of the part.

    Raises:
        InputError: it is malformed, or lacks nodes.
    """
    network = network_of(view.carrying(PUBLISHED_GRAPH)[-1])
    if network.nodes < len(part.nodes):
        raise InputError(
            f"the published network has {network.nodes} nodes and {part.sender} has {len(part.nodes)}: publish all"
        )
    return network


class RandomisationSettings(Settings):
    """What the adversary takes the publisher to have done."""

    change: Change = Field(
        "switch",
        description="switch: pairs of edges have changed ends; edit: edges were deleted, others were added",
    )
    share: float | None = Field(
        0.2,
        ge=0,
        description="how often, as a multiple of the number of edges: switches that were tried ('random-switch' "
        "counts those made, which are fewer: 88 % on facebook_combined), or edges that were deleted (1 at most). "
        "null, with switch: the adversary does not know",
    )

    @model_validator(mode="after")
    def _edits_are_shares(self) -> "RandomisationSettings":
        if self.change == "edit" and (self.share is None or self.share > 1):
            raise ValueError("with the change 'edit', share is the share of edges that were deleted, in [0, 1]")
        return self


class LinkRandomisationSettings(RandomisationSettings):
    """Settings of `LinkRandomisation`."""

    draws: int = Field(100, ge=1, description="networks that are drawn, of the change switch")
    thinning: float = Field(
        2.0, ge=2, description="steps between draws for each edge, where the adversary does not know the share"
    )


class LinkRandomisation(PublishedLinkAttack):
    """The probability of each link given the published network and how it was randomised.

    *Switch.* The share of networks with the link among those drawn by switching the published one (survey of Fu et
    al., equation 3). A step is as likely as its reverse, so if every network with these degrees is equally likely
    beforehand, then given the published one the original is distributed like what as many steps make of it: with a
    known ``share`` each draw starts anew from the published network. Without one, the draws are those of a single
    long chain: they forget which edges were published and keep only the degrees (about d_i d_j / 2m for a pair),
    which is what remains of very many switches.

    *Edit.* In closed form: of m edges k were deleted and as many others added, none of them deleted before. A
    published edge is true with the probability (m - k) / m, any other pair with k / (n(n-1)/2 - m).

    The defense's strength is knowledge that the adversary is given (`share`); a published parameter is no secret.
    """

    name = "link-randomisation"
    Settings = LinkRandomisationSettings
    settings: LinkRandomisationSettings

    def score_pairs(self, network: Network, part: Part, rng: np.random.Generator) -> Floats:
        s, pairs = self.settings, pair_codes_in(network, part)
        if s.change == "edit":
            return edit_posterior(network, pairs, s.share or 0.0)
        return switch_posterior(network, pairs, s.share, s.draws, s.thinning, rng)


def pair_codes_in(network: Network, part: Part) -> Ints:
    """Codes of the pairs in question among the nodes of the published network, [s]."""
    low, high = part.pairs.cpu().numpy().T
    found: Ints = codes(low, high, network.nodes)
    return found


def switch_posterior(
    network: Network, pairs: Ints, share: float | None, draws: int, thinning: float, rng: np.random.Generator
) -> Floats:
    """The share of draws in which each pair is linked, [s].

    Its standard error is sqrt(p (1 - p) / draws), and a little more with ``share`` None, where draws depend on the
    ones before. Memory goes with edges and pairs.

    Args:
        network: what was published; types count as one.
        pairs: codes of pairs, each once or more [s].
        share: steps from the published network to the original for each edge; None: very many.
        draws: how many.
        thinning: steps for each edge between draws where ``share`` is None.
        rng: of the draws.
    """
    asked, place = np.unique(pairs, return_inverse=True)
    seen = np.zeros(len(asked))
    for drawn in switched(network, share, draws, thinning, rng):
        at = np.minimum(np.searchsorted(asked, drawn), max(len(asked) - 1, 0))
        seen[at[asked[at] == drawn]] += 1
    found: Floats = seen[place] / draws
    return found


def switched(
    network: Network, share: float | None, draws: int, thinning: float, rng: np.random.Generator
) -> Iterator[Ints]:
    """Codes of the edges of networks with the same degrees, draw by draw, [m] each in no order.

    By igraph's rewiring: a proposal that would make a loop or a double edge leaves the network as it is and counts
    as a step, so that all networks with these degrees are equally likely in the long run.
    """
    graph, edges = network.igraph(), network.plain().size
    steps = round((thinning if share is None else share) * edges)
    with _igraph_follows(rng):
        for _ in range(draws):
            drawn = graph if share is None else graph.copy()
            if steps:
                drawn.rewire(n=steps)
            ends = np.array(drawn.get_edgelist(), dtype=np.int64).reshape(-1, 2)
            yield codes(ends[:, 0], ends[:, 1], network.nodes)


@contextmanager
def _igraph_follows(rng: np.random.Generator) -> Iterator[None]:
    """Within the block igraph draws from ``rng``, afterwards from Python's own generator, as it does by default."""
    import igraph

    igraph.set_random_number_generator(random.Random(int(rng.integers(2**63))))
    try:
        yield
    finally:
        igraph.set_random_number_generator(random)


def edit_posterior(network: Network, pairs: Ints, share: float) -> Floats:
    """The probability of each link [s] after a share of the edges was deleted and as many others added."""
    linked = network.plain().codes
    m, every = len(linked), network.nodes * (network.nodes - 1) // 2
    changed = round(share * m)
    return np.where(np.isin(pairs, linked), 1 - changed / max(m, 1), min(1.0, changed / max(every - m, 1)))


def edited(network: Network, share: float, rng: np.random.Generator) -> Ints:
    """Codes of the edges after a share was deleted and as many pairs were linked that never were, [m].

    Where there are not enough such pairs, all of them are.
    """
    linked, n = network.plain().codes, network.nodes
    changed = round(share * len(linked))
    gone = rng.permutation(len(linked))[:changed]
    room = n * (n - 1) // 2 - len(linked)
    new = np.empty(0, dtype=np.int64)
    while len(new) < min(changed, room):
        low, high = rng.integers(n, size=(2, 2 * changed + 10))
        fresh = codes(low, high, n)[low != high]
        drawn = np.concatenate([new, fresh[~listed(fresh, linked)]])
        new = drawn[np.sort(np.unique(drawn, return_index=True)[1])]  # in the order drawn
    return np.concatenate([np.delete(linked, gone), new[:changed]])


def perturbed(network: Network, settings: RandomisationSettings, rng: np.random.Generator) -> Network:
    """The network randomised (once more) as the settings say, without types and weights."""
    share: Any = settings.share
    if settings.change == "edit":
        after = edited(network, share, rng)
    else:
        (after,) = switched(network, share, 1, 2.0, rng)
    return Network.from_edges(network.nodes, after // network.nodes, after % network.nodes)
