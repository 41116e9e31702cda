"""A property of a client's data as the secret: has this client many labels of one class, or few?"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...randomness import branch
from ..game import Game, Words
from .class_presence import ClassPresence

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


class GroupProperty(ClassPresence):
    """Has this client many labels of the class in question? A subject is ``client * C + class``, one each client.

    Half of the clients, drawn by lot, have many (`with_property`), so that nothing public says which: the prior is
    one half. Property inference in a federation; Wang and Wang (CCS 2022) ask it of a group in a whole graph.
    """

    name = "group-property"
    unit = "whether one client has many or few labels of one class"
    words = Words(
        "Group property: has this client many labels of the class in question, or few?",
        "Can it be told what kind of people make up a party's records?",
        "clients with many labels of the class",
        "clients with many labels of the class from those with few",
        "client with few labels of the class",
        "clients with few labels of the class",
        public="what the overall share of the class tells of who has many",
    )
    planted = "planted-property"
    asked_with = "--set asked_class=0"


def with_property(
    data: Data, owner: Tensor, asked: int, shares: tuple[float, float], seed: np.random.SeedSequence
) -> tuple[Data, dict[int, bool]]:
    """The graph with fewer training nodes: of each client's, the class in question makes up one of two shares.

    Half of the clients, drawn by lot, get the larger share; of an odd number a coin says which half is larger. The
    number of labels that are left does not depend on it.

    Args:
        data: with masks.
        owner: the client of each node, [N].
        asked: the class.
        shares: of those who have few, and of those who have many.
        seed: of all lots.

    Returns:
        The graph with another ``train_mask``, and who has many, by number.

    Raises:
        InputError: there is one client alone, or one has not enough labels for both shares.
    """
    rng, few, many = np.random.default_rng(branch(seed, "lots")), *shares
    train, y, owners = data.train_mask.cpu().numpy(), data.y.cpu().numpy(), owner.cpu().numpy()
    left, having = np.zeros(data.num_nodes, dtype=bool), _half(int(owners.max()) + 1, rng)
    for number in having:
        own = train & (owners == number)
        inside, others = np.flatnonzero(own & (y == asked)), np.flatnonzero(own & (y != asked))
        size = min(len(inside) / many, len(others) / (1 - few))
        counts = [round(share * size) for share in shares]
        if counts[0] == counts[1] or counts[1] > len(inside):
            raise InputError(
                f"client:{number} has {len(inside)} labels of class {asked} and {len(others)} others: too few to "
                f"have them in shares of {few:g} and {many:g}; use fewer clients, another class or more labels"
            )
        taken = counts[having[number]]
        left[rng.permutation(inside)[:taken]] = True
        left[rng.permutation(others)[: int(size) - taken]] = True
    thinned = copy(data)
    thinned.train_mask = data.train_mask.new_tensor(left.tolist())
    return thinned, having


def _half(clients: int, rng: np.random.Generator) -> dict[int, bool]:
    """Which clients are in one half of them, drawn by lot."""
    if clients < 2:
        raise InputError("the game 'group-property' tells clients from each other: use two or more")
    size = (clients + int(rng.random() < 0.5)) // 2
    drawn = set(rng.permutation(clients)[:size].tolist())
    return {number: number in drawn for number in range(clients)}


def group_property(having: dict[int, bool], asked: int, classes: int) -> dict[str, Game]:
    """The game by its name; nothing where all clients are alike.

    Args:
        having: who has many labels of the class, by number.
        asked: the class.
        classes: C.
    """
    numbers = np.array(sorted(having))
    truth = np.array([having[number] for number in numbers.tolist()])
    if truth.all() or not truth.any():
        return {}
    game = GroupProperty(subjects=numbers * classes + asked, truth=truth, owners=numbers, cells=classes)
    return {game.name: game}
