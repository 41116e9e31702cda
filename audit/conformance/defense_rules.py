"""What every defense owes: what it promises holds, it changes something, and a trivial one stands beside it."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ...graphs.directions import FORWARD
from ...graphs.network import Network
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism
from ...registry import find, registered
from ...targets.defense import Defense
from ...targets.partition import Partition
from ...targets.party import Client, clients_of
from ...targets.transcript import Message
from ..claims.claim_check import check_claim
from .cheap_settings import NOTHING_SENSITIVE, cheap, variants
from .defense_words import FIRST, IN_WORDS
from .fingerprint import fingerprint
from .named import check_name
from .rule import Kept, Rule, must
from .small_graphs import NODES, pair_of_nodes, sixty_nodes, sparse_network
from .small_runs import content, place_of, quick, ran, run_once

SEED = 0
LEVEL = 0.999
"""Of a claim's bound: sound mechanisms are refuted with a probability of 0.001 at most."""
IN_WORDS_OF = {
    "edge": ("edge",),
    "node": ("node",),
    "node-label": ("label",),
    "node-features": ("features",),
    "client": ("client", "upload"),
    "event": ("message", "event"),
    "edge-history": ("messages", "history"),
}
"""How a sentence calls a unit of protection."""


def check_guarantee(defense: str) -> Kept:
    """What a defense says that it guarantees is there: as a claim that is not refuted, or read off its output.

    With settings for which it promises differential privacy, its sentence names the unit, and runs of a mechanism
    that is registered under its name, or of the defense itself on two neighbouring clients, do not refute it (at
    99.9 %: 0.001 false alarms may be expected of each). If it has a `verify`, that holds on what it makes of small
    networks, and can fail; and so of `verify_message` on what it makes of messages. What gaudit's own claim in
    words alone is checked by `defense_words`.
    """
    kind: type[Defense] = find("defenses", defense)
    promises = [(v, promise) for v in variants(kind.Settings) if (promise := kind(**v).promise()) is not None]
    if kind.guarantee is None:
        said = promises[0][1].sentence() if promises else ""
        must(not promises, f"{defense} promises {said} and its 'guarantee' is None")
        return Kept("it claims none")
    error = 0.0
    checked: list[str] = []
    for settings, promise in promises[:1]:
        words = IN_WORDS_OF[promise.unit]
        must(any(word in kind.guarantee for word in words), f"{defense}: '{kind.guarantee}' names no {words}")
        for mechanism in _claims(defense, kind, settings, promise):
            _check_promise(mechanism, promise)
            checked.append(promise.sentence())
            error += 1 - LEVEL
    if kind.verify is not Defense.verify:
        checked.append(check_verify(defense))
    if kind.verify_message is not Defense.verify_message:
        checked.append(check_verify_message(defense))
    if defense in IN_WORDS:
        IN_WORDS[defense](kind())
        checked.append(kind.guarantee)
    must(
        bool(checked),
        f"{defense} guarantees '{kind.guarantee}', and nothing here checks that: give it 'promise' and a mechanism "
        "of its name, or 'verify', or 'verify_message'",
    )
    return Kept("; ".join(dict.fromkeys(checked)), error)


def _check_promise(mechanism: Mechanism, promise: Guarantee) -> None:
    promised = mechanism.guarantee
    must(
        (promised.unit, promised.adjacency) == (promise.unit, promise.adjacency),
        f"the mechanism '{mechanism.name}' promises {promised.sentence()}, the defense {promise.sentence()}",
    )
    check = check_claim(mechanism, 300, SEED, level=LEVEL)
    must(not check.refuted, check.sentence())


def _claims(name: str, kind: type[Defense], settings: dict[str, Any], promise: Guarantee) -> Iterator[Mechanism]:
    if name in registered("mechanisms"):
        yield find("mechanisms", name)()
    weak = {"epsilon": 1.0} if "epsilon" in kind.Settings.model_fields else {}
    if kind.hooks() == ("on_data",) and promise.unit in ("edge", "node-label", "node-features"):
        yield OneUnit(kind(**{**settings, **weak}))


