"""Scores that know who is a member: the control of tables that others made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.given import GivenLabels
from ..messages import SCORES_KIND
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedLeak

if TYPE_CHECKING:
    from torch_geometric.data import Data


class PlantedScores(PlantedLeak):
    """A control that leaks on purpose: scores that are the truth and a little noise (dataset `planted`)."""

    name = "planted-scores"
    release = SCORES_KIND
    release_phrase = "what was planted"
    sends = (SCORES_KIND,)
    dataset = "planted"
    games = (GivenLabels.name,)
    Settings = Settings

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        train, test = data.train_mask.numpy(), data.test_mask.numpy()
        subjects = np.flatnonzero(train | test)
        game = GivenLabels(subjects=subjects, truth=train[subjects], table=int(data.num_nodes or 0))
        noise = np.random.default_rng(branch(seed, "noise")).normal(scale=0.5, size=len(subjects))
        channel = Channel(retain=retain)
        score = torch.from_numpy(game.truth + noise)
        channel.send(SCORES_KIND, "server", "public", 1, {"subjects": torch.from_numpy(subjects), "score": score})
        nothing = Utility.of_test(1, 1.0)
        return Run(channel.transcript, {game.name: game}, (nothing,), 0, tested=0)
