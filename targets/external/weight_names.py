"""From the weights of a PyG or torch model to gaudit's names and shapes, or an error that lists what has none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import InputError

LAYERS = 2
"""How many a model has whose weights gaudit reads."""


@dataclass(frozen=True)
class Names:
    """What a model's weights are called in gaudit's messages; call it with a state dict.

    Attributes:
        architecture: ``gcn``, ``sage`` or ``mlp``.
        places: gaudit's name of each of the model's weights, and whether it is transposed.
    """

    architecture: str
    places: Mapping[str, tuple[str, bool]]

    def __call__(self, state: Mapping[str, Any]) -> dict[str, Tensor]:
        """The weights under gaudit's names, [in, out] where the model has them as [out, in].

        Args:
            state: of the model: torch tensors or NumPy arrays by the model's own names.

        Raises:
            InputError: it holds other weights than the model that the names were made of.
        """
        unmapped, missing = (
            sorted(a - b) for a, b in ((set(state), set(self.places)), (set(self.places), set(state)))
        )
        if unmapped or missing:
            what, names = ("has no names for", unmapped) if unmapped else ("misses", missing)
            raise InputError(f"gaudit {what} these weights of the model: {', '.join(names)}")
        found = {}
        for theirs, (ours, turned) in self.places.items():
            value = torch.as_tensor(state[theirs]).detach()
            found[ours] = value.t().contiguous() if turned else value
        return found


def names(model: nn.Module) -> Names:
    """What the weights of a model of two layers are called in gaudit's messages.

    Read are stacks of PyG's ``GCNConv`` or ``SAGEConv`` (mean), or torch's ``Linear``, in the order in which they
    are defined, which must be that in which they are used. The activation between them is taken for a relu.

    Raises:
        InputError: the model has other layers, other weights, or layers with other settings than gaudit's.
    """
    layers = list(_layers(model))
    kinds = {kind for _, kind, _ in layers}
    if len(layers) != LAYERS or len(kinds) != 1:
        told = ", ".join(f"{name or 'the model'} ({type(layer).__name__})" for name, _, layer in layers) or "none"
        raise InputError(
            f"gaudit reads two layers of one kind, GCNConv, SAGEConv or Linear, and the model has {told}"
        )
    places: dict[str, tuple[str, bool]] = {}
    for number, (name, kind, layer) in enumerate(layers, 1):
        _check(name, kind, layer)
        inside = f"{name}." if name else ""
        for theirs, (ours, turned) in WEIGHTS[kind].items():
            places[inside + theirs] = (f"{ours}{number}", turned)
    state = model.state_dict()
    unmapped, missing = sorted(set(state) - set(places)), sorted(set(places) - set(state))
    if unmapped:
        raise InputError(f"gaudit has no names for these weights of the model: {', '.join(unmapped)}")
    if missing:
        raise InputError(f"the model lacks {', '.join(missing)}, which gaudit's model of that kind has (bias=True)")
    found = Names(next(iter(kinds)), places)
    first, second = (found(state)[f"w{number}"].shape for number in (1, 2))
    if first[1] != second[0]:
        raise InputError(
            f"the model's layers do not follow each other as they are defined: {list(first)}, then {list(second)}"
        )
    return found


WEIGHTS = {
    "gcn": {"lin.weight": ("w", True), "bias": ("b", False)},
    "sage": {"lin_l.weight": ("w", True), "lin_l.bias": ("b", False), "lin_r.weight": ("r", True)},
    "mlp": {"weight": ("w", True), "bias": ("b", False)},
}
"""By architecture, each weight of a layer: gaudit's name, and whether it is transposed there."""

EXPECTED: dict[str, dict[str, Any]] = {
    "gcn": {"improved": False, "add_self_loops": True, "normalize": True},
    "sage": {"normalize": False, "root_weight": True, "project": False, "aggr": "mean"},
    "mlp": {},
}
"""By architecture, settings of a layer without which it computes something else than gaudit's."""


def _layers(model: nn.Module) -> Iterator[tuple[str, str, nn.Module]]:
    """Name, architecture and layer of each convolution, and of each linear layer that is not part of one."""
    from torch_geometric.nn import GCNConv, MessagePassing, SAGEConv

    inside: list[str] = []
    for name, layer in model.named_modules():
        if any(name.startswith(f"{outer}.") or not outer for outer in inside):
            continue
        if isinstance(layer, MessagePassing):
            inside.append(name)
            kind = "gcn" if isinstance(layer, GCNConv) else "sage" if isinstance(layer, SAGEConv) else "other"
            yield name, kind, layer
        elif isinstance(layer, nn.Linear):
            yield name, "mlp", layer


def _check(name: str, kind: str, layer: nn.Module) -> None:
    """Refuses a layer that computes something else than gaudit's of that kind."""
    if kind == "other":
        raise InputError(f"gaudit has no names for the weights of {name}, a {type(layer).__name__}")
    for setting, expected in EXPECTED[kind].items():
        given = getattr(layer, setting, expected)
        if given != expected:
            raise InputError(f"{name} has {setting}={given}, gaudit's {type(layer).__name__} has {expected}")
