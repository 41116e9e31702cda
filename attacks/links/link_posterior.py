"""Links from posteriors: nodes that the model speaks of alike are linked (He et al., USENIX Security 2021)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...errors import InputError
from ...graphs.datasets.bundled import citations
from ...graphs.datasets.loading import load_dataset
from ...graphs.pair_codes import codes, ends
from ...randomness import branch
from ...settings import Settings
from ...targets.games.links import LinkKnowledge
from ...targets.messages import Carries, Carrying, posteriors_kind
from ...targets.models.model_ensemble import train_models
from ...targets.models.training_config import TrainingConfig
from ...targets.models.training_task import Query, TrainingTask
from ...targets.transcript import View
from ..membership.release_models import ModelSettings
from ..membership.victim import victim
from .link_attack import LinkAttack, Part, cosine_of_pairs
from .pair_columns import NodeRows, scaled_columns
from .posterior_distances import Distance, distances

if TYPE_CHECKING:
    from torch_geometric.data import Data

KIND = posteriors_kind("full")
FEATURES, SHADOW, LINKS = (2, 5, 6, 7), (1, 4, 5, 7), (3, 4, 6, 7)
"""Which attacks know node features, a shadow graph, a part of the links; as the authors' scripts are numbered."""
PERCEPTRON = TrainingConfig(architecture="mlp", hidden=16, epochs=100)
PUBLISHED = TrainingConfig(hidden=16, epochs=100)
"""The GCN of the paper's code, for an adversary who does not know how the target is trained."""
LEAST_LABELS = 5
LEAST_LINKS = 4
SHADOW_SEED = 1

Examples = tuple[Tensor, Tensor]
"""Columns of pairs [p, k], and whether each is linked [p]."""
T = TypeVar("T")


class LinkPosteriorSettings(Settings):
    """Settings of `LinkPosterior`."""

    attack: int = Field(
        0,
        ge=0,
        le=7,
        description="what the adversary knows besides posteriors. 0: nothing; 1: a shadow graph; 2: features; 3: a "
        "part of the links; 4: links and a shadow graph; 5: features and a shadow graph; 6: features and links; 7: "
        "all three",
    )
    distance: Distance | None = Field(
        None,
        description="of attacks 0 and 2. null: correlation, which leaves out how sure the model is and keeps which "
        "classes it wavers between; cosine with two classes, where a correlation is only a sign",
    )
    known_links: float = Field(0.5, gt=0, lt=1, description="share of the links that attacks 3, 4, 6 and 7 know")
    shadow: str = Field(
        "citations", description="dataset of attacks 1, 4, 5 and 7; citations: drawn anew, never an audited one"
    )
    labelled: float = Field(
        0.1, gt=0, le=1, description="share of the labels that the shadow GCN and reference perceptrons train on"
    )
    epochs: int = Field(50, ge=1, description="of the classifier of pairs (32-32 hidden units, batches of 64)")


