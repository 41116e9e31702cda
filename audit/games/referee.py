"""Puts the truth beside the guesses; nobody else gets to see both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ...attacks.attack import Scores
from ...targets.game import Game, Grant
from ...targets.transcript import View, observer_members
from ..statistics.accused import UNSAID, Accused
from ..statistics.scored_subjects import ScoredSubjects

if TYPE_CHECKING:
    from torch_geometric.data import Data

HEARD = "nodes of clients that it heard from"


def judge(scores: Scores, grant: Grant, game: Game) -> ScoredSubjects:
    """An attack's scores with the truth, in ascending order of subject id.

    Raises:
        ValueError: the scores are not for the subjects of the game.
    """
    ids = grant.subject_ids(scores.subjects)
    order = np.argsort(ids)
    if not np.array_equal(ids[order], np.sort(game.subjects)):
        raise ValueError("the scores are for other subjects than those of the game")
    truth = game.truth[np.argsort(game.subjects)]
    return ScoredSubjects(ids[order], scores.score[order], truth, game.pairs_of, game.sampling_weight)


def accused(scores: Scores, grant: Grant, game: Game, data: Data, asked: np.ndarray) -> Accused | None:
    """Whom an attack accuses outright among those asked, with the truth; None where it accuses nobody by nature.

    Args:
        scores: of an attack.
        grant: what it was granted.
        game: the truth.
        data: the graph; a label that is named is that of a node.
        asked: of which subjects, in ascending order of id, [s] bool.
    """
    if scores.accusations is None:
        return None
    ids = np.sort(game.subjects)
    truth, owners = game.in_order(game.truth), None if game.owners is None else game.in_order(game.owners)
    named = grant.subject_ids(scores.subjects[[said.subject for said in scores.accusations]])
    place = np.searchsorted(ids, named)
    order = [k for k in np.argsort(named) if asked[place[k]]]
    said, place = [scores.accusations[k] for k in order], place[order]

    labels = data.y.cpu().numpy()[ids[place]] if any(one.label is not None for one in said) else None

    def told(values: list[int | None], known: np.ndarray | None) -> np.ndarray:
        """1 where a value is the known one, 0 where it is another."""
        found = [UNSAID if v is None else int(known is not None and v == known[k]) for k, v in enumerate(values)]
        return np.array(found, dtype=np.int8)

    return Accused(
        ids[place],
        truth[place],
        told([one.label for one in said], labels),
        told([one.owner for one in said], None if owners is None else owners[place]),
        np.array([one.proven for one in said], dtype=bool),
        np.array([len(one.alike) for one in said], dtype=np.int64),
        int(truth[asked].sum()),
    )


def in_question(game: Game, observer: str) -> np.ndarray:
    """Of which subjects, in ascending order of id, the observer does not know the truth itself, [s] bool.

    A client knows the truth about its own nodes, and its encoder was fitted to them: scoring it on these
    would measure nothing.
    """
    own = [int(m.partition(":")[2]) for m in observer_members(observer) if m.startswith("client:")]
    return ~game.in_order(game.known_to(own))


def reported_groups(game: Game, view: View, kinds: Iterable[str]) -> dict[str, np.ndarray]:
    """Subjects that are reported apart, in ascending order of id, [s] bool each.

    What clients tell a client is about their own nodes: of others it knows nothing, which says little of the leak.
    """
    groups = {name: game.in_order(mask) for name, mask in game.groups.items()}
    heard = told_by(view, kinds)
    if game.owners is not None and heard:
        groups[HEARD] = game.in_order(np.isin(game.owners, heard))
    return groups


def told_by(view: View, kinds: Iterable[str]) -> list[int]:
    """The clients from which a view holds messages of some kinds to a client, and not to all."""
    wanted = set(kinds)
    told = {m.sender for m in view.messages if m.kind in wanted and m.tensors and m.receiver.startswith("client:")}
    others = told - {"server", *observer_members(view.observer)}
    return sorted(int(name.partition(":")[2]) for name in others)
