"""Recorded runs: a folder that grows while a run takes place (format 2), or one file (format 1).

A folder holds ``recording.json``, which says what is known of the run, and shards ``000000.safetensors``,
``000001.safetensors``, ... with its messages. Each shard is written whole and never changed after, so a run that is
killed leaves all that it had sent. What nobody declared is null: unknown, and told so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from safetensors import SafetensorError, safe_open

from ..errors import InputError
from ..untrusted import JSON_MEMORY, check_memory
from .messages import PUBLISHED_GRAPH, kinds_of
from .models.training_config import TrainingConfig
from .transcript import (
    PARTY,
    TENSOR_MEMORY,
    Message,
    MessageHeader,
    Tally,
    Transcript,
    check_names,
    checked_header,
    memory_of,
    read_header,
    tensors_of,
)

if TYPE_CHECKING:
    from torch import Tensor

FORMAT: Final = "gaudit-transcript/2"
ABOUT = "recording.json"
"""The file of a recording that says what is known of the run."""
SHARD = re.compile(r"[0-9]{6,9}\.safetensors")
UNKNOWN = "unknown"
"""How a defense is called that nobody recorded."""
DIGITS, CHUNK = 6, 1 << 20
NAMED = {
    **{"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"},
    **{"BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64"},
}
"""The types that messages have: torch's names by those in safetensors."""

Number = Annotated[int, Field(ge=0, le=10**9)]
Text = Annotated[str, Field(min_length=1, max_length=200)]


class Party(BaseModel):
    """A party by the name that it has elsewhere.

    Attributes:
        id: its own name: a node's 64-bit id as text, a hospital's name.
        partition: the number of its part of the data, which is also that of its name in messages.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    id: Text | None = None
    partition: Number | None = None


class Members(BaseModel):
    """Whose data were trained on, by position in the graph.

    Attributes:
        nodes: the members.
        others: those in question who are none; null where nobody said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    nodes: tuple[Number, ...] = Field(min_length=1)
    others: tuple[Number, ...] | None = None

    @model_validator(mode="after")
    def _apart(self) -> Members:
        others = self.others or ()
        if len({*self.nodes, *others}) != len(self.nodes) + len(others):
            raise ValueError("a node is listed twice")
        return self


class DeclaredDefense(BaseModel):
    """The defense that was in place, as the one who recorded says: ``none``, or what it is called."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Text
    settings: dict[str, Any] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name with its settings."""
        told = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        return f"{self.name}, {told}" if told else self.name


