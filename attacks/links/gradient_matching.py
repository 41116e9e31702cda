"""Links from a client's gradient: the graph that would have produced it (after Zhu et al. 2019, on graphs)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...errors import InputError
from ...settings import Settings
from ...targets.games.links import LinkKnowledge
from ...targets.messages import (
    COMMON_UPDATE_KIND,
    CONTROL_KIND,
    GLOBAL_KIND,
    GRADIENT_KIND,
    PEER_KIND,
    START_KIND,
    UPDATE_KIND,
    Carries,
    Carrying,
)
from ...targets.mixing import BEGINNINGS, with_starts
from ...targets.models.propagation import dense_gcn_operator
from ...targets.models.training_config import TrainingConfig, weight_shapes
from ...targets.transcript import Message, View
from .link_attack import LinkAttack, Part, cosine_of_pairs, of_client, parts_of

LARGEST = 3000
"""Nodes of a client, at most: the adjacency is dense (about 8 matrices of floats)."""
PATIENCE = 50
LEAST_GAIN = 0.01
WEIGHTS = ("w1", "b1", "w2", "b2")


class GradientMatchingSettings(Settings):
    """Settings of `GradientMatching`; ours, tuned on one client's part of Cora."""

    rounds: int = Field(1, ge=1, description="first rounds of which the gradients are matched, together")
    steps: int = Field(300, ge=1, description="of Adam, at most")
    lr: float = Field(0.1, gt=0, description="of Adam on the entries' logarithms; falls to zero linearly")
    start: float = Field(0.5, gt=0, description="first value of every entry, in shares of the density of links")
    ridge: float = Field(
        1e-6, gt=0, description="how much nodes of the same features are kept apart, in shares of a squared norm"
    )
    enough: float = Field(1e-6, ge=0, description="loss at which the search ends")
    sgd_rate: float | None = Field(
        None, gt=0, description="where clients upload weights after one plain gradient step: its rate"
    )


class GradientMatching(LinkAttack):
    """Searches for the adjacency and the labelled nodes that reproduce a client's gradient.

    The server knows features and classes, but neither the links nor which nodes are labelled. It relaxes the
    adjacency to symmetric entries in (0, 1] and the labelled nodes to shares that sum to one, and moves both until
    the gradient of the mean cross-entropy of a two-layer GCN at the round's common weights is the one that the
    client sent. The score of a pair is its entry. All entries start alike, so pairs of which the gradient says
    nothing (more than two links away from any labelled node) stay tied.

    The first layer's gradient is X^T M with one row of M per node. Where features tell the nodes apart M can be
    solved for, and M is what is matched: matching X^T M itself, as is done for images, weighs each direction by
    how large the features are in it and finds next to nothing here.

    A client of SCAFFOLD corrects its step by c - c_i, so its weights do not tell its gradient from the second round
    on. Its control variate after one step is that gradient, and is read instead. Of a client of FedDC, which is
    corrected and pulled to its drift, the first round alone is read.
    """

    name = "gradient-matching"
    dear = "it searches for minutes"
    needs: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.CLASSIFIER, to="clients"),)
    any_of: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.MEAN_GRADIENT, Carries.UPDATE),)
    uses: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.CONTROL), BEGINNINGS)
    Settings = GradientMatchingSettings
    settings: GradientMatchingSettings

    def why_not(self, view: View, knowledge: LinkKnowledge) -> str | None:
        reason = super().why_not(view, knowledge)
        if reason is not None:
            return reason
        if knowledge.recipe is not None and knowledge.recipe.architecture != "gcn":
            return f"it knows the gradient of a two-layer GCN, and the model is a {knowledge.recipe.architecture}"
        if not view.of_kind(GRADIENT_KIND) and self.settings.sgd_rate is None:
            return (
                "clients upload weights, not gradients: if they take one plain gradient step a round, set sgd_rate "
                "to its rate; after several steps, or one of Adam, there is no gradient to match"
            )
        largest = max((len(part.nodes) for _, part in parts_of(knowledge)), default=0)
        if largest > LARGEST:
            return (
                f"a client holds {largest} nodes, and it searches among dense adjacencies of at most {LARGEST}: "
                "use more clients or a smaller graph"
            )
        return None

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        found = matched(part.x, part.labels, self._seen(view, part, knowledge), _density(part), self.settings)
        return found.log_entries[part.pairs[:, 0], part.pairs[:, 1]]

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        return cosine_of_pairs(part.x, part.pairs)

    def _seen(self, view: View, part: Part, knowledge: LinkKnowledge) -> "list[Seen]":
        """The first rounds' common weights and the client's gradients there."""
        kind = next((k for k in (GRADIENT_KIND, PEER_KIND) if view.of_kind(k)), UPDATE_KIND)
        common = {
            m.round: m
            for m in with_starts(view)
            if m.kind in (GLOBAL_KIND, START_KIND) and m.receiver in ("clients", part.sender)
        }
        sent = [m for m in with_starts(view) if (m.kind, m.sender) == (kind, part.sender) and m.tensors]
        drifting = {m.round for m in view.of_kind(COMMON_UPDATE_KIND) if m.round > 0}
        sent = [m for m in sent if m.round in common and m.round not in drifting][: self.settings.rounds]
        if not sent:
            raise InputError(
                f"the observer '{view.observer}' sees no '{kind}' of {part.sender} with the '{GLOBAL_KIND}' of its "
                "round: keep both kinds of message"
            )
        decay = 0.0 if knowledge.recipe is None else knowledge.recipe.weight_decay
        variates = {m.round: m for m in of_client(view, CONTROL_KIND, part) if kind == UPDATE_KIND}
        return [self._one(common[m.round], variates.get(m.round, m), part, decay) for m in sent]

    def _one(self, common: Message, sent: Message, part: Part, decay: float) -> "Seen":
        weights, own = (_checked(m, part.x.shape[1], part.classes, part.x.device) for m in (common, sent))
        if sent.kind == GRADIENT_KIND:
            return Seen(weights, own)
        assert self.settings.sgd_rate is not None
        moved = {name: (weights[name] - own[name]) / self.settings.sgd_rate for name in WEIGHTS}
        step = own if sent.kind == CONTROL_KIND else moved
        return Seen(weights, {name: step[name] - decay * weights[name] for name in WEIGHTS})


