"""The oldest way to give a graph away: publish it with the names removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ...errors import InputError
from ...graphs.files.digests import digests
from ...graphs.measures.utility import Kept, estimated, overall, utility_of
from ...graphs.network import ATTRIBUTES, MARKS, Network, Original, changes
from ...graphs.pyg import is_plain, network_of_data
from ...graphs.told_weights import ToldWeights
from ...randomness import branch
from ..channel import Channel, Retention
from ..cost import START, Cost, Size, held, training
from ..defense import Defense
from ..device import Device
from ..game import Game
from ..games.attributes import Attribute, AttributeSettings, hidden_attribute
from ..games.existence import Existence, existence
from ..games.identities import OTHERS, Identity, identities
from ..games.link_marks import GAMES, link_mark
from ..games.links import NON_EDGES, EdgePresence, edge_presence
from ..messages import ACCOUNTS_KIND, PUBLISHED_KIND, WINDOWS_KIND
from ..models.model_ensemble import ask_models, train_models
from ..models.training_config import TrainingConfig
from ..models.training_task import Query, TrainingTask
from ..party import Client
from ..published import tensors_of
from ..target import Offers, Progress, Run, Target, Utility, no_progress
from .held import Held, HeldSettings
from .people import table_of_data
from .planted_accounts import plant
from .windows import LinkingSettings

if TYPE_CHECKING:
    from torch_geometric.data import Data

OWNER = "client:0"


def _listed(value: object) -> object:
    """Names apart by commas, as a command line has them."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (str(value),)
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _way_of_weights(value: str) -> str:
    """The way itself, once it was read without an error."""
    ToldWeights.read(value)
    return value


class NetworkSettings(AttributeSettings):
    """Settings of targets that publish a network."""

    utility: Literal["structure", "accuracy"] | None = Field(
        None, description="structure, or a GNN's accuracy; by default the latter where nodes have labels"
    )
    measures: tuple[str, ...] | None = Field(None, description="measures of structure by name; all by default")
    sensitive: int | None = Field(None, ge=0, description="type of edge that is secret; all edges by default")
    non_edges: int = Field(NON_EDGES, ge=100, description="pairs without an edge in question")
    mark: str | None = Field(None, description="what is hidden of links whose ends are known: weight, or type:K")
    others: int = Field(OTHERS, ge=100, description="pairs of a person and another's node in question")
    device: Device = Field("cpu", description="where the GNN of the utility is trained")


class PublishSettings(NetworkSettings, LinkingSettings, HeldSettings):
    """Settings of `Publish`."""

    keep: Annotated[tuple[Literal["weights", "types", "directions"], ...], BeforeValidator(_listed)] = Field(
        (),
        description="what is published of edges beside their ends: weights, types, directions, or several of these "
        "(weights,types)",
    )
    weights: Annotated[str, AfterValidator(_way_of_weights)] | None = Field(
        None,
        description="what is told of weights, which are published then: rounded:10 (to multiples of 10), binned:3 "
        "(3 classes of equally many edges), noised:5 (noise of scale 5)",
    )
    columns: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        (), description="attributes of people that are published too: columns of the features, or label (1,4,label)"
    )
    sensitive_column: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        (), description="attributes (label,3) that are published as they are, and that a defense may keep diverse"
    )
    accounts: int = Field(
        0, ge=0, description="accounts that an active adversary opens before a release of its own, beside the other"
    )
    account_targets: int = Field(20, ge=1, description="persons that these accounts link to")
    absent: float | None = Field(
        None, ge=0, lt=1, description="share of the people left out of the release: asks who is in it, and no more"
    )

    @model_validator(mode="after")
    def _windows_tell_no_weights(self) -> Self:
        if self.windows is not None and ("weights" in self.keep or self.weights is not None):
            raise ValueError("weights do not go with windows: one says nothing of the windows that its edge is in")
        return self

    @model_validator(mode="after")
    def _existence_is_asked_alone(self) -> Self:
        named = {"windows": self.windows, "accounts": self.accounts or None, "attribute": self.attribute}
        other = [name for name, value in {**named, "mark": self.mark}.items() if value is not None]
        if self.absent is not None and other:
            raise ValueError(f"absent asks who is in the release, and no more: leave out {' and '.join(other)}")
        return self

    @model_validator(mode="after")
    def _one_network_is_held(self) -> Self:
        if self.linking is not None and self.auxiliary is not None:
            raise ValueError("auxiliary and linking are two networks that the adversary holds: give one")
        return self

    @model_validator(mode="after")
    def _people_of_one_network(self) -> Self:
        if self.people and (self.linking is not None or self.accounts):
            raise ValueError("columns do not go with linking or accounts: leave one of both out")
        asked = None if self.attribute is None else self.attribute.partition(":")[0]
        if asked is not None and asked in (*self.columns, *self.sensitive_column):
            raise ValueError(f"attribute={self.attribute} is published: what is hidden cannot be among the columns")
        return self

    @property
    def people(self) -> bool:
        """Whether attributes of people are published."""
        return bool(self.columns or self.sensitive_column)


