"""All releases of a statement together: epsilons that are proven, and one that is too small."""

import math
from collections.abc import Callable

import numpy as np

from ...mechanisms.privacy_loss import Pair, least_epsilon, normals
from ...mechanisms.renyi import epsilon_of_renyi
from .claim_accounts import Spent, changed_terms, group, needs_delta, rate_of
from .claim_sensitivity import clips_needed
from .claim_statement import Claim, Noise, Release, Statement, Training
from .noise_accounts import WIDEST, exact_gaussian
from .sampled_noise import account_of, is_sampled

FEW_TERMS = 50
"""Terms of one node that are counted where it is asked what a batch tells at least."""


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


def _beside(parts: list[Spent], known: list[Spent], delta: float) -> tuple[float, float] | None:
    """What parts that a composition does not cover cost by their sum, and the delta that is left for the others."""
    others = [part for part in parts if part not in known]
    left = delta - sum(part.delta for part in others)
    return (sum(part.epsilon for part in others), left) if known and left > 0 else None


def _renyi(parts: list[Spent], delta: float) -> float | None:
    known = [part for part in parts if part.renyi is not None]
    beside = _beside(parts, known, delta)
    if beside is None:
        return None
    return beside[0] + epsilon_of_renyi(
        np.sum([part.renyi for part in known if part.renyi is not None], axis=0), beside[1]
    )


def _zcdp(parts: list[Spent], delta: float) -> float | None:
    """Of plain Gaussian noise and pure guarantees; sampled training has no such number, and is added."""
    known = [part for part in parts if part.rho is not None]
    beside = _beside(parts, known, delta)
    if beside is None:
        return None
    rho = sum(part.rho for part in known if part.rho is not None)
    return beside[0] + rho + 2 * math.sqrt(rho * math.log(1 / beside[1]))


def _gaussian(parts: list[Spent], delta: float) -> float | None:
    known = [part for part in parts if part.distance is not None]
    beside = _beside(parts, known, delta)
    if beside is None:
        return None
    distances = [part.distance for part in known if part.distance is not None]
    return beside[0] + exact_gaussian(math.hypot(*distances), beside[1])


def least_together(statement: Statement) -> float:
    """An epsilon that is too small for all releases at the claim's delta, if it is any smaller.

    Of what is known exactly: other releases are left out, and can only tell more.
    """
    delta = statement.claim.delta
    if not delta:
        return sum(_least_pure(release, statement.claim) for release in statement.releases)
    distances = [_distance(release, statement.claim) for release in statement.releases]
    alone = [_least_alone(release, statement.claim) for release in statement.releases]
    pairs = [pair for release in statement.releases if (pair := _pair(release, statement.claim)) is not None]
    distance = math.hypot(*distances)
    if distance:
        alone.append(exact_gaussian(distance, delta))
    if pairs and 0 < distance < WIDEST:
        pairs.append(normals(np.array([distance]), np.ones(1)))
    return max(*alone, least_epsilon(pairs, delta))


def _least_pure(release: Release, claim: Claim) -> float:
    """With delta 0: largest ratios multiply."""
    many = group(release, claim)
    if many is None or not isinstance(release, Noise) or needs_delta(release):
        return 0.0
    kept = account_of(release, claim.adjacency, many)
    if kept is not None:
        return release.times * kept.least(0.0)
    return 0.0 if release.epsilon is None else release.times * many * release.epsilon


def _least_alone(release: Release, claim: Claim) -> float:
    """One of its repetitions."""
    many = group(release, claim)
    if many is None or not isinstance(release, Noise):
        return 0.0
    kept = account_of(release, claim.adjacency, many)
    return 0.0 if kept is None else kept.least(claim.delta)


