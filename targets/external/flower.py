"""Recording what the server, or a client, of a Flower app sees. Flower itself is imported by its users alone.

In a ServerApp one line records exactly what the server sees of models: those that it sends and those that it gets.
Metrics are not recorded. Clients are told apart by the partition that each of them says it has, never by the order
in which they answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from ...errors import InputError, quoted
from ..messages import GLOBAL_KIND, UPDATE_KIND
from ..recorder import Recorder, recording

PARTITION = "partition-id"
ROUND = "server-round"
OURS = "gaudit"
"""The record in which `tell_partition` says it."""
ToNames = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def record(
    grid: Any, folder: str | Path, *, names: ToNames | None = None, reply: str = UPDATE_KIND, **known: Any
) -> "RecordedGrid":
    """The same grid, which records what the server sends and gets: ``grid = gaudit.flower.record(grid, "run/")``.

    Models that go out are messages ``global-model``: to all clients where all nodes get the same, else to each one.
    Models that come back are ``update``. Rounds begin with 0, Flower's with 1; the model that is evaluated after a
    round is that of the next. Each client must say which partition of the data it has: with
    ``mods=[gaudit.flower.tell_partition]`` in its ClientApp, or as ``partition-id`` in the metrics of its replies.

    Args:
        grid: of the ServerApp's main function.
        folder: where to, see `gaudit.recording`.
        names: from the model's names of weights to gaudit's: `gaudit.names` of the model.
        reply: the kind of what comes back: ``update`` (weights) or ``gradient``.
        known: what is known of the run: ``recipe``, ``members``, ``holders`` and so on, see `gaudit.recording`.

    Raises:
        InputError: the folder cannot be written.
    """
    return RecordedGrid(grid, recording(folder, **known), names, reply)


class RecordedGrid:
    """A Flower grid that records; all else is asked of the grid itself.

    A model is written before it is sent where its receivers are known, and a reply when it comes in.
    """

    def __init__(self, grid: Any, recorder: Recorder, names: ToNames | None, reply: str) -> None:
        self._grid, self._recorder, self._names, self._reply = grid, recorder, names, reply
        self._partition: dict[int, int] = {}
        self._pushed: dict[str, tuple[Any, int]] = {}
        self._unwritten: list[tuple[int, int, dict[str, Tensor]]] = []
        self._batches = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> list[Any]:
        """Sends messages, waits for the replies, and records both.

        Raises:
            InputError: a reply does not say whose it is, or holds what cannot be recorded.
        """
        sent = list(messages)
        rounds = self._send(sent)
        replies = list(self._grid.send_and_receive(sent, timeout=timeout))
        by_node = {message.metadata.dst_node_id: round_ for message, round_ in zip(sent, rounds, strict=True)}
        self._receive([(reply, by_node[reply.metadata.src_node_id]) for reply in replies])
        return replies

    def push_messages(self, messages: Iterable[Any]) -> list[str]:
        """Sends messages, and records them."""
        sent = list(messages)
        rounds = self._send(sent)
        ids = list(self._grid.push_messages(sent))
        self._pushed |= {one: (message, t) for one, message, t in zip(ids, sent, rounds, strict=True)}
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> list[Any]:
        """Gets the replies that are there, and records them.

        Raises:
            InputError: a reply does not say whose it is, or holds what cannot be recorded.
        """
        replies = list(self._grid.pull_messages(message_ids))
        self._receive([(reply, self._pushed.pop(reply.metadata.reply_to_message_id)[1]) for reply in replies])
        return replies

    def _send(self, sent: Sequence[Any]) -> list[int]:
        """Records models that go out, as soon as it is known to whom; the round of each message."""
        models = [self._model(message) for message in sent]
        rounds = [self._round(message) for message in sent]
        self._batches += any(_trains(message) for message in sent)
        nodes = [message.metadata.dst_node_id for message in sent]
        told = [(n, t, m) for n, t, m in zip(nodes, rounds, models, strict=True) if m is not None]
        everybody = len(told) == len(set(nodes)) and set(nodes) == set(self._grid.get_node_ids())
        if told and everybody and _alike([m for _, _, m in told]) and len({t for _, t, _ in told}) == 1:
            _, t, model = told[0]
            self._recorder(GLOBAL_KIND, "server", "clients", t, model)
        else:
            self._unwritten += told
            self._write_known()
        return rounds

    def _write_known(self) -> None:
        """Records models whose receivers are known by now."""
        waiting, self._unwritten = self._unwritten, []
        for node, t, model in sorted(waiting, key=lambda one: (one[1], self._partition.get(one[0], -1))):
            if node in self._partition:
                self._recorder(GLOBAL_KIND, "server", f"client:{self._partition[node]}", t, model)
            else:
                self._unwritten.append((node, t, model))

    def _receive(self, replies: Sequence[tuple[Any, int]]) -> None:
        """Records what came back, in the order of the clients' partitions."""
        found = []
        for reply, t in replies:
            model = None if reply.has_error() else self._model(reply)
            if model is not None:
                found.append((self._client(reply), t, model))
        self._write_known()
        for number, t, model in sorted(found, key=lambda one: one[0]):
            self._recorder(self._reply, f"client:{number}", "server", t, model)

    def _client(self, reply: Any) -> int:
        """The partition of who replied."""
        node, number = reply.metadata.src_node_id, _told(reply, PARTITION)
        if type(number) is not int or number < 0:
            got = (
                "does not say its partition-id" if number is None else f"says its partition-id is {quoted(number)}"
            )
            raise InputError(
                f"the reply of node {node} {got}: give the ClientApp mods=[gaudit.flower.tell_partition], or put "
                "'partition-id' of context.node_config into its metrics"
            )
        if self._partition.get(node, number) != number:
            raise InputError(f"node {node} says it has partition {number}, and said {self._partition[node]} before")
        others = [other for other, known in self._partition.items() if known == number and other != node]
        if others:
            raise InputError(f"nodes {others[0]} and {node} both say that they have partition {number}")
        if node not in self._partition:
            self._partition[node] = number
            parties = {f"client:{n}": {"id": str(one), "partition": n} for one, n in self._partition.items()}
            told = {name: party.model_dump() for name, party in self._recorder.about.parties.items()}
            self._recorder.declare(parties={**told, **parties})
        return number

    def _model(self, message: Any) -> dict[str, Tensor] | None:
        return model_in(message, self._names)

    def _round(self, message: Any) -> int:
        """From 0; as the message says, else the number of training batches before."""
        told = _told(message, ROUND)
        if type(told) is int:
            return told - 1 if _trains(message) else told
        return self._batches


