"""Attributes as secrets: has this person the value that is asked about?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from ...errors import InputError
from ...graphs.network import Floats
from ...graphs.pyg import is_plain
from ...randomness import branch
from ...settings import Settings
from ..game import QUERIES, Adversary, Game, Grant, GraphKnowledge, Words, as_it_is, in_thirds, without_ancestry
from .hidden_attribute import HiddenAttribute
from .links import LinkGrant
from .membership import asked_with, communities_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

FEWEST = 10
"""People with the value, and without it, of whom an adversary must know, and about whom it must be asked."""


def as_written(value: object) -> object:
    """A column as a command line reads it, which is a number, as it is written."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class AttributeSettings(Settings):
    """Settings of targets that may ask for an attribute."""

    attribute: Annotated[str | None, BeforeValidator(as_written)] = Field(
        None, description="the attribute that is hidden: the number of a column of the features, or label:K"
    )
    known: float = Field(
        0.5, gt=0, lt=1, description="share of people, or links, of which an adversary knows what is hidden"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class AttributeKnowledge(GraphKnowledge):
    """What an adversary knows beforehand who asks for an attribute; subjects are people whose value it lacks.

    Attributes:
        x: the features of all people, [n, d]; 0 in the hidden columns of people whose attribute it does not know.
        known: people whose attribute it knows, ascending [k].
        told: whether each of these has the value, [k] bool.
        columns: hidden columns of the features, [h]; none where the attribute is the class.
        attribute: what is asked about, in words.
        linked: whether it knows links beforehand.
    """

    known: Tensor
    told: Tensor
    columns: Tensor
    attribute: str
    linked: bool

    @property
    def others(self) -> Tensor:
        """All that it knows of everybody but links and the attribute: other features and classes, [n, d']."""
        import torch

        kept = torch.ones(self.x.shape[1], dtype=torch.bool, device=self.x.device)
        kept[self.columns] = False
        parts = [self.x[:, kept]]
        if bool((self.labels >= 0).all()):
            parts.append(torch.nn.functional.one_hot(self.labels, self.classes).to(self.x.dtype))
        return torch.cat(parts, 1)

    @property
    def representatives(self) -> Tensor:
        """What the hidden columns hold on average of known people without the value, and with it, [2, h]."""
        return _representatives(self.x[self.known][:, self.columns], self.told)

    def sentence(self) -> str:
        links = f", and {QUERIES[self.neighbours]}" if self.linked else ", and no link"
        trained = "" if self.recipe is None else "knows how the model was trained, "
        count = len(self.columns)
        columns = "one column is hidden" if count == 1 else f"{count} columns are hidden"
        hidden = f" ({columns})" if count else " (classes are hidden)"
        return (
            f"knows of {len(self.known)} people whether {self.attribute}, all other attributes of all "
            f"{len(self.x)} people{hidden}{links}, that {self.members} of the {len(self.subjects)} people in "
            f"question have the value, {trained}{self._defense()}"
        )


@dataclass(frozen=True, kw_only=True)
class Attribute(Game):
    """Has this person the value? Subjects are people, and the truth is whether they have it.

    Attributes:
        known: people whose attribute adversaries know, ascending [k].
        told: whether each of these has the value, [k] bool.
        hidden: what is hidden of the others.
        linked: whether adversaries know links beforehand, as far as they ask with them.
        image: the published node of each person, where a network is published: adversaries know who is who.
    """

    name = "attribute"
    unit = "one attribute of one person"
    words = Words(
        "Attribute: has this person the value that is hidden?",
        "Can a hidden attribute of a person be guessed?",
        "the people who have the value",
        "people who have the value from others",
        "person without the value",
        "people without the value",
        public="what the other attributes alone tell of the hidden one",
        background="the attribute of some people and all other attributes of everybody",
    )
    metrics = ("excess over imputation",)
    asked_with = "--set attribute=COLUMN or label:K, and of a classifier --set game=attribute"

    known: NDArray[np.int64]
    told: NDArray[np.bool_]
    hidden: HiddenAttribute
    linked: bool = True
    image: np.ndarray | None = None

    @property
    def key(self) -> tuple[object, ...]:
        return *super().key, self.known.tobytes(), self.told.tobytes(), self.hidden, self.linked

    def submitted(self, x: Tensor) -> Tensor:
        """What adversaries write into the hidden columns of a row, without the value and with it, [2, h].

        Args:
            x: the features of all people, [n, d].
        """
        import torch

        rows = x[torch.from_numpy(self.known)][:, list(self.hidden.columns)]
        return _representatives(rows, torch.from_numpy(self.told))

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Who asks alike knows the same of people; who is who in a published network is told of each one anew."""
        return () if self.image is None else (self.image.tobytes(),)

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """The attribute of those who are known, and all other attributes of everybody.

        What is hidden together with the attribute is known of the same people and of nobody else. Classes are known
        unless they are what is asked about.
        """
        import torch

        rng, nodes = np.random.default_rng(branch(seed, "grant")), data.num_nodes
        ours = rng.permutation(nodes)
        theirs = np.empty(nodes, dtype=np.int64)
        theirs[ours] = np.arange(nodes)
        order = np.argsort(theirs[self.known])
        known = torch.from_numpy(theirs[self.known][order])
        columns = torch.tensor(self.hidden.columns, dtype=torch.long)
        x, labels = data.x.cpu()[torch.from_numpy(ours)].clone(), data.y.cpu()[torch.from_numpy(ours)].clone()
        unknown = torch.ones(nodes, dtype=torch.bool)
        unknown[known] = False
        x[unknown.nonzero(), columns[None]] = 0
        if self.hidden.of_class:
            labels[unknown] = -1
        edges = torch.from_numpy(theirs)[data.edge_index.cpu()]
        knowledge = AttributeKnowledge(
            x=x,
            labels=labels,
            edges=asked_with(edges, adversary.neighbours if self.linked else "none", rng),
            neighbours=adversary.neighbours if self.linked else "none",
            subjects=torch.from_numpy(np.sort(theirs[self.subjects])),
            members=int(self.truth.sum()),
            classes=int(data.y.max()) + 1,
            knows_defense=adversary.knows_defense,
            game=self.name,
            recipe=adversary.recipe,
            seed=without_ancestry(branch(seed, "coins")),
            known=known,
            told=torch.from_numpy(self.told[order]),
            columns=columns,
            attribute=self.hidden.words,
            linked=self.linked,
        )
        return AttributeGrant(knowledge, ours, self.image), as_it_is

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        """``other attributes``: what is known of everybody, features by their leading singular vectors."""
        return {"other attributes": self.hidden.others(data, seed)[np.sort(self.subjects)]}

    def groupings(self, data: Data) -> dict[str, np.ndarray]:
        """``communities`` of the graph: people who are linked may have much in common."""
        return {"communities": communities_of(data, np.sort(self.subjects))}

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``degree`` in thirds of the subjects, and ``class`` where that is not what is asked about."""
        nodes = np.sort(self.subjects)
        degree = np.bincount(data.edge_index[0].cpu().numpy(), minlength=data.num_nodes)
        found = {"degree": in_thirds(degree[nodes])}
        return found if self.hidden.of_class else found | {"class": data.y.cpu().numpy()[nodes].astype(str)}


def _representatives(rows: Tensor, told: Tensor) -> Tensor:
    """The mean of rows [k, h] of people without a value, and of those with it [k], [2, h]."""
    import torch

    return torch.stack([rows[~told].mean(0), rows[told].mean(0)])


class AttributeGrant(LinkGrant):
    """An adversary's knowledge about people; subjects are people, and those of a published network are named."""

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        return Grant.subject_ids(self, granted)


def hidden_attribute(data: Data, asked: str, share: float, seed: np.random.SeedSequence, **game: Any) -> Attribute:
    """The game about an attribute of a graph.

    Args:
        data: the graph, its features as pipelines read them.
        asked: the number of a column of the features, or ``label:K`` for the class K.
        share: of the people whose attribute adversaries know, drawn at random.
        seed: of that.
        game: other fields of `Attribute`.

    Raises:
        InputError: the graph has no such attribute, all other attributes tell it, or too few people have it, or
            lack it, among those who are known or in question.
    """
    if is_plain(data):
        raise InputError(f"attribute={asked}: this graph has neither features nor classes: give one that has some")
    hidden = HiddenAttribute.of(data, asked)
    has = hidden.holders(data)
    drawn = np.random.default_rng(branch(seed, "known")).permutation(len(has))
    known, subjects = (np.sort(part) for part in np.split(drawn, [round(share * len(has))]))
    fewest = min(int((has[part] == side).sum()) for part in (known, subjects) for side in (True, False))
    if fewest < FEWEST:
        raise InputError(
            f"attribute={asked}: {int(has.sum())} of {len(has)} people have the value, which leaves {fewest} with "
            f"it or without it among those who are known or in question: at least {FEWEST} are needed, ask about "
            "another value or change known"
        )
    return Attribute(subjects=subjects, truth=has[subjects], known=known, told=has[known], hidden=hidden, **game)