def _distance(release: Release, claim: Claim) -> float:
    """Of Gaussian noise on all units, in deviations, with all repetitions; 0 for other releases."""
    many = group(release, claim)
    if isinstance(release, Noise) and release.mechanism == "gaussian" and not is_sampled(release) and many:
        if release.sensitivity is None or release.scale is None:
            return 0.0
        return math.sqrt(release.times) * many * release.sensitivity / release.scale
    if isinstance(release, Training) and rate_of(release) == 1 and many == 1:
        return math.sqrt(release.times) * _distance_of_full_batches(release, claim)
    return 0.0


def _distance_of_full_batches(training: Training, claim: Claim) -> float:
    """Of all steps, in deviations: as many clips as one unit moves the sum by, or one where that is not known."""
    if training.steps is None or training.noise_multiplier is None:
        return 0.0
    moved = (clips_needed(training, claim) or 1.0) / (training.sensitivity or 1.0)
    return math.sqrt(training.steps) * moved / training.noise_multiplier


def least_of_training(training: Training, claim: Claim, delta: float) -> float:
    """An epsilon that is too small for one training at a delta, if it is any smaller; 0 if none is known."""
    if rate_of(training) == 1:
        distance = _distance_of_full_batches(training, claim)
        return exact_gaussian(distance, delta) if distance else 0.0
    pair = pair_of_training(training, claim)
    return 0.0 if pair is None else least_epsilon([pair], delta)


def _pair(release: Release, claim: Claim) -> Pair | None:
    """Outcomes of all repetitions on two inputs; None for Gaussian noise on all units, and where none is known."""
    many = group(release, claim)
    if many is None or _distance(release, claim):
        return None
    if isinstance(release, Training):
        pair = pair_of_training(release, claim) if many == 1 else None
        return None if pair is None else pair.repeated(release.times)
    assert isinstance(release, Noise)
    if release.mechanism == "other":
        if release.epsilon is None or many > 1:
            return None
        return _pair_as_stated(release.epsilon, release.delta or 0.0).repeated(release.times)
    kept = account_of(release, claim.adjacency, many)
    return None if kept is None or kept.pair is None else kept.pair.repeated(release.times)


def _pair_as_stated(epsilon: float, delta: float) -> Pair:
    """All that an (epsilon, delta) promise allows (Kairouz, Oh and Viswanath 2015)."""
    likely, unlikely = -float(np.logaddexp(0.0, -epsilon)), -float(np.logaddexp(0.0, epsilon))
    here = np.log1p(-delta) + np.array([likely, unlikely])
    if not delta:
        return Pair(here, here[::-1])
    always, never = math.log(delta), -math.inf
    return Pair(np.array([*here, always, never]), np.array([*here[::-1], never, always]))


def pair_of_training(training: Training, claim: Claim) -> Pair | None:
    """Outcomes of all steps on two inputs that one unit of its own tells apart; None where a fact is missing.

    All other terms lie at one end of the clip, and the unit's at the other one, or is gone. A batch of fixed size
    has another term in its place, two clips away.
    """
    steps, rate = training.steps, rate_of(training)
    if steps is None or training.noise_multiplier is None or training.sampling == "shuffled":
        return None
    deviation = training.noise_multiplier * (training.sensitivity or 1.0)
    if training.sampling == "fixed-size":
        pair = _pair_of_fixed(training, claim, deviation)
        return None if pair is None else pair.repeated(steps)
    if rate is None or 1 / deviation > WIDEST:
        return None
    return normals(np.array([0.0, 1 / deviation]), np.array([1 - rate, rate])).repeated(steps)


def _pair_of_fixed(training: Training, claim: Claim, deviation: float) -> Pair | None:
    """One step on a batch of fixed size: how many terms of one unit are in it is hypergeometric."""
    from scipy.stats import hypergeom

    terms, examples = changed_terms(training, claim), training.examples
    if terms is None or examples is None or training.batch_size is None:
        return None
    batch, few = min(training.batch_size, examples), min(terms, FEW_TERMS, examples)
    touched = np.arange(min(few, batch) + 1)
    if 2 * touched[-1] / deviation > WIDEST:
        return None
    return normals(2 * touched / deviation, hypergeom.pmf(touched, examples, few, batch))
