"""Class-wise gradient matching between clients and a server (Jin et al. 2022a; FedGC Eq. 3).

Clients answer a model with one gradient per class; the server moves a condensed graph until its own
gradients are like the weighted sums.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from ...errors import InputError
from ...randomness import branch, integer, seeded
from ...settings import Settings
from ..channel import Channel
from ..defense import GradientChange, LossTerm
from ..federated.self_training import mean_error
from ..messages import CLASS_GRADIENTS_KIND, CLASS_GRADIENTS_SUM_KIND
from ..models.backbone import BACKBONES, Backbone, BackboneName, Factors, Outer, Spread, Weights
from ..models.propagation import Factor, Neighbourhood, dense_gcn_operator, sparse_features
from ..party import Client
from .condensed import CondensedGraph
from .gradient_distance import (
    Distance,
    RatioOf,
    StructureGenerator,
    allocate_labels,
    matching_distance,
)


class MatchingSettings(Settings):
    """What the condensed graph looks like and how it is moved. Defaults: FedGC, paper and released code."""

    ratio: float = Field(0.026, gt=0, le=1)
    ratio_of: RatioOf = "nodes"
    init: Literal["noise", "real"] = Field("noise", description="first condensed features")
    noise_deviation: float = Field(0.01, gt=0, description="of first features that are noise")
    backbone: BackboneName = "gcn"
    hidden: int = Field(256, ge=1)
    first_weights: Spread = Field(
        "fan-out", description="of the models drawn: uniform within 1 / sqrt(it); the released codes have fan-in"
    )
    lr_features: float = Field(
        1e-2,
        gt=0,
        description="the released code has 1e-3, which 500 rounds do not suffice for (validation accuracy)",
    )
    lr_structure: float = Field(1e-2, gt=0, description="1e-3 in the released code")
    structure_steps: int = Field(10, ge=0, description="first rounds of each cycle that update the structure")
    feature_steps: int = Field(40, ge=0, description="the other rounds of each cycle update the features")
    distance: Distance = "mse"
    threshold: float = Field(0.05, ge=0, lt=1, description="weaker links are not released")
    batch: int | None = Field(
        None, ge=1, description="labelled nodes of a class that a gradient is of, drawn anew each time; null: all"
    )
    neighbours: int | None = Field(
        None, ge=1, description="of each of them that are read, drawn anew and weighted up; null: all"
    )

    def sampling(self, seed: np.random.SeedSequence) -> "Sampling | None":
        """What is drawn for each gradient; None where all is read, as by default."""
        if self.batch is None and self.neighbours is None:
            return None
        coins = torch.Generator().manual_seed(integer(branch(seed, "sampling")))
        return Sampling(self.batch, self.neighbours, coins)

    @model_validator(mode="after")
    def _something_moves(self) -> "MatchingSettings":
        if self.structure_steps + self.feature_steps == 0:
            raise ValueError("structure_steps and feature_steps must not both be 0")
        return self


@dataclass(frozen=True)
class Sampling:
    """Nodes and neighbours that are drawn for a gradient; the released codes of GCond and FedGC draw 256, 10 and 5.

    Attributes:
        batch: labelled nodes of a class, or None for all.
        neighbours: of each, or None for all. Neighbours of neighbours are all read: their sum is made once.
        coins: what draws them.
    """

    batch: int | None
    neighbours: int | None
    coins: torch.Generator

    def of(self, near: Neighbourhood, nodes: Tensor) -> Neighbourhood:
        """What is read for some of the nodes (positions [k])."""
        if self.batch is not None:
            nodes = nodes[torch.randperm(len(nodes), generator=self.coins)[: self.batch].to(nodes.device)]
        part = near.of(nodes)
        return part if self.neighbours is None else part.sampled(self.neighbours, self.coins)


@dataclass(frozen=True)
class _Cell:
    """The labelled nodes of one class and client, with what the model reads for them."""

    rows: Factor
    second: Factor

    @classmethod
    def of(cls, part: Neighbourhood) -> "_Cell":
        return cls(Factor.of(sparse_features(part.rows)), Factor.of(part.second))


class ClassCells:
    """A client's labelled nodes by class.

    Args:
        client: whose nodes.
        near: what a model reads for them.
        change: what a defense makes of their gradients.
        sampling: what each gradient is of, where not of all nodes and neighbours.
    """

    def __init__(
        self,
        client: Client,
        near: Neighbourhood,
        change: GradientChange | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        self.change, self.near, self.sampling = change, near, sampling
        self.nodes: dict[int, Tensor] = {}
        for label in client.y_train[client.train].unique().tolist():
            self.nodes[label] = (client.train & (client.y_train == label)).nonzero().flatten()
        self.whole = {c: _Cell.of(near.of(n)) for c, n in self.nodes.items()} if sampling is None else {}
        self.reference = near.of(client.val.nonzero().flatten())
        self.reference_y = client.y[client.val]

    def gradients(self, theta: Weights, backbone: type[Backbone], term: LossTerm | None) -> Weights:
        """One gradient per class and weight, named ``<class>/<weight>``; absent classes send none."""
        found = {
            f"{label}/{name}": value.product() if isinstance(value, Outer) else value
            for label, parts in self._factors(theta, backbone, term)
            for name, value in parts.items()
        }
        return found if self.change is None else self.change(found)

    def to_match(
        self, theta: Weights, backbone: type[Backbone], term: LossTerm | None
    ) -> Mapping[int, Mapping[str, Tensor | Outer]]:
        """The same by class, for who holds the nodes: in factors, unless a defense changes gradients."""
        if self.change is not None:
            return by_class(self.gradients(theta, backbone, term))
        return dict(self._factors(theta, backbone, term))

    def _factors(
        self, theta: Weights, backbone: type[Backbone], term: LossTerm | None
    ) -> Iterator[tuple[int, Factors]]:
        """Class by class: what is kept of one is gone before the next, unless the caller keeps it."""
        cells = self._cells()
        added = None if term is None else self._added_by_class(term, theta, backbone, cells)
        for label, cell in cells.items():
            hidden = backbone.hidden(theta, cell.rows)
            logits = backbone.logits(theta, hidden, cell.second)
            error = mean_error(logits, torch.full((len(logits),), label, device=logits.device))
            if added is not None:
                error = error + added[label] / len(error)
            yield label, backbone.factors(theta, cell.rows, hidden, cell.second, error)

    def _cells(self) -> dict[int, _Cell]:
        if self.sampling is None:
            return self.whole
        return {label: _Cell.of(self.sampling.of(self.near, nodes)) for label, nodes in self.nodes.items()}

    def _added_by_class(
        self, term: LossTerm, theta: Weights, backbone: type[Backbone], cells: Mapping[int, _Cell]
    ) -> dict[int, Tensor]:
        logits = {
            label: backbone.logits(theta, backbone.hidden(theta, cell.rows), cell.second)
            for label, cell in cells.items()
        }
        labels = {c: torch.full((len(z),), c, device=z.device) for c, z in logits.items()}
        return self._added(term, logits, labels, theta, backbone)

    def _added(
        self,
        term: LossTerm,
        logits: dict[int, Tensor],
        labels: dict[int, Tensor],
        theta: Weights,
        backbone: type[Backbone],
    ) -> dict[int, Tensor]:
        """The extra term's derivative by class. It sees all classes at once: of one class alone it would
        learn the label, not membership."""
        seen = backbone.logits(theta, backbone.hidden(theta, self.reference.rows), self.reference.second)
        together = torch.cat(list(logits.values())), torch.cat(list(labels.values()))
        gradient = term.gradient(*together, seen, self.reference_y)
        return dict(zip(logits, gradient.split([len(z) for z in logits.values()]), strict=True))


def by_class(gradients: Weights) -> dict[int, dict[str, Tensor]]:
    """One client's gradients, named ``<class>/<weight>``, by class."""
    found: dict[int, dict[str, Tensor]] = {}
    for key, value in gradients.items():
        label, name = key.split("/")
        found.setdefault(int(label), {})[name] = value
    return found


