"""With whom subjects are compared, and which of them are independent: what a referee makes of a game beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...targets.game import Game
from ..statistics.metrics import auc_finding
from ..statistics.scored_subjects import Ints, ScoredSubjects

if TYPE_CHECKING:
    from torch_geometric.data import Data

BINS = 10
ENOUGH = 100
"""Non-members in each part of a stratum: with fewer, nobody can be flagged at low false-positive rates."""
EVERYTHING = "all"
"""The baseline that knows all that is public."""
FOLLOWS = 0.1
"""Intra-class correlation of membership from which it follows a grouping; drawn at random it has 0."""


@dataclass(frozen=True, eq=False)
class Compared:
    """Labels of a game's subjects in ascending order, [s] each.

    Attributes:
        strata: of what is public and tells members; None where everybody is compared with everybody.
        clusters: of subjects that come together; None where each is drawn for itself.
        clustered_by: the grouping that membership follows, or nothing.
    """

    strata: Ints | None
    clusters: Ints | None
    clustered_by: str = ""

    def put_into(self, judged: ScoredSubjects) -> ScoredSubjects:
        """Guesses about the same subjects, compared like this."""
        return replace(judged, strata=self.strata, clusters=self.clusters)

    def where(self, keep: np.ndarray) -> Compared:
        """Of some of the subjects, a mask [s]."""
        strata, clusters = (None if p is None else p[keep] for p in (self.strata, self.clusters))
        return Compared(strata, clusters, self.clustered_by)


def compared(game: Game, data: Data) -> Compared:
    """Of all subjects of a game, by what it says is public and how it says that they are grouped."""
    labels = game.compared_within(data)
    strata = None if labels is None else _numbered(labels)
    name, clusters = followed(game.in_order(game.truth), game.groupings(data), strata)
    return Compared(None if strata is None or strata.max(initial=0) == 0 else strata, clusters, name)


def finer(strata: Ints | None, baselines: dict[str, ScoredSubjects]) -> Ints | None:
    """Strata that also part subjects by what all that is public tells together, where it tells more than they do.

    Parts of equal size by the score of the baseline that knows everything, `BINS` of them or as many as leave
    `ENOUGH` non-members in each: five take away some 90 % of the bias (Cochran, Biometrics 1968).
    """
    told = baselines.get(EVERYTHING)
    if told is None or strata is None:
        return strata
    if (auc_finding([replace(told, strata=strata)]).low or 0.0) <= 0.5:
        return strata
    parts = np.zeros(len(strata), dtype=np.int64)
    for label in np.unique(strata):
        inside = strata == label
        bins = int(np.clip((inside & ~told.truth).sum() // ENOUGH, 1, BINS))
        cuts = np.quantile(told.score[inside], np.arange(1, bins) / bins)
        parts[inside] = np.searchsorted(cuts, told.score[inside], side="right")
    return _numbered(strata * BINS + parts)


def followed(
    truth: np.ndarray, groupings: dict[str, np.ndarray], strata: Ints | None = None
) -> tuple[str, Ints | None]:
    """The first grouping that membership follows, with its labels, or nothing.

    Measured by the intra-class correlation of the truth [s] within groups (one-way analysis of variance; Fisher
    1925), less what strata explain of membership, which are taken to be given.
    """
    member = truth.astype(float)
    if strata is not None:
        member -= np.bincount(strata, member)[strata] / np.bincount(strata)[strata]
    for name, labels in groupings.items():
        if _correlation(member, labels) > FOLLOWS:
            return name, _numbered(labels)
    return "", None


def _numbered(labels: np.ndarray) -> Ints:
    """Labels as whole numbers from 0."""
    numbers: Ints = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return numbers


def _correlation(values: np.ndarray, labels: np.ndarray) -> float:
    """The intra-class correlation of values [s] in groups; 0 where it cannot be told."""
    place = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(place)
    groups, count = len(sizes), len(values)
    if groups < 2 or groups == count:
        return 0.0
    means = np.bincount(place, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (groups - 1)
    within = float(((values - means[place]) ** 2).sum()) / (count - groups)
    typical = (count - (sizes**2).sum() / count) / (groups - 1)
    total = between + (typical - 1) * within
    return (between - within) / total if total > 0 else 0.0
