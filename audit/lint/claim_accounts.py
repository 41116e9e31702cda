"""Epsilon recomputed from what a statement says of its noise: one release, and all of them together."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...graphs.network import Floats
from ...mechanisms.gaussian import distance_of, epsilon_of
from ...mechanisms.renyi import (
    ORDERS,
    epsilon_of_renyi,
    renyi_of_laplace,
    renyi_of_pure,
    renyi_of_sampled,
    renyi_of_terms,
    terms_of,
)
from .claim_sensitivity import couples
from .claim_statement import Claim, Noise, Release, Statement, Training

PRV_ERROR = 0.01
"""By how much Opacus' PRV accountant rounds up, at most, in both directions of its interval."""

SMALLEST_DELTA, LONGEST = 1e-30, 2000.0
"""Where numerical composition takes more than seconds: its grid grows with epsilon times the root of the steps."""

MOST_TERMS = 10**5
"""Changed terms in a batch up to which their law is summed."""


@dataclass(frozen=True)
class Spent:
    """What one release costs, all its repetitions together.

    Attributes:
        name: of the release.
        epsilon: by basic composition over its repetitions.
        delta: that goes with it.
        renyi: divergence at each of `ORDERS`, or None where nothing but epsilon is known of it.
        distance: of two normals that it amounts to, exactly, or None if it is no plain Gaussian noise.
        rho: its zero-concentrated cost, or None if it has none.
    """

    name: str
    epsilon: float
    delta: float
    renyi: Floats | None
    distance: float | None = None
    rho: float | None = None


def renyi_of_training(training: Training, claim: Claim) -> Floats | None:
    """Divergences of one training by its accountant's analysis; None where a fact is missing."""
    steps, multiplier, rate = training.steps, training.noise_multiplier, rate_of(training)
    if steps is None or multiplier is None:
        return None
    if training.accountant != "hypergeometric":
        return None if rate is None else steps * renyi_of_sampled(rate, multiplier)
    terms = _terms(training, claim)
    examples, batch, clips = training.examples, training.batch_size, training.sensitivity
    if terms is None or examples is None or batch is None or clips is None or min(terms, batch) > MOST_TERMS:
        return None
    return steps * renyi_of_coupled(examples, terms, batch, multiplier * clips)


def _terms(training: Training, claim: Claim) -> int | None:
    """How many terms one node, or one record of its own, changes; None where that is not known, as for an edge."""
    unit = training.unit or claim.unit
    if not couples(training, unit):
        return training.examples_per_unit or 1
    if training.neighbour_bound is None or training.layers is None or unit == "edge":
        return None
    return terms_of(training.neighbour_bound, training.layers)


def rate_of(training: Training) -> float | None:
    """The rate that the accountant was given; 1 for full batches if nothing else is said."""
    if training.sample_rate is None and training.sampling == "full batch":
        return 1.0
    return training.sample_rate


def prv_epsilon(training: Training, delta: float) -> float | None:
    """Epsilon by Opacus' PRV accountant (Gopi, Lee and Wutschitz 2021); None where it fails, or would take long.

    For full batches the exact value, which needs no accountant.
    """
    rate, steps, multiplier = rate_of(training), training.steps, training.noise_multiplier
    if rate is None or steps is None or multiplier is None or training.accountant == "hypergeometric":
        return None
    if rate == 1:
        return exact_epsilon(math.sqrt(steps) / multiplier, delta)
    about = epsilon_of_renyi(steps * renyi_of_sampled(rate, multiplier), delta)
    if delta < SMALLEST_DELTA or about * math.sqrt(steps) > LONGEST:
        return None
    from opacus.accountants.prv import PRVAccountant  # type: ignore[import-untyped]

    accountant = PRVAccountant()
    accountant.history = [(multiplier, rate, steps)]
    try:
        found = float(accountant.get_epsilon(delta))
    except (ValueError, RuntimeError, OverflowError, MemoryError):  # it fails beyond epsilons of 10 or so
        return None
    return found if math.isfinite(found) else None


