"""How useful a condensed graph is: train on it, tune locally, test locally."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...randomness import branch, seeded
from ...settings import Settings
from ..models.backbone import BACKBONES, Backbone
from ..models.propagation import Neighbourhood, side_by_side
from ..models.training import fit
from ..party import Client
from ..target import Utility
from .condensed import CondensedGraph


class EvaluationSettings(Settings):
    """The test phase of FedGC (paper section 3.1 and E; numbers from the released code)."""

    __test__ = False  # for test collectors: this is not a test class

    hidden: int = Field(256, ge=1)
    epochs: int = Field(600, ge=1, description="on the condensed graph")
    lr: float = Field(0.005, gt=0)
    weight_decay: float = Field(5e-4, ge=0)
    dropout: float = Field(0.5, ge=0, lt=1)
    models: int = Field(3, ge=1, description="models trained per release; their mean accuracy counts")
    fine_tune: bool = Field(True, description="tune on local labels before testing")
    tune_epochs: int = Field(30, ge=1)


@dataclass(frozen=True)
class Labelled:
    """Nodes in question with what a model reads for them and their labels."""

    near: Neighbourhood
    y: Tensor

    @classmethod
    def of(cls, near: Neighbourhood, mask: Tensor, y: Tensor) -> "Labelled":
        return cls(near.of(mask.nonzero().flatten()).compact(), y[mask])

    def right(self, model: Backbone) -> int:
        """How many nodes a model gets right."""
        return int(self.hits(model).sum())

    def hits(self, model: Backbone) -> Tensor:
        """Which nodes a model gets right, [k] bool."""
        if not len(self.y):
            return torch.zeros(0, dtype=torch.bool, device=self.y.device)
        with torch.no_grad():
            right: Tensor = model(self.near).argmax(1) == self.y
            return right


def train_on(
    release: CondensedGraph,
    backbone: type[Backbone],
    phase: EvaluationSettings,
    classes: int,
    check: Callable[[Backbone], float] | None = None,
) -> Backbone:
    """A fresh model trained on a condensed graph; ``check`` chooses the epoch, else the last one is kept.

    The caller seeds torch.
    """
    model = backbone(release.x.shape[1], phase.hidden, classes, phase.dropout).to(release.x.device)
    near = release.neighbourhood()
    fit(
        model,
        lambda: F.cross_entropy(model(near), release.y),
        epochs=phase.epochs,
        lr=phase.lr,
        weight_decay=phase.weight_decay,
        drop_lr_at=0.5,
        check=None if check is None else lambda: check(model),
    )
    return model


def _together(parts: list[Labelled]) -> Labelled:
    return Labelled(side_by_side([p.near for p in parts]), torch.cat([p.y for p in parts]))


class UtilityEvaluator:
    """Measures releases for a fixed set of clients. Validation selects; test nodes are only counted.

    Args:
        clients: who ask.
        near: what their models would read of what was condensed from: a release is chosen by that.
        asked: what their models read when they ask a release; other than ``near`` where a defense condenses from
            less than it asks with. Who asks chooses epochs by that.
        backbone: the model.
        phase: how it is trained.

    Attributes:
        shares: for each release that was measured, by its round, the share of models that are right at each test
            node, in the order of clients and their nodes.
    """

    def __init__(
        self,
        clients: list[Client],
        near: list[Neighbourhood],
        asked: list[Neighbourhood],
        backbone: str,
        phase: EvaluationSettings,
    ) -> None:
        self.backbone, self.phase, self.classes = BACKBONES[backbone], phase, clients[0].classes
        self.train = [Labelled.of(n, c.train, c.y_train) for c, n in zip(clients, asked, strict=True)]
        self.val = [Labelled.of(n, c.val, c.y) for c, n in zip(clients, asked, strict=True)]
        self.test = [Labelled.of(n, c.test, c.y) for c, n in zip(clients, asked, strict=True)]
        self.all_val = _together(self.val)
        differ = any(a is not n for a, n in zip(asked, near, strict=True))
        unasked = [Labelled.of(n, c.val, c.y) for c, n in zip(clients, near, strict=True)] if differ else []
        self.chooses = _together(unasked) if differ else None
        self.right = np.zeros(2)
        self.shares: dict[int, Tensor] = {}
        self._hits: list[Tensor] = []

    def utility(self, release: CondensedGraph, round_: int, seed: np.random.SeedSequence) -> Utility:
        """Mean accuracy of a few models trained on a release; a node counts once, whoever holds it."""
        self._hits = []
        counts = np.array([self._one(release, branch(seed, i)) for i in range(self.phase.models)])
        self.shares[round_] = torch.stack(self._hits).float().mean(0).cpu()
        val, test, before = counts.mean(0)
        tested = sum(len(t.y) for t in self.test)
        return Utility(round_, float(val / len(self.all_val.y)), float(test / tested), float(before / tested))

    def remarks(self) -> tuple[str, ...]:
        """Whether releases do better on validation nodes without what they are asked with: for the owner alone."""
        without, with_edges = self.right
        if without <= with_edges:
            return ()
        return (
            f"asked with edges the releases are right at {100 * with_edges / without:.0f} % as many validation "
            "nodes as asked with what they were condensed from: ask them without edges (this sentence was made "
            "with edges and is for their owner alone)",
        )

    def _one(self, release: CondensedGraph, seed: np.random.SeedSequence) -> tuple[int, int, int]:
        """Right answers of one model: at validation and test nodes, and at test nodes before tuning."""
        best = 0  # of all epochs, by what was condensed from: asking has no part in it

        def validate(model: Backbone) -> float:
            nonlocal best
            best = best if self.chooses is None else max(best, self.chooses.right(model))
            return self.all_val.right(model) / len(self.all_val.y)

        with seeded(seed):
            model = train_on(release, self.backbone, self.phase, self.classes, validate)
            untuned, val = torch.cat([test.hits(model) for test in self.test]), self.all_val.right(model)
            before = int(untuned.sum())
            if self.chooses is not None:
                self.right += best, val
            if not self.phase.fine_tune:
                self._hits.append(untuned)
                return val if self.chooses is None else best, before, before
            weights = model.weights()
            weights = {name: tensor.clone() for name, tensor in weights.items()}
            val, tuned = 0, []
            for number in range(len(self.test)):
                model.load(weights)
                self._tune(model, number)
                val += self.val[number].right(model)
                tuned.append(self.test[number].hits(model))
            self._hits.append(torch.cat(tuned))
            test = int(self._hits[-1].sum())
        return val if self.chooses is None else best, test, before

    def _tune(self, model: Backbone, number: int) -> None:
        """Trains on one client's labels; its validation nodes choose when to stop, not to start included."""
        train, val = self.train[number], self.val[number]
        fit(
            model,
            lambda: F.cross_entropy(model(train.near), train.y),
            epochs=self.phase.tune_epochs,
            lr=self.phase.lr,
            weight_decay=self.phase.weight_decay,
            check=(lambda: float(val.right(model))) if len(val.y) else None,
            every=5,
        )
