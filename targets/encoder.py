"""A client's feature encoder, as it is kept by the client and as one who has it applies it."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from .propagation import gcn_operator, sparse_features

ENCODER_KIND = "ib-encoder"


def gaussian(aggregated: Tensor, w2: Tensor) -> tuple[Tensor, Tensor]:
    """The encoder's second layer: mean, and deviation through a softplus (FedGC Eq. 9), [n, d] each."""
    d = w2.shape[0]
    z = aggregated @ w2
    return z[:, :d], F.softplus(z[:, d:]) + 1e-10


def encoded(x: Tensor, edges: Tensor, encoder: Mapping[str, Tensor]) -> Tensor:
    """A client's encoder applied to any nodes: the standardised mean of z, [n, d].

    Args:
        x: features [n, d].
        edges: edges among them [2, e].
        encoder: ``w1`` [d, d], ``w2`` [d, 2d], and the client's ``shift`` and ``scale`` [d].
    """
    operator = gcn_operator(edges, len(x))
    hidden = torch.relu(sparse_features(x) @ encoder["w1"])
    mean, _ = gaussian(operator @ hidden, encoder["w2"])
    return (mean - encoder["shift"]) / encoder["scale"]
