"""The hooks that a target offers to defenses: the data, the training, the messages.

A defense fills one or more of them; a target calls all of them at the same places whatever the defense is,
so any defense can be put before any federated target.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..graphs.network import Network, Verified
from ..mechanisms.guarantee import Guarantee
from ..settings import Configured
from .messages import Carrying

if TYPE_CHECKING:  # one that changes graphs needs no torch
    from torch import Tensor

    from .channel import Channel
    from .models.propagation import Neighbourhood
    from .party import Client
    from .transcript import Message

Exchange = Callable[[list["Client"]], list["Neighbourhood"]]
"""What each of some clients' models reads, by way of what the target lets clients tell each other of features."""
GradientChange = Callable[[dict[str, "Tensor"]], dict[str, "Tensor"]]
"""Given one gradient per class and weight, named ``<class>/<weight>``: what takes their place."""


@dataclass(frozen=True)
class SharedModel:
    """The model that the clients trained together before condensing, as each client knows it.

    Attributes:
        weights: the two-layer GCN's weights by name (``w1`` [d, h], ``b1`` [h], ``w2`` [h, C], ``b2`` [C]).
        pseudo_labels: for each client, its predicted label per own node, [n] int64.
        pseudo_labelled: for each client, which of its nodes took part in self-training, [n] bool.
        first: what the server handed to all clients for the defense (`Defense.first_weights`).
    """

    weights: Mapping[str, "Tensor"]
    pseudo_labels: dict[int, "Tensor"]
    pseudo_labelled: dict[int, "Tensor"]
    first: Mapping[str, "Tensor"] = field(default_factory=dict)


HOOKS = ("on_graph", "on_labels", "on_data", "on_training", "on_gradients", "on_message")


class Defense(Configured):
    """Base of all defenses; on its own it changes nothing and is the undefended control.

    Attributes:
        name: the name in the registry.
        phrase: how a sentence calls it ("with the information bottleneck").
        needs_shared_model: whether `on_data` uses the jointly trained model.
        strength: the name of the one setting that is its strength knob, or None.
        sweep: strengths worth a look, from weak to strong.
        alternative: the defense that is its trivial alternative, or None.
        trivial: whether it is one: it gives utility up without an idea, and what does no better is no defense.
        guarantee: what it promises, with the unit, or None; where that is differential privacy, `promise` has the
            numbers.
        node_wise: whether what it makes of a node follows from that node alone, by coins of its own: a private
            training on the result keeps its promise then.
        acts_on: the messages that it changes, by what they carry; None where it acts elsewhere.
        publishes: what its release always tells besides the ends of edges: "types", which its guarantee is about,
            "groups", "counts".
        for_owners: settings of an owner who writes the result to a file and chose none of these: what does not do
            what was asked is refused there with its price, where an audit measures it.
    """

    kind = "defense"
    name: ClassVar[str] = "none"
    phrase: ClassVar[str] = "undefended"
    needs_shared_model: ClassVar[bool] = False
    strength: ClassVar[str | None] = None
    sweep: ClassVar[tuple[float, ...]] = ()
    alternative: ClassVar[str | None] = None
    trivial: ClassVar[bool] = False
    guarantee: ClassVar[str | None] = None
    node_wise: ClassVar[bool] = False
    acts_on: ClassVar[Carrying | None] = None
    publishes: ClassVar[tuple[str, ...]] = ()
    for_owners: ClassVar[dict[str, Any]] = {}

    @classmethod
    def preset(cls, preset: str) -> dict[str, Any]:
        """Settings that a preset changes."""
        return {}

    @classmethod
    def strengths_for(cls, nodes: int) -> tuple[float, ...]:
        """Strengths that are worth a look on a graph of some size: groups of k need 2 k nodes to be two."""
        return tuple(value for value in cls.sweep if cls.strength != "k" or 2 * value <= nodes)

    def promise(self) -> Guarantee | None:
        """The differential privacy that its settings give, or None where there is none."""
        return None

    def check_types(self, names: Sequence[str], in_order: bool, windows: bool) -> None:
        """Refuses types of edges that do not mean what it takes them for, before its work; takes all by default.

        Args:
            names: what types are called, in their order; nothing where edges have none.
            in_order: whether that order is meant, and not just that in which a file's edges come.
            windows: whether types are windows of time.

        Raises:
            InputError: they do not.
        """

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        """Changes a network before it is published. Nodes that it adds come after those that were there."""
        return network

    def on_labels(
        self, clients: list["Client"], exchange: Exchange, channel: "Channel", seed: np.random.SeedSequence
    ) -> list["Client"]:
        """Puts other labels in the place of the clients' own, before anything else of the run sees one.

        Args:
            clients: the parties, as they are.
            exchange: what their models read; it may be asked for other features of the same nodes.
            channel: what the parties tell each other on the way.
            seed: of all randomness.
        """
        return clients

    @classmethod
    def changes(cls, kind: str) -> bool:
        """Whether it changes messages of a kind on their way."""
        return cls.acts_on is not None and cls.acts_on.covers(kind)

    def verify(self, before: Network, after: Network) -> Verified | None:
        """Checks its guarantee on what `on_graph` made of a network; None where it has none to check."""
        return None

    def verify_message(self, before: "Message", after: "Message") -> Verified | None:
        """Checks its guarantee on what `on_message` made of a message; None where it has none to check."""
        return None

    def first_weights(self, features: int, seed: np.random.SeedSequence) -> dict[str, "Tensor"]:
        """Weights that the server draws and hands to all clients before `on_data`; none where it hands none out.

        No hook: only targets with a shared model ask for them.
        """
        return {}

    def on_data(
        self,
        client: "Client",
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, "Tensor"]], None],
    ) -> "Client":
        """Changes what a client feeds into the pipeline. ``hold(kind, tensors)`` notes what it keeps."""
        return client

    def asked(self, before: "Client", after: "Client") -> "Client":
        """What a client asks a condensed release about, for accuracy: ``after``, what `on_data` made of it.

        One that keeps edges for this alone gives back those of the client ``before``. No hook: targets of other
        kinds have a setting for what they answer with.
        """
        return after

    def on_training(self, client: "Client", seed: np.random.SeedSequence) -> "LossTerm | None":
        """An extra term of the client's loss, or None."""
        return None

    def on_gradients(self, client: "Client", seed: np.random.SeedSequence) -> "GradientChange | None":
        """A change of the gradients that a client's condensed graph is fitted to, or None."""
        return None

    def on_message(self, seed: np.random.SeedSequence) -> "Callable[[Message], Message] | None":
        """A change of messages at their sender, or None."""
        return None

    @classmethod
    def hooks(cls) -> tuple[str, ...]:
        """The hooks that it fills."""
        return tuple(s for s in HOOKS if getattr(cls, s) is not getattr(Defense, s))