class OneUnit(Mechanism):
    """A defense of a client's data on two clients that differ in one edge, label or row of features."""

    name = "one-unit"

    def __init__(self, defense: Defense) -> None:
        super().__init__()
        promise = defense.promise()
        assert promise is not None
        self.defense, self.promise = defense, promise
        self.name = defense.name  # type: ignore[misc]  # what a refutation is about
        self.differ_in, self.differ_by = promise.unit, promise.adjacency  # type: ignore[misc]

    @property
    def guarantee(self) -> Guarantee:
        return self.promise

    def inputs(self) -> tuple[Client, Client]:
        client, linked = pair_of_nodes(), torch.tensor([[0, 1], [1, 0]])
        other: dict[str, Any] = {"edge": {"edges": linked}, "node-label": {"y": FIRST, "y_train": FIRST}}
        return client, replace(client, **other.get(self.differ_in, {"x": FIRST[:, None].float()}))

    def release(self, data: Client, rng: np.random.Generator) -> Client:
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        return self.defense.on_data(data, None, seed, lambda kind, tensors: None)

    def score(self, released: Client) -> float:
        told = {"edge": released.edges, "node-label": released.y_train[:1]}.get(self.differ_in, released.x[:1])
        return float(told.shape[1] if self.differ_in == "edge" else told.sum())


def check_verify(defense: str) -> str:
    """Its `verify` holds on what the defense makes of networks of 40 nodes, and does not on something else.

    Something else is the network as it was, or with one edge fewer or more, or another network: a check that calls
    all of these right checks nothing. Returns what was verified.
    """
    kind: type[Defense] = find("defenses", defense)
    strengths = kind.strengths_for(NODES)
    settings = cheap(kind.Settings, NOTHING_SENSITIVE)
    settings |= {kind.strength: strengths[0]} if kind.strength and strengths else {}
    made, wrong, told = kind(**settings), [], ""
    for seed in range(2):
        network, other = (sparse_network(s) for s in (seed, seed + 100))
        after = made.on_graph(network, np.random.SeedSequence(seed))
        verified = made.verify(network, after)
        if verified is None:
            must(False, f"{defense} does not verify what it made")
            break
        must(verified.holds, f"{defense}: {verified.guarantee}: {verified.detail}")
        must(bool(verified.guarantee), f"{defense} does not say what it verified")
        told = verified.guarantee
        fewer = network.only(np.arange(network.size) > 0)
        others = [made.verify(network, bad) for bad in (network, fewer, _one_more(network), other)]
        wrong += [one is not None and one.holds for one in others]
    must(not all(wrong), f"the check of {defense} holds whatever was published")
    return told


def _one_more(network: Network) -> Network:
    """With an edge between the first two nodes that have none, of type 0, from the first to the second."""
    one, other = (ends[0] for ends in np.nonzero(np.triu(network.adjacency.toarray() == 0, 1)))
    low, high = network.edges
    types = None if network.types is None else np.append(network.types, 0)
    ways = None if network.directions is None else np.append(network.directions, FORWARD)
    ends = np.append(low, one), np.append(high, other)
    return Network.from_edges(network.nodes, *ends, types=types, directions=ways)


def check_verify_message(defense: str) -> str:
    """Its `verify_message` holds on what it makes of each message that it changes, and not on all that were sent.

    The messages are those of an undefended run of the target that it has a place in, with the strongest setting of
    its sweep; each is also told without any doubt (`_overdone`). Returns what was verified.
    """
    kind: type[Defense] = find("defenses", defense)
    made = kind(**_strongest(kind))
    seed, told, wrong = np.random.SeedSequence(SEED), "", []
    for before in ran(place_of(defense)).run.transcript.messages:
        if not kind.changes(before.kind):
            continue
        mod = made.on_message(seed)
        must(mod is not None, f"{defense} has a 'verify_message', and changes no message")
        copy = replace(before, tensors={name: tensor.clone() for name, tensor in before.tensors.items()})
        verified = made.verify_message(before, mod(copy) if mod is not None else copy)
        if verified is None:
            must(False, f"{defense} does not verify what it made of a message '{before.kind}'")
            break
        must(verified.holds, f"{defense}: {verified.guarantee}: {verified.detail}")
        told = verified.guarantee
        others = [made.verify_message(before, other) for other in (before, _overdone(before))]
        wrong += [other is not None and other.holds for other in others]
    must(bool(wrong), f"{defense} changes no message of '{place_of(defense)}', where it has its place")
    must(not all(wrong), f"the check of {defense} holds whatever is sent")
    return told


