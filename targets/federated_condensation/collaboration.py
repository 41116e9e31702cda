"""What FedC4's clients tell each other of their condensed nodes, and whom they tell it.

Chen et al., CIKM 2025: customizer (3.3), node selector (3.4) and graph rebuilder (3.5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

TINY = 1e-8
Rows = Literal["as-they-are", "unit"]


@dataclass(frozen=True)
class Statistics:
    """Norms of a client's embeddings [n'] and their mean [h] (Eq. 8)."""

    norms: Tensor
    prototype: Tensor

    @classmethod
    def of(cls, embeddings: Tensor) -> "Statistics":
        """``embeddings`` [n', h]."""
        return cls(embeddings.norm(dim=1), embeddings.mean(0))

    def tensors(self) -> dict[str, Tensor]:
        """The content of the message that tells them."""
        return {"norms": self.norms, "prototype": self.prototype}


def cluster_of(own: int, known: Mapping[int, Statistics], delta: float) -> set[int]:
    """The clients in the cluster of client ``own``, itself among them (Algorithm 2, line 3).

    Norms are brought to mean 0 and variance 1 over all clients that are known (Eq. 10). Those are in the cluster
    whose norms' Wasserstein distance to the own ones is at most ``delta``; norms are numbers, so that every slice
    of Eq. 12 is the whole of them.
    """
    from scipy.stats import wasserstein_distance

    every = torch.cat([s.norms for s in known.values()])
    spread = float(every.std(correction=0)) + TINY
    scaled = {client: (s.norms / spread).cpu().numpy() for client, s in known.items()}  # the mean cancels
    return {client for client, norms in scaled.items() if wasserstein_distance(scaled[own], norms) <= delta}


def selected(embeddings: Tensor, prototype: Tensor, tau: float) -> Tensor:
    """Which nodes are alike another client's prototype: cosine above ``tau``, [n'] bool (Eq. 13)."""
    return F.cosine_similarity(embeddings, prototype[None], dim=1) > tau


class Rebuilder:
    """Links among some nodes by which each expresses the others (Eq. 14 and 15).

    Minimises alpha |X - Z X|^2 + beta |Z|_1 + sum (1 - S) Z over symmetric Z in [0, 1] without loops, S the cosine
    of embeddings, by projected gradients with a step of one over the Lipschitz constant. That keeps Z to what links
    can be: the paper prints no constraint, and without one Z = I, which links nobody, reconstructs without error.

    The first link of a node goes to one whose product with it is above about beta / (2 alpha), .83 for the paper's
    150 and 250. Condensed rows are longer than 1, and as they are (as printed) many pairs pass that. Rows of unit
    length must have a cosine above .83, which hardly any pair has: Z is then nearly empty.

    Args:
        x: features [n, d].
        alpha: weight of the reconstruction.
        beta: weight of sparsity.
        links: to start from, [n, n]; none without them.
        scale: whether rows of X are reconstructed ``as-they-are`` or scaled to ``unit`` length before.
    """

    def __init__(
        self,
        x: Tensor,
        alpha: float,
        beta: float,
        links: Tensor | None = None,
        scale: Rows = "as-they-are",
    ) -> None:
        rows = F.normalize(x, dim=1) if scale == "unit" else x
        self.alpha, self.beta, self.gram = alpha, beta, rows @ rows.t()
        largest = float(torch.linalg.matrix_norm(self.gram, 2))
        self.rate = 1 / (2 * alpha * max(largest, TINY))
        self.links = torch.zeros_like(self.gram) if links is None else links

    def links_for(self, embeddings: Tensor, steps: int) -> Tensor:
        """The links [n, n] for some embeddings [n, h], after steps from where the last call stopped."""
        unit = F.normalize(embeddings, dim=1)
        fixed = self.beta + 1 - unit @ unit.t() - 2 * self.alpha * self.gram
        z = self.links
        for _ in range(steps):
            z = z - self.rate * (2 * self.alpha * (z @ self.gram) + fixed)
            z = ((z + z.t()) / 2).clamp(0, 1).fill_diagonal_(0)
        self.links = z
        return z
