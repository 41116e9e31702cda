"""Bayes-optimal membership inference from neighbourhoods (Lassila et al., NeurIPS 2025)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from ...randomness import branch
from ...targets.games.membership import NodeKnowledge
from ...targets.messages import RELEASED_GRAPH, Carries, Carrying
from ...targets.models.training_config import TrainingConfig
from ...targets.models.training_task import Query
from ...targets.transcript import View
from .base_membership import log_mean
from .query_attack import ShadowModelAttack, ShadowModelAttackSettings, combined
from .shadow_models import best_setting
from .signals import hardened, log_confidence
from .victim import Artefact, weights_in

if TYPE_CHECKING:
    from torch import Tensor

GRID = tuple(np.linspace(0, 1, 21).tolist())
BLOCK = 256
ROWS = 16384

Ask = Callable[[Query], "Tensor"]
"""What answers with the logits [R, a, C] of R models."""


class GBASESettings(ShadowModelAttackSettings):
    """Settings of `GBASE`."""

    alpha: float | None = Field(
        1.0, ge=0, le=1, description="weight of the shadows; null: tuned on shadow models that play the target"
    )
    masks: int = Field(8, ge=1, description="guesses at who the other members are")
    strategy: Literal["model-independent", "mia"] = Field(
        "model-independent", description="guess members by the prior alone, or by what BASE says of each node"
    )
    prior: float | None = Field(None, gt=0, lt=1, description="probability of a member; null: their known share")
    radius: int | None = Field(
        None, ge=0, description="hops of a neighbourhood; null: the square of the model's propagation steps"
    )
    fanout: int | None = Field(
        None, ge=1, description="follow so many neighbours of a node, drawn at random for each guess; null: all"
    )


class OfflineGBASESettings(GBASESettings):
    """Settings of `OfflineGBASE`."""

    alpha: float | None = Field(
        None, ge=0, le=1, description="weight of the shadows; null: tuned on shadow models that play the target"
    )


class GBASE(ShadowModelAttack):
    """How much likelier a node makes the labels around it, under the target and under all shadow models.

    For each of M guesses m at the members, drawn once for all nodes in question, G is the ball around node i in the
    subgraph of m and i, and l(G) the sum of log p(y) over its nodes. With D = l(G) - l(G without i) of each model,
    the score is the mean over guesses of sigmoid(D_target - alpha log mean_k exp D_k + logit(prior)). As in the
    authors' released code the ball's radius is the square of the propagation steps and all M guesses are shared.

    It differs from that code in what follows. Scores are log-odds of that mean: the same order, but no ties where a
    sigmoid rounds to 1. The prior is the members' known share (1/2 in the paper's protocol). `mia` puts the prior
    into the BASE scores that it guesses by, so that they are posteriors. Nodes that are not in question were never
    in the training graph of this game, so no guess includes them; nodes with unknown labels stay in the graph and
    are left out of the sums. On graphs where balls hold a good part of all nodes ``fanout`` draws which neighbours
    of a node belong to its ball; all models are asked about the same ones, with all edges among them. Only nodes
    whose answers the removal of i can change are asked about: the others cancel. With an empty guess it is BASE on
    isolated nodes.

    It asks about graphs of its own making, so it needs a model; a table of answers will not do. The edges are those
    that the adversary may ask with. In the transductive game the training graph is the same whoever the members
    are, and the attack has no meaning.
    """

    name = "g-base"
    games = ("node-presence",)
    any_of = (Carrying.any_of(Carries.CLASSIFIER), RELEASED_GRAPH)
    uses = ()
    offline: ClassVar[bool] = False
    Settings = GBASESettings
    settings: GBASESettings

    def why_not(self, view: View, knowledge: NodeKnowledge) -> str | None:
        if self._artefact(view) is None:
            return (
                "it asks about subgraphs of its own choice, which only a model can answer: the observer "
                f"'{view.observer}' sees tables at most (artefact '{self.settings.artefact}')"
            )
        if knowledge.neighbours not in ("true", "partial"):
            return (
                "it asks about neighbourhoods and needs edges to ask with: choose the neighbours 'true' or "
                f"'partial', not '{knowledge.neighbours}' (on isolated nodes it would be the attack 'base')"
            )
        return super().why_not(view, knowledge)

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        asked = self.victim(view, knowledge, self._artefact(view))

        def ask(query: Query) -> Tensor:
            assert query.x is not None
            assert query.edges is not None
            return asked.ask(query.x, query.edges, query.nodes)

        return torch.from_numpy(self._guessed(knowledge, ask, asked.sources))

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """The target is a model that was trained on other nodes drawn at random: it knows nothing of the truth."""
        import torch

        return torch.from_numpy(self._guessed(knowledge, self.shadow_models(knowledge).ask_reference, ("",)))

    def _artefact(self, view: View) -> Artefact | None:
        """What is asked and answers about any graph: weights, or models trained on a released graph."""
        wanted = self.settings.artefact
        if weights_in(view, wanted):
            return wanted
        released = wanted in ("auto", "release", "releases") and view.carrying(RELEASED_GRAPH)
        return ("release" if wanted == "auto" else wanted) if released else None

    def _guessed(self, knowledge: NodeKnowledge, target: Ask, sources: tuple[str, ...]) -> np.ndarray:
        """Scores [s], after guesses at the members."""
        from scipy.special import expit

        s, count = self.settings, len(knowledge.subjects)
        coins = np.random.default_rng(branch(knowledge.seed, self.name, "masks"))
        drawn = coins.random((s.masks, count))
        likely = np.full(count, self._prior(knowledge))
        if s.strategy == "mia":
            likely = expit(self._compared(knowledge, np.zeros((1, count), dtype=bool), target, sources))
        return self._compared(knowledge, drawn < likely, target, sources)

    def _prior(self, knowledge: NodeKnowledge) -> float:
        return self.settings.prior or knowledge.members / len(knowledge.subjects)

    def _compared(
        self, knowledge: NodeKnowledge, masks: np.ndarray, target: Ask, sources: tuple[str, ...]
    ) -> np.ndarray:
        """Scores [s] given guesses at the members [M, s]."""
        s, pool = self.settings, self.shadow_models(knowledge)
        recipe = self.recipe(knowledge)
        asked = (target, pool.ask)
        theirs, ours = differences(knowledge, recipe, masks, asked, s.radius, s.labels_only, s.fanout)
        inside = pool.inside[:, knowledge.subjects.cpu().numpy()]
        judge = partial(self._score, prior=self._prior(knowledge))
        alpha = s.alpha
        if alpha is None:
            alpha = best_setting(ours, inside, pool.round, judge, GRID)
        return combined(np.stack([judge(one, ours, inside, alpha) for one in theirs]), sources)

    def _score(
        self, target: np.ndarray, shadow: np.ndarray, inside: np.ndarray, alpha: float, prior: float
    ) -> np.ndarray:
        """Scores [s] from differences of the target [M, s] and of the shadows [K, M, s]."""
        from scipy.special import logit

        used = ~inside if self.offline else np.ones_like(inside)
        return mean_log_odds(target - alpha * log_mean(shadow, used[:, None]) + logit(prior))


class OfflineGBASE(GBASE):
    """The same with the shadow models that never saw the node alone; alpha makes up for the half that is missing.

    The authors' alpha of 0.9 has no recorded origin; here it is tuned on shadow models that play the target.
    """

    name = "g-base-offline"
    offline = True
    Settings = OfflineGBASESettings


def mean_log_odds(log_odds: np.ndarray) -> np.ndarray:
    """Log-odds of the mean over rows of the probabilities whose log-odds are given, [M, s] to [s].

    The mean itself rounds to 1 beyond log-odds of 37, where nodes would be tied.
    """
    from scipy.special import log_expit, logsumexp

    found: np.ndarray = logsumexp(log_expit(log_odds), axis=0) - logsumexp(log_expit(-log_odds), axis=0)
    return found


def propagation_steps(recipe: TrainingConfig) -> int:
    """How many times a model passes features along edges."""
    return {"mlp": 0, "sgc": recipe.hops}.get(recipe.architecture, 2)


def hops_changed(recipe: TrainingConfig) -> int:
    """How far from a node that is removed answers can change.

    One hop more than there are steps where edges are weighted by the degrees at both ends (GCN, SGC): a
    neighbour that lost an edge counts for more with its own neighbours.
    """
    return propagation_steps(recipe) + (recipe.architecture in ("gcn", "sgc"))


def differences(
    knowledge: NodeKnowledge,
    recipe: TrainingConfig,
    masks: np.ndarray,
    answering: tuple[Ask, ...],
    radius: int | None = None,
    labels_only: bool = False,
    fanout: int | None = None,
) -> list[np.ndarray]:
    """l(G) - l(G without i) for all subjects i and masks [M, s], of all models that answer: [R, M, s] each.

    Args:
        knowledge: features, labels, subjects, and the edges to ask with.
        recipe: of the models that answer.
        masks: which subjects are taken for members.
        answering: whom to ask.
        radius: of the balls.
        labels_only: use nothing of an answer but its label.
        fanout: neighbours that are followed from a node, drawn for each mask by the knowledge's seed; None for all.
    """
    import torch

    subjects, labels = knowledge.subjects.cpu().numpy(), knowledge.labels.cpu().numpy()
    x = sp.csr_matrix(knowledge.x.cpu().numpy())
    source, end = knowledge.edges.cpu().numpy()
    adjacency = sp.csr_matrix((np.ones(len(source), np.float32), (source, end)), shape=(len(labels),) * 2)
    radius = propagation_steps(recipe) ** 2 if radius is None else radius
    found: list[list[np.ndarray]] = [[] for _ in answering]
    coins = np.random.default_rng(branch(knowledge.seed, "balls"))
    drawn = None if fanout is None else partial(some_of_each_row, most=fanout, coins=coins)
    for mask in masks:
        for balls in balls_around(adjacency, subjects, subjects[mask], radius, drawn):
            pairs = Pairs.of(balls, adjacency, hops_changed(recipe))
            query = Query(
                torch.from_numpy(pairs.asked), torch.from_numpy(pairs.edges), x=_rows(x, pairs.nodes, knowledge.x)
            )
            for models, kept in zip(answering, found, strict=True):
                told = hardened(models(query)) if labels_only else models(query)
                kept.append(pairs.difference(told, labels))
    shape = (-1, len(masks), len(subjects))
    return [np.concatenate(kept, axis=1).reshape(shape) for kept in found]


def balls_around(
    adjacency: sp.csr_matrix,
    centres: np.ndarray,
    members: np.ndarray,
    radius: int,
    drawn: Callable[[sp.csr_matrix], sp.csr_matrix] | None = None,
) -> Iterator[sp.csr_matrix]:
    """Balls around nodes, each in the subgraph of the members and itself, some at a time.

    Args:
        adjacency: of the graph, [n, n].
        centres: whose balls.
        members: of the subgraph.
        radius: in hops.
        drawn: which of the members next to each node are followed, the same ones in all balls; None for all.

    Yields:
        The distances of a ball's nodes from its centre, [some, n]; what is stored as 0 is the centre.
    """
    nodes = adjacency.shape[0]
    inside = np.zeros(nodes, np.float32)
    inside[members] = 1
    step = sp.csr_matrix(adjacency @ sp.diags(inside))
    step.eliminate_zeros()
    step = sp.csr_matrix((step if drawn is None else drawn(step)) + sp.identity(nodes, np.float32))
    for start in range(0, len(centres), BLOCK):
        block = centres[start : start + BLOCK]
        ones = np.ones(len(block), np.float32)
        near = sp.csr_matrix((ones, block, np.arange(len(block) + 1)), shape=(len(block), nodes))
        times = near
        for _ in range(radius):
            near = near @ step
            near.data[:] = 1
            times = times + near
        times.data = radius + 1 - times.data  # in how many of the growing balls it was
        times.sort_indices()
        chunk = 2 * times.indptr[:-1] // ROWS
        for some in np.split(np.arange(len(block)), np.flatnonzero(np.diff(chunk)) + 1):
            yield times[some]


def some_of_each_row(matrix: sp.csr_matrix, most: int, coins: np.random.Generator) -> sp.csr_matrix:
    """The same with at most so many entries of each row, drawn at random without replacement."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort([coins.random(len(row)), row])
    kept = order[np.arange(len(row)) - matrix.indptr[row] < most]
    entries = matrix.data[kept], (row[kept], matrix.indices[kept])
    return sp.csr_matrix(entries, shape=matrix.shape)


