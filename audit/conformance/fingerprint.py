"""A digest of values that hold tensors, to see whether anything in them changed."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel


def fingerprint(value: Any) -> str:
    """The digest of tensors, arrays, dataclasses and collections of these, in hexadecimal digits.

    Tensors of other types, shapes or values differ. Of any other object its type alone counts.
    """
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: "hashlib._Hash", value: Any) -> None:
    digest.update(f"<{type(value).__name__}>".encode())
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        digest.update(f"{plain.dtype} {tuple(plain.shape)}".encode())
        digest.update(plain.reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype} {value.shape}".encode())
        digest.update(repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes())
    elif isinstance(value, BaseModel):
        digest.update(value.model_dump_json().encode())
    elif isinstance(value, np.random.SeedSequence):
        digest.update(f"{value.entropy} {value.spawn_key}".encode())
    elif isinstance(value, str | bytes | int | float | complex | bool | np.generic | None):
        digest.update(repr(value).encode())
    else:
        for part in _parts(value):
            _feed(digest, part)


def _parts(value: Any) -> Iterable[Any]:
    """What a collection or a dataclass consists of; nothing of any other object."""
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, set | frozenset):
        return sorted(fingerprint(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    return ()