SECONDS_AN_EDGE, BYTES_AN_EDGE = 3e-5, 250.0
"""What publishing a network takes for each of its edges, with what it is still good for (docs/sure/growth.md)."""


class PublishedNetwork(Target):
    """Base of targets whose release is a network: the games about it, and what it is still good for."""

    release = PUBLISHED_KIND
    release_phrase = "the published graph"
    plain = True
    games = (Identity.name, EdgePresence.name, Attribute.name, *(mark.name for mark in GAMES.values()))
    Settings: ClassVar[type[NetworkSettings]] = NetworkSettings
    settings: NetworkSettings

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        return {}

    @property
    def offers(self) -> Offers:
        """The owner alone."""
        return Offers(clients=1)

    def cost(self, size: Size, models: int = 0) -> Cost:
        """Linear in edges; where there are features, one model tells what the graph is still good for."""
        network = Cost(SECONDS_AN_EDGE * size.edges, BYTES_AN_EDGE * size.edges)
        return START + network + (held(size) + training(size, TrainingConfig(), 1) if size.features else Cost())

    def original(self, data: Data) -> Original:
        """The network before anything is done to it, and what the adversary holds beforehand."""
        return Original(network_of_data(data))

    @property
    def plays(self) -> frozenset[str]:
        """All its games, those of an attribute and of a mark where one is named."""
        s = self.settings
        hidden = {mark.name for kind, mark in GAMES.items() if s.mark is None or not s.mark.startswith(kind)}
        return super().plays - hidden - (set() if s.attribute is not None else {Attribute.name})

    def published(
        self,
        data: Data,
        release: tuple[Network, Identity, tuple[str, ...]],
        channel: Channel,
        seed: np.random.SeedSequence,
        progress: Progress,
    ) -> Run:
        """The run of a release that was sent.

        Args:
            data: the original.
            release: the published network under our names, who is who in it, and what a reader must know of it.
            channel: that it was sent through.
            seed: of the run.
            progress: told of what is done.
        """
        s, network, (changed, who, notes) = self.settings, self.original(data).network, release
        secrets: list[Game] = [who]
        linked = sensitive_links(data, network, s.sensitive)
        if linked is not None:
            found = edge_presence([linked], network.nodes, branch(seed, "links"), s.non_edges)
            secrets.append(replace(found, image=who.image[: network.nodes]))
        if s.attribute is not None:
            of = {"linked": False, "image": who.image[: network.nodes]}
            secrets.append(hidden_attribute(data, s.attribute, s.known, branch(seed, "attribute"), **of))
        if s.mark is not None:
            image = who.image[: network.nodes]
            secrets.append(link_mark(network, s.mark, s.known, branch(seed, "mark"), image))
        progress("publishing", 2, 3)
        accurate = self._asks_accuracy(data)
        structure = self._kept(network, changed, branch(seed, "structure"))
        kept = {one.name: one.score for one in structure}
        if changed.counts is not None:
            utility = float("nan")
        elif accurate:
            utility = gnn_accuracy(data.to(s.device), changed, branch(seed, "accuracy"))
        else:
            utility = float(np.mean(list(kept.values())))
        progress("publishing", 3, 3)
        return Run(
            channel.transcript,
            {secret.name: secret for secret in secrets},
            (Utility.of_test(1, utility),),
            0,
            (*notes, *estimated(structure)),
            kept=kept,
            tested=None if accurate else 0,
        )

    def _kept(self, before: Network, after: Network, seed: np.random.SeedSequence) -> tuple[Kept, ...]:
        """What is kept of the structure; nothing can be told of counts between groups."""
        if after.counts is not None:
            return ()
        return utility_of(before, after, np.random.default_rng(seed), self.settings.measures)

    def _asks_accuracy(self, data: Data) -> bool:
        """Whether its utility is a GNN's accuracy."""
        plain = is_plain(data)
        if self.settings.utility == "accuracy" and plain:
            raise InputError(
                "utility=accuracy needs features and labels, this graph has none: use utility=structure"
            )
        return self.settings.utility == "accuracy" or (self.settings.utility is None and not plain)


