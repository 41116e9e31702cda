"""A perceptron with one hidden layer, trained with noise or without."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .clipped_training import NoisySteps, draw_first_weights, train_noisily
from .private_classifier import TrainingNodes

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

    @classmethod
    def of(cls, rows: Tensor, training: TrainingNodes) -> "Labelled":
        """Rows of the party's nodes."""
        party = training.party
        return cls(rows, party.y_train, party.train.nonzero().flatten(), party.val.nonzero().flatten())

    def model(self, hidden: int, classes: int, rng: np.random.Generator) -> Perceptron:
        """A perceptron that fits, with first weights."""
        made = Perceptron(self.rows.shape[1], hidden, classes).to(self.rows.device)
        draw_first_weights(made, rng)
        return made


def noisily(model: Perceptron, data: Labelled, how: NoisySteps, training: TrainingNodes, what: str) -> None:
    """Trains it with differential privacy of each row and label."""

    def inputs(some: Tensor) -> tuple[Tensor]:
        return (data.rows[some],)

    done = training.steps_done(f"training the {what}", how.steps)
    train_noisily(model, inputs, data.y, data.train, how, training.rng("noise", what), done)


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
