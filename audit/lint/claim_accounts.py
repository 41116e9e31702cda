"""Epsilon recomputed from what a statement says of its noise: one release, with all its repetitions."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...graphs.network import Floats
from ...mechanisms.gaussian import distance_of
from ...mechanisms.guarantee import Adjacency
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
from .claim_statement import LINKS, Claim, Noise, Release, Statement, Training, Unit
from .noise_accounts import exact_gaussian, failure_of_test
from .sampled_noise import account_of, is_sampled, relations, renyi_drawn

PRV_ERROR = 0.01
"""By how much Opacus' PRV accountant rounds up, at most, in both directions of its interval."""

SMALLEST_DELTA, LONGEST = 1e-30, 2000.0
"""Where numerical composition takes more than seconds: its grid grows with epsilon times the root of the steps."""

MOST_TERMS = 10**5
"""Changed terms in a batch up to which their law is summed."""

GROUPS: dict[str, frozenset[Unit]] = {
    "edge": frozenset({"node", "client"}),
    "event": frozenset({"edge-history", "node", "client"}),
}
"""Units that have many of another, whose number a claim may bound."""

GAUSSIAN = frozenset({"gaussian", "discrete-gaussian"})


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
    terms = changed_terms(training, claim)
    examples, batch, clips = training.examples, training.batch_size, training.sensitivity
    if terms is None or examples is None or batch is None or clips is None or min(terms, batch) > MOST_TERMS:
        return None
    return steps * renyi_of_coupled(examples, terms, batch, multiplier * clips)


def changed_terms(training: Training, claim: Claim) -> int | None:
    """How many terms one node, or one record of its own, changes; None where that is not known, as for an edge."""
    unit = training.unit or claim.unit
    if not couples(training, unit):
        return training.examples_per_unit or 1
    if training.neighbour_bound is None or training.layers is None or unit in LINKS:
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
        return exact_gaussian(math.sqrt(steps) / multiplier, delta)
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
    """Epsilon that holds however batches were drawn: every step, or epoch of disjoint batches, counts in full.

    In a batch of fixed size another term takes the place of one that is gone, two clips away.
    """
    steps, multiplier, rate = training.steps, training.noise_multiplier, rate_of(training)
    if steps is None or multiplier is None or rate is None or not delta:
        return None
    epochs = math.ceil(steps * rate - 1e-9) if training.sampling == "shuffled" else steps
    moved = max(1.0, 2 / (training.sensitivity or 1.0)) if training.sampling == "fixed-size" else 1.0
    return exact_gaussian(moved * math.sqrt(epochs) / multiplier, delta)


def fixed_size_epsilon(training: Training, delta: float) -> float | None:
    """Epsilon of batches of fixed size, where each unit has one term: it is drawn, and moves the sum by two clips.

    By joint convexity, as for several terms (Daigavane et al. 2021, Theorem 1).
    """
    steps, multiplier, rate = training.steps, training.noise_multiplier, rate_of(training)
    if training.sampling != "fixed-size" or steps is None or multiplier is None or rate is None or not delta:
        return None
    if training.batch_size is not None and training.examples is not None:
        rate = min(1.0, max(rate, training.batch_size / training.examples))
    with np.errstate(divide="ignore"):
        chances = np.log([1 - rate, rate])
    return epsilon_of_renyi(steps * renyi_of_terms(chances, multiplier * (training.sensitivity or 1.0)), delta)


def group(release: Release, claim: Claim) -> int | None:
    """How many units of a release are in one of the claim: 1, or its edges or events; None if unknown.

    Of a unit that is another one all may go and as many others come: twice as many as it has. A pair's history is
    one edge of the one graph that a release reads; what it costs in all is counted by ``times``. An event that
    comes or goes changes one edge at most; one that is another one may leave a window and come to a second one.
    """
    if claim.unit in {"event", "edge"} and claim.adjacency == "replace" and _by_windows(release):
        return None
    if (release.unit, claim.unit) == ("edge", "event") and claim.adjacency != "replace":
        return 1
    if release.unit in (None, claim.unit) or (release.unit, claim.unit) == ("edge", "edge-history"):
        return 1
    bounds = {"edge": claim.edges_per_unit, "event": claim.events_per_unit}
    most = bounds.get(release.unit or "")
    if most is None or claim.unit not in GROUPS.get(release.unit or "", ()):
        return None
    return most * (2 if claim.adjacency == "replace" else 1)


def _by_windows(release: Release) -> bool:
    """Whether there is a release for each of several windows of time."""
    return isinstance(release, Noise) and (release.windows or 1) > 1


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
    if release.mechanism == "other":
        return _spent_as_stated(release, many)
    if release.mechanism in GAUSSIAN or needs_delta(release):
        return _spent_with_delta(release, claim, share, many)
    return _spent_pure(release, claim, many)


