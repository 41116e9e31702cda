"""What each map of a GIN or a GCN reads of nodes whose surroundings are known, at known weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from ...targets.games.neighbourhood_presence import NeighbourhoodKnowledge

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Read:
    """Rows that one map reads.

    Attributes:
        name: of the map's weights.
        rows: float64, [k, h].
        neighbourhood: whose each row is, as a place among the subjects, [k].
        last: whether it is the deepest that follows from neighbourhoods.
    """

    name: str
    rows: Tensor
    neighbourhood: Tensor
    last: bool


def rooted_rows(knowledge: NeighbourhoodKnowledge, weights: Mapping[str, Tensor]) -> Iterator[Read]:
    """What follows from neighbourhoods of a radius R: in layer k the rows of nodes up to R - k steps from the root.

    A layer of a GIN is two maps with a relu between them. What the second one reads of a node is no linear
    combination of what it reads of others, which what the first one reads may be. A GCN has one map a layer.

    Raises:
        InputError: these are not weights of a GIN or a GCN of so many layers for such features.
    """
    import torch

    gin, x = "v1" in weights, knowledge.x.double()
    own = {name: weight.double() for name, weight in weights.items()}
    if "w1" not in own or own["w1"].shape[0] != x.shape[1]:
        raise InputError(f"the uploads are of no model that reads {x.shape[1]} features of a node")
    if f"w{knowledge.radius}" not in own:
        raise InputError(f"the model of {', '.join(sorted(own))} reads no {knowledge.radius} steps far")
    source, target = knowledge.edges
    share = torch.ones(len(x), dtype=torch.float64) if gin else (knowledge.degree + 1).double().rsqrt()
    for k in range(1, knowledge.radius + 1):
        known = knowledge.steps <= knowledge.radius - k
        sent = x * share[:, None]
        x = share[:, None] * sent.index_add(0, target, sent[source])
        if not gin:
            yield Read(f"w{k}", x[known], knowledge.neighbourhood[known], k == knowledge.radius)
        x = (x @ own[f"w{k}"] + own[f"b{k}"]).relu()
        if gin:
            yield Read(f"v{k}", x[known], knowledge.neighbourhood[known], k == knowledge.radius)
            x = (x @ own[f"v{k}"] + own[f"c{k}"]).relu()
