"""What left the parties of a run, and what each observer saw of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError, safe_open

from ..errors import InputError, quoted
from ..output_files import PRIVATE, whole
from ..untrusted import JSON_MEMORY, check_memory, json_of
from .messages import Carrying

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = "gaudit-transcript/1"
HEADER = "gaudit"
"""Under what name the metadata of a file hold its header."""
TENSOR_MEMORY = 1.2
"""Bytes of memory that a byte of a transcript takes: its tensors, and the largest of them once more."""
DTYPES = {
    *("torch.float16", "torch.bfloat16", "torch.float32", "torch.float64", "torch.bool"),
    *("torch.uint8", "torch.int8", "torch.int16", "torch.int32", "torch.int64"),
}
"""Types of numbers that messages have, as torch calls them."""
PARTY = r"^(server|client:[0-9]{1,9})$"
RECEIVER = r"^(server|client:[0-9]{1,9}|clients|public)$"
HeaderT = TypeVar("HeaderT", bound=BaseModel)


@dataclass(frozen=True)
class Message:
    """One thing that leaves a party.

    Attributes:
        kind: what it is, in the field's words (``class-gradients``, ``condensed-graph``, ...).
        sender: ``server`` or ``client:<n>``.
        receiver: a party, ``clients`` (all of them) or ``public``. A message from a party to itself is
            something it holds without sending it: only that party sees it.
        round: the communication round, from 0; -1 before the first.
        tensors: the content by name.
        sealed_from: parties that relay the message without being able to read it (encryption).
    """

    kind: str
    sender: str
    receiver: str
    round: int
    tensors: Mapping[str, Tensor]
    sealed_from: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(t.numel() * t.element_size() for t in self.tensors.values())


class Tally(BaseModel):
    """How many messages of one kind went from one party to another, kept or not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str = Field(max_length=200)
    sender: str = Field(pattern=PARTY)
    receiver: str = Field(pattern=RECEIVER)
    sealed_from: tuple[str, ...] = ()
    count: int = Field(ge=0)
    nbytes: int = Field(ge=0)
    first_round: int
    last_round: int

    def plus(self, message: Message) -> Tally:
        return self.model_copy(
            update={
                "count": self.count + 1,
                "nbytes": self.nbytes + message.nbytes,
                "first_round": min(self.first_round, message.round),
                "last_round": max(self.last_round, message.round),
            }
        )


class MessageHeader(BaseModel):
    """All of a message but its tensors, of which it has the names."""

    model_config = ConfigDict(extra="forbid")

    kind: str = Field(max_length=200)
    sender: str = Field(pattern=PARTY)
    receiver: str = Field(pattern=RECEIVER)
    round: int = Field(ge=-1, le=10**9, strict=True)
    sealed_from: tuple[str, ...] = ()
    tensors: tuple[str, ...]

    @classmethod
    def of(cls, message: Message) -> MessageHeader:
        """That of a message."""
        return cls(
            kind=message.kind,
            sender=message.sender,
            receiver=message.receiver,
            round=message.round,
            sealed_from=message.sealed_from,
            tensors=tuple(message.tensors),
        )


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: str
    messages: tuple[MessageHeader, ...]
    tallies: tuple[Tally, ...]


def observer_members(observer: str) -> tuple[str, ...]:
    """The parties of an observer: ``server``, ``client:3``, ``public``, or several joined by ``+``.

    Raises:
        InputError: a part is none of these.
    """
    members = tuple(dict.fromkeys(part.strip() for part in observer.split("+")))
    for member in members:
        role, _, number = member.partition(":")
        if not (member in ("server", "public") or (role == "client" and number.isascii() and number.isdigit())):
            raise InputError(
                f"unknown observer '{member}': expected public, server, client:<n>, or several joined by +"
            )
    return members


def sees(observer: str, sender: str, receiver: str) -> bool:
    """Whether any member of ``observer`` gets to see a message from ``sender`` to ``receiver``."""
    if receiver == "public":
        return True
    return any(
        member in (sender, receiver) or (receiver == "clients" and member.startswith("client:"))
        for member in observer_members(observer)
    )


def reads(observer: str, sealed_from: Iterable[str]) -> bool:
    """Whether a seen message is also readable: one member without the seal is enough (it lends its key)."""
    sealed = set(sealed_from)
    if not sealed:
        return True
    return any(member not in sealed and member != "public" for member in observer_members(observer))


@dataclass(frozen=True)
class Exposure:
    """One row of the exposure table: what an observer sees of one message kind."""

    kind: str
    observer: str
    count: int
    nbytes: int
    first_round: int
    last_round: int
    readable: bool


