"""Whether a module's output for one example depends on others, which clipping per example takes for granted not."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError

if TYPE_CHECKING:
    import torch

ROUNDING = {True: 1e-9, False: 1e-5}
"""What is below this share of the largest output is rounding: in double precision, and in the module's own."""


@dataclass(frozen=True)
class Coupling:
    """What came out of changing some rows of a module's input and looking at the others of its output.

    Attributes:
        row: an output row that depends on another row of the input, or None.
        other: an input row that it depends on, or None.
        rows: how many output rows were seen to depend on other rows.
        examples: rows of the input.
        mixers: the innermost modules that mix rows, with names and classes: ``conv1 (GCNConv)``. The module itself,
            as ``itself (GCN)``, where it mixes what its parts give and none of these does.
    """

    row: int | None
    other: int | None
    rows: int
    examples: int
    mixers: tuple[str, ...] = ()

    @property
    def coupled(self) -> bool:
        """Whether some output row depends on another row of the input."""
        return self.row is not None

    def sentence(self) -> str:
        """What that means for clipping per example."""
        if not self.coupled:
            return f"no output row was seen to depend on another one of {self.examples} input rows"
        return (
            f"{self.rows} of {self.examples} output rows depend on others (row {self.row} on row {self.other}), "
            f"mixed by {', '.join(self.mixers)}: clipping per example does not bound what one example changes"
        )


def coupled_samples(module: "torch.nn.Module", *inputs: Any, seed: int = 0, **keywords: Any) -> Coupling:
    """Finds by perturbation, in training mode, whether an output row i depends on an input row j that is not i.

    Rows, that is examples, are the first dimension of the first input. Rows are replaced whose number has a certain
    bit, for each bit and its opposite, so that any two rows are told apart, and the outputs of the others compared:
    2 log2 n runs. A copy of the module is used, in double precision where it allows that, without dropout and with
    the same random numbers in each run (or chance would look like a dependence). Nothing is trained, and the module
    and its running statistics stay as they are. A dependence that these inputs do not show, as behind a saturated
    activation, stays unseen: this refutes independence, and never proves it.

    Args:
        module: to be given to an optimiser that clips per example.
        *inputs: of its forward, the first one [n, ...] with a row per example and n of 2 or more; the others, as
            edges, stay as they are.
        seed: of what rows are replaced by.
        **keywords: of its forward.

    Raises:
        InputError: the first input or the output has no row for each example, or the module fails on them.
    """
    import torch

    if not inputs or not isinstance(inputs[0], torch.Tensor) or inputs[0].dim() < 1 or len(inputs[0]) < 2:
        raise InputError("expected a tensor with a row for each of 2 examples or more as the first input")
    examples = len(inputs[0])
    calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
    trial = _trial(module, inputs, keywords, seed)
    with _recorded(trial.module, calls, examples):
        output = trial.output(trial.inputs[0])
    if output is None or len(output) != examples:
        raise InputError(
            f"the output has no row for each of the {examples} rows of the first input: give a module whose "
            "examples are rows, or the part of it that has them"
        )
    seen = trial.dependence()
    if seen is None:
        return Coupling(None, None, 0, examples)
    row, other, rows = seen
    return Coupling(row, other, rows, examples, _mixers(trial, calls))