def _spent_as_stated(release: Noise, many: int) -> Spent | None:
    """Only an epsilon is known, and a delta."""
    delta = release.times * (release.delta or 0.0)
    if release.epsilon is None or (delta and many > 1):
        return None
    total = release.times * many * release.epsilon
    if delta:
        return Spent(release.name, total, delta, None)
    one = many * release.epsilon
    return Spent(release.name, total, 0.0, release.times * renyi_of_pure(one), rho=release.times * one**2 / 2)


def _spent_pure(release: Noise, claim: Claim, many: int) -> Spent | None:
    """Noise that needs no delta."""
    kept = account_of(release, claim.adjacency, many)
    one = many * release.epsilon if release.epsilon is not None else kept.sound(0.0) if kept else math.inf
    if math.isinf(one):
        return None
    renyi = renyi_of_pure(one)
    if release.mechanism == "laplace" and release.scale is not None and release.sensitivity is not None:
        renyi = np.minimum(renyi, _renyi_of_laplace(release, claim.adjacency, many, one))
    return Spent(release.name, release.times * one, 0.0, release.times * renyi, rho=release.times * one**2 / 2)


def _renyi_of_laplace(release: Noise, adjacency: Adjacency, many: int, pure: float) -> Floats:
    """Of Laplace noise, or of the bound for any noise where a sample or a group leaves no other."""
    assert release.scale is not None
    assert release.sensitivity is not None
    if not is_sampled(release):
        return renyi_of_laplace(release.scale / (many * release.sensitivity))
    proven = relations(release, adjacency)[0]
    if proven is None or many > 1:
        return renyi_of_pure(pure)
    whole = renyi_of_laplace(release.scale / (proven.many * release.sensitivity))
    found = renyi_drawn(release, adjacency, whole, pure)
    return renyi_of_pure(pure) if found is None else found


def _spent_with_delta(release: Noise, claim: Claim, share: float, many: int) -> Spent | None:
    """Gaussian noise, and other noise that promises nothing at delta 0."""
    kept = account_of(release, claim.adjacency, many)
    one = release.epsilon if release.epsilon is not None and many == 1 else kept.sound(share) if kept else math.inf
    plain = release.mechanism in GAUSSIAN and release.scale is not None and release.sensitivity is not None
    if math.isinf(one) and not (plain and kept):
        return None
    total, delta = release.times * one, release.times * share
    if not plain or kept is None:
        return Spent(release.name, total, delta, None)
    distance = many * (release.sensitivity or 0.0) / (release.scale or 1.0)
    if is_sampled(release):
        proven = relations(release, claim.adjacency)[0]
        if proven is None or many > 1:
            return Spent(release.name, total, delta, None)
        renyi = renyi_drawn(release, claim.adjacency, ORDERS * (proven.many * distance) ** 2 / 2, math.inf)
        return Spent(release.name, total, delta, None if renyi is None else release.times * renyi)
    rho = release.times * distance**2 / 2
    exact = math.sqrt(release.times) * distance if release.mechanism == "gaussian" else None
    return Spent(release.name, total, delta, ORDERS * rho, exact, rho)


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
    release = statement.counted(release) if isinstance(release, Noise) else release
    if len(statement.releases) == release.times == 1 and release.delta is None:
        return statement.claim.delta
    own = own_delta(release)
    if own is not None:
        return own
    needy = [r for r in statement.releases if own_delta(r) is None and needs_delta(r)]
    stated = sum(r.times * (own_delta(r) or 0.0) for r in statement.releases)
    return max(0.0, statement.claim.delta - stated) / max(1, len(needy)) / release.times


def own_delta(release: Release) -> float | None:
    """The delta that a release states, or that a test needs; None for others."""
    if release.delta is None and isinstance(release, Noise) and release.mechanism == "propose-test-release":
        return failure_of_test(release)
    return release.delta


def needs_delta(release: Release) -> bool:
    """Whether its noise promises nothing at delta 0."""
    if not isinstance(release, Noise):
        return True
    smooth = release.mechanism == "smooth-sensitivity" and release.law in {"laplace", "gaussian"}
    return smooth or release.mechanism in {*GAUSSIAN, "propose-test-release"}


def scale_needed(noise: Noise, epsilon: float, delta: float, many: int) -> float | None:
    """The least scale of plain noise for an epsilon; for answers the largest probability of a true one."""
    if noise.sensitivity is None:
        return None
    sensitivity = many * noise.sensitivity
    if noise.mechanism in {"randomised-response", "k-ary-response"}:
        others = (noise.choices or 2) - 1 if noise.mechanism == "k-ary-response" else 1
        return 1 / (1 + others * math.exp(-epsilon / sensitivity))
    if noise.mechanism in {"laplace", "discrete-laplace"}:
        return sensitivity / epsilon
    return sensitivity / distance_of(epsilon, delta) if noise.mechanism == "gaussian" and delta else None


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