def unsampled_epsilon(training: Training, delta: float) -> float | None:
    """Epsilon that holds however batches were drawn: every step, or epoch of disjoint batches, counts in full."""
    steps, multiplier, rate = training.steps, training.noise_multiplier, rate_of(training)
    if steps is None or multiplier is None or rate is None or not delta:
        return None
    epochs = math.ceil(steps * rate - 1e-9) if training.sampling == "shuffled" else steps
    return exact_epsilon(math.sqrt(epochs) / multiplier, delta)


def group(release: Release, claim: Claim) -> int | None:
    """How many units of a release are in one of the claim: 1, or a node's or client's edges; None if unknown.

    Of a node or client that is another one all edges may go and as many others come: twice as many as it has.
    """
    if release.unit in (None, claim.unit):
        return 1
    if claim.edges_per_unit is None or release.unit != "edge" or claim.unit not in {"node", "client"}:
        return None
    return claim.edges_per_unit * (2 if claim.adjacency == "replace" else 1)


def spent(release: Release, statement: Statement) -> Spent | None:
    """What one release costs for one unit of the claim; None where the statement does not tell.

    An epsilon that the statement gives is taken as it is: whether it follows from the noise is another rule's
    question. The Renyi divergences follow from the noise.
    """
    claim = statement.claim
    many = group(release, claim)
    if many is None:
        return None
    share = delta_of(release, statement)
    if isinstance(release, Training):
        return _spent_training(release, claim, share) if many == 1 else None
    assert isinstance(release, Noise)
    if release.mechanism in {"gaussian", "discrete-gaussian"}:
        return _spent_gaussian(release, share, many)
    return _spent_pure(release, many)


def _spent_pure(release: Noise, many: int) -> Spent | None:
    """Pure epsilons, and stated ones with a delta, of which nothing but basic composition is known."""
    pure = release.epsilon if release.epsilon is not None else noise_epsilon(release, 0.0)
    delta = release.times * (release.delta or 0.0) if release.mechanism == "other" else 0.0
    if pure is None or (delta and many > 1):
        return None
    total = release.times * many * pure
    if delta:
        return Spent(release.name, total, delta, None)
    one = renyi_of_pure(many * pure)
    if release.mechanism == "laplace" and release.scale is not None and release.sensitivity is not None:
        one = renyi_of_laplace(release.scale / (many * release.sensitivity))
    return Spent(release.name, total, 0.0, release.times * one, rho=release.times * (many * pure) ** 2 / 2)


def _spent_gaussian(release: Noise, share: float, many: int) -> Spent | None:
    if release.sensitivity is None or release.scale is None:
        return None
    distance = many * release.sensitivity / release.scale
    if release.epsilon is not None and many == 1:
        one = release.epsilon
    elif share > 0:
        one = exact_epsilon(distance, share)
    else:
        return None
    total = math.sqrt(release.times) * distance
    rho = total**2 / 2
    return Spent(release.name, release.times * one, release.times * share, ORDERS * rho, total, rho)


def _spent_training(release: Training, claim: Claim, share: float) -> Spent | None:
    renyi = renyi_of_training(release, claim)
    if renyi is None:
        return None
    one = release.epsilon
    if one is None:
        one = epsilon_of_renyi(renyi, share) if share > 0 else math.inf
    return Spent(release.name, release.times * one, release.times * share, release.times * renyi)


def delta_of(release: Release, statement: Statement) -> float:
    """The delta of one release, each time: its own, or an equal part of what the claim's delta leaves."""
    if release.delta is not None:
        return release.delta
    needy = [r for r in statement.releases if r.delta is None and needs_delta(r)]
    stated = sum(r.times * (r.delta or 0.0) for r in statement.releases)
    return max(0.0, statement.claim.delta - stated) / max(1, len(needy)) / release.times


def needs_delta(release: Release) -> bool:
    """Whether its noise promises nothing at delta 0."""
    return isinstance(release, Training) or (
        isinstance(release, Noise) and release.mechanism in {"gaussian", "discrete-gaussian"}
    )


