"""A condensed graph that was released already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field

from ...errors import InputError
from ...graphs.files.digests import digests
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.membership import NODE_GAMES, by_masks
from ..messages import CONDENSED_KIND
from ..recording import UNKNOWN
from ..target import Offers, Progress, Run, Utility, no_progress
from .brought import Brought
from .released_file import read_released

if TYPE_CHECKING:
    from torch_geometric.data import Data


class ReleasedSettings(Settings):
    """Settings of `Released`."""

    file: str = Field(description="the released graph: .npz, .pt or .safetensors")
    labels: str | None = Field(None, description="its labels, where they are in a file of their own")
    adjacency: str | None = Field(None, description="its adjacency, where it is in a file of its own")
    no_edges: bool = Field(False, description="it is meant to be without edges, as structure-free methods have it")
    game: Literal["label-membership", "node-presence"] = "label-membership"


class Released(Brought):
    """A condensed graph that was released already, by any tool: its file beside the private graph.

    Members are the train nodes of the graph, non-members its test nodes. Nothing is made up: a release without
    labels or edges is attacked by what needs none, and the other attacks are refused by name.
    """

    name = "released"
    release = CONDENSED_KIND
    release_phrase = "the released graph"
    sends = (CONDENSED_KIND,)
    games = tuple(NODE_GAMES)
    runs_elsewhere = True
    Settings = ReleasedSettings
    settings: ReleasedSettings

    @classmethod
    def example(cls, data: Data, folder: Path) -> dict[str, Any]:
        np.savez(folder / "release.npz", x=data.x[:6].cpu().numpy())
        return {"file": str(folder / "release.npz")}

    @property
    def offers(self) -> Offers:
        """Nobody but the public, and one game."""
        return Offers(0, game=self.settings.game)

    def why_not(self, defense: Defense) -> str | None:
        return None if type(defense) is Defense else "the graph is released already: release it with the defense"

    @property
    def reads(self) -> Mapping[str, str]:
        s = self.settings
        return digests(file for file in (s.file, s.labels, s.adjacency) if file is not None)

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        parts, s = self._parts_for(data), self.settings
        secrets = by_masks(s.game, data)
        channel = Channel(retain=retain)
        channel.send(CONDENSED_KIND, "server", "public", 0, parts)
        lacking = [name for name, part in (("labels", "y"), ("edges", "adjacency")) if part not in parts]
        notes = ["which defense was in place is not known"]
        notes += [f"the release has no {' and no '.join(lacking)}"] if lacking else []
        return Run(channel.transcript, {s.game: secrets}, (Utility.of_test(0),), 0, tuple(notes), in_place=UNKNOWN)

    def check(self, data: Data) -> None:
        self._parts_for(data)

    def _parts_for(self, data: Data) -> dict[str, torch.Tensor]:
        parts, width = self._parts(), int(data.num_features)
        if parts["x"].shape[1] != width:
            raise InputError(
                f"{self.settings.file}: the released graph has {parts['x'].shape[1]} features, the original has "
                f"{width}"
            )
        return parts

    def _parts(self) -> dict[str, torch.Tensor]:
        s = self.settings
        parts = read_released(s.file)
        rows = len(parts["x"]) if "x" in parts else None
        for part, file in (("y", s.labels), ("adjacency", s.adjacency)):
            if file is not None:
                apart = read_released(file, part, rows)
                if part not in apart:
                    raise InputError(f"{file}: holds no {'labels' if part == 'y' else 'adjacency'}")
                parts[part] = apart[part]
        if "x" not in parts:
            raise InputError(f"{s.file}: holds no features: expected a matrix 'x' [rows, features]")
        if s.no_edges:
            if "adjacency" in parts:
                raise InputError(f"{s.file}: no_edges is set, and the release has edges: leave it out")
            parts["adjacency"] = torch.zeros(len(parts["x"]), len(parts["x"]))
        for part, shape in (("y", (len(parts["x"]),)), ("adjacency", (len(parts["x"]),) * 2)):
            if part in parts and tuple(parts[part].shape) != shape:
                raise InputError(f"{s.file}: '{part}' is {list(parts[part].shape)}: expected {list(shape)}")
        return parts