class Publish(PublishedNetwork):
    """Publishes a graph with the names removed, after an anonymising defense.

    One message to everybody: the edges under random ids, and groups and counts where a defense tells these.
    Weights, types and directions of edges are dropped before the defense, unless ``keep`` names them or the defense
    publishes them by design (`Defense.publishes`): the sum of its weights alone tells most nodes of a weighted
    network from all others. Features and labels are published where ``columns`` names them, and one of them
    (``sensitive_column``) as it is whatever the defense. Secret are the identities (which published node
    is this person?) and the links, or those of one type (``sensitive``), of whom an adversary knows who is who;
    with ``attribute`` also an attribute of people, of whom it knows the others.

    With ``windows`` edges are published by windows of time, which take the place of types (`snapshots.windowed`),
    under the same ids in all windows, and without any time itself. With ``linking`` one window is published alone,
    under ids of its own, to an adversary who holds the window before with names: attacks that match networks
    (`seedless-matching`) then tell how much ids that are drawn anew protect.

    With ``auxiliary`` attacks that match networks hold a second real network in place of a part of the original.

    With ``absent`` a part of the people is left out of the release, and the game is another one: who is in it? In
    question are all people of the original, or of the second network that is held.

    With ``accounts`` there is a second message: what would have been published had an active adversary opened
    accounts in the network before. Attacks that open accounts read that one, and all others the first, so that
    nothing that they find depends on it.

    Utility: the mean of what the published network keeps of the original's structure (`network_utility`), or, where
    nodes have labels, the test accuracy of a GCN on the published edges with the owner's features.
    """

    name = "publish"
    sends = (PUBLISHED_KIND, WINDOWS_KIND, ACCOUNTS_KIND)
    games = (*PublishedNetwork.games, Existence.name)
    Settings = PublishSettings
    settings: PublishSettings

    def sent(self) -> set[str]:
        return {self._kind, ACCOUNTS_KIND}

    @property
    def plays(self) -> frozenset[str]:
        """Who is in the release where people are left out of it, and else all other games."""
        return super().plays - {Existence.name} if self.settings.absent is None else frozenset({Existence.name})

    def original(self, data: Data) -> Original:
        network, s = network_of_data(data), self.settings
        if s.people:
            network = replace(network, people=table_of_data(data, s.columns, s.sensitive_column))
        return s.original(network)

    @property
    def _kind(self) -> str:
        return WINDOWS_KIND if self.settings.together else PUBLISHED_KIND

    @property
    def reads(self) -> Mapping[str, str]:
        return digests(self.settings.held_files)

    def check(self, data: Data) -> None:
        self.settings.held(data)

    def why_not(self, defense: Defense) -> str | None:
        if type(defense) is Defense or "on_graph" in defense.hooks():
            return self.settings.unknown_windows(defense.promise())
        return "it changes what models are trained on or send, and here a graph is published as it is"

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        s, held, channel = self.settings, self.settings.held(data), Channel(retain=retain)
        original = _holding(self.original(data), held)
        if s.absent is not None:
            return self._in_part(original, defense, channel, seed, progress)
        changed, who, notes = self._released(channel, self._kind, original, defense, seed)
        progress("publishing", 1, 3)
        if s.accounts:
            own = branch(seed, "accounts")
            _, apart, about = self._released(
                channel, ACCOUNTS_KIND, self._joined(original.network, own), defense, own
            )
            first = f"an adversary's {s.accounts} accounts are in a release of their own, and in no other"
            who, notes = replace(who, with_accounts=apart), (*notes, "; ".join([first, *about]))
        notes = notes if held is None else (*notes, held.note)
        return self.published(data, (changed, who, notes), channel, seed, progress)

    def _in_part(
        self,
        original: Original,
        defense: Defense,
        channel: Channel,
        seed: np.random.SeedSequence,
        progress: Progress,
    ) -> Run:
        """The run in which some people are left out of the release: who is in it?"""
        network, held, rng = original.network, original.auxiliary, np.random.default_rng(branch(seed, "absent"))
        absent = np.zeros(network.nodes, dtype=bool)
        absent[rng.permutation(network.nodes)[: round((self.settings.absent or 0) * network.nodes)]] = True
        part = network.among(~absent)
        made, _, notes = self._released(channel, self._kind, Original(part), defense, seed)
        progress("publishing", 1, 2)
        present = ~absent if held is None else np.append(~absent, np.zeros(held.nodes - network.nodes, dtype=bool))
        secret = existence(network.plain() if held is None else held, present, made.nodes, held is not None)
        kept = self._kept(part, made, branch(seed, "structure"))
        progress("publishing", 2, 2)
        left = f"{int(absent.sum()):,} of the {network.nodes:,} people, drawn at random, are not in the release"
        return Run(
            *(channel.transcript, {secret.name: secret}, (Utility.of_test(1, overall(kept)),), 0),
            (left, *notes, *estimated(kept)),
            kept={one.name: one.score for one in kept},
            tested=0,
        )

    def _released(
        self, channel: Channel, kind: str, original: Original, defense: Defense, seed: np.random.SeedSequence
    ) -> tuple[Network, Identity, tuple[str, ...]]:
        """Sends what a defense makes of a network under random names.

        Returns:
            The same under our names, who is who in it, and what a reader must know of it.
        """
        told = self._told(original.network, defense, branch(seed, "weights"))
        made = defense.on_graph(told, branch(seed, "defense"))
        new = np.random.default_rng(branch(seed, "names")).permutation(made.nodes)
        channel.send(kind, OWNER, "public", 1, tensors_of(made.renamed(new)))
        image = new[: original.people]
        who = identities(image, made.nodes, branch(seed, "others"), self.settings.others)
        notes = (*self.settings.words(), *_notes(told, made, defense), *self._edge_notes(original.network, made))
        return made, replace(who, original=replace(original, published=made)), notes

    def _told(self, network: Network, defense: Defense, seed: np.random.SeedSequence) -> Network:
        """What is told of the edges, before a defense changes them."""
        s = self.settings
        weights = None if s.weights is None else ToldWeights.read(s.weights)
        named = {"types": s.together, "weights": weights is not None}
        named[ATTRIBUTES] = s.people
        told = network.telling({*s.keep, *defense.publishes, *(name for name, asked in named.items() if asked)})
        return told if weights is None else weights.of(told, np.random.default_rng(seed))

    def _edge_notes(self, before: Network, made: Network) -> tuple[str, ...]:
        """How weights are told, and what of edges is not: windows take the place of both."""
        s = self.settings
        told = () if s.weights is None or made.weights is None else (ToldWeights.read(s.weights).sentence,)
        return told if s.together else (*told, *_dropped(before, made))

    def _joined(self, network: Network, seed: np.random.SeedSequence) -> Original:
        """The network with an adversary's own accounts in it."""
        s = self.settings
        targets = min(s.account_targets, network.nodes)
        return Original(plant(network, s.accounts, targets, np.random.default_rng(seed)), s.accounts)


