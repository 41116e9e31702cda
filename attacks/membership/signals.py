"""What a model's answer says about one node, as a number that is high where the label was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

FINEST = 1e-4
"""Steps below this are the rounding of numbers, not a defense."""


def log_confidence(logits: Tensor, labels: Tensor) -> np.ndarray:
    """log p(y), the negative loss, in float64: logits [..., s, C], labels [s] to [..., s]."""
    log_p = logits.double().log_softmax(-1)
    index = labels.expand(logits.shape[:-1])[..., None]
    found: np.ndarray = log_p.gather(-1, index)[..., 0].cpu().numpy()
    return found


def margin(logits: Tensor, labels: Tensor) -> np.ndarray:
    """phi = log p(y) - log sum over other labels of p (Carlini et al. 2022, section IV), in float64: [..., s].

    From logits: log(p / (1 - p)) after a softmax would lose all that is beyond 1 - 1e-7.
    """
    import torch

    own = torch.zeros(logits.shape[-2:], dtype=torch.bool, device=logits.device)
    own[torch.arange(len(labels), device=logits.device), labels] = True
    wide = logits.double()
    mine = wide.masked_fill(~own, -torch.inf).amax(-1)
    found: np.ndarray = (mine - wide.masked_fill(own, -torch.inf).logsumexp(-1)).cpu().numpy()
    return found


def as_told(logits: Tensor, step: float) -> Tensor:
    """What is left of answers that are told in probabilities of some step: 0 leaves all, 1 the label alone.

    Shadow models must be read as coarsely as the target is, else a rounded 0 looks like a certainty of theirs.
    """
    import torch

    if step <= 0:
        return logits
    if step >= 1:
        return hardened(logits)
    exact = logits.double().softmax(-1)
    winner = torch.zeros_like(exact).scatter(-1, exact.argmax(-1, keepdim=True), step)
    told = torch.maximum((exact / step).round() * step, winner)
    floor = step / 4  # what was rounded to 0 lay between 0 and half a step
    return torch.where(told > 0, told, floor).log().to(logits.dtype)


def resolution(posteriors: Tensor) -> float:
    """The step in which a table of posteriors is told: its smallest entry where others are exactly 0, else 0.

    In a table that nobody rounded, what is as small as 0 lies beside numbers that are hardly larger.
    """
    positive = posteriors[posteriors > 0]
    if not len(positive) or len(positive) == posteriors.numel():
        return 0.0
    smallest = float(positive.min())
    return smallest if smallest > FINEST else 0.0


def hardened(logits: Tensor, wrong: float = 0.01) -> Tensor:
    """Answers of which only the label is left, as `margin` and `log_confidence` can read them."""
    import torch

    classes = logits.shape[-1]
    told = torch.full_like(logits, wrong / max(classes - 1, 1))
    return told.scatter(-1, logits.argmax(-1, keepdim=True), 1 - wrong).log()
