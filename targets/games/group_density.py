"""How closely a client's people are linked, as the secret: do they have many links among each other, or few?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...graphs.network import Ints
from ...graphs.pair_codes import codes, distinct, listed
from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, Words, as_it_is, without_ancestry
from ..party import Client
from .group_property import PlayingKnowledge, drawn_half, labels_beside, told_apart
from .lone_node import UploadGrant

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class ClientKnowledge(Knowledge):
    """It knows which clients there are, and no node; a subject is a client's number."""

    @property
    def numbers(self) -> Tensor:
        """The client that each subject is about, [s]."""
        return self.subjects

    def prior(self) -> Tensor:
        """What is known of each subject without any message, [s]: nothing, for halves are drawn by lot."""
        import torch

        return torch.zeros(len(self.subjects), dtype=torch.float64)

    def sentence(self) -> str:
        return f"knows that there are {len(self.subjects)} clients, and no node"


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityKnowledge(ClientKnowledge, PlayingKnowledge):
    """Also the graph; the shares are those of a client's links that are left."""

    def given(self, part: Client, many: bool, rng: np.random.Generator) -> Client | None:
        (low, high), known = part.edges.cpu().numpy(), part.y >= 0
        pairs = codes(low, high, len(part.nodes))
        left = of_links(distinct(pairs), self.asked_shares, many, rng)
        if left is None or not bool(known.any()):
            return None
        return replace(part.with_edges(left), train=known)

    def sentence(self) -> str:
        return (
            f"knows {self._has()}, and that each of {self.clients} clients was left a share of "
            f"{self.asked_shares[0]:g} or {self.asked_shares[1]:g} of its links; not who holds which node"
        )


@dataclass(frozen=True, kw_only=True)
class GroupDensity(Game):
    """Do the people of this client have many links among each other, or few? A subject is a client's number.

    Half of the clients, drawn by lot, keep the larger share of the links among their own people, the others the
    smaller (`with_density`), so that nothing public says which: the prior is one half.

    Attributes:
        shares: of a client's links that are left, where they are few and where they are many.
        trained: nodes that clients may train on: nobody else knows their labels.
        classes: C.
    """

    name = "group-density"
    unit = "whether the people of one client have many or few links"
    words = Words(
        "Group density: do the people of this client have many links among each other, or few?",
        "Can it be told how closely a party's people are linked?",
        "clients whose people have many links",
        "clients whose people have many links from those with few",
        "client whose people have few links",
        "clients whose people have few links",
        public="what is known before of which clients have many",
    )
    planted = "planted-density"
    asked_with = "--set asked_links=[0.3,0.9]"

    shares: tuple[float, float] = (0.0, 1.0)
    trained: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    classes: int = 0

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Whoever plays clients of its own is granted more."""
        return (adversary.attack.own_data, adversary.recipe, self.trained.tobytes())

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """Which clients there are; to those who need data of their own also the graph (`DensityKnowledge`)."""
        import torch

        known = ClientKnowledge(
            subjects=torch.from_numpy(np.sort(self.subjects)),
            members=int(self.truth.sum()),
            classes=self.classes,
            knows_defense=adversary.knows_defense,
            game=self.name,
            seed=without_ancestry(branch(seed, "coins")),
        )
        if adversary.attack.own_data:
            known = DensityKnowledge(
                **vars(known),
                x=data.x.cpu(),
                edges=data.edge_index.cpu(),
                labels=labels_beside(data, self.trained),
                asked_shares=self.shares,
                clients=int(self.subjects.max()) + 1,
                recipe=adversary.recipe,
            )
        return UploadGrant(known, np.arange(data.num_nodes)), as_it_is

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``client``, by its number."""
        return {"client": np.sort(self.subjects).astype(str)}


def with_density(
    data: Data, owner: Tensor, shares: tuple[float, float], seed: np.random.SeedSequence
) -> tuple[Data, dict[int, bool]]:
    """The graph with fewer edges within clients: of each client's, one of two shares is left.

    Half of the clients, drawn by lot, keep the larger share; of an odd number a coin says which half is larger.
    Edges between clients stay.

    Args:
        data: both directions of each edge are there.
        owner: the client of each node, [N].
        shares: of those who keep few, and of those who keep many.
        seed: of all lots.

    Returns:
        The graph with fewer edges, and who keeps many, by number.

    Raises:
        InputError: there is one client alone, or one has too few edges for both shares to differ.
    """
    import torch

    rng = np.random.default_rng(branch(seed, "lots"))
    owners, edges = owner.cpu().numpy(), data.edge_index.cpu().numpy()
    having = drawn_half(int(owners.max()) + 1, rng)
    pairs, of_both = codes(edges[0], edges[1], int(data.num_nodes or 0)), owners[edges[0]] == owners[edges[1]]
    left = ~of_both
    for number in having:
        own = of_both & (owners[edges[0]] == number)
        own_pairs = distinct(pairs[own])
        kept = of_links(own_pairs, shares, having[number], rng)
        if kept is None:
            raise InputError(
                f"client:{number} has {len(own_pairs)} links among its people: too few to keep {shares[0]:g} or "
                f"{shares[1]:g} of them; use fewer clients, or shares further apart"
            )
        left[own] = listed(pairs[own], kept)
    thinned: Data = data.edge_subgraph(torch.from_numpy(left).to(data.edge_index.device))
    return thinned, having


def of_links(pairs: Ints, shares: tuple[float, float], many: bool, rng: np.random.Generator) -> Ints | None:
    """Pairs that are left, by lot, in ascending order: one of two shares of them; None where both are as many.

    Args:
        pairs: codes of pairs, ascending.
        shares: that are left where they are few, and where they are many.
        many: which of the two.
        rng: of the lots.
    """
    counts = [round(share * len(pairs)) for share in shares]
    return None if counts[0] == counts[1] else np.sort(rng.permutation(pairs)[: counts[many]])


def group_density(
    having: dict[int, bool], shares: tuple[float, float], trained: Ints, classes: int
) -> dict[str, Game]:
    """The game by its name; nothing where all clients are alike.

    Args:
        having: who keeps many links, by number.
        shares: of links that are left, where they are few and where they are many.
        trained: nodes that clients may train on.
        classes: C.
    """
    numbers, truth = told_apart(having)
    if not len(numbers):
        return {}
    game = GroupDensity(
        subjects=numbers, truth=truth, owners=numbers, shares=shares, trained=trained, classes=classes
    )
    return {game.name: game}