def _holding(original: Original, held: Held | None) -> Original:
    """The same, where the adversary holds a network that was brought."""
    return original if held is None else replace(original, auxiliary=held.network)


def sensitive_links(data: Data, network: Network, kind: int | None) -> Client | None:
    """The owner with the edges that are secret; None where all pairs are linked, or none.

    Raises:
        InputError: a type is called sensitive that no edge has.
    """
    edges = network.edges
    if kind is not None:
        types = np.empty(0) if network.types is None else network.types
        if not (types == kind).any():
            known = ", ".join(map(str, np.unique(types).tolist())) or "none"
            raise InputError(f"sensitive={kind}: no edge is of this type; types here: {known}")
        edges = edges[:, types == kind]
    edges = np.unique(edges, axis=1)
    if edges.shape[1] in (0, network.nodes * (network.nodes - 1) // 2):
        return None
    both = torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1))
    nodes = torch.arange(network.nodes)
    nobody = torch.zeros(network.nodes, dtype=torch.bool)
    nothing = torch.empty((2, 0), dtype=torch.long)
    return Client(
        number=0,
        nodes=nodes,
        x=data.x,
        y=data.y,
        y_train=data.y,
        train=nobody,
        val=nobody,
        test=nobody,
        used=nobody,
        edges=both,
        cut=nothing,
        classes=int(data.y.max()) + 1,
    )