@dataclass(frozen=True)
class Seen:
    """A two-layer GCN's weights (w1 [d, h], b1 [h], w2 [h, C], b2 [C]) and the loss's gradient there."""

    weights: Mapping[str, Tensor]
    gradient: Mapping[str, Tensor]


@dataclass(frozen=True)
class Matched:
    """What reproduces some gradients.

    Attributes:
        log_entries: logarithms of the symmetric adjacency, [n, n]; the diagonal means nothing.
        labelled: each node's share in the loss, [n], sums to one.
        loss: what is left, see `matched`.
        steps: how many were taken.
    """

    log_entries: Tensor
    labelled: Tensor
    loss: float
    steps: int


def matched(
    x: Tensor, labels: Tensor, seen: Sequence[Seen], density: float, settings: GradientMatchingSettings
) -> Matched:
    """Searches for the graph and the labelled nodes of one client.

    The loss is, for each of the four weights, the squared distance of the gradients over the squared norm of the
    one that was sent (of w1: of M, see `GradientMatching`), summed over weights and averaged over rounds.

    Args:
        x: features [n, d].
        labels: classes [n], -1 where unknown; such nodes are taken for unlabelled.
        seen: one entry per round.
        density: share of pairs that are linked.
        settings: of the search.

    Raises:
        InputError: no class is known.
    """
    if not bool((labels >= 0).any()):
        raise InputError("the attack 'gradient-matching' needs the classes of some nodes, and none is known")
    solve = _solver(x, settings.ridge)
    problems = [_Problem.of(one, x, labels, solve) for one in seen]
    apart = 1 - torch.eye(len(x), device=x.device)
    theta = torch.full_like(apart, math.log(min(settings.start * density, 1.0)), requires_grad=True)
    share = torch.zeros(len(x), device=x.device, requires_grad=True)
    unknown = torch.where(labels >= 0, 0.0, -torch.inf)
    walker = torch.optim.Adam([theta, share], lr=settings.lr)
    history: list[float] = []
    for step in range(settings.steps):
        walker.param_groups[0]["lr"] = settings.lr * (1 - step / settings.steps)
        operator, labelled = dense_gcn_operator(theta.exp() * apart), (share + unknown).softmax(0)
        loss = torch.stack([problem.loss(operator, labelled) for problem in problems]).mean()
        history.append(float(loss.detach()))
        if _is_over(history, settings.enough):
            break
        theta.grad, share.grad = torch.autograd.grad(loss, [theta, share])
        theta.grad = theta.grad + theta.grad.t()  # one variable for both directions
        walker.step()
        with torch.no_grad():
            theta.clamp_(max=0)
    return Matched(theta.detach(), (share + unknown).detach().softmax(0), history[-1], len(history))


