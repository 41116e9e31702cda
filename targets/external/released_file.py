"""A condensed graph from a file, in the layouts that people publish: arrays, tensors or dictionaries of them."""

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ...errors import InputError
from ...graphs.files.data_file import Shape, arrays_of, first_line
from ...untrusted import check_memory

CALLED: dict[str, tuple[str, ...]] = {
    "x": ("x", "feat", "feats", "features", "feat_syn", "x_syn"),
    "y": ("y", "label", "labels", "labels_syn", "y_syn"),
    "adjacency": ("adjacency", "adj", "adj_syn", "a"),
    "edge_index": ("edge_index", "edges"),
    "edge_weight": ("edge_weight", "edge_weights", "weights", "edge_attr"),
}
"""Under which names each part is known; letters may be large or small."""
NAMES = {name: part for part, names in CALLED.items() for name in names}
MEMORY = 4
"""Bytes of memory that a byte of a file takes while it is read and checked."""
DENSE_MEMORY = 12
"""The same for each value, with the copies that are made of it."""
SUFFIXES = (".npz", ".pt", ".pth", ".safetensors")


def read_released(path: str, alone: str = "x", rows: int | None = None) -> dict[str, Tensor]:
    """The parts of a condensed graph that a file holds: ``x`` [n', d], ``y`` [n'], ``adjacency`` [n', n'].

    Args:
        path: ``.npz``, ``.safetensors``, or ``.pt`` that holds a tensor, a dictionary or a list of tensors.
            Nothing in it is executed: ``.pt`` is read with ``weights_only``.
        alone: which part a single tensor is.
        rows: n', where the rows are in another file; edges need it.

    Raises:
        InputError: it cannot be read, is too large, holds none of the parts, or a part has no such shape.
    """
    file = Path(path)
    readers = {".npz": _from_npz, ".pt": _from_torch, ".pth": _from_torch, ".safetensors": _from_safetensors}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise InputError(f"{file}: a released graph ends in {', '.join(SUFFIXES)}, not in '{file.suffix}'")
    try:
        check_memory(f"the released graph {file}", MEMORY * file.stat().st_size)
        held = reader(file, alone)
    except OSError as error:
        raise InputError(f"cannot read the released graph {file}: {error.strerror or error}") from error
    parts = _parts(file, held)
    if not parts:
        names = ", ".join(sorted(held)[:20]) or "nothing"
        raise InputError(f"{file}: no part of a condensed graph: expected features as 'x', found {names}")
    return _checked(file, parts, rows)


def _from_npz(path: Path, alone: str) -> Mapping[str, Any]:
    def check(name: str, shape: Shape, dtype: np.dtype[Any]) -> None:
        if dtype.kind not in "biuf" or len(shape) > 3:
            raise InputError(f"{path}: array '{name}' {dtype} {tuple(shape)}: expected numbers")

    with zipfile.ZipFile(path) if zipfile.is_zipfile(path) else _no_archive(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    return arrays_of(path, [name for name in names if name.lower() in NAMES], check)


def _no_archive(path: Path) -> zipfile.ZipFile:
    raise InputError(f"{path}: truncated or not an npz archive")


def _from_torch(path: Path, alone: str) -> Mapping[str, Any]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            check_memory(f"the released graph {path}", MEMORY * sum(part.file_size for part in archive.infolist()))
    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # torch's reader has errors of many kinds for what it will not read
        raise InputError(
            f"{path}: holds more than tensors, or is damaged: save a dictionary of tensors, "
            "as in torch.save({'x': x, 'y': y, 'adjacency': a}, path)"
        ) from error
    if isinstance(held, Tensor):
        return {alone: held}
    if isinstance(held, list | tuple):
        return dict(_of_list(path, held))
    if isinstance(held, Mapping):
        return {str(name): value for name, value in held.items()}
    raise InputError(f"{path}: holds a {type(held).__name__}: expected a tensor, or a dictionary of tensors")


def _of_list(path: Path, held: Any) -> Mapping[str, Any]:
    """Parts of a list by shape: a square matrix is the adjacency, a vector the labels, the other the rows."""
    found: dict[str, Any] = {}
    for part in held:
        if not isinstance(part, Tensor) or part.dim() not in (1, 2):
            raise InputError(f"{path}: holds a list of other things than tensors: save a dictionary of tensors")
        square = part.dim() == 2 and part.shape[0] == part.shape[1]
        name = "y" if part.dim() == 1 else "adjacency" if square else "x"
        if name in found:
            raise InputError(f"{path}: two parts of its list may be '{name}': save a dictionary of tensors")
        found[name] = part
    return found


def _from_safetensors(path: Path, alone: str) -> Mapping[str, Any]:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys() if name.lower() in NAMES}  # noqa: SIM118
    except SafetensorError as error:
        raise InputError(f"{path}: no safetensors file, or damaged ({first_line(error)})") from error