def _overdone(message: Message) -> Message:
    """The message with the likeliest class of each row told for certain, and other numbers ten times as large."""

    def more(tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        rows = tensor.dim() == 2 and torch.allclose(tensor.sum(1), torch.ones(len(tensor), dtype=tensor.dtype))
        return one_hot(tensor.argmax(1), tensor.shape[1]).to(tensor) if rows else 10 * tensor

    return replace(message, tensors={name: more(tensor) for name, tensor in message.tensors.items()})


def _strongest(kind: type[Defense]) -> dict[str, Any]:
    strengths = kind.strengths_for(NODES)
    return {kind.strength: strengths[-1]} if kind.strength and strengths else {}


def check_alternative(defense: str) -> Kept:
    """Its trivial alternative is registered and trivial, and both run in the first target that admits them.

    A defense without one is trivial itself, or the control. Every hook that it fills is called in that run, else
    the target refuses; a run has a utility, but where numbers of edges are published instead of edges.
    """
    kind: type[Defense] = find("defenses", defense)
    if kind is Defense:
        must(not kind.hooks(), f"{defense} fills hooks")
    else:
        must(bool(kind.hooks()), f"{defense} does nothing")
        must(kind.trivial or kind.alternative is not None, f"{defense} names no trivial alternative")
    names = [defense] if kind.alternative is None else [defense, kind.alternative]
    must(all(find("defenses", name).trivial for name in names[1:]), f"{kind.alternative} is not trivial")
    target = place_of(*names)
    for name in names:
        run = ran(target, name).run
        counted = any("counts" in message.tensors for message in run.transcript.messages)
        must(math.isfinite(run.utility.test) or counted, f"{name} in {target}: no utility")
    return Kept(f"{' and '.join(names)} in {target}")


def check_changes(defense: str) -> Kept:
    """What is sent with it differs from what is sent without it, at its published or its strongest setting."""
    kind: type[Defense] = find("defenses", defense)
    if kind is Defense:
        return Kept("it is the undefended control")
    target = place_of(defense)
    without = fingerprint(ran(target).run.transcript.messages)
    same = fingerprint(ran(target, defense).run.transcript.messages) == without
    strongest = _strongest(kind)
    if same and strongest:
        again = run_once(target, quick(defense, **strongest)).run
        same = fingerprint(again.transcript.messages) == without
    must(not same, f"{defense} changes nothing that is sent or published by {target}")
    return Kept(f"in {target}")


def check_seeded(defense: str) -> Kept:
    """The same seed gives the same run under it, whatever else the process drew before."""
    target = place_of(defense)
    again = run_once(target, quick(defense), coins=1).run
    must(
        content(again) == content(ran(target, defense).run),
        f"{defense} in {target} sent something else with the same seed: take randomness from the seed of its hooks",
    )
    return Kept(f"in {target}")


def check_leaves_alone(defense: str) -> Kept:
    """It changes copies: the network, or the client's data, that it is given stays as it was."""
    made, seed = quick(defense), np.random.SeedSequence(SEED)
    if "on_graph" in made.hooks():
        network = sparse_network(SEED)
        before = fingerprint(network)
        made.on_graph(network, seed)
        must(fingerprint(network) == before, f"{defense} wrote into the network that it is given")
    if "on_data" in made.hooks() and not made.needs_shared_model:
        client = _clients_own()
        before = fingerprint(client)
        made.on_data(client, None, seed, lambda kind, tensors: None)
        must(fingerprint(client) == before, f"{defense} wrote into the data of a client that it is given")
    return Kept()


def _clients_own() -> Client:
    """The whole small graph as one client's."""

    data = sixty_nodes()
    (client,) = clients_of(data, Partition.undivided(len(data.y)))
    return client


RULES = (
    Rule("name", "It bears its name and says what it is.", lambda name: check_name("defenses", name), first=True),
    Rule(
        "alternative",
        "It has a place in a target, every hook of it is called there, and so has its trivial alternative.",
        check_alternative,
        first=True,
    ),
    Rule("guarantee", "What it guarantees holds on what it makes.", check_guarantee),
    Rule("changes", "It changes something that is sent or published.", check_changes),
    Rule("seeded", "The same seed gives the same run under it.", check_seeded),
    Rule("unchanged", "It leaves what it is given as it is.", check_leaves_alone),
)
"""What defenses owe."""
