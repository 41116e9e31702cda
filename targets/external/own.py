"""A model of the user's own: trained and asked by the user's functions, or known by its answers alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor
from torch.nn import functional as F

from ...errors import InputError
from ...graphs.files.digests import digests
from ...graphs.masks import SPLIT_DRAWN
from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.membership import NODE_GAMES, by_masks
from ..messages import TABLE_KINDS, posteriors_kind
from ..models.own_training import OwnTraining, with_known_fields
from ..models.training_config import TrainingConfig
from ..models.training_task import Query
from ..recording import UNKNOWN
from ..target import Offers, Progress, Run, Utility, no_progress
from .answers import FIELD, all_answers, read_answers
from .brought import Brought
from .own_functions import named

if TYPE_CHECKING:
    from torch_geometric.data import Data

Queries = Literal["full", "0-hop", "apart"]


class OwnSettings(Settings):
    """Settings of `Own`."""

    fit: str | None = Field(None, description="module:function or file.py:function that trains a model")
    predict: str | None = Field(None, description="module:function or file.py:function that asks it")
    answers: dict[Queries, str] = Field(
        default_factory=dict,
        description="files of posteriors by query, of a model that was trained elsewhere; one name alone is full",
    )
    recipe: TrainingConfig | None = Field(
        None,
        description="how the model was trained, if you know; without it and without fit no shadow model is made",
    )
    game: Literal["label-membership", "node-presence"] = Field(
        "label-membership", description="what is secret: a label trained on, or the node with its edges"
    )
    queries: tuple[Queries, ...] = Field(
        ("full", "0-hop"), min_length=1, description="how the model can be asked: with all edges, with none"
    )

    @field_validator("answers", mode="before")
    @classmethod
    def _with_all_edges(cls, given: object) -> object:
        return {"full": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one_way_in(self) -> OwnSettings:
        if (self.fit is None) != (self.predict is None):
            raise ValueError("fit and predict belong together: give both or neither")
        if (self.fit is None) == (not self.answers):
            raise ValueError("give fit and predict, or answers: one of the two")
        if self.recipe is not None and self.fit is not None:
            raise ValueError("fit says how the model is trained: leave the recipe out")
        return self


class Own(Brought):
    """A model of your own: your functions train and ask it, and attacks train their shadow models with them.

    Members are the graph's train nodes, non-members its test nodes. ``fit`` trains on the members; what ``predict``
    then answers about every node is what the public gets. Answers of a model that was trained elsewhere do as well:
    attacks that need shadow models then need a declared recipe, and are refused without one.
    """

    name = "own"
    release = posteriors_kind("full")
    release_phrase = "the model's answers"
    sends = TABLE_KINDS
    games = tuple(NODE_GAMES)
    Settings = OwnSettings
    settings: OwnSettings

    @classmethod
    def example(cls, data: Data, folder: Path) -> dict[str, Any]:
        shares = F.one_hot(data.y).double() * 0.7 + 0.3 / (int(data.y.max()) + 1)
        np.savez(folder / "answers.npz", posteriors=shares.numpy())
        return {"answers": {"full": str(folder / "answers.npz")}}

    @property
    def offers(self) -> Offers:
        """No clients, and who is trained on as the masks say."""
        s = self.settings
        return Offers(0, recipe=s.recipe, game=s.game)

    def sent(self) -> set[str]:
        s = self.settings
        return {posteriors_kind(query) for query in (s.answers or s.queries)}

    def why_not(self, defense: Defense) -> str | None:
        if type(defense) is Defense or defense.hooks() == ("on_message",):
            return super().why_not(defense)
        return "it would have to act within your own training: put it there, and audit that"

    @property
    def repetitions(self) -> int | None:
        """Answers are of one run: another seed would ask the same ones again."""
        return 1 if self.settings.answers else None

    def brought(self) -> tuple[Any, ...]:
        s = self.settings
        return () if s.fit is None or s.predict is None else (named(s.fit), named(s.predict))

    @property
    def reads(self) -> Mapping[str, str]:
        return digests(where for where in self.settings.answers.values() if not where.startswith(FIELD))

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        s, data = self.settings, data.cpu()
        self.check(data)
        train, test = data.train_mask.numpy(), data.test_mask.numpy()
        secrets = by_masks(s.game, data)
        mod = defense.on_message(branch(seed, "messages"))
        channel = Channel(retain=retain, mods=() if mod is None else (mod,))
        own = self._training(data, progress)
        answers = self._answers(data) if own is None else self._asked(own, data, train, seed)
        for query, (nodes, posteriors) in answers.items():
            tensors = {"nodes": nodes, "posteriors": posteriors}
            channel.send(posteriors_kind(query), "server", "public", 0, tensors)
        accuracies = {name: _accuracy(answers, data, mask) for name, mask in (("members", train), ("others", test))}
        return Run(
            channel.transcript,
            {s.game: secrets},
            (Utility.of_test(0, accuracies["others"]),),
            0,
            tuple(self._notes(data, accuracies)),
            tested=int(test.sum()),
            recipe=s.recipe,
            recipe_unknown=own is None and s.recipe is None,
            in_place=UNKNOWN if own is None else None,
            own=own,
        )

    def check(self, data: Data) -> None:
        if self.settings.answers and SPLIT_DRAWN in data:
            raise InputError(
                "nobody says whom the model behind the answers was trained on: the graph has no masks; give "
                "train_mask, val_mask and test_mask, they are the truth here"
            )
        self._answers(data)

    def _training(self, data: Data, progress: Progress) -> OwnTraining | None:
        s = self.settings
        if s.fit is None or s.predict is None:
            return None

        def step(done: int, total: int) -> None:
            progress("training shadow models", done, total)

        classes, induced = int(data.y.max()) + 1, s.game == "node-presence"
        known, _ = with_known_fields(data)
        return OwnTraining(named(s.fit), named(s.predict), known, classes, induced, step)

    def _asked(
        self, own: OwnTraining, data: Data, members: np.ndarray, seed: np.random.SeedSequence
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Posteriors of all nodes for each way to ask, of a model that is trained on the members."""
        everybody = torch.arange(int(data.num_nodes or 0))
        model = own.fitted(members, branch(seed, "training"))
        told = {}
        for name in self.settings.queries:
            edges = None if name == "0-hop" else data.edge_index
            logits = own.ask(model, data.x, Query(everybody, edges, apart=name == "apart"), members)
            told[str(name)] = (everybody, logits.softmax(1))
        return told

    def _answers(self, data: Data) -> dict[str, tuple[Tensor, Tensor]]:
        nodes, classes = int(data.num_nodes or 0), int(data.y.max()) + 1
        found = {}
        for query, where in self.settings.answers.items():
            field = where.removeprefix(FIELD)
            told = (
                read_answers(where, nodes, classes) if field == where else all_answers(data, field, nodes, classes)
            )
            found[str(query)] = told
        return found

    def _notes(self, data: Data, accuracies: dict[str, float]) -> list[str]:
        s = self.settings
        notes = [] if s.fit or s.recipe else ["nobody declared how the model was trained"]
        left = [name for name in with_known_fields(data)[1] if name != "remarks"]  # those are gaudit's own
        if s.fit and left:
            named_fields = ", ".join(left)
            notes.append(f"fit is not given {named_fields}: neither a row for each node nor one for each edge")
        if not np.isnan(accuracies["members"]):
            told = (
                f"{100 * accuracies['members']:.1f} % on members, {100 * accuracies['others']:.1f} % on non-members"
            )
            notes.append(f"accuracy {told}")
        return notes


def _accuracy(answers: dict[str, tuple[Tensor, Tensor]], data: Data, mask: np.ndarray) -> float:
    """The share of nodes in a mask [n] bool that are predicted right, asked with all edges if that can be done."""
    nodes, told = answers.get("full") or next(iter(answers.values()))
    inside = torch.from_numpy(mask)[nodes]
    if not bool(inside.any()):
        return float("nan")
    return float((told.argmax(1)[inside] == data.y[nodes][inside]).float().mean())