@dataclass(frozen=True)
class View:
    """The part of a transcript that one observer sees; sealed messages show their header only."""

    observer: str
    messages: tuple[Message, ...]

    def of_kind(self, kind: str) -> tuple[Message, ...]:
        """The readable messages of one kind, in the order in which they were sent."""
        return tuple(m for m in self.messages if m.kind == kind and m.tensors)

    def carrying(self, wanted: Carrying) -> tuple[Message, ...]:
        """The readable messages that carry something, in the order in which they were sent."""
        return tuple(m for m in self.messages if m.tensors and wanted.covers(m.kind))

    def last(self, kind: str) -> Message:
        """The latest readable message of one kind.

        Raises:
            InputError: the observer does not see one.
        """
        found = self.of_kind(kind)
        if not found:
            raise InputError(f"the observer '{self.observer}' sees no '{kind}' message: choose another observer")
        return found[-1]

    def until(self, round_: int) -> View:
        """What the observer had seen by the end of one round."""
        return replace(self, messages=tuple(m for m in self.messages if m.round <= round_))


@dataclass
class Transcript:
    """All messages of a run: every one is counted, those that the retention rule names are kept."""

    messages: list[Message] = field(default_factory=list)
    tallies: dict[tuple[str, str, str, tuple[str, ...]], Tally] = field(default_factory=dict)

    def record(self, message: Message, keep: bool) -> None:
        """Counts a message, and keeps it if asked to.

        Raises:
            InputError: it comes from or goes to someone whose name is not a party's.
        """
        if not re.match(PARTY, message.sender) or not re.match(RECEIVER, message.receiver):
            raise InputError(
                f"a message from '{message.sender}' to '{message.receiver}': parties are called server or "
                "client:<n>, receivers also clients or public"
            )
        key = (message.kind, message.sender, message.receiver, message.sealed_from)
        before = self.tallies.get(key) or Tally(
            kind=message.kind,
            sender=message.sender,
            receiver=message.receiver,
            sealed_from=message.sealed_from,
            count=0,
            nbytes=0,
            first_round=message.round,
            last_round=message.round,
        )
        self.tallies[key] = before.plus(message)
        if keep:
            self.messages.append(message)

    def parties(self) -> list[str]:
        """All parties that took part, the server first."""
        names = {n for t in self.tallies.values() for n in (t.sender, t.receiver)} - {"public", "clients"}
        return sorted(names, key=lambda n: (n != "server", int(n.partition(":")[2] or 0)))

    def onlookers(self) -> list[str]:
        """Who is worth a look: the public, and the server and the first client where they took part.

        Whoever is alone holds all data and is no onlooker: nobody sends it anything.
        """
        parties = self.parties()
        return ["public", *(one for one in ("server", "client:0") if one in parties and len(parties) > 1)]

    def seen_by(self, observer: str, *others: str) -> View:
        """The view of an observer, or of several who put together what they see.

        Raises:
            InputError: the observer is unknown, or took no part in this run.
        """
        joined = "+".join((observer, *others))
        known = set(self.parties())
        for member in observer_members(joined):
            if member.startswith("client:") and member not in known:
                raise InputError(f"no party '{member}' in this run: its parties are {', '.join(self.parties())}")
        seen = (
            m if reads(joined, m.sealed_from) else replace(m, tensors={})
            for m in self.messages
            if sees(joined, m.sender, m.receiver)
        )
        # copies: an attack that writes into what it sees must not change the record
        return View(joined, tuple(replace(m, tensors={n: t.clone() for n, t in m.tensors.items()}) for m in seen))

    def exposure(self, observers: Iterable[str]) -> list[Exposure]:
        """Who sees what, measured: message kinds x observers with counts, bytes, first and last round."""
        return [row for observer in observers for row in self._exposure_of(observer)]

    def _exposure_of(self, observer: str) -> Iterator[Exposure]:
        rows: dict[tuple[str, bool], Exposure] = {}
        for tally in self.tallies.values():
            if not sees(observer, tally.sender, tally.receiver):
                continue
            readable = reads(observer, tally.sealed_from)
            key = (tally.kind, readable)
            row = rows.get(key) or Exposure(
                tally.kind, observer, 0, 0, tally.first_round, tally.last_round, readable
            )
            rows[key] = replace(
                row,
                count=row.count + tally.count,
                nbytes=row.nbytes + tally.nbytes,
                first_round=min(row.first_round, tally.first_round),
                last_round=max(row.last_round, tally.last_round),
            )
        yield from rows.values()

    def save(self, path: str | Path) -> None:
        """Writes one file: safetensors, with the messages' headers as JSON in its metadata.

        The file appears whole or not at all, and nobody but its owner may read it.
        """
        path = Path(path)
        header = _Header(
            format=FORMAT,
            messages=tuple(map(MessageHeader.of, self.messages)),
            tallies=tuple(self.tallies.values()),
        )
        write_tensors(path, self.messages, header)

    @classmethod
    def load(cls, path: str | Path) -> Transcript:
        """Reads a file written by `save`. The file is not trusted: nothing in it is executed.

        Raises:
            InputError: the file is missing, truncated, too large, or not a transcript.
        """
        path = Path(path)
        try:
            check_memory(f"the transcript {path}", memory_of(path))
            with safe_open(path, framework="pt") as file:
                header = _read_header(path, file.metadata())
                return cls._from_file(path, header, file)
        except OSError as error:
            raise InputError(f"cannot read the transcript {path}: {error.strerror or error}") from error
        except SafetensorError as error:
            raise InputError(
                f"the transcript {path} is damaged or truncated ({str(error).splitlines()[0]}): record it again"
            ) from error

    @classmethod
    def _from_file(cls, path: Path, header: _Header, file: safe_open) -> Transcript:
        check_names(path, file, header.messages)
        messages = [
            Message(m.kind, m.sender, m.receiver, m.round, tensors_of(path, file, i, m), m.sealed_from)
            for i, m in enumerate(header.messages)
        ]
        return cls(messages, {(t.kind, t.sender, t.receiver, t.sealed_from): t for t in header.tallies})


