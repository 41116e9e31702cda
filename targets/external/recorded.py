"""Runs that took place elsewhere and were recorded, by gaudit or by a pipeline of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field

from ...errors import InputError
from ...graphs.files.data_file import HOLDERS
from ...graphs.files.digests import digests
from ...randomness import branch
from ...registry import find, is_installed
from ...settings import Settings
from ..channel import Retention
from ..defense import Defense
from ..device import Device
from ..game import Game
from ..games.held import check_parties, checked_holders, held_by, read_holders
from ..games.links import NON_EDGES, EdgePresence, edge_presence
from ..games.lone_node import LoneNode, lone_nodes
from ..games.membership import NODE_GAMES, LabelMembership
from ..games.ownership import NodeOwnership, ownership_secrets
from ..messages import CONDENSED_KIND, KINDS, RELEASED_GRAPH
from ..models.training_config import TrainingConfig
from ..recording import (
    UNKNOWN,
    About,
    Recording,
    about_recording,
    as_declared,
    digest_of_recording,
    is_published_network,
    kinds_in,
    read_recording,
)
from ..target import Offers, Progress, Run, Target, Utility, no_progress
from .brought import Brought

if TYPE_CHECKING:
    from torch_geometric.data import Data


class RecordedSettings(Settings):
    """Settings of `Recorded`: where the record is, and what it does not say. What nobody says is unknown."""

    transcripts: tuple[str, ...] = Field(min_length=1, description="folders or files; each is one repetition")
    pipeline: str | None = Field(None, description="the target that ran, or is like what ran")
    game: Literal["label-membership", "node-presence"] | None = Field(None, description="which membership")
    recipe: TrainingConfig | None = Field(None, description="how models were trained, as far as you declare it")
    features: Literal["given", "row-shares"] | None = Field(None, description="how features were scaled")
    holders: str | None = Field(None, description=".npy file: the number of the client that holds each node")
    non_edges: int = Field(NON_EDGES, ge=1, description="pairs without an edge that are in question, at most")
    device: Device = "cpu"


class Recorded(Brought):
    """Runs that were recorded before: what was sent is attacked, and nothing is run.

    Members are those that the record names, else the train nodes of the graph; non-members its test nodes. Where it
    is known who holds which node, links, lone nodes and who holds whom are in question too. Accuracy is not
    measured. The defense is the one that the record declares: where it declares none, it is unknown.
    """

    name = "recorded"
    release = CONDENSED_KIND
    release_phrase = "what was recorded"
    sends = tuple(KINDS)
    games = (*NODE_GAMES, EdgePresence.name, LoneNode.name, NodeOwnership.name)
    runs_elsewhere = True
    Settings = RecordedSettings
    settings: RecordedSettings

    @classmethod
    def example(cls, data: Data, folder: Path) -> dict[str, Any]:
        """The record of a classifier on the masks of the graph."""
        small = {"split": "dataset", "publish": ["posteriors"], "recipe": {"hidden": 4, "epochs": 3}}
        run = find("targets", "classifier")(**small)(data, Defense(), np.random.SeedSequence(0), lambda m: True)
        run.transcript.save(folder / "run.safetensors")
        return {"transcripts": (str(folder / "run.safetensors"),)}

    @property
    def repetitions(self) -> int | None:
        return len(self.settings.transcripts)

    def repetition(self, index: int) -> dict[str, Any]:
        """Its settings with one record alone.

        Raises:
            InputError: a record is there twice: read again it is no repetition.
        """
        known = list(self._recordings.values())
        if known.index(known[index]) < index:
            raise InputError(
                f"{self.settings.transcripts[index]} is the same recording as "
                f"{self.settings.transcripts[known.index(known[index])]}: give each run once"
            )
        return {**self.settings.model_dump(), "transcripts": (self.settings.transcripts[index],)}

    @cached_property
    def reads(self) -> Mapping[str, str]:  # type: ignore[override]
        """The digest of each record, and of the file that says who holds what."""
        holders = self.settings.holders
        return {**self._recordings, **({} if holders is None else digests([holders]))}

    @cached_property
    def _recordings(self) -> dict[str, str]:
        """The digest of each record, by path."""
        told = {path: digest_of_recording(path) for path in self.settings.transcripts}
        if len(told) < len(self.settings.transcripts):
            raise InputError(f"the same recording is given twice among {', '.join(self.settings.transcripts)}")
        return told

    @cached_property
    def about(self) -> tuple[About, ...]:
        """What each record says of its run."""
        return tuple(map(about_recording, self.settings.transcripts))

    @cached_property
    def kinds(self) -> set[str]:
        """Kinds of messages that were sent in any run.

        Raises:
            InputError: a recording cannot be read, or who holds what does not match its parties.
        """
        found: set[str] = set()
        for path in self.settings.transcripts:
            record = read_recording(path, lambda message: False)
            self._told_holders(record)
            found |= kinds_in(record)
        return found

    def sent(self) -> set[str]:
        return self.kinds

    @property
    def pipeline(self) -> str | None:
        """The target that ran, or is like what ran."""
        return self.settings.pipeline or self.about[0].pipeline

    @property
    def like(self) -> type[Target]:
        """The pipeline that ran, where it is gaudit's; else one that lets out as much."""
        name = self.pipeline
        if name is None or not is_installed("targets", name):
            name = "gcond" if RELEASED_GRAPH.among(self.kinds) else "classifier"
        known: type[Target] = find("targets", name)
        return known

    @property
    def offers(self) -> Offers:
        """What is declared, by the records or by the settings; the recipe only if it is."""
        features, recipe, game = (self._declared(field) for field in ("features", "recipe", "game"))
        return Offers(features=features or "given", recipe=recipe, game=game)

    def _declared(self, field: str) -> Any:
        """What is said of something by the records and the settings, or None.

        Raises:
            InputError: they do not say the same.
        """
        said = [getattr(about, field) for about in self.about]
        own = getattr(self.settings, field)
        told = [value for value in (own, *said) if value is not None]
        if any(value != told[0] for value in told):
            where = "the settings and the recording" if own is not None else "the recordings"
            raise InputError(f"{where} do not say the same of '{field}': audit what differs apart")
        return told[0] if told else None

    def why_not(self, defense: Defense) -> str | None:
        if type(defense) is Defense:
            return None
        return "the run took place already: put the defense before the pipeline and record that"

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        if len(self.settings.transcripts) != 1:
            raise InputError("a run is one recording: give several to a plan, where they are its repetitions")
        record = read_recording(self.settings.transcripts[0], retain)
        if not record.transcript.tallies:
            raise InputError(f"the transcript {record.path} holds no message: nothing was sent")
        if is_published_network(kinds_in(record)):
            raise InputError(
                f"the transcript {record.path} holds a published network, and does not say who is who in it: no "
                "game can be played (--target publish publishes one and knows)"
            )
        notes: list[str] = []
        secrets = self._secrets(record, data, seed, notes)
        last = max(tally.last_round for tally in record.transcript.tallies.values())
        about, recipe = record.about, self.offers.recipe
        return Run(
            record.transcript,
            secrets,
            (Utility.of_test(last),),
            0,
            (*notes, *_told(about, recipe, self.offers)),
            recipe=recipe,
            recipe_unknown=recipe is None,
            in_place=UNKNOWN if about.defense is None else about.defense.label,
        )

    def _secrets(
        self, record: Recording, data: Data, seed: np.random.SeedSequence, notes: list[str]
    ) -> dict[str, Game]:
        """The truth of each game for which it is known."""
        train, asked = _membership(record, data, notes)
        holders = self._holders(record, data)
        subjects = np.flatnonzero(asked)
        owners = None if holders is None else holders[subjects]
        game = NODE_GAMES[self.offers.game or LabelMembership.name]
        found: dict[str, Game] = {}
        if holders is not None:
            marked = data.clone()
            marked.train_mask = torch.from_numpy(train)
            clients = held_by(marked, holders)
            links = edge_presence(clients, len(holders), branch(seed, "links"), self.settings.non_edges)
            found = {
                links.name: links,
                LoneNode.name: lone_nodes(clients),
                **ownership_secrets(clients, len(holders), branch(seed, "ownership")),
            }
        return {**found, game.name: game(subjects=subjects, truth=train[subjects], owners=owners, holders=holders)}

    def _holders(self, record: Recording, data: Data) -> np.ndarray | None:
        """The number of the client that holds each node, or None where nobody said."""
        told = self._told_holders(record)
        if told is None and HOLDERS in data:
            told = data[HOLDERS].cpu().numpy()
            _check_holders(told, record, "the graph's 'holders'")
        if told is not None and len(told) != data.num_nodes:
            raise InputError(
                f"{len(told)} nodes have a holder or -1 for nobody, and the graph has {data.num_nodes}"
            )
        return told

    def _told_holders(self, record: Recording) -> np.ndarray | None:
        """What the settings or the recording say of it."""
        if self.settings.holders is not None:
            source, found = f"the file {self.settings.holders}", read_holders(Path(self.settings.holders))
        elif record.about.holders is not None:
            source, found = f"the recording {record.path}", np.array(record.about.holders, dtype=np.int64)
        else:
            return None
        return _check_holders(found, record, source)

    def check(self, data: Data) -> None:
        for path in self.settings.transcripts:
            self._holders(read_recording(path, lambda message: False), data)


