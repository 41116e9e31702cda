"""Randomised response on a client's edges: edge-local differential privacy of all that is computed on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Ints
from ...graphs.pair_codes import codes, pairs_at
from ...mechanisms.guarantee import Guarantee
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor

MOST_FLIPS = 20_000_000
"""Of pairs of one client, expected; a graph of that many edges is refused rather than trained on for hours."""


def flip_chance(epsilon: float) -> float:
    """Probability 1 / (1 + e^epsilon) that an answer is changed (Warner 1965)."""
    return float(np.exp(-np.logaddexp(0.0, epsilon)))


class EdgeResponseSettings(Settings):
    """Settings of `EdgeRandomisedResponse`."""

    epsilon: float = Field(6.0, gt=0, description="per pair of nodes of one client, for the whole run")

    @property
    def flip(self) -> float:
        """Probability that a pair changes sides."""
        return flip_chance(self.epsilon)


class EdgeRandomisedResponse(Defense):
    """Each pair of a client's nodes flips, edge or not, with probability 1 / (1 + e^epsilon) before anything else.

    Warner's randomised response on the rows of an adjacency matrix (edge-local differential privacy; Qin et
    al. 2017, and EdgeRand in Wu et al. 2022), on unordered pairs, so that the graph stays undirected. Flipped
    once per run, so the epsilon is that of the run and does not grow with rounds: whatever the client sends is
    at most e^epsilon times likelier with one edge more or less. Features, labels and the number of nodes are
    not covered, and neither is what they tell of edges; nor is anything that a pipeline computes on the edges as
    they were (`fedavg` and its kin publish posteriors on these unless ``answer_with`` is ``defended``).

    Edges to other clients are dropped. Both ends know them, and a coin of each end would make a graph that
    the two do not agree on; dropped, they leave no trace and need no epsilon.

    The noise is what makes it costly: among n nodes about n^2 / (2 e^epsilon) edges appear that were none, as
    many as there were at an epsilon of about ln(n / average degree). `DegreePreservingResponse` keeps few of them.
    """

    name = "edge-randomised-response"
    phrase = "with randomised response on edges"
    strength = "epsilon"
    sweep = (8.0, 6.0, 4.0)
    alternative = "fewer-edges"
    accountant = "randomised response on every pair, once for the whole run; coins of floats"
    way_out = "raise epsilon, divide the graph among more clients, or take 'degree-preserving-response'"
    guarantee = (
        "epsilon-edge-local differential privacy of the client's edges, for the whole run: "
        "one edge more or less (not of answers computed on the true edges, nor of what features and labels tell of "
        "them; float sampler)"
    )
    Settings = EdgeResponseSettings
    settings: EdgeResponseSettings

    def promise(self) -> Guarantee:
        return Guarantee(
            "edge",
            "add/remove",
            "local",
            self.settings.epsilon,
            accountant=self.accountant,
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
        size = len(client.nodes)
        row, col = client.edges.cpu().numpy()
        before = np.unique(codes(row, col, size)[row != col])
        after = self.answered(before, size, client.name, np.random.default_rng(seed))
        return replace(client.with_edges(after), cut=client.cut[:, :0])

    def answered(self, edges: Ints, size: int, owner: str, rng: np.random.Generator) -> Ints:
        """Codes of the pairs that are edges afterwards, ascending, from those that are; of ``size`` nodes."""
        flip = self.settings.flip
        self.refuse_too_many(flip * size * (size - 1) / 2, f"{size} nodes of '{owner}'")
        flipped = pairs_at(successes(size * (size - 1) // 2, flip, rng), size)
        return np.setxor1d(edges, flipped, assume_unique=True)

    def refuse_too_many(self, expected: float, among: str) -> None:
        """Stops before so many false edges are drawn that nobody could train on them.

        Raises:
            InputError: more than `MOST_FLIPS` are to be expected.
        """
        if expected > MOST_FLIPS:
            made = f"makes about {expected:.2g} false edges among the {among}"
            raise InputError(f"'{self.name}' with epsilon {self.settings.epsilon:g} {made}: {self.way_out}")


def successes(trials: int, chance: float, rng: np.random.Generator) -> Ints:
    """Which of ``trials`` independent coins come up, ascending.

    Their number is binomial; given it, the places are drawn by their gaps, which are geometric: memory and
    time go with the successes alone.
    """
    found, last = [], -1
    while last < trials - 1 and chance > 0:
        likely = (trials - 1 - last) * chance
        gaps = rng.geometric(chance, size=int(likely + 4 * np.sqrt(likely)) + 16)
        # a gap beyond the end ends it all the same, and sums of such gaps must not overflow
        places = last + np.cumsum(np.minimum(gaps, trials + 1))
        found.append(places[places < trials])
        last = int(places[-1])
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)
