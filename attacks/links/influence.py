"""Links from influence: whose answers change when a service is asked with other features of one node."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...graphs.network import Floats, Ints
from ...targets.games.links import LinkKnowledge
from ...targets.messages import PROBED, Carrying
from ...targets.transcript import Message, View
from .link_attack import LinkAttack, Part, cosine_of_pairs


@dataclass(frozen=True)
class Probe:
    """What was answered to one query, on the mean of all times that it was sent.

    Attributes:
        node: whose features were changed, -1 where nobody's.
        factor: what they were multiplied by.
        asked: nodes that were asked about, ascending [k].
        posteriors: of these [k, C].
    """

    node: int
    factor: float
    asked: Ints
    posteriors: Floats


class Influence(LinkAttack):
    """A service answers for submitted features: nodes whose answers move with a node's features are linked to it.

    The features of one node v are multiplied by a number f, and the influence of v on u is how far the answer about
    u moves: I_vu = ||F'_u - F_u|| / |f - 1|, of centred log-probabilities F, which are logits up to a constant
    (LinkTeller, Wu et al., S&P 2022: a forward difference). It is told in shares of the influence of v on its own
    answer, I_vu / (I_vv + c), so that nodes with many words or a wavering answer do not come first, and a pair is
    scored by the mean of both directions (own derivation; a geometric mean is 0 where rounding hides one of them).

    Answers that are rounded or noisy show influence only above some level, and shares of what they hardly show mean
    nothing. The median influence over all pairs, most of which are no links, is that level: 0 where answers are
    exact. c is the median own influence, times the share of nodes whose own influence does not exceed it.
    Probabilities of 0, as rounded answers have, count as half of the smallest one that was told.

    Where only one of the two was changed, its direction counts alone. Pairs of which neither was come before those
    without any influence and after all others, in the order of the cosine of their features.
    """

    name = "influence"
    needs: ClassVar[tuple[Carrying, ...]] = (PROBED,)
    observer: ClassVar[str] = "public"

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        probes = probes_of(view.carrying(PROBED), len(knowledge.x))
        score = influence_scores(probes, part.nodes.cpu().numpy()[part.pairs.cpu().numpy()], len(knowledge.x))
        told = torch.from_numpy(score).to(part.pairs.device)
        return _with_unasked(told, self.blind_part(part, knowledge))

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """Cosine of features."""
        return cosine_of_pairs(part.x, part.pairs)


def probes_of(messages: tuple[Message, ...], nodes: int) -> list[Probe]:
    """Queries in the order of their nodes, that without a change first.

    Raises:
        InputError: a message is malformed, two of one query were asked about other nodes, or none asks about all
            nodes without a change.
    """
    sent: dict[int, list[Message]] = {}
    for message in messages:
        sent.setdefault(_changed(message), []).append(message)
    unchanged = sent.get(-1, [])
    if not unchanged or len(unchanged[0].tensors["nodes"]) != nodes:
        raise InputError("the attack 'influence' needs the answers about all nodes with features as they are")
    return [_mean(node, sent[node]) for node in sorted(sent)]


def _changed(message: Message) -> int:
    """Whose features a query changed, -1 where nobody's."""
    told = message.tensors
    rows = {name: told[name] for name in ("nodes", "factors", "posteriors") if name in told}
    if len(rows) < 3 or told["posteriors"].dim() != 2 or len({len(part) for part in rows.values()}) != 1:
        raise InputError(
            f"a message '{message.kind}' must hold nodes [k], factors [k] and posteriors [k, C] of one query"
        )
    changed = told["nodes"][told["factors"] != 1]
    if len(changed) > 1:
        raise InputError(f"a message '{message.kind}' changes {len(changed)} nodes: expected one query for each")
    return int(changed[0]) if len(changed) else -1


def _mean(node: int, messages: list[Message]) -> Probe:
    first = messages[0].tensors
    for message in messages[1:]:
        if any(not torch.equal(message.tensors[name], first[name]) for name in ("nodes", "factors")):
            raise InputError(f"the queries that change node {node} differ: expected the same one again")
    told = torch.stack([message.tensors["posteriors"].double() for message in messages]).mean(0)
    order = first["nodes"].argsort()
    factor = float(first["factors"][first["factors"] != 1].sum()) if node >= 0 else 1.0
    return Probe(node, factor, first["nodes"][order].cpu().numpy(), told[order].cpu().numpy())


def influence_scores(probes: list[Probe], pairs: Ints, nodes: int) -> Floats:
    """Relative influence of the ends of each pair on each other, [s]; not a number where neither was changed.

    Args:
        probes: the one without a change first.
        pairs: of nodes [s, 2].
        nodes: n.
    """
    first, changed = probes[0].posteriors, probes[1:]
    moved = [influence(probe, first) for probe in changed]
    own = np.array([values[probe.asked == probe.node].sum() for probe, values in zip(changed, moved, strict=True)])
    none: list[np.ndarray] = [np.empty(0)]
    others = [values[probe.asked != probe.node] for probe, values in zip(changed, moved, strict=True)]
    scale = own + added_to(own, np.concatenate(none + others))
    relative = [values / one if one > 0 else 0 * values for values, one in zip(moved, scale, strict=True)]
    place = [probe.node * nodes + probe.asked for probe in changed]  # ascending, as nodes and those asked about are
    known, told = np.concatenate(none + place).astype(np.int64), np.concatenate(none + relative)
    both = np.stack([_found(known, told, pairs[:, a] * nodes + pairs[:, b]) for a, b in ((0, 1), (1, 0))])
    asked = np.isfinite(both).sum(0)
    mean: Floats = np.nansum(both, 0) / np.where(asked > 0, asked, np.nan)
    return mean


def influence(probe: Probe, first: Floats) -> Floats:
    """How far each answer moved from ``first`` [n, C], all nodes' posteriors with features as they are, [k]."""
    least = 0.5 * float(first[first > 0].min(initial=1.0))
    moved = _centred(probe.posteriors, least) - _centred(first[probe.asked], least)
    found: Floats = np.linalg.norm(moved, axis=1) / abs(probe.factor - 1)
    return found


def added_to(own: Floats, others: Floats) -> float:
    """What own influences are raised by, where answers show none below the level of influences on ``others``."""
    shown = own > (np.median(others) if len(others) else 0)
    return float(np.mean(~shown) * np.median(own[shown])) if shown.any() else 0.0


def _centred(posteriors: Floats, least: float) -> Floats:
    """Logits up to a constant of each row, which is taken out, [k, C]."""
    logs: Floats = np.log(np.maximum(posteriors, least))
    centred: Floats = logs - logs.mean(1, keepdims=True)
    return centred


def _found(known: Ints, values: Floats, wanted: Ints) -> Floats:
    """The value of each that is known, in ascending order; of others none."""
    if not len(known):
        return np.full(len(wanted), np.nan)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found: Floats = np.where(known[place] == wanted, values[place], np.nan)
    return found


def _with_unasked(score: Tensor, blind: Tensor) -> Tensor:
    """Scores in which pairs that nothing is known of stand between 0 and the smallest other, by a blind guess."""
    unasked = score.isnan()
    if not bool(unasked.any()):
        return score
    least = score[score > 0].min() if bool((score > 0).any()) else score.new_ones(())
    share = (blind.double().clamp(-1, 1) + 2) / 4  # of cosines, within (0, 1)
    return torch.where(unasked, least * share, score)