def aggregated(answers: list[Weights], counts: Tensor, how: str) -> dict[int, dict[str, Tensor]]:
    """g_c = sum over clients of n_j(c) / n(c) g_{j,c} (FedGC Eq. 3), or the plain mean over those that have c."""
    total: dict[int, dict[str, Tensor]] = {}
    having = (counts > 0).sum(0)
    for number, answer in enumerate(answers):
        for key, value in answer.items():
            label, name = int(key.split("/")[0]), key.split("/")[1]
            share = counts[number, label] / counts[:, label].sum() if how == "weighted" else 1 / having[label]
            into = total.setdefault(label, {})
            if name in into:
                into[name].add_(value, alpha=float(share))
            else:
                into[name] = value * float(share)
    return total


def as_received(
    channel: Channel, answers: list[Weights], counts: Tensor, how: str, round_: int
) -> dict[int, dict[str, Tensor]]:
    """What the server makes of class gradients, see `aggregated`; noted where that is all that it reads."""
    total = aggregated(answers, counts, how)
    if channel.seals(CLASS_GRADIENTS_KIND):
        parts = {f"{label}/{name}": value for label, own in total.items() for name, value in own.items()}
        channel.hold(CLASS_GRADIENTS_SUM_KIND, "server", round_, parts)
    return total


