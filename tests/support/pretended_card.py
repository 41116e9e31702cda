"""A card that is not there: machines without one show what a card would refuse.

Where it is pretended, tensors that were put on ``cpu:0``, and all that is computed from them, say so; numpy does
not get them, and they do not mix with tensors elsewhere. As on a card, numbers alone (tensors without a dimension)
mix with everything, and indices may lie on the CPU. Generators are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

CARD = torch.device("cpu", 0)
MADE = {"tensor", "as_tensor", "arange", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "empty"}
MADE |= {"eye", "linspace"}
"""Functions whose results lie where ``device`` says, else on the CPU."""
MOVING = {"to", "cpu"}
ANYWHERE = {"copy_", "requires_grad_", "backward", "_has_compatible_shallow_copy_type", "add_"}
"""What takes tensors of two places: copies, and what looks at no value.

`add_` only seems to: hooks of autograd hand gradients over unseen.
"""


class RefusedByCardError(RuntimeError):
    """A card would refuse this."""


def on_card(value: Any) -> bool:
    """Whether a tensor lies on the pretended card."""
    return isinstance(value, torch.Tensor) and getattr(value, "on_pretended_card", False)


@contextmanager
def pretended_card() -> Iterator[None]:
    """Everything within sees the card that is not there, in this thread."""
    plain = torch.autograd.Function.apply.__func__

    def apply(cls: type, *args: Any) -> Any:
        """Own functions of autograd pass torch's modes by."""
        return _put(plain(cls, *args), any(map(on_card, _tensors(args))))

    torch.autograd.Function.apply = classmethod(apply)
    try:
        with _Card():
            yield
    finally:
        torch.autograd.Function.apply = classmethod(plain)


class _Card(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if func == torch.Tensor.device.__get__:
            return CARD if on_card(args[0]) else torch.device("cpu")
        if func == torch.Tensor.data.__set__:
            args[0].on_pretended_card = on_card(args[1])
            return func(*args)
        if name == "__iter__":
            return iter(_put(args[0].unbind(0), on_card(args[0])))
        if name in ("numpy", "__array__") and on_card(args[0]):
            raise RefusedByCardError("a card's tensor cannot become an array of numpy")
        if name in MOVING:
            return _moved(func, args, kwargs)
        given = [*_tensors(args), *_tensors(kwargs)]
        if name in MADE or name.startswith("new_") or (name.endswith("_like") and "device" in kwargs):
            beside = on_card(args[0]) if name.startswith("new_") or name == "as_tensor" else False
            return _put(func(*args, **kwargs), _is_card(kwargs["device"]) if kwargs.get("device") else beside)
        anywhere = any(map(on_card, given))
        if anywhere and name not in ANYWHERE and _mixed(name, args, given):
            raise RefusedByCardError(f"{name}: tensors of a card and of the CPU")
        found = func(*args, **kwargs)
        return _put(found, True) if anywhere and name not in ("__setitem__", "__set__") else found


def _mixed(name: str, args: Any, given: list[torch.Tensor]) -> bool:
    """Whether an operation would read rows of both places."""
    if name not in ("__getitem__", "__setitem__"):
        return any(not on_card(t) and t.dim() > 0 for t in given)
    itself, places = args[0], list(_tensors(args[1]))
    if any(map(on_card, places)) and not on_card(itself):
        return True
    value = args[2] if name == "__setitem__" else None
    several = isinstance(value, torch.Tensor) and value.numel() != 1
    return bool(places) and several and on_card(value) != on_card(itself)


def _moved(func: Any, args: Any, kwargs: Any) -> Any:
    itself, wanted = args[0], kwargs.get("device")
    for value in args[1:]:
        if isinstance(value, str | torch.device):
            wanted = value
        elif isinstance(value, torch.Tensor):
            wanted = value.device if not on_card(value) else CARD
    there = _is_card(wanted) if wanted is not None else on_card(itself) and func.__name__ != "cpu"
    found = func(*args, **kwargs)
    if found is itself and there != on_card(itself):
        found = itself.view_as(itself) if itself.layout == torch.strided else itself.clone()
    return _put(found, there)


def _is_card(device: Any) -> bool:
    return torch.device(device).index == 0


def _put(value: Any, there: bool) -> Any:
    for tensor in _tensors(value):
        if there or on_card(tensor):
            tensor.on_pretended_card = there
    return value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
