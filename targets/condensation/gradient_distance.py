"""The pieces that every gradient-matching condensation is made of (Jin et al. 2022a, 2022b)."""

from collections.abc import Mapping
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import InputError
from ..models.backbone import Outer
from .pair_scores import PairScores, normalised_sums

Distance = Literal["mse", "columns"]
TINY = 1e-6
"""Lengths of columns of gradients below this count as this."""
RatioOf = Literal["nodes", "labelled"]


def condensed_size(ratio: float, ratio_of: RatioOf, nodes: int, labelled: int) -> int:
    """Number of condensed nodes n'.

    The same graph has two ratios: papers print n' / N, released code multiplies the labelled nodes. Cora's
    70 nodes are 0.026 of its nodes and 0.5 of its labelled ones.
    """
    return round(ratio * (nodes if ratio_of == "nodes" else labelled))


def allocate_labels(counts: Tensor, size: int) -> Tensor:
    """The labels Y' of the condensed nodes, ascending: class shares as in ``counts`` [C], sum ``size``.

    Every class with a labelled node gets at least one, other classes none; single nodes then move between
    classes with the largest rounding error until the size is met exactly.

    Raises:
        InputError: the size leaves a class empty.
    """
    present = int((counts > 0).sum())
    if size < present:
        raise InputError(
            f"a condensed graph of {size} nodes leaves {present - size} of {present} classes empty: "
            f"raise the ratio so that at least {present} nodes remain"
        )
    exact = counts.double() / counts.sum() * size
    given = exact.floor().long().clamp(min=1) * (counts > 0)
    while int(given.sum()) < size:
        given[(exact - given).masked_fill(counts == 0, -torch.inf).argmax()] += 1
    while int(given.sum()) > size:
        given[(given - exact).masked_fill(given <= 1, -torch.inf).argmax()] -= 1
    return torch.repeat_interleave(torch.arange(len(counts)), given)


class StructureGenerator(nn.Module):
    """PGE: the condensed structure as a function of the condensed features (Jin et al. 2022b, Eq. 7).

    Three linear layers on ordered pairs, batch normalisation in training mode also at inference (as
    GCond's code has it), made symmetric, sigmoid, no self-loops. The first layer on ``[x_i; x_j]`` is split
    into two products, ``x_i W_l + x_j W_r``: the same function without gathering n'^2 long rows. Biases before a
    normalisation change nothing and are not added.
    """

    def __init__(self, features: int, hidden: int = 128) -> None:
        super().__init__()
        self.pair = nn.Linear(2 * features, hidden)
        self.middle = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden, track_running_stats=False) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """Adjacency [n', n'] in [0, 1] from features [n', d]."""
        n, d = x.shape
        if n == 1:  # no pair to link, and nothing to normalise over
            return torch.zeros(1, 1, device=x.device)
        left, right = x @ self.pair.weight[:, :d].t(), x @ self.pair.weight[:, d:].t()
        sums = normalised_sums(left, right, *self._normalisation(0))
        score = PairScores.apply(*sums, self.middle.weight, self.out.weight[0], *self._normalisation(1))
        score = score + self.out.bias
        adjacency = torch.sigmoid((score + score.t()) / 2)
        return adjacency * (1 - torch.eye(n, device=x.device))

    def _normalisation(self, layer: int) -> tuple[Tensor, Tensor, float]:
        norm = cast(nn.BatchNorm1d, self.norms[layer])
        return norm.weight, norm.bias, norm.eps


def matching_distance(
    real: Mapping[str, Tensor | Outer], synthetic: Mapping[str, Tensor | Outer], distance: Distance
) -> Tensor:
    """How far two gradients are apart. Where both have a part in factors, the distance is taken by these.

    ``mse``: sum of squared differences over all weights (DosCond, FedGC). ``columns``: per weight matrix, sum
    over output columns of one minus the cosine, biases left out (GCond; FedGC Eq. 15).
    """
    terms = [_apart(value, synthetic[name], distance) for name, value in real.items()]
    return torch.stack([term for term in terms if term is not None]).sum()


def _apart(real: Tensor | Outer, synthetic: Tensor | Outer, distance: Distance) -> Tensor | None:
    """The part of one weight; None for a bias that does not count."""
    if isinstance(real, Outer) and isinstance(synthetic, Outer):
        inner, ours, theirs = real.inner(synthetic), real.squares(), synthetic.squares()
        if distance == "mse":
            return (ours + theirs - 2 * inner).sum()
        return (1 - inner * (ours.clamp(min=TINY**2) * theirs.clamp(min=TINY**2)).rsqrt()).sum()
    one, other = (value.product() if isinstance(value, Outer) else value for value in (real, synthetic))
    if distance == "mse":
        return (one - other).square().sum()
    return (1 - F.cosine_similarity(one, other, dim=0, eps=TINY)).sum() if one.dim() == 2 else None
