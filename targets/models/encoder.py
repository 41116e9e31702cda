"""A client's feature encoder, as it is kept by the client and as one who has it applies it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...errors import InputError
from .propagation import gcn_operator, sparse_features

if TYPE_CHECKING:
    from torch import Tensor


def gaussian(aggregated: Tensor, w2: Tensor, added: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The encoder's second layer: mean, and deviation through a softplus (FedGC Eq. 9), [n, d] each.

    ``added`` [n, 2d] is what aggregation makes of a bias.
    """
    from torch.nn import functional as F

    d = w2.shape[0]
    z = aggregated @ w2 if added is None else aggregated @ w2 + added
    return z[:, :d], F.softplus(z[:, d:]) + 1e-10


def spread_bias(operator: Tensor, b2: Tensor) -> Tensor:
    """What each node gets of a bias that is added before aggregation, [n, 2d]."""
    import torch

    return (operator @ torch.ones(operator.shape[1], 1, device=b2.device)) * b2


def encoded(x: Tensor, edges: Tensor, encoder: Mapping[str, Tensor]) -> Tensor:
    """A client's encoder applied to any nodes: the standardised mean of z, [n, d].

    Args:
        x: features [n, d].
        edges: edges among them [2, e].
        encoder: ``w1`` [d, d], ``w2`` [d, 2d], the client's ``shift`` and ``scale`` [d], and biases ``b1`` [d] and
            ``b2`` [2d] where it has them.

    Raises:
        InputError: the encoder, which may come from a file, does not fit.
    """
    import torch

    _check(encoder, x.shape[1])
    operator = gcn_operator(edges, len(x))
    hidden = sparse_features(x) @ encoder["w1"]
    if "b1" not in encoder:
        mean, _ = gaussian(operator @ torch.relu(hidden), encoder["w2"])
    else:
        hidden = torch.relu(hidden + encoder["b1"])
        mean, _ = gaussian(operator @ hidden, encoder["w2"], spread_bias(operator, encoder["b2"]))
    return (mean - encoder["shift"]) / encoder["scale"]


def _check(encoder: Mapping[str, Tensor], d: int) -> None:
    import torch

    shapes: dict[str, tuple[int, ...]] = {"w1": (d, d), "w2": (d, 2 * d), "shift": (d,), "scale": (d,)}
    shapes |= {"b1": (d,), "b2": (2 * d,)} if {"b1", "b2"} & set(encoder) else {}
    for name, shape in shapes.items():
        if name not in encoder:
            raise InputError(f"the encoder lacks '{name}'")
        part = encoder[name]
        if tuple(part.shape) != shape or not part.is_floating_point() or not bool(torch.isfinite(part).all()):
            raise InputError(
                f"the encoder's '{name}' has shape {tuple(part.shape)} and type {part.dtype}: "
                f"expected finite numbers of shape {shape} for {d} features"
            )
    if not bool((encoder["scale"] > 0).all()):
        raise InputError("the encoder's 'scale' must be positive")
