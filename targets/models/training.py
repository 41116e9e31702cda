"""The training loop that every model here goes through."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn


def fit(
    model: nn.Module,
    loss: Callable[[], Tensor],
    *,
    epochs: int,
    lr: float,
    weight_decay: float = 5e-4,
    drop_lr_at: float | None = None,
    check: Callable[[], float] | None = None,
    every: int = 10,
) -> float | None:
    """Full-batch training with Adam.

    Args:
        model: trained in place; in evaluation mode afterwards.
        loss: the loss of the current weights.
        epochs: steps.
        lr: learning rate.
        weight_decay: L2 penalty on all weights.
        drop_lr_at: share of the epochs after which Adam starts anew with a tenth of the rate (GCond).
        check: a score of the current weights on validation data; the best weights are kept, the untouched
            ones included. Without it the last ones are.
        every: epochs between checks.

    Returns:
        The best score, or None without ``check``.
    """
    import torch

    optimiser = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
    best, kept = _checked(model, check), _copy(model)
    for epoch in range(1, epochs + 1):
        model.train()
        optimiser.zero_grad(set_to_none=True)
        loss().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if drop_lr_at is not None and epoch == int(epochs * drop_lr_at):
            optimiser = torch.optim.Adam(model.parameters(), lr=lr / 10, weight_decay=weight_decay, fused=True)
        if check is not None and (epoch % every == 0 or epoch == epochs):
            score = _checked(model, check)
            if best is None or (score is not None and score > best):
                best, kept = score, _copy(model)
    if check is not None:
        model.load_state_dict(kept)
    model.eval()
    return best


def _checked(model: nn.Module, check: Callable[[], float] | None) -> float | None:
    import torch

    if check is None:
        return None
    model.eval()
    with torch.no_grad():
        return check()


def _copy(model: nn.Module) -> dict[str, Tensor]:
    # clone: on the CPU a state dict aliases the live weights
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