class MatchingServer:
    """The server's side of the matching: the condensed features, the structure generator, their optimisers.

    A class weighs n'_c / max n' in the loss, as in GCond's code; FedGC's Eq. 3 prints no weight.

    Args:
        settings: of the matching.
        x: first features [n', d].
        y: labels [n'].
        structure: the links as a function of the features.
        classes: C.
        seed: of models.
        started_from: which of the rows that it was given each condensed node starts from, [n']; None where it
            starts from noise.
    """

    def __init__(
        self,
        settings: MatchingSettings,
        x: Tensor,
        y: Tensor,
        structure: nn.Module,
        classes: int,
        seed: np.random.SeedSequence,
        started_from: Tensor | None = None,
    ) -> None:
        self.settings, self.seed, self.started_from = settings, seed, started_from
        self.x, self.y, self.structure, self.classes = x.requires_grad_(True), y, structure, classes
        self.backbone = BACKBONES[settings.backbone]
        per_class = torch.bincount(self.y, minlength=classes)
        self.class_weight = per_class / per_class.max()
        self.adam_x = torch.optim.Adam([self.x], lr=settings.lr_features, fused=True)
        weights = list(structure.parameters())
        moves = bool(weights) and len(y) > 1  # a single node has no links
        self.adam_structure = torch.optim.Adam(weights, lr=settings.lr_structure, fused=True) if moves else None

    @classmethod
    def starting(
        cls,
        settings: MatchingSettings,
        features: int,
        counts: Tensor,
        size: int,
        seed: np.random.SeedSequence,
        rows: tuple[Tensor, Tensor] | None = None,
        aligned: bool = True,
    ) -> "MatchingServer":
        """Labels in the shares of the labelled nodes' classes, first features, and a structure generator.

        Args:
            settings: of the matching.
            features: d.
            counts: labelled nodes per client and class, [M, C].
            size: n', number of condensed nodes.
            seed: of first features, structure and models.
            rows: real rows [m, d] and their labels [m] to start from; noise without them.
            aligned: whether a condensed node starts from a row of its own class, see `misaligned`.
        """
        y = allocate_labels(counts.sum(0).cpu(), size).to(counts.device)
        with seeded(branch(seed, "init")):
            chosen = None if rows is None else _one_for_each(y if aligned else misaligned(y, rows[1]), rows[1])
            if rows is None or chosen is None:
                x = settings.noise_deviation * torch.randn(len(y), features, device=y.device)
            else:
                x = rows[0][chosen].clone()
            structure = StructureGenerator(features).to(y.device)
        return cls(settings, x, y, structure, counts.shape[1], seed, chosen)

    def draw_model(self, round_: int) -> Weights:
        """A fresh random model for one round."""
        with seeded(branch(self.seed, "model", round_)):
            model = self.backbone(self.x.shape[1], self.settings.hidden, self.classes)
            if self.settings.first_weights != "fan-out":
                model.reset_parameters(self.settings.first_weights)
        return model.to(self.x.device).weights()

    def match(self, theta: Weights, real: Mapping[int, Mapping[str, Tensor | Outer]], round_: int) -> None:
        """One step on the features or on the structure, towards gradients like the real ones."""
        s = self.settings
        on_structure = round_ % (s.structure_steps + s.feature_steps) < s.structure_steps
        on_structure = on_structure and self.adam_structure is not None
        x = self.x.detach() if on_structure else self.x
        self.structure.requires_grad_(on_structure)  # else a third of the time went into unused derivatives
        loss = self._distance(x, theta, real)
        if not bool(torch.isfinite(loss)):
            raise InputError(
                f"condensing stops in round {round_}: the matching loss is {loss.item()}; lower lr_features "
                f"({s.lr_features}) and lr_structure ({s.lr_structure}), or check the features for huge values"
            )
        optimiser = self.adam_structure if on_structure and self.adam_structure else self.adam_x
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    def learner(self, theta: Weights, lr: float) -> "Learner":
        """A model that is to be trained on the condensed graph between steps, from the weights ``theta`` on."""
        return Learner(self.backbone, theta, lr)

    def taught(self, learner: "Learner", steps: int) -> Weights:
        """The learner's weights after some steps on the condensed graph as it stands."""
        with torch.no_grad():
            operator = dense_gcn_operator(self.structure(self.x))
            rows = operator @ self.x
        return learner.trained(rows, operator, self.y, steps)

    def _distance(self, x: Tensor, theta: Weights, real: Mapping[int, Mapping[str, Tensor | Outer]]) -> Tensor:
        operator = dense_gcn_operator(self.structure(x))
        rows = Factor.of(operator @ x)
        hidden = self.backbone.hidden(theta, rows)
        terms = []
        for label, gradients in real.items():
            of_class = (self.y == label).nonzero().flatten()
            if not len(of_class):
                continue
            second = operator[of_class]
            error = mean_error(self.backbone.logits(theta, hidden, second), self.y[of_class])
            own = self.backbone.factors(theta, rows, hidden, second, error)
            terms.append(self.class_weight[label] * matching_distance(gradients, own, self.settings.distance))
        return torch.stack(terms).sum()

    def release(self) -> CondensedGraph:
        """The condensed graph as it stands, weak links cut."""
        with torch.no_grad():
            adjacency = self.structure(self.x)
        adjacency = torch.where(adjacency > self.settings.threshold, adjacency, 0.0)
        return CondensedGraph(self.x.detach().clone(), self.y.clone(), adjacency)


