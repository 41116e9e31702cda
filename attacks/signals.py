"""What a model's answer says about one node, as a number that is high where the label was learned."""

import numpy as np
import torch
from torch import Tensor


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
    own = torch.zeros(logits.shape[-2:], dtype=torch.bool, device=logits.device)
    own[torch.arange(len(labels), device=logits.device), labels] = True
    wide = logits.double()
    mine = wide.masked_fill(~own, -torch.inf).amax(-1)
    found: np.ndarray = (mine - wide.masked_fill(own, -torch.inf).logsumexp(-1)).cpu().numpy()
    return found


def hardened(logits: Tensor, wrong: float = 0.01) -> Tensor:
    """Answers of which only the label is left, as `margin` and `log_confidence` can read them."""
    classes = logits.shape[-1]
    told = torch.full_like(logits, wrong / max(classes - 1, 1))
    return told.scatter(-1, logits.argmax(-1, keepdim=True), 1 - wrong).log()
