"""Writing a recording while a run takes place, from whatever framework runs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import ValidationError

from ..errors import InputError, quoted
from ..output_files import write
from .messages import check_route, kind_of
from .models.training_config import TrainingConfig
from .recording import ABOUT, About, ShardHeader, about_recording, shard_name, shards_of
from .transcript import DTYPES, Message, MessageHeader, Transcript, write_tensors

if TYPE_CHECKING:
    from torch import Tensor


class Recorder:
    """Writes each message that it is called with into a shard of its own, whole and at once.

    Writing one costs what it holds, however long the run is. Messages are checked as `Channel` checks them.
    """

    def __init__(self, folder: str | Path, about: About, append: bool = False) -> None:
        """Makes the folder, or goes on with the recording in it.

        Args:
            folder: of the recording.
            about: what is known of the run.
            append: go on with a recording that the folder holds already; what is known of it stays.

        Raises:
            InputError: the folder cannot be written, or holds a recording and ``append`` is False.
        """
        self.folder, self.about, self.closed = Path(folder), about, False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot record into {folder}: {error.strerror or error}") from error
        begun, shards = (self.folder / ABOUT).exists(), shards_of(self.folder)
        if (begun or shards) and not append:
            raise InputError(f"the folder {folder} holds a recording already: give another, or append=True")
        self._next = len(shards)
        if begun:
            self.about = about_recording(self.folder)
        else:
            self._note()

    def __call__(
        self,
        kind: str,
        sender: str,
        receiver: str,
        round: int,
        tensors: Mapping[str, Any],
        sealed_from: Iterable[str] = (),
    ) -> None:
        """Records one message.

        Args:
            kind: a declared kind (`gaudit.declare_message` declares one of your own).
            sender: ``server`` or ``client:<number of its part of the data>``.
            receiver: a party, ``clients`` (all of them), ``public``; or the sender, for what it keeps to itself.
            round: the communication round, from 0; -1 before the first.
            tensors: the content by name: torch tensors, NumPy arrays, or what NumPy makes an array of.
            sealed_from: parties that relay it without being able to read it.

        Raises:
            InputError: nobody declared the kind, or not for this way; a name is no party's; a tensor is sparse, of
                a type that is not recorded, or not finite; or the file cannot be written.
        """
        if self.closed:
            raise InputError(f"the recording {self.folder} is closed: send within the 'with' block")
        if sender == receiver:
            kind_of(kind)
        else:
            check_route(kind, sender, receiver)
        if isinstance(round, bool) or not isinstance(round, int | np.integer) or round < -1:
            raise InputError(f"the round of a message '{kind}' is {quoted(round)}: expected a number from -1")
        content = {str(name): _tensor(kind, str(name), value) for name, value in tensors.items()}
        message = Message(kind, sender, receiver, int(round), content, tuple(sealed_from))
        Transcript().record(message, keep=False)  # refuses strange names
        self.write([message])

    def write(self, messages: Iterable[Message]) -> None:
        """Writes messages into one shard.

        Raises:
            InputError: it cannot be written, or another program records into this folder.
        """
        found = list(messages)
        path = self.folder / shard_name(self._next)
        if path.exists():
            raise InputError(
                f"cannot record into {self.folder}: another program does, give each a folder of its own"
            )
        write_tensors(path, found, ShardHeader(messages=tuple(map(MessageHeader.of, found))))
        self._next += 1

    def declare(self, **known: Any) -> None:
        """Notes more of what is known of the run, such as ``parties``; what is noted already stays.

        Raises:
            InputError: a value is unusable.
        """
        self.about = checked_about({**self.about.model_dump(mode="json", exclude_none=True), **known})
        self._note()

    def _note(self) -> None:
        write(self.folder / ABOUT, self.about.model_dump_json() + "\n", private=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed = True


def recording(
    folder: str | Path,
    *,
    game: str | None = None,
    recipe: TrainingConfig | Mapping[str, Any] | None = None,
    defense: str | Mapping[str, Any] | None = None,
    members: Any = None,
    non_members: Any = None,
    holders: Any = None,
    parties: Mapping[str, Mapping[str, Any]] | None = None,
    pipeline: str | None = None,
    features: str | None = None,
    append: bool = False,
) -> Recorder:
    """Records a run of your own while it takes place: ``with recording("run/") as send: send("update", ...)``.

    What is left out is unknown, and results say so.

    Args:
        folder: where to; it is made, and nobody but its owner may read what is in it.
        game: which membership the members are of: ``label-membership`` or ``node-presence``.
        recipe: how the models are trained; attacks with shadow models need it.
        defense: ``none``, the name of the one in place, or ``{"name": ..., "settings": {...}}``.
        members: whose data are trained on: a mask [N] or positions in the graph.
        non_members: who is in question besides and is no member, likewise.
        holders: the number of the client that holds each node, -1 for none, [N].
        parties: their own names: ``{"client:0": {"id": "7219...", "partition": 0}}``.
        pipeline: what runs.
        features: ``given``, or ``row-shares`` where each row of them is divided by its sum.
        append: go on with a recording that is there.

    Returns:
        What to call with each message, see `Recorder`.

    Raises:
        InputError: a value is unusable, or the folder is.
    """
    if members is None and non_members is not None:
        raise InputError("non_members are given without members: say who was trained on")
    told = {"nodes": _positions(members, "members"), "others": _positions(non_members, "non_members")}
    content = {
        "game": game,
        "recipe": recipe.model_dump() if isinstance(recipe, TrainingConfig) else recipe,
        "defense": {"name": defense} if isinstance(defense, str) else defense,
        "parties": parties or {},
        "members": None if members is None else told,
        "holders": None if holders is None else _whole(holders, "holders").tolist(),
        "pipeline": pipeline,
        "features": features,
    }
    return Recorder(folder, checked_about(content), append)


def checked_about(content: Mapping[str, Any]) -> About:
    """What is known of a run, from plain values.

    Raises:
        InputError: one is unusable.
    """
    try:
        return About.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "recording"
        raise InputError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from error


def members_of(subjects: np.ndarray, truth: np.ndarray) -> dict[str, list[int]]:
    """Members and others among nodes in question [s], as a recording tells them."""
    return {"nodes": np.sort(subjects[truth]).tolist(), "others": np.sort(subjects[~truth]).tolist()}


def save_recording(folder: str | Path, transcript: Transcript, about: About) -> None:
    """Writes a run that is over: all messages that it kept, and how many were sent.

    Raises:
        InputError: the folder cannot be written, or holds a recording.
    """
    recorder = Recorder(folder, about.model_copy(update={"tallies": tuple(transcript.tallies.values())}))
    recorder.write(transcript.messages)


def _whole(value: Any, what: str) -> np.ndarray:
    """Whole numbers in a row, [n]."""
    from torch import Tensor

    found = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputError(f"{what}: expected whole numbers in a row, got {found.dtype} of shape {list(found.shape)}")
    return found.astype(np.int64)


def _positions(value: Any, what: str) -> list[int] | None:
    """Positions of nodes, from a mask or from positions."""
    from torch import Tensor

    if value is None:
        return None
    found = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
    if found.dtype == np.bool_ and found.ndim == 1:
        found = np.flatnonzero(found)
    return [int(node) for node in np.sort(_whole(found, what))]


def _tensor(kind: str, name: str, value: Any) -> Tensor:
    """A copy of one part of a message on the CPU."""
    import torch
    from torch import Tensor

    where = f"the message '{kind}' holds '{name}'"
    if isinstance(value, Tensor):
        if value.layout != torch.strided:
            raise InputError(f"{where} as a sparse tensor: send a dense one")
        found = value.detach().cpu()
    else:
        try:
            found = torch.from_numpy(np.array(value))
        except (TypeError, ValueError) as error:
            raise InputError(f"{where} as {type(value).__name__}, which is no array of numbers") from error
    if str(found.dtype) not in DTYPES:
        raise InputError(f"{where} as {found.dtype}: expected real numbers, integers or booleans")
    if found.is_floating_point() and not bool(torch.isfinite(found).all()):
        raise InputError(f"{where} with values that are not finite: the run has diverged, what it sent is kept")
    return found