class LinkPosterior(LinkAttack):
    """The eight link stealing attacks of He et al., by what the adversary knows besides posteriors (`attack`).

    Attack 0 scores a pair by minus the distance of its posteriors. Attack 2 subtracts that from the distance in a
    reference perceptron, which is trained on features and some labels without the graph: what remains is what the
    graph has brought together. All others train a classifier on distances and entropies (see `pair_columns`), on
    known links and as many non-links of the target's graph, of a shadow graph, or both; with features, also on
    distances of features and on the reference's posteriors.

    Attacks are numbered as the authors' scripts are. Columns are scaled by random pairs of nodes, in the scripts by
    the pairs in question; no distance is chosen, and no score is turned around, by looking at the truth, as in
    the script of attack 0.
    """

    name = "link-posterior"
    needs: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.POSTERIORS),)
    observer: ClassVar[str] = "public"
    Settings = LinkPosteriorSettings
    settings: LinkPosteriorSettings

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.knows_links = self.settings.known_links if self.settings.attack in LINKS else 0.0

    def why_not(self, view: View, knowledge: LinkKnowledge) -> str | None:
        reason = super().why_not(view, knowledge)
        if reason is None and self.settings.attack in SHADOW and _same(knowledge.x, self._shadow_graph().x):
            return (
                f"its shadow graph '{self.settings.shadow}' is the audited graph itself, whose links it would be "
                "told: set shadow to another dataset"
            )
        return reason

    def trains_alike(self, view: View, knowledge: LinkKnowledge) -> bool:
        return self.settings.attack in SHADOW

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        told = posteriors_of(view, knowledge, part.nodes.to(knowledge.x.device))
        if self.settings.attack == 0:
            return -self._distance(told, part.pairs)
        if self.settings.attack == 2:
            reference = self._reference(part, knowledge)
            return self._distance(reference, part.pairs) - self._distance(told, part.pairs)
        featured, shadow = self.settings.attack in FEATURES, self.settings.attack in SHADOW
        rows = NodeRows(
            told,
            self._reference(part, knowledge) if featured else None,
            part.x if featured else None,
            entrywise=not shadow,
        )
        return self._classified(part, rows, [self._from_shadow(knowledge)] if shadow else [])

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """Cosine of features; with known links, a classifier of feature distances and reference posteriors."""
        if self.settings.attack not in LINKS:
            return cosine_of_pairs(part.x, part.pairs)
        return self._classified(part, NodeRows(None, self._reference(part, knowledge), part.x, entrywise=True), [])

    def _distance(self, rows: Tensor, pairs: Tensor) -> Tensor:
        return distances(rows, pairs, self.settings.distance or default_distance(rows.shape[1]))

    def _classified(self, part: Part, rows: NodeRows, examples: list[Examples]) -> Tensor:
        """How sure a classifier of pairs is of each pair in question."""
        sets = [part.pairs]
        if self.knows_links:
            known, known_not = part.known.t(), part.known_not.t()
            if not examples and min(len(known), len(known_not)) < LEAST_LINKS:
                raise InputError(
                    f"the attack '{self.name}' knows {len(known)} links and {len(known_not)} pairs without one of "
                    f"{part.sender}, and needs {LEAST_LINKS} of each: raise known_links or use fewer clients"
                )
            sets += [known.to(part.pairs.device), known_not.to(part.pairs.device)]
        asked, *told = scaled_columns(rows, sets)
        for some, is_link in zip(told, (1, 0), strict=False):  # some attacks are told nothing
            examples = [*examples, (some, torch.full((len(some),), is_link))]
        columns, linked = (torch.cat([e[k].cpu() for e in examples]) for k in (0, 1))
        return classified(columns, linked, asked.cpu(), self.settings.epochs).to(asked.device)

    def _reference(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """Posteriors of a perceptron that was trained on features and a share of the known labels, [n, C]."""
        from torch_geometric.data import Data

        share = self.settings.labelled

        def train() -> Tensor:
            labels, seed = knowledge.labels.cpu(), branch(knowledge.seed, "link reference")
            data = Data(x=knowledge.x.cpu(), edge_index=torch.empty((2, 0), dtype=torch.long), y=labels)
            return trained(data, PERCEPTRON, knowledge.classes, share, seed)

        found = _remembered(knowledge, ("reference", share), train)
        return found[part.nodes.cpu()].to(knowledge.x.device)

    def _from_shadow(self, knowledge: LinkKnowledge) -> Examples:
        """Pairs of the shadow graph: all links and as many others."""
        s, featured = self.settings, self.settings.attack in FEATURES

        def make() -> Examples:
            data, seed = self._shadow_graph(), branch(knowledge.seed, "link shadow")
            classes = int(data.y.max()) + 1
            told = trained(data, knowledge.recipe or PUBLISHED, classes, s.labelled, branch(seed, "target"))
            reference = trained(data, PERCEPTRON, classes, s.labelled, branch(seed, "reference"))
            pairs, linked = balanced_pairs(data, np.random.default_rng(branch(seed, "pairs")))
            rows = NodeRows(told, reference if featured else None, data.x if featured else None)
            return scaled_columns(rows, [pairs])[0], linked

        return _remembered(knowledge, ("shadow", s.shadow, s.labelled, featured), make)

    def _shadow_graph(self) -> Data:
        return _graph(self.settings.shadow)


def default_distance(classes: int) -> Distance:
    """The distance of posteriors that is fixed in advance."""
    return "correlation" if classes > 2 else "cosine"


def posteriors_of(view: View, knowledge: LinkKnowledge, nodes: Tensor) -> Tensor:
    """Rows of the last published table, asked with all edges, [s, C].

    Raises:
        InputError: there is none, it is malformed, or it lacks a node.
    """
    asks = replace(knowledge, neighbours="true")
    answers = victim(view, asks, "posteriors", PUBLISHED, ModelSettings(), models=1)
    (logits,) = answers.ask(knowledge.x, knowledge.edges, nodes)
    told: Tensor = logits.double().softmax(1).float()
    return told


def trained(data: Data, recipe: TrainingConfig, classes: int, share: float, seed: np.random.SeedSequence) -> Tensor:
    """Posteriors [n, C] of all nodes from a model that trains on a random share of the known labels (not -1)."""
    from torch_geometric.data import Data

    known = (data.y >= 0).nonzero().flatten().numpy()
    if not len(known):
        raise InputError("the attack 'link-posterior' needs labels of some nodes here, and knows none")
    count = min(len(known), max(round(share * len(known)), LEAST_LABELS * classes))
    members = torch.zeros((1, data.num_nodes), dtype=torch.bool)
    members[0, torch.from_numpy(np.random.default_rng(branch(seed, "labels")).permutation(known)[:count])] = True
    own = Data(x=data.x.cpu(), edge_index=data.edge_index.cpu(), y=data.y.cpu().clamp_min(0))
    task = TrainingTask(own, members, recipe, classes)
    (logits,) = train_models(task, [Query(torch.arange(data.num_nodes), own.edge_index)], seed).answers
    return logits[0].softmax(1)


def balanced_pairs(data: Data, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """All links of a graph and (nearly) as many uniform pairs without one, [p, 2], and which is which [p]."""
    nodes = int(data.num_nodes or 0)
    row, col = data.edge_index.cpu().numpy()
    links = np.unique(codes(row[row != col], col[row != col], nodes))
    low, high = rng.integers(nodes, size=(2, 2 * len(links)))
    apart = low != high
    others = np.setdiff1d(codes(low[apart], high[apart], nodes), links)
    both = np.concatenate([links, rng.permutation(others)[: len(links)]])
    linked = torch.arange(len(both)) < len(links)
    return torch.from_numpy(np.stack(ends(both, nodes), 1)), linked.long()


def classified(columns: Tensor, linked: Tensor, asked: Tensor, epochs: int) -> Tensor:
    """Probability that each row of ``asked`` [s, k] is a link, learned from ``columns`` [p, k] and ``linked`` [p].

    A perceptron with 32-32 hidden units and Adam at 0.001, as in the paper's code (there with dropout). The
    caller seeds torch.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    judge = MLPClassifier(
        (32, 32), max_iter=epochs, batch_size=min(64, len(linked)), random_state=int(torch.randint(2**31, ()))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is told how long to learn
        judge.fit(columns.numpy(), linked.numpy())
    return torch.from_numpy(judge.predict_proba(asked.numpy())[:, 1])


@cache
def _graph(name: str) -> Data:
    return citations(SHADOW_SEED) if name.casefold() == "citations" else load_dataset(name)


def _same(x: Tensor, other: Tensor) -> bool:
    """Whether two sets of nodes have the same features, in any order of nodes and however their rows are scaled.

    A target may have divided each row by its sum, and the shadow graph is as its file has it.
    """
    if x.shape != other.shape:
        return False
    place = torch.arange(1, x.shape[1] + 1).double()
    a, b = ((F.normalize(rows.cpu().double(), p=1) @ place).sort().values for rows in (x, other))
    return torch.allclose(a, b)


_MADE: WeakKeyDictionary[LinkKnowledge, dict[tuple[object, ...], Any]] = WeakKeyDictionary()


def _remembered(knowledge: LinkKnowledge, key: tuple[object, ...], make: Callable[[], T]) -> T:
    """What attacks with the same knowledge make once; its randomness is that of ``knowledge.seed``."""
    made = _MADE.setdefault(knowledge, {})
    if key not in made:
        made[key] = make()
    found: T = made[key]
    return found
