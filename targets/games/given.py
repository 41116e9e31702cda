"""Games of which only a table is known: who is in question, the truth, and scores that somebody else made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...graphs.pair_codes import codes, ends
from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, as_it_is, without_ancestry
from ..transcript import Message, View
from .links import EdgePresence
from .membership import LabelMembership, NodePresence

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenKnowledge(Knowledge):
    """Of an attacker who is not here: nothing is known of its knowledge.

    Attributes:
        blind: scores that it makes without the release, in the order of ``subjects`` [s]; None where nobody gave
            any.
    """

    blind: Tensor | None = None

    def sentence(self) -> str:
        return "made its scores elsewhere, and nobody told what it knew"


def _nothing() -> GivenKnowledge:
    """What is known before any score is."""
    import torch

    return GivenKnowledge(subjects=torch.empty(0, dtype=torch.long), members=0, game="")


@dataclass(frozen=True)
class GivenGrant(Grant):
    """The adversary's ids of persons or of pairs.

    Attributes:
        pairs: whether subjects are codes of pairs (`pair_codes.codes`).
    """

    pairs: bool = False

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        return self._mapped(granted, self.ids)

    def named(self, subjects: np.ndarray) -> np.ndarray:
        """What the adversary calls some of our subjects, [s]."""
        theirs = np.empty(len(self.ids), dtype=np.int64)
        theirs[self.ids] = np.arange(len(self.ids))
        return self._mapped(subjects, theirs)

    def renamed(self, view: View) -> View:
        """Scores under the adversary's ids and in their order: the order of the table may tell."""
        return replace(view, messages=tuple(self._renamed(message) for message in view.messages))

    def _renamed(self, message: Message) -> Message:
        import torch

        if "subjects" not in message.tensors:
            return message
        named = torch.from_numpy(self.named(message.tensors["subjects"].cpu().numpy()))
        order = named.argsort()
        rows = {name: tensor[order] for name, tensor in message.tensors.items()}
        return replace(message, tensors={**rows, "subjects": named[order]})

    def _mapped(self, subjects: np.ndarray, place: np.ndarray) -> np.ndarray:
        count = len(place)
        if not self.pairs:
            mapped: np.ndarray = place[subjects]
            return mapped
        low, high = ends(subjects, count)
        return codes(place[low], place[high], count)


@dataclass(frozen=True, kw_only=True)
class GivenGame(Game):
    """Base of the games of a table.

    Attributes:
        blind: scores of the same attack without the release, [s], or None.
        stratum: what is public of each subject and tells members, [s], or None: subjects are compared within it.
        columns: other columns of the table, by which risk is broken down, [s] each.
        table: how many ids the table holds.
    """

    blind: np.ndarray | None = None
    stratum: np.ndarray | None = None
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    table: int = 0

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """Ids of its own, and what the table tells that it would score without the release."""
        import torch

        ours = np.random.default_rng(branch(seed, "grant")).permutation(self.table)
        given = GivenGrant(_nothing(), ours, self.pairs_of is not None)
        named = given.named(self.subjects)
        order = np.argsort(named)
        knowledge = GivenKnowledge(
            subjects=torch.from_numpy(named[order]),
            members=int(self.truth.sum()),
            game=self.name,
            blind=None if self.blind is None else torch.from_numpy(self.blind[order]),
            seed=without_ancestry(branch(seed, "coins")),
        )
        return replace(given, knowledge=knowledge), as_it_is

    def compared_within(self, data: Data) -> np.ndarray | None:
        """The column ``stratum``, where there is one."""
        return None if self.stratum is None else self.in_order(self.stratum)

    def groupings(self, data: Data) -> dict[str, np.ndarray]:
        """The other columns: membership may follow one of them."""
        return {
            name: np.unique(self.in_order(values), return_inverse=True)[1] for name, values in self.columns.items()
        }

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """The other columns."""
        return {name: self.in_order(values).astype(str) for name, values in self.columns.items()}


class GivenLabels(GivenGame):
    """Label membership of a table."""

    name, unit, words = LabelMembership.name, LabelMembership.unit, LabelMembership.words


class GivenPresence(GivenGame):
    """Node presence of a table."""

    name, unit, words = NodePresence.name, NodePresence.unit, NodePresence.words


class GivenEdges(GivenGame):
    """Edge presence of a table; subjects are codes of pairs (`pair_codes.codes`)."""

    name, unit, words = EdgePresence.name, EdgePresence.unit, EdgePresence.words

    @property
    def pairs_of(self) -> int | None:
        return self.table


GIVEN: dict[str, type[GivenGame]] = {game.name: game for game in (GivenLabels, GivenPresence, GivenEdges)}
"""By the name of the game that is asked."""