@dataclass(frozen=True)
class Pairs:
    """Balls side by side in one graph, each twice: with its centre, and with the centre cut off.

    Attributes:
        nodes: the node at each of the rows, [r].
        edges: among rows, [2, e].
        asked: rows whose answers count, [a].
        sign: 1 where the centre is there, -1 where it is not, [a].
        owner: the ball that each belongs to, [a].
        balls: how many.
    """

    nodes: np.ndarray
    edges: np.ndarray
    asked: np.ndarray
    sign: np.ndarray
    owner: np.ndarray
    balls: int

    @classmethod
    def of(cls, balls: sp.csr_matrix, adjacency: sp.csr_matrix, within: int) -> Pairs:
        """From distances [b, n]; counts what is at most so many hops away from the centre."""
        rows, centre = balls.nnz, balls.data == 0
        owner = np.repeat(np.arange(balls.shape[0]), np.diff(balls.indptr))
        edges = _induced(owner, balls.indices, adjacency)
        cut = edges[:, ~centre[edges].any(axis=0)]
        close = balls.data <= within
        present, absent = np.flatnonzero(close), np.flatnonzero(close & ~centre)
        return cls(
            np.tile(balls.indices, 2),
            np.concatenate([edges, cut + rows], axis=1),
            np.concatenate([present, absent + rows]),
            np.repeat([1.0, -1.0], [len(present), len(absent)]),
            owner[np.concatenate([present, absent])],
            balls.shape[0],
        )

    def difference(self, told: Tensor, labels: np.ndarray) -> np.ndarray:
        """l(G) - l(G without its centre) [R, b] from logits about those asked [R, a, C] and labels [n]."""
        import torch

        true = labels[self.nodes[self.asked]]
        log_p = log_confidence(told.cpu(), torch.from_numpy(np.maximum(true, 0)))
        sign = np.where(true >= 0, self.sign, 0)
        total = sp.csr_matrix((sign, (self.owner, np.arange(len(sign)))), shape=(self.balls, len(sign)))
        summed: np.ndarray = (total @ log_p.T).T
        return summed


def _induced(owner: np.ndarray, nodes: np.ndarray, adjacency: sp.csr_matrix) -> np.ndarray:
    """Edges among rows of the same owner [2, e]; rows are in ascending order of owner and node."""
    total = adjacency.shape[0]
    keys = owner * total + nodes
    near = adjacency[nodes]
    source = np.repeat(np.arange(len(nodes)), np.diff(near.indptr))
    wanted = owner[source] * total + near.indices
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = keys[place] == wanted
    return np.stack([source[found], place[found]])


def _rows(x: sp.csr_matrix, nodes: np.ndarray, like: Tensor) -> Tensor:
    """Features of some nodes as a sparse tensor."""
    import torch

    part = x[nodes]
    starts, columns, values = (torch.from_numpy(v) for v in (part.indptr, part.indices, part.data))
    return torch.sparse_csr_tensor(starts, columns, values, part.shape, check_invariants=False).to(like)
