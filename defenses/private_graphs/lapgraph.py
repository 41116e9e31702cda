"""LapGraph: as many edges as a noisy count says, where noisy cells are largest (Wu et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, model_validator

from ...errors import InputError
from ...graphs.network import Floats, Ints
from ...graphs.pair_codes import codes, ends, pairs_beside
from ...mechanisms.exact_noise import discrete_laplace
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon, laplace_scale
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client
from .dp_graph import MOST_EDGES

if TYPE_CHECKING:
    from torch import Tensor

LEAST_EPSILON = 2.0**-50


class LapGraphSettings(Settings):
    """Settings of `LapGraph`."""

    epsilon: float = Field(6.0, gt=0, description="for one edge more or less, for the whole run")
    count: float = Field(0.01, gt=0, lt=1, description="share of epsilon that is spent on the number of edges")

    @model_validator(mode="after")
    def _noise_can_be_drawn(self) -> LapGraphSettings:
        if self.count * self.epsilon < LEAST_EPSILON:
            raise ValueError(f"count times epsilon is below {LEAST_EPSILON:g}: no noise can be drawn for that")
        return self

    @property
    def for_count(self) -> Fraction:
        """The part of epsilon that is spent on the number of edges."""
        return drawable_epsilon(self.count * self.epsilon)

    @property
    def scale(self) -> float:
        """Of the Laplace noise on each cell."""
        return 1 / (self.epsilon - float(self.for_count))


class LapGraph(Defense):
    """Laplace noise on each cell of the adjacency's upper triangle; the largest cells become the edges.

    How many is a noisy count of the edges. One edge moves the count by 1 and one cell by 1, so noise of scale
    1 / epsilon_1 on the count and 1 / epsilon_2 on the cells promises epsilon_1 + epsilon_2, and which cells are
    the largest costs nothing more. Unlike randomised response it keeps the graph sparse. Nodes, features and labels
    are public.

    Of the cells without an edge only the largest are drawn: the order statistics of so many Laplace numbers, at
    places drawn at random, which is the same law. Time and memory go with the edges that are told.

    Source: Wu, Long, Zhang and Li (S&P 2022), section V and algorithm 3, with epsilon_1 = 0.01 epsilon. As in
    `edge-randomised-response`, edges to other clients are dropped.
    """

    name = "lapgraph"
    phrase = "on a graph of noisy cells"
    strength = "epsilon"
    sweep = (8.0, 6.0, 4.0)
    alternative = "fewer-edges"
    guarantee = (
        "epsilon-edge differential privacy of the graph that is trained on, for the whole run: one edge more or "
        "less (not of answers computed on the true edges, nor of what features and labels tell of them; float "
        "sampler)"
    )
    Settings = LapGraphSettings
    settings: LapGraphSettings

    def promise(self) -> Guarantee:
        return Guarantee(
            "edge",
            "add/remove",
            "central",
            self.settings.epsilon,
            accountant="discrete Laplace noise on the number of edges and Laplace noise on every pair, once for "
            "the whole run; cells of floats",
            public=("the client's nodes, features and labels",),
            covers="what is computed on the changed edges",
        )

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        import torch

        size, s = len(client.nodes), self.settings
        row, col = client.edges.cpu().numpy()
        before = np.unique(codes(row, col, size)[row != col])
        rng = np.random.default_rng(seed)
        told = len(before) + int(discrete_laplace(laplace_scale(1, s.for_count), 1, rng)[0])
        told = min(max(told, 0), size * (size - 1) // 2)
        if told > MOST_EDGES:
            raise InputError(
                f"'{self.name}' with epsilon {s.epsilon:g} would make {told:,} edges of '{client.name}': expected "
                f"at most {MOST_EDGES:,}; a larger epsilon adds less noise"
            )
        after = torch.from_numpy(np.stack(ends(largest_cells(before, size, told, s.scale, rng), size)))
        both = torch.cat([after, after.flip(0)], 1).to(client.edges.device)
        return replace(client, edges=both, cut=client.cut[:, :0])


def largest_cells(edges: Ints, size: int, told: int, scale: float, rng: np.random.Generator) -> Ints:
    """Codes of the ``told`` pairs whose cell (1 for an edge, else 0) is largest with Laplace noise, ascending."""
    others = size * (size - 1) // 2 - len(edges)
    values = np.concatenate([1 + rng.laplace(0, scale, len(edges)), largest_noise(others, told, scale, rng)])
    ranks = rng.choice(others, len(values) - len(edges), replace=False) if others else np.empty(0, dtype=np.int64)
    pairs = np.concatenate([edges, pairs_beside(ranks, edges, size)])
    return np.sort(pairs[np.argsort(-values)[:told]])


def largest_noise(count: int, wanted: int, scale: float, rng: np.random.Generator) -> Floats:
    """The largest of ``count`` independent Laplace numbers, descending, [min(count, wanted)].

    The least of so many exponential numbers are sums of gaps, each exponential with the number of those left as its
    rate (Renyi 1953); they are minus the logarithms of what remains below each.
    """
    wanted = min(count, wanted)
    below = np.cumsum(rng.exponential(size=wanted) / (count - np.arange(wanted)))
    tail = -np.expm1(-below)  # the chance that a number is larger
    found: Floats = scale * np.where(tail < 0.5, -np.log(2 * tail), np.log(2) - below)
    return found