def _check_holders(found: np.ndarray, record: Recording, source: str) -> np.ndarray:
    checked = checked_holders(found, source)
    check_parties(checked, [*record.transcript.parties(), *record.about.parties], source)
    return checked


def _membership(record: Recording, data: Data, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Who was trained on, and who is in question: masks [N] each."""
    told = record.about.members
    if told is None:
        notes.append("who was trained on is not recorded: members are the graph's train nodes")
        train, test = data.train_mask.cpu().numpy(), data.test_mask.cpu().numpy()
        return train, train | test
    nodes = int(data.num_nodes or 0)
    most = max((*told.nodes, *(told.others or ())))
    if most >= nodes:
        raise InputError(f"the recording {record.path} names node {most} as one in question, the graph has {nodes}")
    train, asked = np.zeros(nodes, dtype=bool), np.zeros(nodes, dtype=bool)
    train[list(told.nodes)] = True
    if told.others is not None:
        asked[list(told.others)] = True
    else:
        notes.append("who is no member is not recorded: non-members are the graph's test nodes")
        asked |= data.test_mask.cpu().numpy()
    return train, asked | train


def _told(about: About, recipe: TrainingConfig | None, offers: Offers) -> tuple[str, ...]:
    """What a reader must know of what was recorded, declared, or neither."""
    if about.defense is None:
        place = "which defense was in place is not recorded"
    else:
        place = f"the defense in place, as declared and not checked: {about.defense.label}"
    if recipe is None:
        trained = "how models were trained is not declared: no attack trains models like them"
    else:
        trained = f"how models were trained, as declared and not checked: {as_declared(recipe)}"
    game = (
        "" if offers.game else f"which membership is in question is not declared: taken for {LabelMembership.name}"
    )
    return tuple(filter(None, (place, trained, game)))