def _parts(path: Path, held: Mapping[str, Any]) -> dict[str, Tensor]:
    """Parts by their own names; two names of one part are refused."""
    parts: dict[str, Tensor] = {}
    for name, value in held.items():
        part = NAMES.get(name.lower())
        if part is None:
            continue
        if part in parts:
            raise InputError(f"{path}: holds '{part}' twice, under several names: leave one of them")
        tensor = value.detach() if isinstance(value, Tensor) else _tensor(path, name, value)
        parts[part] = _dense(path, name, tensor)
    return parts


def _tensor(path: Path, name: str, value: Any) -> Tensor:
    try:
        return torch.from_numpy(np.asarray(value))
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: '{name}' is a {type(value).__name__}: expected a tensor") from error


def _dense(path: Path, name: str, tensor: Tensor) -> Tensor:
    """A plain tensor of the same values; what is small in a file may be large in memory."""
    if tensor.is_complex() or tensor.is_quantized or tensor.is_meta:
        held = "no values" if tensor.is_meta else str(tensor.dtype).removeprefix("torch.")
        raise InputError(f"{path}: '{name}' holds {held}: expected plain numbers")
    check_memory(f"the released graph {path}: '{name}'", DENSE_MEMORY * math.prod(tensor.shape))
    whole = tensor.to_dense() if tensor.layout != torch.strided else tensor
    told = whole.double() if whole.is_floating_point() and whole.element_size() < 2 else whole
    if told.is_floating_point() and not bool(torch.isfinite(told).all()):
        raise InputError(f"{path}: '{name}' holds values that are not finite")
    return told


def _checked(path: Path, parts: dict[str, Tensor], rows: int | None) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    if "x" in parts:
        if parts["x"].dim() != 2:
            raise InputError(f"{path}: features must be a matrix [rows, features], not {list(parts['x'].shape)}")
        found["x"] = parts["x"].float()
    if "y" in parts:
        y = _vector(parts["y"], len(parts["x"]) if "x" in parts else rows)
        if y.dim() != 1 or (y.is_floating_point() and bool((y != y.round()).any())):
            raise InputError(f"{path}: labels must be whole numbers [rows], not {list(parts['y'].shape)}")
        if bool((y < 0).any()):
            raise InputError(f"{path}: labels must be classes from 0, and one is {int(y.min())}")
        found["y"] = y.long()
    if "adjacency" in parts:
        if "edge_index" in parts:
            raise InputError(f"{path}: holds an adjacency and a list of edges: leave one of them")
        found["adjacency"] = parts["adjacency"].float()
    elif "edge_index" in parts and ("x" in parts or rows is not None):
        found["adjacency"] = _adjacency(path, parts, len(parts["x"]) if "x" in parts else int(rows or 0))
    return found


def _vector(y: Tensor, rows: int | None) -> Tensor:
    """Labels as [rows], where they are kept as a column, as a row, or as a column for each class."""
    if y.dim() == 2 and y.shape[1] == 1:
        return y[:, 0]
    if y.dim() == 2 and y.shape[0] == 1 and rows != 1:
        return y[0]
    return y.argmax(1) if y.dim() == 2 else y


def _adjacency(path: Path, parts: dict[str, Tensor], rows: int) -> Tensor:
    """A dense matrix [n', n'] of the edges [2, e], with their weights where there are any."""
    edges = parts["edge_index"]
    if edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
        raise InputError(f"{path}: edges must be whole numbers [2, edges], not {list(edges.shape)}")
    if bool(((edges < 0) | (edges >= rows)).any()):
        raise InputError(f"{path}: edges name rows outside of 0 to {rows - 1}")
    check_memory(f"the released graph {path}: its adjacency", 8.0 * rows * rows)
    weights = parts.get("edge_weight", torch.ones(edges.shape[1])).float().flatten()
    if len(weights) != edges.shape[1]:
        raise InputError(f"{path}: {len(weights)} weights of {edges.shape[1]} edges")
    matrix = torch.zeros(rows, rows)
    matrix[edges[0].long(), edges[1].long()] = weights
    return torch.maximum(matrix, matrix.t())
