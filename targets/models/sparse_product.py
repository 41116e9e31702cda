"""The product of a constant sparse matrix with a dense one that is trained."""

from typing import Any

import torch
from torch import Tensor


class SparseTimesDense(torch.autograd.Function):
    """``matrix @ dense``, with a gradient for the dense one by the transposed copy that is handed in."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, dense: Tensor) -> Tensor:
        ctx.save_for_backward(transposed)
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        (transposed,) = ctx.saved_tensors
        return None, None, transposed @ grads[0].contiguous()