class About(BaseModel):
    """What is known of a recorded run; what nobody declared is None.

    Attributes:
        game: which membership the members are of: ``label-membership`` or ``node-presence``.
        recipe: how models were trained. What it leaves out is gaudit's default, so that all of it is declared.
        defense: which one was in place.
        parties: by their names in messages.
        members: whose data were trained on.
        holders: the number of the client that holds each node of the graph, -1 for none.
        pipeline: what ran: a target of gaudit by name, or whatever its owner calls it.
        features: how features were preprocessed, which is public.
        tallies: how many messages were sent, where not all of them were kept.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal["gaudit-transcript/2"] = FORMAT
    game: Literal["label-membership", "node-presence"] | None = None
    recipe: TrainingConfig | None = None
    defense: DeclaredDefense | None = None
    parties: dict[Annotated[str, Field(pattern=PARTY)], Party] = Field(default_factory=dict)
    members: Members | None = None
    holders: tuple[Annotated[int, Field(ge=-1, le=10**9)], ...] | None = None
    pipeline: Text | None = None
    features: Literal["given", "row-shares"] | None = None
    tallies: tuple[Tally, ...] | None = None

    @model_validator(mode="after")
    def _names_fit(self) -> About:
        for name, party in self.parties.items():
            number = name.partition(":")[2]
            if party.partition is not None and number != str(party.partition):
                raise ValueError(f"{name} has the partition {party.partition}: it is called client:<partition>")
        ids = [party.id for party in self.parties.values() if party.id is not None]
        if len(set(ids)) != len(ids):
            raise ValueError("two parties have one id")
        return self


@dataclass(frozen=True)
class Recording:
    """A recorded run: what is known of it, and what was sent."""

    path: Path
    about: About
    transcript: Transcript


def about_recording(path: str | Path) -> About:
    """What is known of a recorded run; of a file of format 1 that is nothing.

    Raises:
        InputError: it cannot be read, or is damaged.
    """
    path = Path(path)
    if not path.is_dir():
        return About()
    file = path / ABOUT
    try:
        check_memory(f"the recording {path}", JSON_MEMORY * file.stat().st_size)
        text = _regular(file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f"the folder {path} is no recording: it holds no {ABOUT}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
    return checked_header(file, text, About, FORMAT, "account of the recording")


def read_recording(path: str | Path, retain: Callable[[Message], bool] = lambda message: True) -> Recording:
    """Reads a recorded run, which is not trusted: nothing in it is executed.

    Args:
        path: a folder of format 2, or a file of format 1.
        retain: which messages are kept with their content; it is asked about them without it. All are counted.

    Raises:
        InputError: it is missing, damaged, too large, or no recording.
    """
    path = Path(path)
    about = about_recording(path)
    if not path.is_dir():
        return Recording(path, about, Transcript.load(path))
    transcript, needed = Transcript(), 0.0
    for shard in shards_of(path):
        needed = _read_shard(shard, transcript, retain, needed)
    if about.tallies is not None:
        transcript.tallies = {(t.kind, t.sender, t.receiver, t.sealed_from): t for t in about.tallies}
    return Recording(path, about, transcript)


def shards_of(folder: Path) -> list[Path]:
    """The shards of a recording in the order in which they were written.

    Raises:
        InputError: the folder cannot be read, or one is missing.
    """
    try:
        found = sorted((int(p.stem), p) for p in folder.iterdir() if SHARD.fullmatch(p.name))
    except OSError as error:
        raise InputError(f"cannot read the recording {folder}: {error.strerror or error}") from error
    for expected, (number, _) in enumerate(found):
        if number != expected:
            raise InputError(f"the recording {folder} lacks the shard {shard_name(expected)}: copy it again")
    return [path for _, path in found]


def shard_name(number: int) -> str:
    """What the shard of a number is called."""
    return f"{number:0{DIGITS}d}.safetensors"


class ShardHeader(BaseModel):
    """The header of one shard."""

    model_config = ConfigDict(extra="forbid")
    format: Literal["gaudit-transcript/2"] = FORMAT
    messages: tuple[MessageHeader, ...]


def _read_shard(path: Path, into: Transcript, retain: Callable[[Message], bool], needed: float) -> float:
    """Adds the messages of a shard to a transcript, and returns how much memory it has taken with all before it."""
    try:
        check_memory(f"the recording {path.parent}", needed + memory_of(_regular(path), tensors=False))
        with safe_open(path, framework="pt") as file:
            header = read_header(path, file.metadata(), ShardHeader, FORMAT)
            check_names(path, file, header.messages)
            kept = [retain(Message(m.kind, m.sender, m.receiver, m.round, {})) for m in header.messages]
            if any(kept):
                needed += TENSOR_MEMORY * path.stat().st_size
                check_memory(f"the recording {path.parent}", needed)
            for i, (m, keep) in enumerate(zip(header.messages, kept, strict=True)):
                tensors = tensors_of(path, file, i, m) if keep else _sizes(path, file, i, m)
                into.record(Message(m.kind, m.sender, m.receiver, m.round, tensors, m.sealed_from), keep)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except SafetensorError as error:
        raise InputError(
            f"the shard {path} is damaged or truncated ({str(error).splitlines()[0]}): record the run again"
        ) from error
    return needed


def _sizes(path: Path, file: safe_open, index: int, header: MessageHeader) -> dict[str, Tensor]:
    """The tensors of a message without their content: what is only counted is not read."""
    import torch

    found = {}
    for name in header.tensors:
        part = file.get_slice(f"{index}/{name}")
        if part.get_dtype() not in NAMED:
            raise InputError(f"message {index} ({header.kind}) of {path} holds '{name}' as {part.get_dtype()}")
        found[name] = torch.empty(part.get_shape(), dtype=getattr(torch, NAMED[part.get_dtype()]), device="meta")
    return found


def _regular(path: Path) -> Path:
    """The path of a file, and of nothing that reading may wait for, as it does for a pipe.

    Raises:
        InputError: it is something else.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"cannot read {path}: it is no regular file")
    return path


def digest_of_recording(path: str | Path) -> str:
    """A digest of all files of a recorded run.

    Raises:
        InputError: one cannot be read.
    """
    path = Path(path)
    files = [path / ABOUT, *shards_of(path)] if path.is_dir() else [path]
    known = hashlib.sha256()
    try:
        for file in files:
            known.update(file.name.encode() if path.is_dir() else b"file")
            for chunk in _chunks(_regular(file)):
                known.update(chunk)
    except OSError as error:
        raise InputError(f"cannot read the transcript {path}: {error.strerror or error}") from error
    return known.hexdigest()


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            yield chunk


def kinds_in(recording: Recording) -> set[str]:
    """Kinds of messages that were sent from one party to another."""
    return {t.kind for t in recording.transcript.tallies.values() if t.sender != t.receiver}


def json_schema() -> dict[str, Any]:
    """The public schema of ``recording.json``, and as ``$defs/ShardHeader`` that of a shard's header."""
    known, shard = (kind.model_json_schema() for kind in (About, ShardHeader))
    for kind in (known, shard):
        kind["required"] = sorted({"format", *kind.get("required", ())})
    definitions = {**known.pop("$defs"), **shard.pop("$defs"), "ShardHeader": shard}
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT}
    return {**about, **known, "$defs": definitions}


def is_published_network(kinds: Iterable[str]) -> bool:
    """Whether nothing was sent but networks under published names."""
    found = set(kinds)
    return bool(found) and found <= set(kinds_of([PUBLISHED_GRAPH]))


def as_declared(recipe: TrainingConfig) -> str:
    """A recipe in words."""
    told: dict[str, Any] = recipe.model_dump()
    return ", ".join(f"{name} {value}" for name, value in told.items())
