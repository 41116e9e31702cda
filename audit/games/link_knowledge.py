"""Hands an adversary who asks for links what that game grants it, under ids that say nothing."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch_geometric.data import Data

from ...attacks.attack import Knowledge
from ...errors import InputError
from ...graphs.pair_codes import codes, ends
from ...randomness import branch
from ...targets.games.links import Links
from ...targets.messages import PUBLISHED_KIND
from ...targets.models.training_config import TrainingConfig
from ...targets.publishing.published import network_of, tensors_of
from ...targets.target import Secrets
from ...targets.transcript import Message, View
from .knowledge import Grant, without_ancestry


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
        if self.image is None or message.kind != PUBLISHED_KIND:
            return message
        network = network_of(message)
        published = np.empty(network.nodes, dtype=np.int64)
        published[self.image[self.ids]] = np.arange(len(self.ids))
        added = np.setdiff1d(np.arange(network.nodes), self.image)
        published[added] = np.arange(len(self.ids), network.nodes)
        return replace(message, tensors=tensors_of(network.renamed(published)))


def grant_links(
    data: Data,
    secrets: Secrets,
    share: float,
    knows_defense: bool,
    seed: np.random.SeedSequence,
    *,
    recipe: TrainingConfig | None = None,
) -> tuple[LinkGrant, np.ndarray]:
    """Prior knowledge of a curious server (Zhang et al., AsiaCCS 2023, section 3.2), and the subjects it covers.

    It knows features and classes of all nodes, if they have any, who holds them and how many edges there are within
    each client; where a network is published also which published node each node is. With a ``share`` it knows that
    share of the edges in question too, and as many pairs that are none (He et al. 2021).
    """
    rng = np.random.default_rng(branch(seed, "grant"))
    nodes = data.num_nodes
    ours = rng.permutation(nodes)
    theirs = np.empty(nodes, dtype=np.int64)
    theirs[ours] = np.arange(nodes)
    told = _told(secrets, share, rng)

    def renamed(pairs: np.ndarray) -> np.ndarray:
        low, high = ends(pairs, nodes)
        return codes(theirs[low], theirs[high], nodes)

    def listed(keep: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.stack(ends(np.sort(renamed(secrets.subjects[keep])), nodes)))

    holders, owners = secrets.holders, secrets.owners
    if holders is None or owners is None:
        raise InputError("the target does not say which client holds which node: use link_secrets for its secrets")
    of_edges = np.bincount(owners[secrets.truth], minlength=int(holders.max()) + 1)
    links = Links(
        torch.from_numpy(holders[ours]),
        torch.from_numpy(of_edges),
        listed(told & secrets.truth),
        listed(told & ~secrets.truth),
        named=secrets.image is not None,
        featured=not getattr(data, "plain", False),
    )
    knowledge = Knowledge(
        x=data.x.cpu()[torch.from_numpy(ours)],
        edges=torch.empty((2, 0), dtype=torch.long),
        neighbours="true",
        labels=data.y.cpu()[torch.from_numpy(ours)],
        subjects=torch.from_numpy(np.sort(renamed(secrets.subjects[~told]))),
        shadow=torch.empty(0, dtype=torch.long),
        shadow_edges=torch.empty((2, 0), dtype=torch.long),
        members=int(secrets.truth[~told].sum()),
        classes=int(data.y.max()) + 1,
        knows_defense=knows_defense,
        game=secrets.game,
        recipe=recipe,
        seed=without_ancestry(branch(seed, "coins")),
        links=links,
    )
    return LinkGrant(knowledge, ours, secrets.image), told


def _told(secrets: Secrets, share: float, rng: np.random.Generator) -> np.ndarray:
    """Which subjects the adversary knows beforehand: a share of the edges, and as many of those that are none."""
    known = np.zeros(len(secrets.truth), dtype=bool)
    edges, others = (rng.permutation(np.flatnonzero(kind)) for kind in (secrets.truth, ~secrets.truth))
    count = int(share * len(edges))
    known[edges[:count]] = True
    known[others[: min(count, len(others) // 2)]] = True
    return known


def without(secrets: Secrets, told: np.ndarray) -> Secrets:
    """The game without the subjects that an adversary knows about beforehand."""
    left = ~told
    return replace(
        secrets,
        subjects=secrets.subjects[left],
        truth=secrets.truth[left],
        groups={name: mask[left] for name, mask in secrets.groups.items()},
        owners=None if secrets.owners is None else secrets.owners[left],
        asked=None if secrets.asked is None else secrets.asked[left],
        samples={name: mask[left] for name, mask in secrets.samples.items()},
        sampling_weight=secrets.sampling_weight * _thinned(secrets, left),
    )


def _thinned(secrets: Secrets, left: np.ndarray) -> float:
    """How many of the asked non-edges each of those left stands for."""
    asked = ~secrets.truth if secrets.asked is None else secrets.asked & ~secrets.truth
    return float(asked.sum() / max((asked & left).sum(), 1))
