"""What noise keeps by its own theorem: an epsilon that is proven, and one below which neighbours tell more."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...graphs.network import Floats
from ...mechanisms.gaussian import FINE, discrete_pair, epsilon_of
from ...mechanisms.privacy_loss import Pair, laplaces, least_epsilon, normals
from ...mechanisms.renyi import ORDERS, epsilon_of_renyi
from .claim_statement import Noise
from .scaled_noise import ROUGHEST, cauchy_epsilon, worst_scaled
from .sparse_vector import sparse_vector_epsilon, sparse_vector_least

Epsilon = Callable[[float], float]
"""From a delta to an epsilon; infinite where none is promised."""

WIDEST = 60.0
"""Deviations beyond which two normals are as good as apart, and no pair of cells is made of them."""
LONGEST_SHIFT, LARGEST_SHIFT = 10_000, 10**5
"""Steps of a grid from which on discrete Laplace, and discrete Gaussian, noise counts as continuous."""
FAR_APART = 30.0
"""Epsilon from which on no pair is made of two choices."""
SPLIT, OUTCOMES = 100, 5000
"""Largest squared sensitivity of whole numbers that is also tried in several places, and outcomes of each."""


@dataclass(frozen=True)
class Account:
    """One release of noise, once.

    Attributes:
        sound: epsilon at a delta, proven for all inputs with these facts.
        least: epsilon at a delta that is too small for some inputs with these facts, if it is any smaller.
        pair: outcomes on such inputs, to add several releases up; None where there is no simple pair.
    """

    sound: Epsilon
    least: Epsilon
    pair: Pair | None = None


def account(noise: Noise, many: int = 1) -> Account | None:
    """Of noise on all units, where so many of its own units change together; None if a fact is missing.

    How it was sampled is left out: see `sampled_noise`.
    """
    make = ACCOUNTS.get(noise.mechanism)
    return None if make is None else make(noise, many)


def exact_gaussian(distance: float, delta: float) -> float:
    """Epsilon of Gaussian noise; beyond any that can be claimed, as much as 10,000 deviations have."""
    return epsilon_of(min(distance, 1e4), delta) if delta else math.inf


def _exact(epsilon: Epsilon, pair: Pair | None = None) -> Account:
    return Account(epsilon, epsilon, pair)


def _laplace(noise: Noise, many: int) -> Account | None:
    """Dwork et al. 2006; with a delta ``1 - e^((epsilon - distance) / 2)`` for one number, exactly."""
    if noise.sensitivity is None or noise.scale is None:
        return None
    return _laplace_at(noise, many * noise.sensitivity / noise.scale)


def _laplace_at(noise: Noise, distance: float) -> Account:
    def exact(delta: float) -> float:
        return max(0.0, distance + 2 * math.log1p(-delta))

    pair = laplaces(distance) if distance < 300 else None
    return Account(exact if noise.norm == "any" else lambda delta: distance, exact, pair)


def _discrete_laplace(noise: Noise, many: int) -> Account | None:
    """Ghosh, Roughgarden and Sundararajan 2012: only whole steps of the grid can be the difference."""
    shift = steps_of(noise, many)
    if not shift or noise.scale is None:
        return None
    step = (noise.grid or 1.0) / noise.scale
    whole = math.floor(shift + 1e-9)
    if whole > LONGEST_SHIFT:
        return _laplace_at(noise, whole * step)
    total = math.log1p(math.exp(-step))
    inner = np.log(math.tanh(step / 2)) - step * np.arange(1, whole) if whole > 1 else np.empty(0)
    here = np.concatenate([[-total], inner, [-total - step * whole]])
    pair = Pair(here, here[::-1].copy())
    return Account(pair.epsilon if noise.norm == "any" else lambda delta: whole * step, pair.epsilon, pair)


def _gaussian(noise: Noise, many: int) -> Account | None:
    """Balle and Wang 2018, Theorem 8."""
    if noise.sensitivity is None or noise.scale is None:
        return None
    distance = many * noise.sensitivity / noise.scale
    pair = normals(np.array([distance]), np.ones(1)) if distance < WIDEST else None
    return _exact(lambda delta: exact_gaussian(distance, delta), pair)


def _discrete_gaussian(noise: Noise, many: int) -> Account | None:
    """Canonne, Kamath and Steinke 2020: Theorem 7 for one number, Theorem 14 (concentrated privacy) for several.

    Of several numbers the whole change may lie in one of them, or in one and by ones in others.
    """
    steps = steps_of(noise, many)
    if not steps or noise.scale is None:
        return None
    deviation, whole = noise.scale / (noise.grid or 1.0), math.floor(steps + 1e-9)
    squared = math.floor(steps**2 + 1e-6)
    fine = deviation >= FINE or whole > LARGEST_SHIFT or whole / deviation > 1e4
    pair = None if fine else discrete_pair(whole, deviation)

    def alone(delta: float) -> float:
        if not delta:
            return math.inf
        return exact_gaussian(whole / deviation, delta) if pair is None else pair.epsilon(delta)

    if noise.norm == "any":
        return _exact(alone, None if pair is None else pair.merged(OUTCOMES))

    def sound(delta: float) -> float:
        rho = squared / (2 * deviation**2)
        return max(alone(delta), epsilon_of_renyi(ORDERS * rho, delta)) if delta else math.inf

    def least(delta: float) -> float:
        rest = squared - whole**2
        if not delta or not rest or squared > SPLIT or pair is None:
            return alone(delta)
        parts = [pair.merged(OUTCOMES), discrete_pair(1, deviation).merged(OUTCOMES).repeated(rest)]
        return max(alone(delta), least_epsilon(parts, delta))

    return Account(sound, least, None if pair is None else pair.merged(OUTCOMES))


def steps_of(noise: Noise, many: int = 1) -> float | None:
    """By how many steps of its grid a release changes; None where that is not known.

    Without a grid whole numbers are taken for granted, if the sensitivity may be one of whole numbers.
    """
    if noise.sensitivity is None:
        return None
    if noise.grid is None and not fits_whole_numbers(noise):
        return None
    steps = many * noise.sensitivity / (noise.grid or 1.0)
    return steps if steps >= 1 - 1e-9 else 0.0


def fits_whole_numbers(noise: Noise) -> bool:
    """Whether whole numbers may change by its sensitivity: it, or under L2 its square, is a whole number."""
    size = noise.sensitivity or 0.0
    return any(abs(part - round(part)) < 0.01 * min(part, 1.0) for part in (size, size**2))


def _response(noise: Noise, many: int) -> Account | None:
    """Answers that are true with probability p, and else one of the k - 1 others (Kairouz et al. 2016)."""
    choices = noise.choices if noise.mechanism == "k-ary-response" else 2
    if noise.sensitivity is None or noise.truthful is None or choices is None:
        return None
    true, other = noise.truthful, (1 - noise.truthful) / (choices - 1)
    rest = [(choices - 2) * other] if choices > 2 else []
    one = Pair(np.log([true, other, *rest]), np.log([other, true, *rest]))
    changed = many * round(noise.sensitivity)
    pure = changed * abs(math.log(true / other))
    if changed == 1:
        return _exact(one.epsilon, one)
    pair = one.repeated(changed)
    return Account(lambda delta: pure, lambda delta: least_epsilon([pair], delta) if delta else pure, pair)


def _choice(noise: Noise, many: int) -> Account | None:
    """The exponential mechanism (McSherry and Talwar 2007), and permute-and-flip (McKenna and Sheldon 2020).

    Chances fall with exp(score / scale); the scores of two choices may move apart by twice the sensitivity. The
    least is that of the worse one of two choices.
    """
    if noise.sensitivity is None or noise.scale is None:
        return None
    pure = (1 if noise.monotone else 2) * many * noise.sensitivity / noise.scale
    flips = noise.mechanism == "permute-and-flip"

    def least(delta: float) -> float:
        behind = np.linspace(0.0 if flips else -pure, 40.0, 2001)  # of the worse one, where it is less so
        if flips:
            here, there = math.log(0.5) - behind, math.log(0.5) - behind - pure
        else:
            here, there = -np.logaddexp(0, behind), -np.logaddexp(0, behind + pure)
        return _of_event(np.exp(here), there, delta) if delta else pure

    return Account(lambda delta: pure, least, _even_choice(pure, flips) if pure < FAR_APART else None)


def _even_choice(pure: float, flips: bool) -> Pair:
    """One of two choices: as good as the other and then worse, or better by as much as it is worse then."""
    high = math.log(0.5) if flips else -float(np.logaddexp(0.0, -pure / 2))
    low = high - pure if flips else -float(np.logaddexp(0.0, pure / 2))
    here, there = (np.array([chance, math.log(-math.expm1(chance))]) for chance in (high, low))
    return Pair(here, there)


def _of_event(here: Floats, log_there: Floats, delta: float) -> float:
    """The largest ln((P(S) - delta) / Q(S)) of some events."""
    likely = here > delta
    if not likely.any():
        return 0.0
    return max(0.0, float((np.log(here[likely] - delta) - log_there[likely]).max()))


def _sparse_vector(noise: Noise, many: int) -> Account | None:
    if noise.sensitivity is None:
        return None
    pure = sparse_vector_epsilon(noise, many)
    if pure is None:
        return None
    if math.isinf(pure) and noise.answers == "tested value" and not endless(noise):
        return Account(lambda delta: math.inf, lambda delta: 0.0 if delta else math.inf)
    return Account(lambda delta: pure, lambda delta: sparse_vector_least(noise, many, delta) if delta else pure)


def endless(noise: Noise) -> bool:
    """Whether a sparse vector promises nothing at any delta: noise is missing, or it never stops."""
    return noise.threshold_scale == 0 or noise.query_scale == 0 or noise.positives == "unlimited"


def failure_of_test(noise: Noise) -> float | None:
    """Probability that propose-test-release passes data whose sensitivity is above the bound that was proposed.

    Their distance is 0: ``e^(-threshold / scale) / 2`` under Laplace noise (Dwork and Lei 2009).
    """
    if noise.test_scale is None or noise.threshold is None:
        return None
    return math.exp(-noise.threshold / noise.test_scale) / 2 if noise.test_scale else 1.0


def _propose_test_release(noise: Noise, many: int) -> Account | None:
    """Two neighbours that differ by more than the bound both fail the test but for its failure; others pay twice.

    Dwork and Lei 2009; Dwork and Roth 2014, section 7.3.
    """
    failure = failure_of_test(noise)
    if failure is None or noise.test_scale is None or noise.threshold is None or many > 1:
        return None
    if noise.sensitivity is None or noise.scale is None:
        return None
    if not noise.test_scale:
        return _exact(lambda delta: math.inf)
    release, early = noise.sensitivity / noise.scale, noise.threshold < 1
    passes = 0.5 if early else math.exp((math.floor(noise.threshold) - noise.threshold) / noise.test_scale) / 2
    told = (noise.threshold if early else 1.0) / noise.test_scale
    sound, enough = 1 / noise.test_scale + release, failure * (1 - 1e-9)

    def least(delta: float) -> float:
        if delta < enough:
            return math.inf
        return max(0.0, told + release + 2 * math.log1p(-delta / passes)) if delta < passes else 0.0

    return Account(lambda delta: sound if delta >= enough else math.inf, least)


def _smooth(noise: Noise, many: int) -> Account | None:
    """Noise in proportion to a smooth bound: two places, and two scales, apart (Nissim et al. 2007, Lemma 2.6)."""
    if noise.scale is None or noise.beta is None or noise.law is None or noise.norm != "any" or many > 1:
        return None
    scale, beta = noise.scale, noise.beta
    if noise.law == "cauchy":
        pure = cauchy_epsilon(scale, beta)
        least = partial(worst_scaled, "cauchy", scale, beta)
        return Account(lambda delta: pure, lambda delta: least(delta) if delta else pure)
    worst = partial(worst_scaled, noise.law, scale, beta)
    rough = beta > ROUGHEST  # neighbours that are further apart are not tried
    return Account(
        lambda delta: worst(delta) if delta and not rough else math.inf,
        lambda delta: worst(delta) if delta else math.inf,
    )


ACCOUNTS: dict[str, Callable[[Noise, int], Account | None]] = {
    "laplace": _laplace,
    "discrete-laplace": _discrete_laplace,
    "gaussian": _gaussian,
    "discrete-gaussian": _discrete_gaussian,
    "randomised-response": _response,
    "k-ary-response": _response,
    "exponential": _choice,
    "permute-and-flip": _choice,
    "sparse-vector": _sparse_vector,
    "propose-test-release": _propose_test_release,
    "smooth-sensitivity": _smooth,
}
