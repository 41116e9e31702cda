"""Condensation by one owner of the whole graph: what all such targets share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field
from torch import Tensor

from ...errors import unknown_name
from ...graphs.preprocessing import FeatureSettings
from ...graphs.pyg import name_of
from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense, GradientChange, LossTerm
from ..device import Device
from ..federated.neighbour_exchange import exchange
from ..games.membership import LabelMembership, channels_of_leakage, label_membership
from ..messages import CONDENSED_KIND
from ..models.propagation import Neighbourhood
from ..partition import Partition
from ..party import Client, all_labelled, clients_of
from ..target import Offers, Progress, Run, Target, no_progress
from .condensed import CondensedGraph
from .evaluation import EvaluationSettings, UtilityEvaluator
from .gradient_distance import RatioOf, allocate_labels, condensed_size
from .released import transferred, utilities, what_asks

if TYPE_CHECKING:
    from torch_geometric.data import Data

EVALUATED_WITH = "gcn"
PUBLISHED_RATIO = {"cora": 0.026, "citeseer": 0.018, "pubmed": 0.0015}
"""The middle one of the three that GCond has, as a share of all nodes (PubMed: 30 of them, which its README calls
0.3 %). Features are scaled there."""


class CentralTestPhase(EvaluationSettings):
    """GCond's test phase: trained on the condensed graph, chosen on validation nodes, tested on the whole graph."""

    lr: float = Field(0.01, gt=0)
    fine_tune: bool = Field(False, description="tune on real labels before testing")


class CentralSettings(FeatureSettings):
    """Settings that all centralised releases have."""

    ratio: float = Field(0.026, gt=0, le=1, description="size of the release, as a share of ...")
    ratio_of: RatioOf = Field(
        "nodes", description="... all nodes, as papers print it, or labelled ones, as code has it"
    )
    test: CentralTestPhase = CentralTestPhase()
    transfer: bool = Field(False, description="also train other architectures on the chosen release")
    device: Device = "cpu"


class CentralCondensation(Target):
    """Base of targets in which one owner turns its graph into a small one and publishes that.

    Nothing is sent but the releases. Membership is about labels trained on, as in federated condensation.
    """

    release = CONDENSED_KIND
    release_phrase = "the condensed graph"
    asks_for_labels = True
    sends = (CONDENSED_KIND,)
    games = (LabelMembership.name,)
    quick: ClassVar[dict[str, Any]] = {}
    """Settings of the preset ``quick``, beside those that all have in it."""
    Settings = CentralSettings
    settings: CentralSettings

    @property
    def offers(self) -> Offers:
        """The owner alone, and what its settings say of features."""
        return Offers(clients=1, features=self.settings.features)

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        name = name_of(data)
        if preset == "paper":
            scaled = {"features": "row-shares"} if name in PUBLISHED_RATIO else {}
            return {"ratio": PUBLISHED_RATIO.get(name, 0.026), **scaled}
        if preset == "quick":
            return {"test": {"epochs": 300, "models": 2}, **cls.quick}
        raise unknown_name("preset", preset, ("quick", "paper"))

    def why_not(self, defense: Defense) -> str | None:
        if defense.needs_shared_model:
            return "it needs a model that clients trained together before"
        if "on_training" in defense.hooks() and not self.trains:
            return "it adds a term to the loss, and this target trains nothing"
        return super().why_not(defense)

    trains = True
    """Whether the release depends on gradients of a loss, to which a defense may add a term."""

    @abstractmethod
    def releases(self, graph: OwnGraph, seed: np.random.SeedSequence) -> Iterator[tuple[int, CondensedGraph]]:
        """Condenses; yields a round and what is released in it."""

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        s = self.settings
        mod = defense.on_message(branch(seed, "messages"))
        channel = Channel(retain=retain, mods=() if mod is None else (mod,))
        graph = OwnGraph.of(data, defense, channel, seed, s, progress)
        released = []
        with channel.keeping():
            for round_, release in self.releases(graph, branch(seed, "condense")):
                sent = channel.send(CONDENSED_KIND, graph.owner.name, "public", round_, release.tensors())
                released.append((round_, CondensedGraph.from_tensors(sent)))
        bench = UtilityEvaluator([graph.asking], [graph.near], [graph.asked], EVALUATED_WITH, s.test)
        worth, chosen = utilities(bench, released, branch(seed, "evaluate"), progress)
        best = released[chosen][1]
        told = (
            transferred(best, data, [graph.asking], s.test, branch(seed, "transfer"), progress)
            if s.transfer
            else {}
        )
        notes = (f"{len(best.y)} condensed nodes, density {best.density():.2f}", *graph.notes, *bench.remarks())
        secrets = {LabelMembership.name: label_membership(data, [graph.owner], graph.groups(data))}
        return Run(channel.transcript, secrets, worth, chosen, notes, told)


class OwnGraph:
    """The graph of the one owner, after a defense had its hand on it, and what became of it.

    Attributes:
        owner: holds all nodes.
        near: what a model reads for them.
        asking: the owner as it asks a release.
        asked: what a model reads then; as a rule ``near``.
        term: what a defense adds to the loss, or None.
        change: what a defense makes of gradients that are matched, or None.
        size: n', number of condensed nodes asked for.
        notes: sentences that a reader of the result must know.
        copied: the nodes whose rows a release starts from or consists of, [c] ids; None if there are none.
    """

    def __init__(
        self,
        owner: Client,
        near: Neighbourhood,
        asking: Client,
        asked: Neighbourhood,
        term: LossTerm | None,
        change: GradientChange | None,
        size: int,
        progress: Progress,
    ) -> None:
        self.owner, self.near, self.size, self.progress = owner, near, size, progress
        self.asking, self.asked = asking, asked
        self.term, self.change = term, change
        self.notes: list[str] = []
        self.copied: Tensor | None = None

    @classmethod
    def of(
        cls,
        data: Data,
        defense: Defense,
        channel: Channel,
        seed: np.random.SeedSequence,
        settings: CentralSettings,
        progress: Progress,
    ) -> OwnGraph:
        nodes = int(data.num_nodes or 0)
        whole = Partition.undivided(nodes)
        alone = [client.to(settings.device) for client in clients_of(data, whole, labelled=False)]

        def read(clients: list[Client]) -> list[Neighbourhood]:
            return exchange(clients, 0, nodes, channel, False)

        (client,) = all_labelled(defense.on_labels(alone, read, channel, branch(seed, "labels")))
        owner = defense.on_data(client, None, branch(seed, "defense", 0), channel.holder(client.name))
        (near,) = read([owner])
        (asking,), (asked,) = what_asks(defense, [client], [owner], [near], read)
        size = condensed_size(settings.ratio, settings.ratio_of, nodes, client.labelled)
        allocate_labels(owner.class_counts().cpu(), size)  # or say that a class would be empty
        term = defense.on_training(owner, branch(seed, "term", 0))
        change = defense.on_gradients(owner, branch(seed, "gradients", 0))
        return cls(owner, near, asking, asked, term, change, size, progress)

    def groups(self, data: Data) -> dict[str, np.ndarray]:
        """Which nodes each group of members leaves out, where rows were copied at first.

        Members are those of ``data``: what a defense forgets was not copied, but is asked about all the same.
        """
        train = data.train_mask.cpu().numpy()
        if self.copied is None:
            return {}
        copied = np.zeros(len(train), dtype=bool)
        copied[self.copied.cpu().numpy()] = True
        return channels_of_leakage(train, copied)