def _is_over(history: list[float], enough: float) -> bool:
    """Whether the loss is small enough, or fell by less than 1 % within the last steps."""
    if history[-1] <= enough:
        return True
    before = history[:-PATIENCE]
    return bool(before) and min(history[-PATIENCE:]) > (1 - LEAST_GAIN) * min(before)


def _solver(x: Tensor, ridge: float) -> Tensor:
    """(X X^T + ridge)^-1 X, [n, d]: takes the gradient X^T M to M as far as the features allow."""
    exact = x.double()
    gram = exact @ exact.t()
    gram.diagonal().add_(ridge * float(gram.diagonal().mean()) + torch.finfo(torch.float).tiny)
    solved: Tensor = torch.linalg.solve(gram, exact)
    return solved


@dataclass(frozen=True)
class _Problem:
    """One round's gradient to reproduce.

    Attributes:
        projected: X w1, [n, h].
        kept: (X X^T + ridge)^-1 X X^T, [n, n]: what is known of M.
        sought: targets by weight; of w1 that of M.
        one_hot: classes [n, C].
    """

    weights: Mapping[str, Tensor]
    projected: Tensor
    kept: Tensor
    sought: tuple[Tensor, ...]
    one_hot: Tensor

    @classmethod
    def of(cls, seen: Seen, x: Tensor, labels: Tensor, solve: Tensor) -> "_Problem":
        rows = (solve @ seen.gradient["w1"].double()).float()
        sought = (rows, *(seen.gradient[name] for name in WEIGHTS[1:]))
        kept = (solve @ x.double().t()).float()
        one_hot = F.one_hot(labels.clamp_min(0), seen.weights["b2"].numel()).float()
        return cls(seen.weights, x.float() @ seen.weights["w1"], kept, sought, one_hot)

    def loss(self, operator: Tensor, labelled: Tensor) -> Tensor:
        rows, *others = gradient_parts(operator, self.projected, self.weights, self.one_hot, labelled)
        pairs = zip((self.kept @ rows, *others), self.sought, strict=True)
        return torch.stack([(a - b).square().sum() / b.square().sum().clamp_min(1e-30) for a, b in pairs]).sum()


def gradient_parts(
    operator: Tensor, projected: Tensor, weights: Mapping[str, Tensor], one_hot: Tensor, labelled: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradient of a two-layer GCN's weighted cross-entropy: M (w1's is X^T M) and those of b1, w2, b2.

    Written out, so that the graph is reached by differentiating once; no matrix is larger than [n, n].

    Args:
        operator: the propagation, symmetric [n, n].
        projected: X w1, [n, h].
        weights: b1, w2 and b2 are read.
        one_hot: classes [n, C].
        labelled: each node's share in the loss [n].
    """
    before = operator @ projected + weights["b1"]
    hidden = before.relu()
    logits = operator @ (hidden @ weights["w2"]) + weights["b2"]
    error = labelled[:, None] * (logits.softmax(1) - one_hot)
    back = operator @ error
    into = (back @ weights["w2"].t()) * (before > 0)
    return operator @ into, into.sum(0), hidden.t() @ back, error.sum(0)


def _density(part: Part) -> float:
    every = len(part.nodes) * (len(part.nodes) - 1) / 2
    return max(part.edges, 1) / max(every, 1)


def _checked(message: Message, features: int, classes: int, device: torch.device) -> dict[str, Tensor]:
    """A GCN's weights or their gradient.

    Raises:
        InputError: something is missing, more than a GCN has, misshapen or not finite.
    """
    what = f"'{message.kind}' of {message.sender} in round {message.round}"
    width = message.tensors["b1"].numel() if "b1" in message.tensors else 1
    shapes = weight_shapes(TrainingConfig(hidden=max(width, 1)), features, classes)
    if set(message.tensors) != set(shapes):
        raise InputError(f"{what} holds {', '.join(sorted(message.tensors))}: expected a GCN's w1, b1, w2 and b2")
    for name, shape in shapes.items():
        if tuple(message.tensors[name].shape) != shape:
            raise InputError(f"{what}: expected '{name}' {shape}, got {tuple(message.tensors[name].shape)}")
        if not bool(torch.isfinite(message.tensors[name]).all()):
            raise InputError(f"{what}: '{name}' is not finite")
    return {name: message.tensors[name].float().to(device) for name in shapes}