def misaligned(y: Tensor, labels: Tensor) -> Tensor:
    """The class of the row that each condensed node starts from in GCond's code, and in what is built on it, [n'].

    Rows are put there in the order of class numbers, labels in the order of class sizes among ``labels`` [m], the
    smallest class first and of equal ones that which appears first. The two orders agree for some nodes only. Nodes
    are labelled ``y`` here, ascending.
    """
    present = list(dict.fromkeys(labels.tolist()))
    by_size = sorted(present, key=lambda label: int((labels == label).sum()))
    in_code = torch.cat([y[y == label] for label in by_size])
    return y[in_code.argsort(stable=True)]


def _one_for_each(y: Tensor, labels: Tensor) -> Tensor:
    """For each condensed node a row with its label, [n']; a row is taken twice only when all of its class are."""
    chosen: list[int] = []
    orders: dict[int, Tensor] = {}
    taken: Counter[int] = Counter()
    for label in y.tolist():
        if label not in orders or taken[label] % len(orders[label]) == 0:
            of_class = (labels == label).nonzero().flatten()
            orders[label] = of_class[torch.randperm(len(of_class), device=y.device)]
        chosen.append(int(orders[label][taken[label] % len(orders[label])]))
        taken[label] += 1
    return torch.tensor(chosen, device=y.device)


class Learner:
    """A model in training on a condensed graph that changes meanwhile (GCond's inner loop)."""

    def __init__(self, backbone: type[Backbone], theta: Weights, lr: float) -> None:
        self.backbone = backbone
        self.weights = {name: value.clone().requires_grad_(True) for name, value in theta.items()}
        self.adam = torch.optim.Adam(self.weights.values(), lr=lr, fused=True)

    def trained(self, rows: Tensor, operator: Tensor, y: Tensor, steps: int) -> Weights:
        """Full-batch steps on the condensed nodes, then the weights.

        Args:
            rows: once aggregated features [n', d].
            operator: of the second aggregation, [n', n'].
            y: labels [n'].
            steps: how many.
        """
        for _ in range(steps):
            with torch.no_grad():
                hidden = self.backbone.hidden(self.weights, rows)
                error = mean_error(self.backbone.logits(self.weights, hidden, operator), y)
                for name, value in self.backbone.gradients(self.weights, rows, hidden, operator, error).items():
                    self.weights[name].grad = value
            self.adam.step()
        return {name: value.detach().clone() for name, value in self.weights.items()}
