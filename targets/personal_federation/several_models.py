"""Several common models in one message, and what they begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from ...randomness import branch
from ..models.training_config import TrainingConfig, initial_weights


def numbered(models: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The weights of all models by names that begin with a model's number: ``0/w1``, ``1/w1`` and so on."""
    return {f"{j}/{name}": weight for j, model in enumerate(models) for name, weight in model.items()}


def apart(weights: Mapping[str, Tensor], models: int) -> list[dict[str, Tensor]]:
    """Each model's weights from those of `numbered`."""
    found: list[dict[str, Tensor]] = [{} for _ in range(models)]
    for called, weight in weights.items():
        number, _, name = called.partition("/")
        found[int(number)][name] = weight
    return found


def first_models(
    weights: Mapping[str, Tensor],
    models: int,
    recipe: TrainingConfig,
    width: int,
    classes: int,
    seed: np.random.SeedSequence,
) -> list[dict[str, Tensor]]:
    """What several models begin with: the first with some weights, each other one with weights of its own."""
    device = next(iter(weights.values())).device
    others = [initial_weights(recipe, width, classes, branch(seed, "cluster weights", j)) for j in range(1, models)]
    return [dict(weights), *({name: weight.to(device) for name, weight in drawn.items()} for drawn in others)]
