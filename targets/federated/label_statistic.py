"""The one message through which labels enter where a private teacher supplies them: noisy sums by label.

All else that the parties tell each other here are sums over nodes that no label enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...mechanisms.exact_noise import discrete_gaussian
from ...randomness import branch, seeded
from ..channel import Channel
from ..messages import FEATURE_BASIS_KIND, FEATURE_SUMS_KIND, LABEL_STATISTIC_KIND, LABEL_SUMS_KIND
from ..models.propagation import Factor, Neighbourhood
from ..party import Client

if TYPE_CHECKING:
    from torch import Tensor

STATISTIC_KINDS = (FEATURE_SUMS_KIND, FEATURE_BASIS_KIND, LABEL_SUMS_KIND, LABEL_STATISTIC_KIND)
"""What the parties send in the making of a private teacher."""
GRID = 2**20
"""Steps of the grid per unit: noise is drawn in whole numbers of them."""
SWEEPS = 8
"""Of subspace iteration."""
SPARE = 8
"""Directions that are iterated beside those that are wanted, which makes these converge."""
Parts = Sequence["Tensor"]


@dataclass(frozen=True)
class Basis:
    """How features that were propagated twice become short vectors of length 1, alike for all parties.

    Attributes:
        directions: weights of the words times the leading directions, [d, p].
        mean: of all nodes' projected rows, [p].
    """

    directions: Tensor
    mean: Tensor

    def features(self, near: Neighbourhood) -> Tensor:
        """phi, [k, p] float64: each row has length 1 or is zero."""
        from torch.nn import functional as F

        rows = near.second @ (near.rows @ self.directions)
        return F.normalize((rows - self.mean).double(), dim=1)


class Summing:
    """Sums over the clients' nodes, each client's part read by nobody: secure aggregation, modelled.

    An owner alone adds nothing up and sends nothing.
    """

    def __init__(self, clients: Sequence[Client], channel: Channel) -> None:
        self.clients, self.channel, self.round = clients, channel, 0

    def total(self, parts: Parts) -> Tensor:
        """The sum of the clients' parts, which have one shape."""
        import torch

        if len(self.clients) == 1:
            return parts[0]
        pairs = zip(self.clients, parts, strict=True)
        sent = [self._sent(client, part)["sums"] for client, part in pairs]
        self.round += 1
        return torch.stack(sent).sum(0)

    def told(self, **tensors: Tensor) -> dict[str, Tensor]:
        """What all clients get of what the server made of sums."""
        if len(self.clients) == 1:
            return tensors
        return dict(self.channel.send(FEATURE_BASIS_KIND, "server", "clients", self.round, tensors))

    def _sent(self, client: Client, part: Tensor) -> dict[str, Tensor]:
        content = {"sums": part}
        return dict(
            self.channel.send(
                FEATURE_SUMS_KIND, client.name, "server", self.round, content, sealed_from=("server",)
            )
        )


def common_basis(
    clients: Sequence[Client],
    near: Sequence[Neighbourhood],
    sums: Summing,
    width: int,
    seed: np.random.SeedSequence,
) -> Basis:
    """Principal directions of the propagated features of all nodes, their words weighted by how rare they are.

    A word that df of N nodes have weighs ln((1 + N) / (1 + df)) + 1. The directions are found by subspace
    iteration (Halko, Martinsson and Tropp 2011, Algorithm 4.4), whose products are sums over nodes.

    Args:
        clients: the parties.
        near: what each client's model reads.
        sums: how they add up.
        width: p, at most the number of features.
        seed: of the first directions.

    Raises:
        InputError: features are too large for sums of their squares.
    """
    import torch

    nodes = sum(len(client.nodes) for client in clients)
    having = sums.total([(client.x != 0).sum(0).float() for client in clients])
    weight = torch.log((1 + nodes) / (1 + having)) + 1
    factors = [(Factor.of(n.second), Factor.of(n.rows)) for n in near]
    everybody = [torch.ones(len(client.nodes), 1).to(weight) for client in clients]
    pairs = zip(factors, everybody, strict=True)
    mean = weight * sums.total([_down(f, ones)[:, 0] for f, ones in pairs]) / nodes
    features = len(weight)
    with seeded(branch(seed, "directions")):
        first = torch.randn(features, min(width + SPARE, features)).to(weight)
    directions = torch.linalg.qr(first)[0]
    for _ in range(SWEEPS):
        told = sums.told(directions=weight[:, None] * directions, mean=mean @ directions)
        moved = sums.total([_down(f, _up(f, told)) for f in factors])
        directions = torch.linalg.qr(weight[:, None] * moved)[0]
    told = sums.told(directions=weight[:, None] * directions, mean=mean @ directions)
    spread = sums.total([_gram(_up(f, told)) for f in factors])
    if not torch.isfinite(spread).all():
        raise InputError(
            "the features are too large: sums of their squares over all nodes are no finite numbers in single "
            "precision; divide them, for instance so that none is above 1"
        )
    leading = torch.linalg.eigh(spread.double())[1].flip(1)[:, :width].to(directions)
    directions = directions @ leading
    return Basis(**sums.told(directions=weight[:, None] * directions, mean=mean @ directions))


