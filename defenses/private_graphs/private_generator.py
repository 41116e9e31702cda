"""A graph drawn from a generator that was trained with noisy gradients: DPGGAN without what breaks its promise."""

import math
from fractions import Fraction

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Floats, Ints, Network
from ...mechanisms.accounting import least_noise
from ...mechanisms.exact_noise import discrete_gaussian
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon, linked
from ...mechanisms.renyi import renyi_of_gaussian
from ...randomness import branch
from .dp_graph import PrivateGraph, PrivateGraphSettings
from .ldpgen import shrunk

GRID = 1024
"""Steps of a grid from 0 to 1 that positions are rounded to, so that their sums are whole numbers."""
DEGREES = 0.2
"""Share of the budget that numbers of neighbours get."""
REACH = 8.0
"""Of the inner product of two positions, in logits: from -REACH to REACH."""
SLOW = 10.0
"""Added to a number of neighbours where it divides a step, so that nodes with few of them do not follow noise."""
FITS = 10
"""Corrections of nodes' offsets before the first step and after the last."""
MOST_NODES = 20_000
"""Every step looks at all pairs."""
BLOCK = 20_000_000
"""Pairs that are looked at in one go."""
Generator = tuple[Floats, Floats]
"""Positions [n, d] of length 1 at most, and offsets [n]."""


class PrivateGeneratorSettings(PrivateGraphSettings):
    """Settings of `PrivateGenerator`."""

    delta: float = Field(1e-6, gt=0, lt=1, description="of the promise; far below 1 / nodes")
    steps: int = Field(10, ge=1, le=1000, description="noisy gradients; more of them get more noise each")
    dimensions: int = Field(8, ge=1, le=256, description="of a node's position")


class PrivateGenerator(PrivateGraph):
    """A generator of graphs is trained by noisy gradients, and one graph is drawn from it.

    The generator is the decoder of a graph autoencoder: nodes i and j are linked with the chance
    sigmoid(8 z_i z_j + s_i + s_j), where z_i is a position of length 1 at most. The log-likelihood of the graph has
    the gradient sum_j (a_ij - p_ij) z_j for node i, and only A Z reads the edges, the rest follows from what is
    known. So each step reads A Z with noise. Positions are whole multiples of 1 / 1024, and an edge adds z_j to
    one row and z_i to another: it changes A Z by sqrt(2) at most, in the L2 norm, without any clipping. Offsets
    follow from the nodes' numbers of neighbours, which an edge changes by sqrt(2) also; they are read once,
    with a fifth of the budget. All noise is discrete Gaussian, drawn exactly, and the Renyi divergence of each
    release is at most that of Gaussian noise (Canonne, Kamath and Steinke 2020, Proposition 5).

    Source:
        Yang et al. 2021 ("Secure deep graph generation with link differential privacy", IJCAI), DPGGAN: a graph
        autoencoder with a discriminator, trained by DP-SGD. Differences: no encoder, whose convolutions let one
        edge change every example, so that a clip of each bounds nothing; positions are learned themselves. No
        discriminator, which would read the graph once more. All edges in every step, so that no chance of being
        drawn enters the account.

    Unlike in `dp-1k` a position stays with its node: the release tells, with noise, who has many links and among
    whom.
    """

    name = "private-generator"
    phrase = "replaced by a graph of a privately trained generator"
    alternative = "random-edit"
    guarantee = (
        "(epsilon, delta)-differential privacy, central: one edge more or less changes no probability of published "
        "graphs by more than a factor e^epsilon and delta, for those who know neither noise nor seed; nodes and "
        "their number are public"
    )
    Settings = PrivateGeneratorSettings
    settings: PrivateGeneratorSettings

    def promise(self) -> Guarantee:
        return Guarantee(
            "edge",
            "add/remove",
            "central",
            drawable_epsilon(self.settings.epsilon),
            self.settings.delta,
            accountant=(
                f"Renyi divergences of discrete Gaussian noise, drawn exactly, on numbers of neighbours and on "
                f"{self.settings.steps} gradients"
            ),
            public=("the nodes and their number", "steps and dimensions"),
        )

    def variances(self) -> tuple[Fraction, Fraction]:
        """Of the noise in numbers of neighbours, and in each entry of A Z on the grid.

        Raises:
            InputError: an epsilon that no noise keeps at this delta.
        """
        single = least_noise(self.settings.epsilon, self.settings.delta, renyi_of_gaussian) ** 2
        degrees = 2 * single / DEGREES
        gradients = 2 * GRID**2 * single * self.settings.steps / (1 - DEGREES)
        return Fraction(math.ceil(degrees * GRID), GRID), Fraction(math.ceil(gradients * GRID), GRID)

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        """The graph.

        Raises:
            InputError: fewer than two nodes or over `MOST_NODES`, counts instead of edges, or an epsilon that no
                noise keeps.
        """
        network = linked(network, 2)
        if network.nodes > MOST_NODES:
            raise InputError(
                f"'{self.name}' looks at all pairs of {network.nodes:,} nodes in every step: expected at most "
                f"{MOST_NODES:,}; 'dp-1k' and 'ldpgen' take larger networks"
            )
        return drawn(self.trained(network, seed), np.random.default_rng(branch(seed, "graph")))

    def trained(self, network: Network, seed: np.random.SeedSequence) -> Generator:
        """The generator; it reads the edges through noisy numbers alone."""
        noise, (of_degrees, of_gradients) = self.noise(seed), self.variances()
        adjacency = network.adjacency.astype(np.int64)
        told = network.degrees + discrete_gaussian(of_degrees, network.nodes, noise)
        degrees = believed(told, float(of_degrees))
        positions = first(network.nodes, self.settings.dimensions, np.random.default_rng(branch(seed, "start")))
        offsets = np.log(degrees) - 0.5 * math.log(max(float(degrees.sum()), 1.0))
        offsets = fitted(degrees, positions, offsets)
        for _ in range(self.settings.steps):
            whole = on_grid(positions)
            noisy = adjacency @ whole + discrete_gaussian(of_gradients, whole.size, noise).reshape(whole.shape)
            pulled, reached = expected(positions, offsets)
            offsets = offsets + correction(degrees, reached)
            positions = shortened(positions + (noisy / GRID - pulled) / (degrees + SLOW)[:, None])
        return positions, fitted(degrees, positions, offsets)