def tell_partition(message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
    """A mod of a ClientApp: each reply says which partition of the data the client has, as its node's config does.

    Raises:
        InputError: its node has no ``partition-id``.
    """
    from flwr.app import ConfigRecord

    reply = call_next(message, context)
    if not reply.has_error():
        reply.content[OURS] = ConfigRecord({PARTITION: _own_partition(context)})
    return reply


def client_mod(
    folder: str | Path, *, names: ToNames | None = None, reply: str = UPDATE_KIND, **known: Any
) -> Callable[[Any, Any, Callable[[Any, Any], Any]], Any]:
    """A mod of a ClientApp that records what a client sees, in the folder ``client-<partition>`` within ``folder``.

    Args:
        folder: on the machine of the client.
        names: as of `record`.
        reply: as of `record`.
        known: as of `record`.
    """

    def mod(message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        number = _own_partition(context)
        me = f"client:{number}"
        recorder = recording(Path(folder) / f"client-{number}", append=True, **known)
        told = _told(message, ROUND)
        if type(told) is not int:
            raise InputError(f"the server's message does not say its round: put '{ROUND}' into its config")
        t = told - 1 if _trains(message) else told
        received = model_in(message, names)
        if received is not None:
            recorder(GLOBAL_KIND, "server", me, t, received)
        answer = call_next(message, context)
        model = None if answer.has_error() else model_in(answer, names)
        if model is not None:
            recorder(reply, me, "server", t, model)
        return answer

    return mod


def _own_partition(context: Any) -> int:
    try:
        return int(context.node_config[PARTITION])
    except (KeyError, ValueError) as error:
        raise InputError(
            f"the node's config has no '{PARTITION}': start it with --node-config '{PARTITION}=0'"
        ) from error


def model_in(message: Any, names: ToNames | None) -> dict[str, Tensor] | None:
    """The one model in a message, under gaudit's names; None where there is none.

    Raises:
        InputError: it holds several, or weights that have no names.
    """
    records = list(message.content.array_records.values())
    if not records:
        return None
    if len(records) > 1:
        raise InputError(f"a Flower message holds {len(records)} array records: gaudit records one model a message")
    arrays = {name: array.numpy() for name, array in records[0].items()}
    return dict(arrays if names is None else names(arrays))


def _told(message: Any, key: str) -> Any:
    """What a message's configs or metrics say under a key, or None."""
    parts = [*message.content.config_records.values(), *message.content.metric_records.values()]
    found = next((part[key] for part in parts if key in part), None)
    whole = isinstance(found, float) and found.is_integer()
    return int(found) if whole and isinstance(found, float) else found


def _trains(message: Any) -> bool:
    """Whether a message asks for training, or answers that."""
    return str(message.metadata.message_type).partition(".")[0] == "train"


def _alike(models: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all models are one, to the bit."""
    first = models[0]
    return all(
        model.keys() == first.keys() and all(_bytes(model[name]) == _bytes(first[name]) for name in first)
        for model in models[1:]
    )


def _bytes(value: Any) -> tuple[str, tuple[int, ...], bytes]:
    array = value.numpy() if isinstance(value, Tensor) else value
    return str(array.dtype), tuple(array.shape), array.tobytes()