def _up(factors: tuple[Factor, Factor], told: dict[str, Tensor]) -> Tensor:
    """Centred projections of a client's nodes, [n, q]."""
    second, rows = factors
    return second @ (rows @ told["directions"]) - told["mean"]


def _down(factors: tuple[Factor, Factor], columns: Tensor) -> Tensor:
    """Sums of a client's propagated rows, weighted by columns [n, q]: [d, q]."""
    second, rows = factors
    return rows.t() @ (second.t() @ columns)


def _gram(rows: Tensor) -> Tensor:
    return rows.t() @ rows


def label_sums(features: Tensor, labels: Tensor, labelled: Tensor, classes: int) -> np.ndarray:
    """T in steps of the grid before noise, [C, p] int64: the sum of each class's labelled nodes' features.

    Features are rounded towards zero, so that none is longer than 1: one label more or less changes the sums by at
    most ``GRID`` in L2 norm, another label by at most sqrt(2) times that.

    Args:
        features: phi [n, p], rows of length 1 at most.
        labels: [n].
        labelled: which of them are there, [n] bool.
        classes: C.
    """
    import torch

    steps = (features.double() * (1 - 1e-12) * GRID).trunc().long().cpu()
    found = torch.zeros(classes, steps.shape[1], dtype=torch.long)
    found.index_add_(0, labels[labelled].cpu(), steps[labelled.cpu()])
    return found.numpy()


def noise_of_share(deviation: float, size: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """Discrete Gaussian noise in steps of the grid, [size] int64 (Canonne, Kamath and Steinke 2020).

    Shares of many clients add up to nearly a discrete Gaussian with the sum of their variances: each share that is
    added changes probabilities by a factor of 1 + 5 exp(-pi^2 v) at most, v a share's variance in steps squared
    (Kairouz, Liu and Steinke 2021, on sums of two), which is nothing for shares of a thousand steps. Such fine
    noise promises what continuous noise does, to nine digits (`mechanisms.gaussian.FINE`).
    """
    return discrete_gaussian(Fraction(math.ceil((deviation * GRID) ** 2)), size, rng)


@dataclass(frozen=True)
class Noise:
    """How the statistic is noised.

    Attributes:
        deviation: of the noise that an observer cannot take off, in the units of phi.
        sealed: whether the server sees the sum alone. If not each client adds all of the noise for itself.
        curious: clients who may take their own shares off the sum.
    """

    deviation: float
    sealed: bool = True
    curious: int = 1

    def share(self, clients: int) -> float:
        """Deviation of what one of so many clients adds."""
        honest = max(clients - self.curious, 1) if self.sealed else 1
        return self.deviation / math.sqrt(honest)

    def total(self, clients: int) -> float:
        """Deviation of the noise of the sum."""
        return self.share(clients) * math.sqrt(clients)


def label_statistic(
    clients: Sequence[Client],
    features: Parts,
    basis: Basis,
    noise: Noise,
    channel: Channel,
    coins: Callable[[Client], np.random.Generator | None],
) -> Tensor:
    """The sums of all clients' labelled nodes' features by label, noise included, as the clients get them, [C, p].

    Args:
        clients: the parties, with their true labels; no other function of this module reads one.
        features: phi of each client's nodes.
        basis: that they were made with.
        noise: what is added.
        channel: what the sums go through.
        coins: of each client.
    """
    import torch

    parts = []
    for client, rows in zip(clients, features, strict=True):
        own = label_sums(rows, client.y_train, client.train, client.classes)
        drawn = noise_of_share(noise.share(len(clients)), own.size, coins(client)).reshape(own.shape)
        parts.append(torch.from_numpy(own + drawn))
    if len(clients) > 1:
        sealed = ("server",) if noise.sealed else ()
        parts = [
            channel.send(LABEL_SUMS_KIND, client.name, "server", -1, {"sums": part}, sealed)["sums"]
            for client, part in zip(clients, parts, strict=True)
        ]
    told = {
        "sums": torch.stack(list(parts)).sum(0).double() / GRID,
        "basis": basis.directions,
        "mean": basis.mean,
        "deviation": torch.tensor(noise.total(len(clients)), dtype=torch.double),
        "clients": torch.tensor(len(clients)),
    }
    if len(clients) > 1:
        return channel.send(LABEL_STATISTIC_KIND, "server", "clients", -1, told)["sums"]
    channel.hold(LABEL_STATISTIC_KIND, clients[0].name, -1, told)
    return told["sums"]
