"""Links from influence: whose answers change when a service is asked with other features of one node."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...errors import InputError
from ...graphs.network import Floats, Ints
from ...settings import Settings
from ...targets.games.links import LinkKnowledge
from ...targets.messages import PROBED, Carrying
from ...targets.transcript import Message, View
from .link_attack import LinkAttack, Part, cosine_of_pairs

Noise = Literal["none", "logits", "posteriors"]


class InfluenceSettings(Settings):
    """Settings of `Influence`."""

    noise: Noise = Field("none", description="what answers carry noise on, as the adversary knows or assumes")


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

    An adversary who knows of noise compares each answer with the median of all answers about that node, most of
    which no changed row reaches. Where noise is on probabilities it compares these themselves: logarithms of small
    ones are mostly noise, and so are shares of a small own influence. Where a node was changed by several factors,
    its influence is that of the mean difference, over these.

    Where only one of the two was changed, its direction counts alone. Pairs of which neither was come before those
    without any influence and after all others, in the order of the cosine of their features.
    """

    name = "influence"
    needs: ClassVar[tuple[Carrying, ...]] = (PROBED,)
    observer: ClassVar[str] = "public"
    Settings = InfluenceSettings
    settings: InfluenceSettings

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        probes, nodes = probes_of(view.carrying(PROBED), len(knowledge.x)), len(knowledge.x)
        pairs = part.nodes.cpu().numpy()[part.pairs.cpu().numpy()]
        score = influence_scores(probes, pairs, nodes, self.settings.noise)
        told = torch.from_numpy(score).to(part.pairs.device)
        return _with_unasked(told, self.blind_part(part, knowledge))

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """Cosine of features."""
        return cosine_of_pairs(part.x, part.pairs)


def probes_of(messages: tuple[Message, ...], nodes: int) -> list[Probe]:
    """Queries in the order of their nodes and factors, that without a change first.

    Raises:
        InputError: a message is malformed, two of one query were asked about other nodes, or none asks about all
            nodes without a change.
    """
    sent: dict[tuple[int, float], list[Message]] = {}
    for message in messages:
        sent.setdefault(_changed(message), []).append(message)
    unchanged = sent.get((-1, 1.0), [])
    if not unchanged or len(unchanged[0].tensors["nodes"]) != nodes:
        raise InputError("the attack 'influence' needs the answers about all nodes with features as they are")
    return [_mean(*query, sent[query]) for query in sorted(sent)]


def _changed(message: Message) -> tuple[int, float]:
    """Whose features a query changed, -1 where nobody's, and what they were multiplied by."""
    told = message.tensors
    rows = {name: told[name] for name in ("nodes", "factors", "posteriors") if name in told}
    if len(rows) < 3 or told["posteriors"].dim() != 2 or len({len(part) for part in rows.values()}) != 1:
        raise InputError(
            f"a message '{message.kind}' must hold nodes [k], factors [k] and posteriors [k, C] of one query"
        )
    other = told["factors"] != 1
    changed = told["nodes"][other]
    if len(changed) > 1:
        raise InputError(f"a message '{message.kind}' changes {len(changed)} nodes: expected one query for each")
    return (int(changed[0]), float(told["factors"][other][0])) if len(changed) else (-1, 1.0)


def _mean(node: int, factor: float, messages: list[Message]) -> Probe:
    first = messages[0].tensors
    for message in messages[1:]:
        if not torch.equal(message.tensors["nodes"], first["nodes"]):
            raise InputError(f"the queries that change node {node} differ: expected the same one again")
    told = torch.stack([message.tensors["posteriors"].double() for message in messages]).mean(0)
    order = first["nodes"].argsort()
    return Probe(node, factor, first["nodes"][order].cpu().numpy(), told[order].cpu().numpy())


def influence_scores(probes: list[Probe], pairs: Ints, nodes: int, noise: Noise = "none") -> Floats:
    """Influence of the ends of each pair on each other, [s]; not a number where neither was changed.

    Args:
        probes: the one without a change first.
        pairs: of nodes [s, 2].
        nodes: n.
        noise: what answers carry noise on.
    """
    usual = usual_answers(probes, nodes, noise)
    changed = [list(same) for _, same in groupby(probes[1:], key=lambda probe: probe.node)]
    moved = [influence(same, usual, noise) for same in changed]
    asked_of = [(same[0].node, same[0].asked) for same in changed]
    own = np.array([values[asked == v].sum() for (v, asked), values in zip(asked_of, moved, strict=True)])
    none: list[np.ndarray] = [np.empty(0)]
    others = [values[asked != v] for (v, asked), values in zip(asked_of, moved, strict=True)]
    scale = scale_of(own, np.concatenate(none + others), noise)
    relative = [values / one if one > 0 else 0 * values for values, one in zip(moved, scale, strict=True)]
    place = [v * nodes + asked for v, asked in asked_of]  # ascending, as nodes and those asked about are
    known, told = np.concatenate(none + place).astype(np.int64), np.concatenate(none + relative)
    both = np.stack([_found(known, told, pairs[:, a] * nodes + pairs[:, b]) for a, b in ((0, 1), (1, 0))])
    asked = np.isfinite(both).sum(0)
    mean: Floats = np.nansum(both, 0) / np.where(asked > 0, asked, np.nan)
    return mean


def usual_answers(probes: Sequence[Probe], nodes: int, noise: Noise) -> Floats:
    """What is answered with features as they are, [n, C]: the first answers, or the median of all."""
    first = probes[0].posteriors
    if noise == "none":
        return first
    asked = np.concatenate([probe.asked for probe in probes])
    told = np.concatenate([probe.posteriors for probe in probes])
    order = np.argsort(asked, kind="stable")
    of_node = np.split(told[order], np.cumsum(np.bincount(asked, minlength=nodes))[:-1])
    return np.stack([np.median(rows, axis=0) for rows in of_node])


def influence(same: Sequence[Probe], usual: Floats, noise: Noise = "none") -> Floats:
    """How far answers move from ``usual`` [n, C] for one that a node's features are multiplied by more, [k].

    Args:
        same: queries that change one node, by any factors.
        usual: what is answered with features as they are.
        noise: what answers carry noise on.
    """
    steps = [_difference(probe, usual, noise) / (probe.factor - 1) for probe in same]
    found: Floats = np.linalg.norm(np.mean(steps, axis=0), axis=1)
    return found


def _difference(probe: Probe, usual: Floats, noise: Noise) -> Floats:
    """Of answers as they are compared, [k, C]: probabilities, or logits up to a constant of each row."""
    if noise == "posteriors":
        return probe.posteriors - usual[probe.asked]
    least = 0.5 * float(usual[usual > 0].min(initial=1.0))
    return _centred(probe.posteriors, least) - _centred(usual[probe.asked], least)


def scale_of(own: Floats, others: Floats, noise: Noise) -> Floats:
    """What a changed node's influences are divided by: its own, raised where answers show none below a level."""
    return np.ones_like(own) if noise == "posteriors" else own + added_to(own, others)


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
