"""The noisy-or of observations: each is a cause of its own, and one is enough (Zheleva and Getoor, PinKDD 2007).

With lambda_0 the probability of a link that nothing was observed of, and lambda_l that an observation of type l
brings one about,

    P(link | x) = 1 - (1 - lambda_0) prod_l (1 - lambda_l)^x_l = 1 - exp(-theta_0 - theta . x),

theta = -log(1 - lambda) >= 0. In theta the log-likelihood is concave, so the fit has one optimum. An observation
that there only may have been, with probability q, multiplies by 1 - lambda q instead of 1 - lambda: that is the
noisy-or with the unknown presences averaged over. Where some q lies between 0 and 1 the likelihood is no longer
concave, and the fit is the optimum near the estimate that it starts from.

Who knows some links but hardly any pairs without one can do with links and a background, a sample of all pairs:

    sum over non-links of (theta_0 + theta . x) = sum over all pairs - sum over links,

so that the log-likelihood needs links and that total alone. It stays concave.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graphs.network import Floats

LEAST, MOST = 1e-9, 50.0
"""Bounds of theta: log(1 - exp(-theta)) is finite above 0, and beyond 50 a probability is 1 in double precision."""
CERTAIN = 700.0
"""Sums of theta are cut off here: exp of more overflows."""
PRECISE = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000, "maxfun": 4000}
"""Where the search ends; with so few parameters a step costs little."""


@dataclass(frozen=True, eq=False)
class NoisyOr:
    """A fitted model of l types of observations.

    Attributes:
        theta: -log(1 - lambda), of the leak and then of each type, [1 + l].
        errors: their standard errors [1 + l]; not a number at a bound, where there is no normal approximation, and
            for a type that was observed alike of all pairs, of which nothing can be learned (its theta is 0).
    """

    theta: Floats
    errors: Floats

    @property
    def chances(self) -> Floats:
        """lambda: the probability of a link without any observation, then by one observation of each type alone."""
        found: Floats = -np.expm1(-self.theta)
        return found

    def strength(self, counts: Floats, presence: Floats | None = None) -> Floats:
        """-log of the probability that there is no link, for pairs with ``counts`` [p, l], see `fit`; [p]."""
        return _strength(self.theta, counts, np.ones(counts.shape) if presence is None else presence)

    def probability(self, counts: Floats, presence: Floats | None = None) -> Floats:
        """The probability of a link, [p]."""
        found: Floats = -np.expm1(-self.strength(counts, presence))
        return found


def fit(
    counts: Floats,
    linked: NDArray[np.bool_],
    weights: Floats | None = None,
    presence: Floats | None = None,
    shrink: float = 0.0,
    background: bool = False,
) -> NoisyOr:
    """Fits by weighted maximum likelihood (L-BFGS-B within bounds).

    Standard errors are those of a weighted estimate (inverse Hessian, scores squared, inverse Hessian). With
    weights of 1 they agree with the inverse Hessian in large samples; they remain right where non-links are a
    sample and weigh as many as each was drawn from.

    Args:
        counts: how often each type was, or may have been, observed of a pair, not negative [p, l].
        linked: whether the pair is linked [p].
        weights: how many pairs each stands for [p]; 1 where it is None.
        presence: the probability that an observation was there [p, l]; 1 where it is None.
        shrink: so many imaginary pairs for each type, with one observation and no link; 0 is plain likelihood. With
            it a type that no pair speaks against keeps a finite theta, and one that nothing speaks for has none.
        background: whether the pairs that are not ``linked`` are a sample of all pairs, linked or not, rather than
            of those without a link. Standard errors then are too small.

    Raises:
        ValueError: there are no pairs, shapes do not fit, or a count, weight or presence is out of its range.
    """
    from scipy.optimize import minimize

    told = _Told(
        counts,
        linked,
        np.ones(len(counts)) if weights is None else weights,
        np.ones(counts.shape) if presence is None else presence,
        background,
    )
    told.check()
    start = told.start()
    varies = start > 0
    scale = np.where(varies, start, 1.0)  # theta_0 may be a millionth of the others: the search is in multiples
    total = max(float(told.weights[linked].sum()), 1.0)

    def loss(units: Floats) -> tuple[float, Floats]:
        value, slope = told.loss(units * scale, shrink)
        return value / total, slope * scale / total

    bounds = [(LEAST / s, MOST / s) if v else (0.0, 0.0) for s, v in zip(scale, varies, strict=True)]
    search: Any = minimize  # its types know no function that returns its gradient as well
    found = search(loss, start / scale, jac=True, method="L-BFGS-B", bounds=bounds, options=PRECISE)
    theta: Floats = found.x * scale
    return NoisyOr(theta, told.errors(theta, varies & (theta > 2 * LEAST) & (theta < MOST)))


def _strength(theta: Floats, counts: Floats, presence: Floats) -> Floats:
    left = 1 - presence + presence * np.exp(-theta[1:])  # log1p would be finer for theta near 0, but -inf at 50
    told: Floats = theta[0] - (counts * np.log(left)).sum(1)
    return told


@dataclass(frozen=True, eq=False)
class _Told:
    """What is fitted to, with the arguments of `fit`."""

    counts: Floats
    linked: NDArray[np.bool_]
    weights: Floats
    presence: Floats
    background: bool = False

    def check(self) -> None:
        pairs, shape = len(self.counts), self.presence.shape
        if not pairs or self.counts.ndim != 2 or shape != self.counts.shape:
            raise ValueError(f"counts {self.counts.shape} and presence {shape}: expected pairs by types, and some")
        if {len(self.linked), len(self.weights)} != {pairs}:
            raise ValueError(f"{pairs} pairs, but {len(self.linked)} links and {len(self.weights)} weights")
        least = min(part.min(initial=0) for part in (self.counts, self.weights, self.presence))
        if least < 0 or self.presence.max(initial=0) > 1:
            raise ValueError("counts and weights must not be negative, and presence a probability")

    def start(self) -> Floats:
        """Half of what each theta would be if its type were the only one, and 0 if it says nothing, [1 + l]."""
        expected = self.counts * self.presence
        seen = np.column_stack([np.ones(len(expected)), expected]) * self.weights[:, None]
        share = (seen[self.linked].sum(0) + 0.5) / (seen.sum(0) + 1.0)
        start: Floats = np.clip(-np.log1p(-share) / 2, 1e-6, 5.0)
        start[1:][(expected == expected[0]).all(0)] = 0.0
        return start

    def loss(self, theta: Floats, shrink: float) -> tuple[float, Floats]:
        """Minus the log-likelihood and its derivatives [1 + l]."""
        strength = np.clip(self._strength(theta), LEAST, CERTAIN)
        each = np.where(self.linked, -np.log(-np.expm1(-strength)) - self.background * strength, strength)
        by_strength = self.weights * self._by_strength(strength)
        by_count = self.counts if self._certain else self.counts * self._single(theta)
        slope = np.append(by_strength.sum(), by_strength @ by_count)
        slope[1:] += shrink
        return float(self.weights @ each + shrink * theta[1:].sum()), slope

    def errors(self, theta: Floats, free: NDArray[np.bool_]) -> Floats:
        """Standard errors of the free parameters, not a number for the others, [1 + l]."""
        slope = self._by_strength(np.clip(self._strength(theta), LEAST, CERTAIN))
        gradients, errors = self._gradients(theta), np.full(len(theta), np.nan)
        alone = slope + self.background
        bent = np.where(self.linked, -alone * (1 - alone), 0.0)  # the second derivative by the strength
        hessian = (gradients * (self.weights * bent)[:, None]).T @ gradients
        scores = gradients * (self.weights * slope)[:, None]
        if not np.all(np.isin(self.presence, (0, 1))):  # else the strength is linear in theta
            single = self._single(theta)
            hessian[1:, 1:] -= np.diag((self.weights * slope) @ (self.counts * single * (1 - single)))
        inside = np.ix_(free, free)
        if np.linalg.matrix_rank(hessian[inside]) < free.sum():  # types that always come together are one
            return errors
        inverse = np.linalg.inv(hessian[inside])
        variance = np.diag(inverse @ (scores.T @ scores)[inside] @ inverse)
        errors[free] = np.sqrt(np.maximum(variance, 0))
        return errors

    @cached_property
    def _certain(self) -> bool:
        """Whether all that is counted was seen: then the strength is linear in theta, and quickly computed."""
        return bool((self.presence == 1).all())

    def _strength(self, theta: Floats) -> Floats:
        told: Floats = theta[0] + self.counts @ theta[1:]
        return told if self._certain else _strength(theta, self.counts, self.presence)

    def _single(self, theta: Floats) -> Floats:
        """Derivatives of what one observation adds to the strength by its theta, [p, l]."""
        left = np.exp(-theta[1:]) * self.presence
        return left / (1 - self.presence + left)

    def _gradients(self, theta: Floats) -> Floats:
        """Derivatives of the strength by theta, [p, 1 + l]."""
        return np.column_stack([np.ones(len(self.counts)), self.counts * self._single(theta)])

    def _by_strength(self, strength: Floats) -> Floats:
        """Derivative of each pair's minus log-likelihood by its strength, [p]."""
        return np.where(self.linked, -1 / np.expm1(strength) - self.background, 1.0)
