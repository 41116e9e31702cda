"""Label membership from gradients: the labelled nodes of which an uploaded mean, or a sum of these, is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import coo_array, csr_array

from ...errors import InputError
from ...graphs.network import Floats, Ints
from ...settings import Settings
from ...targets.games.membership import LabelMembership, NodeKnowledge
from ...targets.messages import Carries, Carrying
from ...targets.mixing import BEGINNINGS
from ...targets.transcript import View
from ..attack import Attack
from .label_accusations import Found, accusations
from .node_gradients import NodeGradients, Surroundings, Tensors, node_gradients
from .pursuit import LEAST, ROUNDING, Observed, Seen, Solution, pursue
from .sights import COMMON, COUNTED, Sight, sights
from .whole_units import whole_units

if TYPE_CHECKING:
    from torch import Tensor

DECOYS = 500
"""How many nodes that are no members compete with the candidates, or as many as there are candidates if that is
more: of what is left over it is looked whether it leans towards them."""
AS_GOOD = 1.5
"""How much more a choice of whole units may leave over than shares of any size do, as a factor. Where it is more,
either the choice is not found or the shares only fit since there are many: nobody is accused."""


class LabelPursuitSettings(Settings):
    """Settings of `LabelPursuit`; ours."""

    rounds: int = Field(1, ge=1, description="rounds that are read, from the first, and solved together")
    parts: Literal["unknown", "known"] = Field(
        "unknown", description="whether it knows which client holds which node, as one does who knows the partition"
    )


class LabelPursuit(Attack[NodeKnowledge]):
    """Finds the labelled nodes whose gradients add up to the one that was sent.

    At weights that everybody knows, the gradient of a mean cross-entropy is linear in who was trained on: G = sum
    of x_iy a_iy over nodes i and labels y, with a_iy the gradient that i alone would give with label y, and x_iy =
    1 / k for the k labelled nodes with their labels, else 0 (own derivation). Features and edges tell a_iy, and
    x >= 0 is had by least squares. One round suffices, for a client's own gradient, for gradients by class, for the
    sum over all clients that a secure aggregation leaves, and for weights after one plain step, whose rate cancels.
    Under noise the k nodes of equal shares that explain all rounds best are searched for from there, if k was told.
    What is left over need not be noise. Decoys, nodes that are known to be no members, compete with the candidates:
    where they are chosen nearly as often, nobody is accused. How far what is left over leans towards them says how
    much of the evidence to believe.

    With hops between clients the model reads the whole graph; without, each client's own edges, for which the
    attack must know who holds what (``parts``). It tries both readings of the graph where it can, and every kind of
    message that it sees, and keeps what leaves least unexplained.

    Updates of several steps, of Adam or with dropout are read as those of one plain step: nothing is proven then,
    and many accusations are wrong.

    A score is how much likelier what was seen is with a node than without it, in nats, the others given; under
    noise that of the best swap of it for another.
    """

    name = "label-pursuit"
    games = (LabelMembership.name,)
    needs: ClassVar[tuple[Carrying, ...]] = (COMMON,)
    uses: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.GRADIENT, Carries.UPDATE), COUNTED, BEGINNINGS)
    observer = "server"
    planted = "planted-labels"
    Settings = LabelPursuitSettings
    settings: LabelPursuitSettings

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.first_rounds = self.settings.rounds + 1  # common weights of one more, to see how they moved
        self.knows_parts = self.settings.parts == "known"

    def why_not(self, view: View, knowledge: NodeKnowledge) -> str | None:
        reason = super().why_not(view, knowledge)
        if reason is not None:
            return reason
        if knowledge.recipe is not None and knowledge.recipe.architecture not in ("gcn", "sgc"):
            return f"it knows the gradients of a GCN and an SGC, and the model is a {knowledge.recipe.architecture}"
        try:
            read = sights(view, self.settings.rounds)
        except InputError as error:
            return str(error)
        return (
            None if read else f"the observer '{view.observer}' sees no gradient of a GCN or an SGC that it can read"
        )

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        found = pursued(view, knowledge, self.settings.rounds)
        self.accusations = tuple(accusations(found.found))
        return torch.from_numpy(found.score).to(knowledge.x.device)

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """Nothing is claimed of gradients that were not seen."""
        import torch

        return torch.zeros(len(knowledge.subjects), device=knowledge.x.device)


@dataclass(frozen=True, eq=False)
class Pursued:
    """What an observer found out of all groups that it saw.

    Attributes:
        kind: of the messages that told it.
        found: for each group.
        score: of each subject, [s].
    """

    kind: str
    found: list[Found]
    score: Floats


def pursued(view: View, knowledge: NodeKnowledge, rounds: int) -> Pursued:
    """Solves what an observer sees, in the way that leaves least unexplained.

    Raises:
        InputError: it sees nothing that can be read.
    """
    read = sights(view, rounds)
    if not read:
        raise InputError(f"the observer '{view.observer}' sees no gradient of a GCN or an SGC that it can read")
    best: Pursued | None = None
    fewest = sorted(read, key=lambda kind: len(read[kind]))
    for (near, allowed), kind in product(_readings(knowledge), fewest):
        found = _solved(read[kind], near, allowed, len(knowledge.subjects))
        if best is None or _unexplained(found) < _unexplained(best.found):
            best = Pursued(kind, found, _score(found))
        if _unexplained(found) <= ROUNDING:
            break
    assert best is not None
    return best


def _unexplained(found: Sequence[Found]) -> float:
    return float(np.median([one.solution.residual for one in found]))


def _score(found: Sequence[Found]) -> Floats:
    """What speaks most for each subject, whoever may hold it and whatever its label."""
    best: Floats = np.stack([one.log_likelihoods() for one in found]).max(0)
    return np.nan_to_num(best, neginf=float(best[np.isfinite(best)].min(initial=0.0)) - 1)


Allowed = dict[int | None, np.ndarray]
"""Which subjects and decoys may be a client's, [s + z] bool."""