def _notes(before: Network, after: Network, defense: Defense) -> tuple[str, ...]:
    """What a reader must know of the release: what changed, and whether the guarantee was found on it."""
    told, verified = [changes(before, after)], defense.verify(before, after)
    if verified is not None:
        holds = "verified on the output" if verified.holds else "THE GUARANTEE DOES NOT HOLD ON THE OUTPUT"
        told.append(f"{holds}: {verified.guarantee} ({verified.detail})")
        told += [more for more in (verified.knowledge, verified.note) if more]
    return tuple(told)


def _dropped(original: Network, published: Network) -> tuple[str, ...]:
    """What of the original's edges is not published, and how it would be; nothing where nothing is missing."""
    names = [n for n in MARKS if getattr(original, n) is not None and getattr(published, n) is None]
    if not names or published.counts is not None:
        return ()
    return (f"{' and '.join(names)} of edges are not published (`--set keep={','.join(names)}` publishes them)",)


def gnn_accuracy(data: Data, published: Network, seed: np.random.SeedSequence) -> float:
    """Test accuracy of a GCN on the published edges, trained with the owner's features and labels.

    Nodes that a defense added are left out; the others keep their place in ``published``.
    """
    edges = published.plain().edges
    edges = edges[:, edges[1] < data.num_nodes]
    seen = data.clone()
    seen.edge_index = torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1)).to(data.x.device)
    task = TrainingTask(
        seen, data.train_mask[None], TrainingConfig(architecture="gcn"), int(data.y.max()) + 1, False
    )
    device = str(data.x.device)
    weights = train_models(task, [], seed, device=device, keep_weights=True).weights
    asked = [Query(torch.arange(data.num_nodes), seen.edge_index.cpu())]
    logits = ask_models(task, asked, weights, device=device)[0][0].to(data.x.device)
    return float((logits.argmax(1) == data.y)[data.test_mask].float().mean())
