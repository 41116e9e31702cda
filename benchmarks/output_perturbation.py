"""A mechanism whose epsilon is known: logistic regression on one aggregated hop, with output perturbation.

The unit is **one node's term in the loss** (its label's contribution): graph and features are fixed and public, and
neighbouring training sets differ by adding or removing one term. It is not node presence: taking a node out of the
graph would change its neighbours' rows, which nothing here accounts for.

It is here to test the auditor: a lower bound above the known epsilon is an error of the auditor.

Source: Chaudhuri, Monteleoni and Sarwate (JMLR 2011, Algorithm 1 with Theorem 6), which minimises the *mean* loss
and replaces one record: there the sensitivity is 2 / (n Lambda). Here the objective is the *sum*,

    J(w) = sum over included i of log(1 + exp(-y_i w.x_i)) + Lambda / 2 |w|^2,      |x_i| <= 1,

so that the number of terms, which adding and removing change, appears nowhere.

Sensitivity. Let w minimise J, and w' minimise J' = J - l_j. As grad J(w) = 0, grad J'(w) = -grad l_j(w), whose norm
is at most |x_j| <= 1, the logistic loss being 1-Lipschitz. J' is Lambda-strongly convex, hence
Lambda |w - w'| <= |grad J'(w) - grad J'(w')| = |grad J'(w)| <= 1. So one term moves the minimiser by at most
1 / Lambda. The fit stops where |grad J| <= GRADIENT, thus within GRADIENT / Lambda of the minimiser: two fits are
at most (1 + 2 GRADIENT) / Lambda apart.

Privacy. Noise of density proportional to exp(-beta |b|) with beta = epsilon / sensitivity: by the triangle
inequality the densities of a release under neighbouring sets differ by a factor of at most exp(epsilon).

The noise is drawn in floating point from a generator that is not cryptographic: good for measuring, not for use.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor
from torch_geometric.data import Data

from gaudit.targets.models.propagation import sparse_operator

Floats: TypeAlias = NDArray[np.float64]

GRADIENT = 1e-8  # norm at which the fit has converged
ITERATIONS = 200
SHORTEST = 1e-6  # a shorter step means that the objective no longer resolves the gain: take the full one


def aggregated_rows(x: Tensor, edge_index: Tensor) -> Floats:
    """The mean of each node's and its neighbours' features, scaled down to norm 1 where longer, [n, d].

    ``x`` is [n, d]; ``edge_index`` [2, e] leads from neighbour to node.
    """
    nodes = len(x)
    neighbour, node = (torch.cat([part, torch.arange(nodes)]) for part in edge_index)
    share = 1 / torch.bincount(node, minlength=nodes).double()
    mean = (sparse_operator(node, neighbour, share[node], (nodes, nodes)) @ x.double()).numpy()
    rows: Floats = mean / np.maximum(1, np.linalg.norm(mean, axis=1, keepdims=True))
    return rows


@dataclass(frozen=True)
class OutputPerturbation:
    """Epsilon-DP logistic regression, per term of the loss (see the module).

    Attributes:
        epsilon: of one release; k releases of one fit cost k times as much.
        regularisation: Lambda of the sum-form objective.

    Raises ValueError where one of them is not positive.
    """

    epsilon: float
    regularisation: float = 1.0

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and self.regularisation > 0):
            raise ValueError(
                f"epsilon and regularisation must be positive, not {self.epsilon}, {self.regularisation}"
            )

    @property
    def sensitivity(self) -> float:
        """How far one term of the loss moves the fit at most."""
        return (1 + 2 * GRADIENT) / self.regularisation

    def fit(self, rows: Floats, labels: NDArray[np.int64]) -> Floats:
        """The minimiser [d] before noise; it is secret.

        Args:
            rows: of the included nodes, [n, d], of norm at most 1.
            labels: -1 or 1, [n].

        Raises:
            ValueError: a row is longer than 1, or a label is something else.
            RuntimeError: Newton's method did not converge.
        """
        if not np.isin(labels, (-1, 1)).all():
            raise ValueError("labels must be -1 or 1")
        if len(rows) and np.linalg.norm(rows, axis=1).max() > 1 + 1e-12:
            raise ValueError("rows must have norm 1 at most: the sensitivity rests on it")
        signed, weights = rows * labels[:, None], np.zeros(rows.shape[1])
        for _ in range(ITERATIONS):
            gradient, hessian = self._derivatives(signed, weights)
            if np.linalg.norm(gradient) <= GRADIENT:
                return weights
            newton = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
            weights = self._line_search(signed, weights, gradient, newton)
        raise RuntimeError(f"no minimum after {ITERATIONS} Newton steps")

    def release(self, weights: Floats, rng: np.random.Generator, copies: int = 1) -> Floats:
        """Independent releases of one fit, [copies, d]; each alone costs epsilon.

        A direction uniform on the sphere and a length from Gamma(d, sensitivity / epsilon) have the density.
        """
        dimension = len(weights)
        direction = rng.normal(size=(copies, dimension))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        length = rng.gamma(dimension, self.sensitivity / self.epsilon, size=(copies, 1))
        return weights + length * direction

    def log_likelihood_ratio(self, released: Floats, inside: Floats, outside: Floats) -> Floats:
        """Log density of each release [k, d] if the fit was ``inside`` minus that if it was ``outside``, [k].

        The strongest score there is, for an adversary who knows everything but one term.
        """
        away: list[Floats] = [np.linalg.norm(released - fit, axis=1) for fit in (outside, inside)]
        return self.epsilon / self.sensitivity * (away[0] - away[1])

    def _objective(self, signed: Floats, weights: Floats) -> float:
        return float(np.logaddexp(0, -signed @ weights).sum() + self.regularisation / 2 * weights @ weights)

    def _derivatives(self, signed: Floats, weights: Floats) -> tuple[Floats, Floats]:
        wrong = expit(-signed @ weights)
        gradient = self.regularisation * weights - wrong @ signed
        hessian = (signed * (wrong * (1 - wrong))[:, None]).T @ signed
        return gradient, hessian + self.regularisation * np.eye(len(weights))

    def _line_search(self, signed: Floats, weights: Floats, gradient: Floats, newton: Floats) -> Floats:
        """The full Newton step, halved until the objective falls enough (Armijo); rounding hides the last gain."""
        start, slope = self._objective(signed, weights), float(gradient @ newton)
        size = 1.0
        while size > SHORTEST and self._objective(signed, weights - size * newton) > start - 1e-4 * size * slope:
            size /= 2
        moved: Floats = weights - (size if size > SHORTEST else 1.0) * newton
        return moved


def hard_case(canaries: int = 1, dimension: int = 2, push: float = 7.0, lean: float = 0.005) -> Data:
    """A graph on which one term moves the fit by almost the sensitivity, for regularisation 1.

    Each of the first ``canaries`` nodes stands alone with a unit feature of its own and label 1. Along the same
    feature, pairs of linked nodes with features 1 and 2 lean - 1 and label -1 have aggregated rows of length
    ``lean``: so many that they move the fit by about -``push``, and so short that their curvature is small beside
    the regularisation. The canary is then misclassified with certainty; its gradient is almost 1, and nothing but
    the regularisation holds against it. (With a shift D: D = 1 / (1 + e^(D - push)), nearly 1.)

    ``x`` [n, dimension], ``edge_index``, ``y`` of -1 and 1; the other dimensions are empty.
    """
    if not 1 <= canaries <= dimension:
        raise ValueError(f"every canary needs a dimension of its own: {canaries} canaries, {dimension} dimensions")
    pairs = int(np.ceil(push * (1 + push * lean / 2) / lean))
    axes = torch.arange(canaries)
    left = torch.arange(canaries, canaries + canaries * pairs)
    x = torch.zeros(canaries + 2 * canaries * pairs, dimension, dtype=torch.float64)
    x[axes, axes] = 1.0
    x[left, axes.repeat_interleave(pairs)] = 1.0
    x[left + len(left), axes.repeat_interleave(pairs)] = 2 * lean - 1
    links = torch.stack([left, left + len(left)])
    y = torch.full((len(x),), -1)
    y[:canaries] = 1
    return Data(x=x, edge_index=torch.cat([links, links.flip(0)], dim=1), y=y)
