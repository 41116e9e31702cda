"""Training on the subgraph that an information bottleneck keeps (SOS, Section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...randomness import branch
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client
from .random_subgraph import SubgraphSettings, check_edges, confined, mask_of, subgraph_size
from .sub_gib_settings import SubGIBSettings

if TYPE_CHECKING:
    from torch import Tensor


class IBSubgraphSettings(SubgraphSettings, SubGIBSettings):
    """Settings of `IBSubgraph`; defaults are the paper's."""

    keep: Literal["top-k", "hcw"] = Field(
        "top-k", description="the int(rho n) nodes of highest IN, or all with IN >= OUT whatever rho is (SOS-HCW)"
    )


class IBSubgraph(Defense):
    """Trains each client on its IB-subgraph (SOS): nodes that Sub-GIB ranks lower lose their edges and labels.

    Each client computes it once, from its own data. Training never sees an edge that was dropped; but which ones
    were depends on all of them, and those that are kept can leak as before. The paper does not compare it with a
    random subgraph of the same size.
    """

    name = "ib-subgraph"
    phrase = "with IB-subgraphs"
    strength = "rho"
    sweep = (0.7, 0.5, 0.3, 0.1)
    alternative = "random-subgraph"
    guarantee = None  # an information bound without a finite number: nothing to check an output against
    Settings = IBSubgraphSettings
    settings: IBSubgraphSettings

    @classmethod
    def preset(cls, preset: str) -> dict[str, Any]:
        return {"hidden": 64, "epochs": 50, "lr": 5e-3} if preset == "quick" else {}

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        s = self.settings
        check_edges(client)
        size = subgraph_size(client, s.rho) if s.keep == "top-k" else 0
        from .sub_gib import node_scores

        scores = node_scores(client, s, branch(seed, "sub-gib")).cpu().numpy()
        if s.keep == "top-k":
            kept = highest(scores, size, np.random.default_rng(branch(seed, "ties")))
        else:
            kept = majority(scores, client)
        return confined(client, mask_of(kept, client))


def highest(scores: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of the ``count`` highest of ``scores`` [n], ties by lot."""
    shuffled = rng.permutation(len(scores))
    best = np.argsort(-scores[shuffled], kind="stable")[:count]
    chosen: np.ndarray = shuffled[best]
    return chosen


def majority(scores: np.ndarray, client: Client) -> np.ndarray:
    """Positions of the nodes with IN >= OUT.

    Raises:
        InputError: fewer than two, which happens often: the loss has no term that keeps IN up (SOS, section 5.3).
    """
    kept = np.flatnonzero(scores >= 0.5)
    if len(kept) < 2:
        raise InputError(
            f"{client.name} keeps {len(kept)} of {len(scores)} nodes with IN >= OUT, and an edge needs 2: "
            "set keep to 'top-k'"
        )
    return kept
