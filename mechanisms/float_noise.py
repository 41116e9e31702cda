"""Noise in floating point: Gaussian and Laplace, for where no promise needs an exact sampler (`exact_noise`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..randomness import branch, integer

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Streams:
    """Numpy generators for noise that a promise rests on, one for each sender.

    Each has all of the seed's entropy: torch's generator on a CPU has 2^32 streams, few enough to try. One for all
    senders would tell whoever knows its own noise that of the others.
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._seed, self._made = seed, dict[str, np.random.Generator]()

    def of(self, sender: str) -> np.random.Generator:
        if sender not in self._made:
            self._made[sender] = np.random.default_rng(branch(self._seed, sender))
        return self._made[sender]


class Generators:
    """Torch generators that all start from one seed, one for each device that tensors come from.

    Fast, and guessed from a few of their numbers: for coins that no promise rests on.
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        import torch

        self._number, self._made = integer(seed), dict[torch.device, torch.Generator]()

    def on(self, device: torch.device) -> torch.Generator:
        import torch

        if device not in self._made:
            self._made[device] = torch.Generator(device).manual_seed(self._number)
        return self._made[device]


def normal(like: Tensor, rng: np.random.Generator) -> Tensor:
    """Standard normal numbers of the same shape, type and place.

    Drawn by numpy, whose seeds have 128 bits: torch's generator on a CPU has 2^32 streams, few enough to try.
    """
    import torch

    return torch.from_numpy(rng.standard_normal(tuple(like.shape))).to(like)


def quick_normal(like: Mapping[str, Tensor], generators: Generators) -> dict[str, Tensor]:
    """Standard normal numbers of the same names, shapes and types, for coins that no promise rests on."""
    import torch

    return {
        name: torch.randn(t.shape, dtype=t.dtype, device=t.device, generator=generators.on(t.device))
        for name, t in like.items()
    }


def laplace(like: Tensor, scale: float, generator: torch.Generator) -> Tensor:
    """Laplace(0, scale) of the shape of ``like``, by inversion of one uniform draw.

    Five times as fast as the difference of two exponentials; a draw of 24 bits cannot exceed 16.6 scales.
    """
    import torch

    centred = torch.rand(like.shape, dtype=like.dtype, device=like.device, generator=generator).sub_(0.5)
    sign = centred.sign()
    size = torch.log1p(centred.abs_().mul_(-2).clamp_(min=-1 + 2**-24)).neg_()
    return sign.mul_(size).mul_(scale)