def decoys_of(knowledge: NodeKnowledge) -> Ints:
    """Some nodes that are no members, [z]."""
    import torch

    known = torch.cat([knowledge.shadow, knowledge.population]).cpu().numpy()
    own: Ints = np.unique(known)
    most = max(DECOYS, len(knowledge.subjects))
    return np.random.default_rng(knowledge.seed).permutation(own)[:most]


def _readings(knowledge: NodeKnowledge) -> Iterator[tuple[Surroundings, Allowed]]:
    """What models may have read of the graph: all edges, or those within clients where these are known."""
    edges = knowledge.edges.cpu().numpy()
    subjects = np.concatenate([knowledge.subjects.cpu().numpy(), decoys_of(knowledge)])
    every = np.ones(len(subjects), dtype=bool)
    rows = csr_array(knowledge.x.detach().double().cpu().numpy())
    if knowledge.holders is None:
        yield surroundings(rows, edges, subjects), {None: every}
        return
    holders = knowledge.holders.cpu().numpy()
    allowed: Allowed = {None: every, **{int(c): holders[subjects] == c for c in np.unique(holders) if c >= 0}}
    inside = holders[edges[0]] == holders[edges[1]]
    yield surroundings(rows, edges[:, inside], subjects), allowed
    if not inside.all():
        yield surroundings(rows, edges, subjects), allowed


def surroundings(rows: csr_array, edges: Ints, subjects: Ints) -> Surroundings:
    """What a two-layer GCN reads of some features [n, d] and edges, both directions [2, e]."""
    nodes, loops = rows.shape[0], np.arange(rows.shape[0])
    source, goal = np.concatenate([edges, np.stack([loops, loops])], axis=1)
    scale = 1 / np.sqrt(np.bincount(goal, minlength=nodes))
    operator = csr_array(coo_array((scale[source] * scale[goal], (goal, source)), shape=(nodes, nodes)))
    return Surroundings(csr_array(operator @ rows), operator[subjects])


def _solved(groups: Sequence[Sight], near: Surroundings, allowed: Allowed, candidates: int) -> list[Found]:
    """Each group by itself."""
    few, everybody = _Known(near.first(candidates)), _Known(near)
    found = []
    for sight in groups:
        seen = [Seen(few.at(t.weights), t.gradient, t.decays) for t in sight.rounds]
        whoever = allowed.get(sight.owner, allowed[None])
        classes = seen[0].at.posterior.shape[1]
        labels = np.ones(classes, dtype=bool) if sight.label is None else np.arange(classes) == sight.label
        found.append(_one(sight, seen, whoever[:, None] & labels[None], everybody.of))
    return found


class _Known:
    """What single nodes give at some weights, worked out once for all groups."""

    def __init__(self, near: Surroundings) -> None:
        self.near = near
        self._known: dict[int, NodeGradients] = {}

    def at(self, weights: Tensors) -> NodeGradients:
        key = hash(tuple(weights[name].tobytes() for name in sorted(weights)))
        if key not in self._known:
            self._known[key] = node_gradients(self.near, weights)
        return self._known[key]

    def of(self, seen: Seen) -> Seen:
        """The same equations for these nodes."""
        return replace(seen, at=self.at(seen.at.weights))


def _one(sight: Sight, seen: Sequence[Seen], whoever: np.ndarray, wide: Callable[[Seen], Seen]) -> Found:
    """One group's solution.

    Args:
        sight: what was seen of the group.
        seen: its equations, for the subjects.
        whoever: which subjects and decoys with which labels may be in it, [s + z, C] bool.
        wide: the equations for subjects and decoys.
    """
    allowed = whoever[: len(seen[0].at.posterior)]
    observed, solution = _fitted(seen, allowed, sight.members)
    members = sight.members
    if solution.exact or members is None or not len(solution.atoms) or members > allowed.any(1).sum():
        return Found(sight, observed, solution, solution, whoever, wide)
    whole = whole_units(observed, [solution.gains], solution.unit, members)
    if whole.residual > AS_GOOD * solution.residual:
        return Found(sight, observed, solution, solution, whoever, wide, contested=True)
    return Found(sight, observed, solution, whole, whoever, wide)


def _fitted(seen: Sequence[Seen], allowed: np.ndarray, members: int | None) -> tuple[Observed, Solution]:
    """All rounds together, or the first one alone where that leaves nothing over and all do."""
    together = Observed(seen, allowed)
    solution = pursue(together, members, LEAST)
    if solution.exact or len(seen) == 1:
        return together, solution
    # later rounds may be of weights that are not quite known, as where clients mask those that they are handed
    first = Observed(seen[:1], allowed)
    alone = pursue(first, members, LEAST)
    if alone.exact:
        return first, alone
    weighed = Observed(_whitened(seen, solution), allowed)
    return weighed, pursue(weighed, members, LEAST)


def _whitened(seen: Sequence[Seen], solution: Solution) -> list[Seen]:
    """The same with each round weighted by one over the variance of what it leaves over."""
    most = max(solution.deviations)
    return [
        replace(one, weight=(most / max(own, most * 1e-6)) ** 2)
        for one, own in zip(seen, solution.deviations, strict=True)
    ]