def noise_epsilon(noise: Noise, delta: float) -> float | None:
    """Epsilon that follows from sensitivity and noise, once; None where the statement does not tell.

    Laplace: sensitivity / scale (Dwork et al. 2006). Gaussian: exactly (Balle and Wang 2018, Theorem 8), also for
    the discrete one. Randomised response: ln(p / (1 - p)) for each bit.
    """
    if noise.sensitivity is None:
        return None
    if noise.mechanism == "randomised-response" and noise.truthful is not None:
        return noise.sensitivity * math.log(noise.truthful / (1 - noise.truthful))
    if noise.scale is None or noise.mechanism == "other":
        return None
    if noise.mechanism in {"laplace", "discrete-laplace"}:
        return noise.sensitivity / noise.scale
    return exact_epsilon(noise.sensitivity / noise.scale, delta) if delta else None


def noise_needed(noise: Noise, epsilon: float, delta: float) -> float | None:
    """The least scale for an epsilon; for randomised response the largest probability of a true answer."""
    if noise.sensitivity is None:
        return None
    if noise.mechanism == "randomised-response":
        return 1 / (1 + math.exp(-epsilon / noise.sensitivity))
    if noise.mechanism in {"laplace", "discrete-laplace"}:
        return noise.sensitivity / epsilon
    if noise.mechanism == "other" or not delta:
        return None
    return noise.sensitivity / distance_of(epsilon, delta)


def together(parts: list[Spent], delta: float) -> dict[str, float]:
    """Epsilon of all releases at the claim's delta, by every composition that applies.

    Basic: sums (Dwork and Roth 2014, section 3.5). zCDP: Bun and Steinke 2016, Propositions 1.3 and 1.4. Renyi:
    Mironov 2017, Proposition 1. Gaussian: exact, if nothing else is there (Dong, Roth and Su 2022, Corollary 3.3).
    """
    ways: dict[str, Callable[[], float | None]] = {
        "basic": lambda: sum(part.epsilon for part in parts),
        "zcdp": lambda: _zcdp(parts, delta),
        "rdp": lambda: _renyi(parts, delta),
        "gaussian": lambda: _gaussian(parts, delta),
    }
    found = {name: way() for name, way in ways.items()}
    return {name: epsilon for name, epsilon in found.items() if epsilon is not None and math.isfinite(epsilon)}


def _renyi(parts: list[Spent], delta: float) -> float | None:
    known = [part.renyi for part in parts if part.renyi is not None]
    if not delta or len(known) < len(parts):
        return None
    return epsilon_of_renyi(np.sum(known, axis=0), delta)


def _zcdp(parts: list[Spent], delta: float) -> float | None:
    """Of plain Gaussian noise and pure guarantees; sampled training has no such number."""
    known = [part.rho for part in parts if part.rho is not None]
    if not delta or len(known) < len(parts):
        return None
    rho = sum(known)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def _gaussian(parts: list[Spent], delta: float) -> float | None:
    distances = [part.distance for part in parts if part.distance is not None]
    if not delta or len(distances) < len(parts):
        return None
    return exact_epsilon(math.hypot(*distances), delta)


def exact_epsilon(distance: float, delta: float) -> float:
    """Epsilon of Gaussian noise; beyond any that can be claimed, as much as 10,000 deviations have."""
    return epsilon_of(min(distance, 1e4), delta)


@cache
def renyi_of_coupled(examples: int, terms: int, batch: int, clips: float) -> Floats:
    """Of one step on a uniform batch without replacement, of which one node changes several terms.

    So many of the changed terms are in the batch as a hypergeometric law says (Daigavane et al. 2021).

    Args:
        examples: nodes that batches are drawn from.
        terms: that one node changes.
        batch: nodes in a batch.
        clips: deviation of the noise, in clips.
    """
    from scipy.stats import hypergeom

    touched = np.arange(min(terms, batch) + 1)
    return renyi_of_terms(hypergeom.logpmf(touched, examples, min(terms, examples), min(batch, examples)), clips)
