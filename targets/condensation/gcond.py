"""GCond: graph condensation by matching the gradients of a model in training (Jin et al. 2022b)."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ..models.backbone import BackboneName
from .central import CentralCondensation, CentralSettings, OwnGraph
from .condensed import CondensedGraph
from .gradient_distance import Distance
from .local import Steps, matched, started_alone
from .matching import ClassCells, MatchingServer, MatchingSettings
from .released import check_checkpoints


class GCondSettings(CentralSettings, MatchingSettings):
    """Settings of `GCond`. Defaults: the released code for Cora and CiteSeer."""

    init: Literal["noise", "real"] = Field("real", description="first condensed features")
    backbone: BackboneName = "sgc"
    distance: Distance = "columns"
    lr_features: float = Field(1e-4, gt=0)
    lr_structure: float = Field(1e-4, gt=0)
    rounds: int = Field(600, ge=1, description="models drawn")
    outer: int = Field(20, ge=1, description="steps on the condensed graph for each model")
    inner: int = Field(15, ge=0, description="steps of the model on the condensed graph between them")
    lr_model: float = Field(0.01, gt=0, description="of these")
    checkpoints: tuple[int, ...] = Field((400, 600), description="rounds that release")

    @model_validator(mode="after")
    def _rounds_fit(self) -> "GCondSettings":
        check_checkpoints(self.checkpoints, self.rounds)
        return self


class GCond(CentralCondensation):
    """Matches gradients along the training of many models on the condensed graph (Jin et al., ICLR 2022).

    For each fresh model: its gradients on the real labelled nodes of each class, a step of the condensed features
    or of the structure generator towards gradients alike, a few training steps of the model on the condensed
    graph, and again. Where text and released code disagree: the model is SGC (code), biases are not matched
    (code), weak links are cut in what is released (text). First features have the labels of their condensed nodes;
    the code's have those of others. Neighbourhoods are exact unless ``batch``
    and ``neighbours`` are set; the code draws 256 nodes of a class, 10 neighbours of each, and 5 of each of these.
    """

    name = "gcond"
    matches_gradients = True
    quick: ClassVar[dict[str, Any]] = {
        "rounds": 60,
        "checkpoints": (30, 60),
        "lr_features": 1e-3,
        "lr_structure": 1e-3,
    }
    Settings = GCondSettings
    settings: GCondSettings

    def server(self, graph: OwnGraph, seed: np.random.SeedSequence) -> MatchingServer:
        """The condensed graph before its first step."""
        begun, graph.copied = started_alone(self.settings, graph.owner, graph.size, seed)
        return begun

    def releases(self, graph: OwnGraph, seed: np.random.SeedSequence) -> Iterator[tuple[int, CondensedGraph]]:
        s, owner = self.settings, graph.owner
        server = self.server(graph, seed)
        cells = ClassCells(owner, graph.near, graph.change, s.sampling(seed))
        steps = Steps(s.outer, s.inner, s.lr_model)
        for done in matched(server, cells, graph.term, s.rounds, steps):
            graph.progress("condensing", done, s.rounds)
            if done in s.checkpoints:
                yield done, server.release()
