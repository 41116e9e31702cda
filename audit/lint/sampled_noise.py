"""Noise on a sample of the units: what drawing them adds, for the neighbours that the theorem is about."""

import math
from dataclasses import dataclass

import numpy as np

from ...graphs.network import Floats
from ...mechanisms.guarantee import Adjacency
from ...mechanisms.privacy_loss import Pair
from ...mechanisms.renyi import ORDERS, renyi_of_pure, renyi_of_sampled
from .claim_statement import Noise
from .noise_accounts import Account, account


@dataclass(frozen=True)
class Relation:
    """How a sample's theorem applies.

    Attributes:
        many: sensitivities that a unit which is drawn changes the sum by.
        amplified: whether the chance to be drawn counts for epsilon, and not for delta alone.
    """

    many: int = 1
    amplified: bool = True


def is_sampled(noise: Noise) -> bool:
    """Whether a part of the units is drawn, or said to be."""
    said = noise.sampling is not None or noise.sample_rate is not None
    return said and noise.sampling != "none" and noise.sample_rate != 1


def relations(noise: Noise, adjacency: Adjacency) -> tuple[Relation | None, Relation]:
    """What is proven for such neighbours, and what some inputs with these facts need at least.

    Balle, Barthe and Gaboardi 2018, Theorems 8 to 10: Poisson sampling amplifies for units that come or go, and
    for replaced ones if the sensitivity holds for either change. Of a fixed number of units another one is drawn
    in place of one that is gone, so that the sensitivity must be that of a replaced one: twice as much at most.
    """
    stated, replaced = noise.sensitivity_for, adjacency == "replace"
    have = stated or ("replace" if replaced else "add/remove")
    if noise.sampling == "without-replacement":
        if have != "add/remove":
            return Relation(), Relation()
        return Relation(2), Relation(2 if stated else 1)
    if not replaced:
        return (None if have == "replace" else Relation()), Relation()
    if have == "both":
        return Relation(), Relation()
    if have == "add/remove":
        return Relation(2), Relation()
    return Relation(amplified=False), Relation(amplified=not stated)


def account_of(noise: Noise, adjacency: Adjacency, many: int = 1) -> Account | None:
    """What one release keeps, sampled or not, where so many of its own units change together.

    None if a fact is missing: a way of sampling without a rate, or a rate without a way.
    """
    if not is_sampled(noise):
        return account(noise, many)
    if noise.sampling is None or noise.sample_rate is None:
        return None
    rate, (proven, needed) = noise.sample_rate, relations(noise, adjacency)
    base, worst = account(noise, proven.many if proven else 1), account(noise, needed.many)
    if base is None or worst is None:
        return None
    known, amplified = base, proven is not None and proven.amplified

    def sound(delta: float) -> float:
        if proven is None or (many > 1 and delta):
            return math.inf
        return many * amplify(known.sound(min(delta / rate, 1.0)), rate, amplified) if delta < rate else 0.0

    def least(delta: float) -> float:
        return amplify(worst.least(delta / rate), rate, needed.amplified) if delta < rate else 0.0

    pair = worst.pair if needed.amplified else None
    return Account(sound, least, None if pair is None else drawn(pair, rate))


def amplify(epsilon: float, rate: float, amplified: bool = True) -> float:
    """ln(1 + rate (e^epsilon - 1)), or as it is (Balle, Barthe and Gaboardi 2018, Theorem 8)."""
    if not amplified or math.isinf(epsilon):
        return epsilon
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + epsilon)) if rate < 1 else epsilon


def drawn(pair: Pair, rate: float) -> Pair:
    """A unit that is drawn at this rate, and one that is not there."""
    mixed: Floats = np.logaddexp(math.log(rate) + pair.here, math.log1p(-rate) + pair.there)
    return Pair(mixed, pair.there, pair.times)


def renyi_drawn(noise: Noise, adjacency: Adjacency, whole: Floats, pure: float) -> Floats | None:
    """Divergences of a sample from those of all units at the same sensitivity; None where nothing is proven.

    Both samples mix the same with the same weights, so that by joint convexity the divergence is at most
    ln(1 - q + q e^((a - 1) D_a)) / (a - 1). For Poisson samples of Gaussian noise and units that come or go, by
    Mironov, Talwar and Zhang 2019.

    Args:
        noise: of which a sample is drawn.
        adjacency: of the claim.
        whole: at each of `ORDERS`, without the sample, for what a unit that is drawn changes.
        pure: epsilon with the sample, or infinite.
    """
    proven, rate = relations(noise, adjacency)[0], noise.sample_rate or 1.0
    if proven is None:
        return None
    found: Floats = np.logaddexp(math.log1p(-rate), math.log(rate) + (ORDERS - 1) * whole) / (ORDERS - 1)
    if noise.mechanism == "gaussian" and noise.sampling == "poisson" and adjacency != "replace":
        found = np.fmin(found, renyi_of_sampled(rate, (noise.scale or 1.0) / (noise.sensitivity or 1.0)))
    return found if math.isinf(pure) else np.minimum(found, renyi_of_pure(pure))
