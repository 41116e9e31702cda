"""A perceptron with one hidden layer, trained with noise or without."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .clipped_training import NoisySteps, train_noisily

WATCHED = 10
"""Steps between two looks at validation nodes, where training is not private."""


class Perceptron(nn.Module):
    """Logits [b, C] from rows [b, p]."""

    def __init__(self, width: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, classes)

    def forward(self, rows: Tensor) -> Tensor:
        found: Tensor = self.second(self.hidden(rows))
        return found

    def hidden(self, rows: Tensor) -> Tensor:
        """What it makes of rows before the last layer, [b, h]."""
        return torch.relu(self.first(rows))


@dataclass(frozen=True)
class Labelled:
    """Rows of nodes, and which are trained on.

    Attributes:
        rows: [n, p].
        y: labels [n].
        train: ids of training nodes.
        val: ids of validation nodes.
    """

    rows: Tensor
    y: Tensor
    train: Tensor
    val: Tensor


def made(width: int, hidden: int, classes: int, generator: torch.Generator) -> Perceptron:
    """First weights, uniform within 1 / sqrt(fan in) as torch draws them, from a generator."""
    model = Perceptron(width, hidden, classes).to(generator.device)
    with torch.no_grad():
        for layer in (model.first, model.second):
            bound = layer.in_features**-0.5
            for weight in (layer.weight, layer.bias):
                weight.copy_((2 * torch.rand(weight.shape, generator=generator, device=weight.device) - 1) * bound)
    return model


def noisily(model: Perceptron, data: Labelled, how: NoisySteps, generator: torch.Generator) -> None:
    """Trains it with differential privacy of each row and label."""
    train_noisily(model, lambda some: (data.rows[some],), data.y, data.train, how, generator)


def plainly(model: Perceptron, data: Labelled, steps: int, lr: float) -> None:
    """Trains it without noise; validation nodes choose the step. For what no promise is made of."""
    adam = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=5e-4)
    best, kept = -1.0, {name: value.clone() for name, value in model.state_dict().items()}
    for step in range(1, steps + 1):
        adam.zero_grad()
        F.cross_entropy(model(data.rows[data.train]), data.y[data.train]).backward()  # type: ignore[no-untyped-call]
        adam.step()
        if step % WATCHED == 0 or step == steps:
            with torch.no_grad():
                right = float((model(data.rows[data.val]).argmax(1) == data.y[data.val]).float().mean())
            if right > best:
                best, kept = right, {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(kept)
