"""Whom an attack accuses outright, beside the truth: right or wrong, with which label, and held by whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

UNSAID = -1
"""Where an accusation names no label, or no owner."""


@dataclass(frozen=True, eq=False)
class Accused:
    """The accusations of one attack on one run.

    Attributes:
        subjects: who is accused, ascending [a] int64.
        right: whether each is a member, [a] bool.
        label: whether the label that it is accused of is its own: 1, 0, or `UNSAID`, [a] int8.
        owner: the same of who holds it, [a] int8.
        proven: whether what was seen leaves nothing else over but rounding, [a] bool.
        alike: how many others may stand in its place, as far as the attack can tell, [a] int64.
        members: how many members are in question.

    Raises:
        ValueError: the parts do not fit together.
    """

    subjects: np.ndarray
    right: np.ndarray
    label: np.ndarray
    owner: np.ndarray
    proven: np.ndarray
    alike: np.ndarray
    members: int

    def __post_init__(self) -> None:
        types = {"right": "b", "label": "i", "owner": "i", "proven": "b", "alike": "i", "subjects": "i"}
        for name, kind in types.items():
            part = getattr(self, name)
            if part.shape != self.subjects.shape or part.ndim != 1 or part.dtype.kind != kind:
                raise ValueError(f"of the accusations '{name}' is {part.dtype} {part.shape}")
        if len(np.unique(self.subjects)) < len(self.subjects) or not int(self.right.sum()) <= self.members:
            raise ValueError("somebody is accused twice, or more members are than there are")


@dataclass(frozen=True)
class Accusations:
    """How many accusations of one attack hold, one count for each run.

    Attributes:
        members: how many members are in question.
        accused: how many are accused.
        named: how many of them are members.
        labelled: how many members are accused of their own label; None where no label is named.
        owned: how many members are accused with who holds them; None where nobody is named.
        proven: how many accusations leave nothing else over.
        in_sets: how many stand for a set of people whom the attack cannot tell apart.
    """

    members: tuple[int, ...]
    accused: tuple[int, ...]
    named: tuple[int, ...]
    labelled: tuple[int, ...] | None
    owned: tuple[int, ...] | None
    proven: tuple[int, ...]
    in_sets: tuple[int, ...]

    @property
    def false(self) -> tuple[int, ...]:
        """How many are accused who are no members."""
        return tuple(a - n for a, n in zip(self.accused, self.named, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types: a list for each count, one entry for each run."""
        counts = {**vars(self), "false": self.false}
        return {name: None if runs is None else list(runs) for name, runs in counts.items()}


def accusations(runs: Sequence[Accused]) -> Accusations:
    """The accusations of several runs, counted."""

    def of_members(part: str) -> tuple[int, ...] | None:
        said = [getattr(run, part) for run in runs]
        if all((values == UNSAID).all() for values in said) and any(len(values) for values in said):
            return None
        return tuple(int(((values == 1) & run.right).sum()) for values, run in zip(said, runs, strict=True))

    return Accusations(
        tuple(run.members for run in runs),
        tuple(len(run.subjects) for run in runs),
        tuple(int(run.right.sum()) for run in runs),
        of_members("label"),
        of_members("owner"),
        tuple(int(run.proven.sum()) for run in runs),
        tuple(int((run.alike > 0).sum()) for run in runs),
    )