def write_tensors(path: Path, messages: Iterable[Message], header: BaseModel) -> None:
    """Writes messages into one safetensors file, with a header as JSON in its metadata.

    The file appears whole or not at all, and nobody but its owner may read it.

    Raises:
        InputError: it cannot be written.
    """
    from safetensors.torch import save_file

    tensors = {
        f"{i}/{name}": tensor.detach().cpu().contiguous().clone()
        for i, m in enumerate(messages)
        for name, tensor in m.tensors.items()
    }
    try:
        with whole(path, private=True, kind="transcript") as part:
            save_file(tensors, part, metadata={HEADER: header.model_dump_json()})
            part.chmod(PRIVATE)  # the library may put a file of its own in its place
    except SafetensorError as error:
        raise InputError(f"cannot write the transcript {path}: {str(error).splitlines()[0]}") from error


def memory_of(path: Path, tensors: bool = True) -> float:
    """Bytes of memory that reading a file takes at most: its tensors are copied, and its header is JSON.

    Args:
        path: of a safetensors file.
        tensors: whether its tensors are read, or its header alone.

    Raises:
        OSError: it cannot be opened.
    """
    with path.open("rb") as stream:
        header = int.from_bytes(stream.read(8), "little")
    size = path.stat().st_size
    return (TENSOR_MEMORY * size if tensors else 0) + JSON_MEMORY * min(header, size)


def _read_header(path: Path, metadata: Mapping[str, str] | None) -> _Header:
    return read_header(path, metadata, _Header, FORMAT)


def read_header(path: Path, metadata: Mapping[str, str] | None, kind: type[HeaderT], format_: str) -> HeaderT:
    """The header of a safetensors file that holds messages.

    Args:
        path: of the file, for errors.
        metadata: the file's.
        kind: what the header must be.
        format_: what it must say of its format.

    Raises:
        InputError: there is none, or it is another or a damaged one.
    """
    if not metadata or HEADER not in metadata:
        raise InputError(f"{path} is a safetensors file but not a transcript: it has no '{HEADER}' header")
    return checked_header(path, metadata[HEADER], kind, format_, "header of the transcript")


def checked_header(path: Path, text: str, kind: type[HeaderT], format_: str, what: str) -> HeaderT:
    """What a JSON text from a recording says.

    Raises:
        InputError: it is damaged, or has another format; ``what`` is called by its name.
    """
    try:
        content = json_of(text)
        found = content.get("format") if isinstance(content, dict) else None
        if isinstance(found, str) and found != format_:
            raise InputError(
                f"the transcript {path} has the format {quoted(found)}, this version reads '{format_}' there"
            )
        if isinstance(content, dict) and found is None:
            raise InputError(f"the {what} {path} says no format: this version reads '{format_}' there")
        return kind.model_validate(content)
    except InputError:
        raise
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"the {what} {path} is damaged, or written by hand and wrong ({where}: {quoted(first['input'])}: "
            f"{first['msg'][:120]})"
        ) from error
    except ValueError as error:
        raise InputError(f"the {what} {path} is damaged: record it again") from error


def check_names(path: Path, file: safe_open, headers: Sequence[MessageHeader]) -> None:
    """Refuses a file that does not hold the very tensors that its headers name.

    Raises:
        InputError: it does not.
    """
    named = [f"{i}/{name}" for i, header in enumerate(headers) for name in header.tensors]
    if sorted(named) != sorted(file.keys()):
        raise InputError(f"the transcript {path} names tensors that it does not hold: record it again")


def tensors_of(path: Path, file: safe_open, index: int, header: MessageHeader) -> dict[str, Tensor]:
    """The tensors of one message of a file that holds several.

    Raises:
        InputError: one is of a type that is not read, or not finite.
    """
    import torch

    tensors: dict[str, Tensor] = {name: file.get_tensor(f"{index}/{name}") for name in header.tensors}
    for name, tensor in tensors.items():
        if str(tensor.dtype) not in DTYPES:
            raise InputError(
                f"message {index} ({header.kind}) of the transcript {path} holds '{name}' as {tensor.dtype}: "
                "expected real numbers, integers or booleans"
            )
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise InputError(
                f"message {index} ({header.kind}) of the transcript {path}: values in '{name}' are not finite"
            )
    return tensors