def believed(told: Ints, variance: float) -> Floats:
    """Noisy numbers of neighbours, drawn to their mean by as much as noise explains, above 0 and below n, [n]."""
    near = shrunk(told.astype(np.float64), variance)
    found: Floats = np.clip(near, 1 / len(told), len(told) - 1.0)
    return found


def first(nodes: int, dimensions: int, rng: np.random.Generator) -> Floats:
    """Random positions of length 0.3, [n, d]."""
    found = rng.normal(size=(nodes, dimensions))
    started: Floats = 0.3 * found / np.linalg.norm(found, axis=1, keepdims=True)
    return started


def shortened(positions: Floats) -> Floats:
    """Positions, brought to a length of 1 where they are longer, [n, d]."""
    found: Floats = positions / np.maximum(np.linalg.norm(positions, axis=1, keepdims=True), 1.0)
    return found


def on_grid(positions: Floats) -> Ints:
    """Whole multiples of 1 / `GRID`, towards 0: no row is longer than `GRID`, whatever floats do, [n, d]."""
    length = np.maximum(np.linalg.norm(positions, axis=1, keepdims=True), 1.0)
    found: Ints = np.trunc(positions * ((GRID - 1) / length)).astype(np.int64)
    return found


def expected(positions: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """Sums of neighbours' positions under the generator [n, d], and its mean numbers of neighbours [n]."""
    pulled, reached = np.zeros_like(positions), np.zeros(len(offsets))
    for rows in blocks(len(offsets)):
        chances = chance(positions, offsets, rows)
        pulled[rows], reached[rows] = chances @ positions, chances.sum(axis=1)
    return pulled, reached


def chance(positions: Floats, offsets: Floats, rows: slice) -> Floats:
    """Of a link between nodes of a block and all nodes; 0 with themselves, [b, n]."""
    from scipy.special import expit

    found: Floats = expit(REACH * (positions[rows] @ positions.T) + offsets[rows, None] + offsets)
    found[np.arange(len(found)), np.arange(rows.start, rows.start + len(found))] = 0
    return found


def blocks(nodes: int) -> list[slice]:
    """Of rows, so that one has at most `BLOCK` pairs."""
    size = max(1, BLOCK // nodes)
    return [slice(start, min(start + size, nodes)) for start in range(0, nodes, size)]


def fitted(degrees: Floats, positions: Floats, offsets: Floats) -> Floats:
    """Offsets that give about these numbers of neighbours, [n]."""
    for _ in range(FITS):
        offsets = offsets + correction(degrees, expected(positions, offsets)[1])
    return offsets


def correction(degrees: Floats, reached: Floats) -> Floats:
    """Of offsets, towards the numbers of neighbours that they should give, [n]."""
    return 0.7 * np.log(degrees / np.maximum(reached, 1e-9))


def drawn(made: Generator, rng: np.random.Generator) -> Network:
    """A graph of the generator: each pair is linked on its own."""
    positions, offsets = made
    found = []
    for rows in blocks(len(offsets)):
        chances = chance(positions, offsets, rows)
        one, other = np.nonzero(rng.random(chances.shape) < chances)
        one += rows.start
        found.append(np.stack([one, other])[:, one < other])
    return Network(len(offsets), np.concatenate(found, axis=1).astype(np.int64))