@dataclass(frozen=True, eq=False)
class _Trial:
    """A module in training mode with what it is called with."""

    module: "torch.nn.Module"
    inputs: tuple[Any, ...]
    keywords: dict[str, Any]
    seed: int
    double: bool

    def output(self, first: "torch.Tensor") -> "torch.Tensor | None":
        """The first tensor that comes out, if one does, always under the same random numbers."""
        import torch

        from ...randomness import seeded

        try:
            with torch.no_grad(), seeded(np.random.SeedSequence(self.seed)):
                out = self.module(first, *self.inputs[1:], **self.keywords)
        except Exception as error:
            what = " ".join(str(error).split())
            raise InputError(f"the module failed on these inputs: {type(error).__name__}: {what}") from error
        parts = out if isinstance(out, tuple | list) else (out,)
        tensor = next((part for part in parts if isinstance(part, torch.Tensor)), None)
        return tensor if tensor is not None and tensor.dim() > 0 else None

    def moved(self, before: "torch.Tensor", fresh: "torch.Tensor", changed: "torch.Tensor") -> "torch.Tensor":
        """Which output rows differ if some input rows are replaced; all of them if the shape does."""
        first = self.inputs[0].clone()
        first[changed] = fresh[changed]
        after = self.output(first)
        if after is None or after.shape != before.shape:
            return changed.new_ones(len(before))
        gap = (after.double() - before.double()).reshape(len(before), -1).abs().amax(1)
        return gap > ROUNDING[self.double] * max(1.0, float(before.abs().max()))

    def dependence(self) -> tuple[int, int, int] | None:
        """An output row, another input row that it depends on, and how many such rows there are; None if none."""
        import torch

        first = self.inputs[0]
        before, fresh = self.output(first), _other_values(first, self.seed)
        if before is None or len(before) != len(first):
            return None
        numbers, dependent = (
            torch.arange(len(first), device=first.device),
            torch.zeros(len(first), dtype=torch.bool),
        )
        pair: tuple[int, int] | None = None
        for bit in range((len(first) - 1).bit_length()):
            for value in (0, 1):
                changed = (numbers >> bit) % 2 == value
                seen = self.moved(before, fresh, changed) & ~changed
                dependent |= seen.cpu()
                if pair is None and seen.any():
                    row = int(seen.nonzero()[0])
                    pair = row, self.culprit(row, before, fresh, changed)
        return None if pair is None else (*pair, int(dependent.sum()))

    def culprit(self, row: int, before: "torch.Tensor", fresh: "torch.Tensor", changed: "torch.Tensor") -> int:
        """One of the changed rows that the row depends on, by halving."""
        ids = changed.nonzero()[:, 0]
        while len(ids) > 1:
            half = changed.new_zeros(len(changed))
            half[ids[: len(ids) // 2]] = True
            found = bool(self.moved(before, fresh, half)[row])
            ids = ids[: len(ids) // 2] if found else ids[len(ids) // 2 :]
        for one in (ids, *changed.nonzero()):  # where only several rows together move it, halving leads astray
            alone = changed.new_zeros(len(changed))
            alone[one] = True
            if bool(self.moved(before, fresh, alone)[row]):
                return int(one[0])
        return int(ids[0])


def _trial(module: "torch.nn.Module", inputs: tuple[Any, ...], keywords: dict[str, Any], seed: int) -> _Trial:
    """In double precision, or as the module is, where it holds tensors that it does not announce as its own."""
    try:
        own, wide = copy.deepcopy(module).train(), copy.deepcopy(module).double().train()
    except Exception as error:
        what = " ".join(str(error).split())
        raise InputError(f"the module cannot be copied: {type(error).__name__}: {what}") from error
    _without_dropout(own)
    _without_dropout(wide)
    as_is = _Trial(own, tuple(map(_apart, inputs)), {k: _apart(v) for k, v in keywords.items()}, seed, False)
    double = replace(
        as_is,
        module=wide,
        inputs=tuple(_apart(value, True) for value in inputs),
        keywords={name: _apart(value, True) for name, value in keywords.items()},
        double=True,
    )
    try:
        double.output(double.inputs[0])
    except InputError:
        return as_is
    return double


def _without_dropout(module: "torch.nn.Module") -> None:
    """Dropout mixes no rows, and what it drops hides whether others do."""
    from torch import nn

    kinds = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
    for part in module.modules():
        if isinstance(part, kinds):
            part.p = 0.0


def _apart(value: Any, double: bool = False) -> Any:
    """A tensor of its own, in double precision if that is asked for and it has a fraction."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().clone()
    return value.double() if double and value.is_floating_point() else value


def _other_values(first: "torch.Tensor", seed: int) -> "torch.Tensor":
    """Something else for every row: as spread out as they are; whole numbers stay among those that occur."""
    import torch

    if first.is_floating_point():
        spread = float(first.std()) or 1.0
        noise = torch.randn(first.shape, generator=torch.Generator().manual_seed(seed), dtype=first.dtype)
        return first + spread * noise.to(first.device)
    values = torch.unique(first)
    following: torch.Tensor = values[(torch.searchsorted(values, first) + 1) % len(values)]
    return following


@contextmanager
def _recorded(module: "torch.nn.Module", calls: dict[str, Any], examples: int) -> Iterator[None]:
    """Within the block, what each part is first called with is kept, where that has a row per example."""
    import torch

    def keep(name: str) -> Any:
        def hook(part: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
            rows = inputs and isinstance(inputs[0], torch.Tensor) and inputs[0].dim() > 0
            if rows and len(inputs[0]) == examples and name not in calls:
                calls[name] = tuple(map(_apart, inputs)), {key: _apart(value) for key, value in keywords.items()}

        return hook

    hooks = [part.register_forward_pre_hook(keep(name), with_kwargs=True) for name, part in module.named_modules()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _mixers(trial: _Trial, calls: dict[str, Any]) -> tuple[str, ...]:
    """The innermost parts that mix the rows that they were called with."""
    parts = dict(trial.module.named_modules())
    mixing = [
        name
        for name, (inputs, keywords) in calls.items()
        if _mixes(replace(trial, module=parts[name], inputs=inputs, keywords=keywords))
    ]
    inner = [name for name in mixing if not any(_within(other, name) for other in mixing)] or [""]
    return tuple(f"{name or 'itself'} ({type(parts[name]).__name__})" for name in inner)


def _mixes(part: _Trial) -> bool:
    try:
        return part.dependence() is not None
    except InputError:  # what cannot be called by itself is not named
        return False


def _within(inner: str, outer: str) -> bool:
    return inner != outer and (not outer or inner.startswith(f"{outer}."))
