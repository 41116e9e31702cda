"""A run that was recorded before, by gaudit or by a pipeline of the user's own."""

from typing import Any

import numpy as np
from pydantic import Field
from torch_geometric.data import Data

from ...errors import InputError
from ...registry import find
from ...settings import Settings
from ..channel import Retention
from ..defense import Defense
from ..device import Device
from ..games.membership import NODE_GAMES, LabelMembership
from ..messages import CONDENSED_KIND, KINDS
from ..target import Offers, Progress, Run, Target, Utility, no_progress
from ..transcript import Transcript


class RecordedSettings(Settings):
    """Settings of `Recorded`."""

    transcript: str = Field(description="the file that holds what was sent")
    of: str = Field("classifier", description="the target that it was recorded from, or is like")
    settings: dict[str, Any] = Field(default_factory=dict, description="its settings, as far as known")
    device: Device = "cpu"


class Recorded(Target):
    """A run that was recorded before: its transcript is attacked, and nothing is run.

    Members are the train nodes of the graph, non-members its test nodes. The settings of the target that it was
    recorded from say the game, and how models were trained. Accuracy is not measured, and nobody recorded which
    defense was in place.
    """

    name = "recorded"
    release = CONDENSED_KIND
    release_phrase = "what was recorded"
    sends = tuple(KINDS)
    games = tuple(NODE_GAMES)
    runs_elsewhere = True
    Settings = RecordedSettings
    settings: RecordedSettings

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        return {}

    @property
    def original(self) -> Target:
        """The target that the run was recorded from."""
        made: Target = find("targets", self.settings.of)(**self.settings.settings)
        return made

    @property
    def like(self) -> type[Target]:
        return type(self.original)

    @property
    def offers(self) -> Offers:
        """What the target that it was recorded from offers."""
        return self.original.offers

    def why_not(self, defense: Defense) -> str | None:
        if type(defense) is Defense:
            return None
        return "the run took place already: put the defense before the pipeline and record that"

    def files(self) -> tuple[str, ...]:
        return (self.settings.transcript,)

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        path, offers = self.settings.transcript, self.offers
        transcript = Transcript.load(path)
        train, test = data.train_mask.cpu().numpy(), data.test_mask.cpu().numpy()
        subjects = np.flatnonzero(train | test)
        game = NODE_GAMES[offers.game or LabelMembership.name](subjects=subjects, truth=train[subjects])
        rounds = [m.round for m in transcript.messages if m.receiver == "public"]
        if not rounds:
            raise InputError(f"the transcript {path} holds no released message: record the run with its release")
        nothing = Utility(max(rounds), float("nan"), float("nan"), float("nan"))
        return Run(transcript, {game.name: game}, (nothing,), 0, self._notes(max(rounds)), recipe=offers.recipe)

    def assumed(self) -> dict[str, Any]:
        """What attacks need to know that the record does not hold, as the settings of the target have it."""
        of, offers = self.original.settings, self.offers
        names = {"game", "recipe"} if offers.recipe is not None else set[str]()
        names |= {"features"} if offers.features != "given" else set()
        return of.model_dump(mode="json", include=names)

    def _notes(self, round_: int) -> tuple[str, ...]:
        assumed = self.assumed()
        return (
            f"the release of round {round_}; which defense was in place is not recorded",
            *((f"not recorded but assumed: {assumed}",) if assumed else ()),
        )
