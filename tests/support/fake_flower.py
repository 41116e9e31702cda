"""A Flower grid in one process: the interface of flwr 1.41, and clients that are functions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

Client = Callable[["Message"], "Message"]
_ids = count()


class Array:
    """As flwr's: a NumPy array behind a method."""

    def __init__(self, value: np.ndarray) -> None:
        self._value = value.copy()

    def numpy(self) -> np.ndarray:
        return self._value


@dataclass
class Metadata:
    """As flwr's, as far as it is read."""

    message_type: str
    dst_node_id: int
    src_node_id: int
    message_id: str = ""
    reply_to_message_id: str = ""


@dataclass
class Content(dict):
    """A record dict: records by name, told apart by what they hold."""

    array_records: dict[str, dict[str, Array]] = field(default_factory=dict)
    config_records: dict[str, dict[str, Any]] = field(default_factory=dict)
    metric_records: dict[str, dict[str, Any]] = field(default_factory=dict)


class Message:
    """As flwr's."""

    def __init__(self, content: Content | None, metadata: Metadata) -> None:
        self._content, self.metadata = content, metadata

    @property
    def content(self) -> Content:
        if self._content is None:
            raise ValueError("a message with an error has no content")
        return self._content

    def has_error(self) -> bool:
        return self._content is None


def message(kind: str, node: int, arrays=None, config=None, metrics=None, reply_to=None) -> Message:
    """A message to a node, or its reply."""
    records = {} if arrays is None else {"arrays": {name: Array(value) for name, value in arrays.items()}}
    content = Content(records, {"config": config or {}}, {"metrics": metrics or {}})
    if reply_to is None:
        return Message(content, Metadata(kind, node, 1))
    return Message(content, Metadata(kind, 1, node, reply_to_message_id=reply_to.metadata.message_id))


class Grid:
    """Nodes with 64-bit ids, who answer in the order of their ids, which is not that of their partitions."""

    def __init__(self, clients: dict[int, Client]) -> None:
        self.clients, self.run = clients, "the run"
        self._answers: dict[str, Message] = {}

    def get_node_ids(self) -> Iterable[int]:
        return list(self.clients)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        ids = []
        for one in messages:
            one.metadata.message_id = f"message {next(_ids)}"
            ids.append(one.metadata.message_id)
            self._answers[ids[-1]] = self.clients[one.metadata.dst_node_id](one)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        found = [self._answers.pop(one) for one in message_ids if one in self._answers]
        return sorted(found, key=lambda reply: reply.metadata.src_node_id)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return self.pull_messages(self.push_messages(messages))