class Watched(Defense):
    """A defense as a run calls it: every hook is passed on, and noted.

    Attributes:
        called: hooks that were called.
        graphs_changed: whether any call of `on_data` changed what answers are computed on, features or edges.
    """

    def __init__(self, defense: Defense) -> None:
        self._defense, self.settings = defense, defense.settings
        self.called, self.graphs_changed = set[str](), False
        # what targets ask of a defense besides its hooks
        asked = ("name", "phrase", "guarantee", "needs_shared_model", "node_wise", "acts_on", "publishes")
        vars(self).update({name: getattr(defense, name) for name in asked})

    def promise(self) -> "Guarantee | None":
        return self._defense.promise()

    def verify(self, before: "Network", after: Network) -> "Verified | None":
        return self._defense.verify(before, after)

    def on_graph(self, network: "Network", seed: np.random.SeedSequence) -> "Network":
        self.called.add("on_graph")
        return self._defense.on_graph(network, seed)

    def on_labels(
        self, clients: "list[Client]", exchange: Exchange, channel: "Channel", seed: np.random.SeedSequence
    ) -> "list[Client]":
        self.called.add("on_labels")
        return self._defense.on_labels(clients, exchange, channel, seed)

    def on_data(
        self,
        client: "Client",
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: "Callable[[str, dict[str, Tensor]], None]",
    ) -> "Client":
        self.called.add("on_data")
        after = self._defense.on_data(client, shared, seed, hold)
        self.graphs_changed |= after.x is not client.x or after.edges is not client.edges
        return after

    def first_weights(self, features: int, seed: np.random.SeedSequence) -> "dict[str, Tensor]":
        return self._defense.first_weights(features, seed)

    def asked(self, before: "Client", after: "Client") -> "Client":
        return self._defense.asked(before, after)

    def on_training(self, client: "Client", seed: np.random.SeedSequence) -> "LossTerm | None":
        self.called.add("on_training")
        return self._defense.on_training(client, seed)

    def on_gradients(self, client: "Client", seed: np.random.SeedSequence) -> "GradientChange | None":
        self.called.add("on_gradients")
        return self._defense.on_gradients(client, seed)

    def on_message(self, seed: np.random.SeedSequence) -> "Callable[[Message], Message] | None":
        self.called.add("on_message")
        return self._defense.on_message(seed)


class LossTerm:
    """A term that a training defense adds to a client's loss, given through its derivative."""

    def gradient(
        self, logits: "Tensor", labels: "Tensor", reference: "Tensor", reference_labels: "Tensor"
    ) -> "Tensor":
        """The term's derivative by ``logits`` [n, C], per node (not averaged).

        Args:
            logits: of the labelled nodes.
            labels: theirs.
            reference: logits of nodes that the loss does not use, [m, C].
            reference_labels: theirs.
        """
        raise NotImplementedError
