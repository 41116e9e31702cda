"""Which surroundings the nodes of a batch have, grown layer by layer inside the spans of one gradient of a GIN."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement, islice, product
from typing import TYPE_CHECKING

from ..ownership.row_spans import span_of
from .graph_inversion import distance_to

if TYPE_CHECKING:
    from torch import Tensor

Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of nodes that as many layers tell apart.

    Attributes:
        own: the kind of the layer before that each one's node is of (of the first layer: its row of features), [t].
        around: those of its neighbours, ascending, with repetitions, [t].
        rows: what the layer makes of them, float64 [t, h].
    """

    own: Places
    around: tuple[Places, ...]
    rows: Tensor

    def __len__(self) -> int:
        return len(self.own)


@dataclass(frozen=True)
class Limits:
    """How much is tried.

    Attributes:
        degree: neighbours of a node, at most.
        candidates: kinds of one layer that are looked at, at most.
        near: distance to a span, as a share of a row's length, up to which a row is taken to be in it.
        cut: singular values below this share of the largest are rounding.
    """

    degree: int
    candidates: int = 300_000
    near: float = 1e-3
    cut: float = 1e-7


def kinds_in(
    gradient: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    features: Tensor,
    limits: Limits,
    last_too: bool = True,
) -> list[Kinds] | None:
    """Kinds of nodes by layer whose rows are in the spans of that layer's gradients.

    A kind of layer k is a kind of layer k - 1 with those of its neighbours, which must agree on who is next to
    whom. Of the first layer these are all rows of features with up to so many neighbours, as the building blocks of
    GRAIN (Drencheva et al., ICLR 2025, algorithm 1). Layer by layer they grow here into the surroundings of a node.

    A layer is read where its second map reads it. In the last layer all nodes of a graph get the same error but for
    the relu, so that the gradient there spans less than the rows do: of the last layer the first map is read. At
    some weights even that spans less, and kinds that are there are left out.

    Args:
        gradient: of a batch, by name.
        weights: of the GIN at which it was taken.
        features: all rows that a node may have, [f, d].
        limits: how much is tried.
        last_too: whether the last layer leaves anything out.

    Returns:
        Kinds of each layer; None where a span is everything, nothing is left, or more would have to be looked at.
    """
    import torch

    found, rows = list[Kinds](), features.double()
    own = {name: weight.double() for name, weight in weights.items()}
    k = 1
    while f"w{k}" in own:
        last = f"w{k + 1}" not in own
        name = f"w{k}" if last else f"v{k}"
        basis = span_of(gradient[name], limits.cut)
        if basis.shape[1] == len(gradient[name]):
            return None
        candidates = list(islice(_candidates(found, len(features), limits.degree), limits.candidates + 1))
        if len(candidates) > limits.candidates:
            return None
        read = torch.stack([rows[[one, *others]].sum(0) for one, others in candidates])
        hidden = (read @ own[f"w{k}"] + own[f"b{k}"]).relu()
        near = distance_to(read if last else hidden, basis) < limits.near
        inside = (near | (last and not last_too)).nonzero().flatten().tolist()
        if not inside:
            return None
        rows = (hidden[inside] @ own[f"v{k}"] + own[f"c{k}"]).relu()
        left = [candidates[place] for place in inside]
        found.append(Kinds(tuple(one for one, _ in left), tuple(others for _, others in left), rows))
        k += 1
    return found


def _candidates(found: list[Kinds], features: int, degree: int) -> Iterator[tuple[int, Places]]:
    """A kind of the layer before, and kinds of neighbours that go with it."""
    if not found:
        for size in range(degree + 1):
            yield from product(range(features), combinations_with_replacement(range(features), size))
        return
    last, by_link = found[-1], defaultdict[tuple[int, int], list[int]](list)
    for place, (own, around) in enumerate(zip(last.own, last.around, strict=True)):
        for other in set(around):
            by_link[own, other].append(place)
    for place, (own, around) in enumerate(zip(last.own, last.around, strict=True)):
        choices = (
            combinations_with_replacement(by_link[other, own], times) for other, times in Counter(around).items()
        )
        for chosen in product(*choices):
            yield place, tuple(sorted(chain.from_iterable(chosen)))
