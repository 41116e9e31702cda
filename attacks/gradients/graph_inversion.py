"""Which neighbourhoods a batch of graphs holds, by the space that one gradient of it spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from ...errors import InputError
from ...settings import Settings
from ...targets.games.neighbourhood_presence import NeighbourhoodKnowledge, NeighbourhoodPresence
from ...targets.messages import Carries, Carrying
from ...targets.transcript import Message, View, observer_members
from ..attack import Attack
from ..ownership.row_spans import span_of
from .rooted_rows import rooted_rows

if TYPE_CHECKING:
    from torch import Tensor

GRADIENTS = Carrying.any_of(Carries.MEAN_GRADIENT, to="server")
COMMON = Carrying.any_of(Carries.WEIGHTS, to="clients")
EXACT = 1e-12
"""A row as near as this to a span is in it: float64 resolves no more."""


class GraphInversionSettings(Settings):
    """Settings of `GraphInversion`."""

    cut: float = Field(1e-6, gt=0, lt=1, description="singular values below this share of the largest are rounding")


class GraphInversion(Attack[NeighbourhoodKnowledge]):
    """How near the row that a layer reads of a node comes to the span of that layer's gradient.

    A map that reads rows H [n, h] has the gradient H^T B: its columns lie in the span of the rows of the batch. A
    node's row follows from its surroundings and the weights, which the server sent. Where the batch has fewer
    different rows than the layer is wide, rows of nodes elsewhere lie outside, and the score is minus the logarithm
    of the distance as a share of the row's length. This is the filter of building blocks by a layer's span in GRAIN
    (Drencheva et al., ICLR 2025), whose candidates are here those of the game. `whole_graphs` joins them.

    Followed and not: GRAIN filters rows of features by the first layer, then blocks by later ones. Kinds of atoms
    are fewer than a batch has nodes, so that the span of their rows is everything, and such a layer rules nothing
    out. GRAIN is built for GCN and GAT. Of a GCN we test the rows that a map reads, after propagation: nodes that
    propagation maps alike, such as two leaves of one atom, keep hidden rows before it out of the span. GIN is our
    addition.

    A batch with as many different rows as a layer is wide spans everything there, and so does noise. A layer of
    which this is so rules nothing out. If it is the last one that is read, its span is cut at the largest gap
    between singular values, which leaves a ranking at best. Clients without a gradient, and those whose gradient is
    zero, have the mean score of the others.

    The blind score is how common a neighbourhood is.
    """

    name = "graph-inversion"
    games: ClassVar[tuple[str, ...]] = (NeighbourhoodPresence.name,)
    needs: ClassVar[tuple[Carrying, ...]] = (GRADIENTS, COMMON)
    observer = "server"
    first_rounds = 1
    planted = "planted-neighbourhoods"
    Settings = GraphInversionSettings
    settings: GraphInversionSettings

    def score(self, view: View, knowledge: NeighbourhoodKnowledge) -> Tensor:
        import torch

        own, found = observer_members(view.observer), torch.full(knowledge.clients.shape, torch.nan).double()
        for client in knowledge.clients.unique().tolist():
            sent = first_gradient(view, client) if f"client:{client}" not in own else None
            if sent is not None:
                asked = knowledge.clients == client
                found[asked] = self._nearness(view, sent, knowledge)[asked]
        heard = ~found.isnan()
        if not bool(heard.any()):
            raise InputError(f"the observer '{view.observer}' reads no gradient of a client that is asked about")
        return torch.where(heard, found, found[heard].mean())

    def blind_score(self, knowledge: NeighbourhoodKnowledge) -> Tensor:
        return knowledge.graphs.double()

    def _nearness(self, view: View, sent: Message, knowledge: NeighbourhoodKnowledge) -> Tensor:
        """Of each subject, as if it were asked of this client, [s]; not a number where the gradient is zero."""
        import torch

        weights, furthest = weights_of(view, sent), torch.full(knowledge.clients.shape, EXACT).double()
        for read in rooted_rows(knowledge, weights):
            gradient = gradient_of(sent, read.name, weights)
            if not bool(gradient.any()):
                return torch.full_like(furthest, torch.nan)
            basis = span_of(gradient, self.settings.cut)
            if basis.shape[1] == len(gradient):
                if not read.last:
                    continue  # everything is in it
                basis = span_before_gap(gradient)
            apart = distance_to(read.rows, basis)
            furthest = furthest.scatter_reduce(0, read.neighbourhood, apart, "amax")
        return -furthest.log10()


def first_gradient(view: View, client: int) -> Message | None:
    """The first gradient that one client uploaded; None where the observer reads none."""
    return next((m for m in view.carrying(GRADIENTS) if m.sender == f"client:{client}"), None)


def weights_of(view: View, sent: Message) -> dict[str, Tensor]:
    """The common weights of the round in which a gradient was uploaded.

    Raises:
        InputError: the observer does not see them.
    """
    for message in view.carrying(COMMON):
        if message.round == sent.round:
            return dict(message.tensors)
    raise InputError(
        f"the common weights of round {sent.round}, at which {sent.sender} took its gradient, are missing"
    )


def gradient_of(sent: Message, name: str, weights: dict[str, Tensor]) -> Tensor:
    """The gradient by some of the weights.

    Raises:
        InputError: there is none, or it is none.
    """
    import torch

    found = sent.tensors.get(name)
    if found is None or found.shape != weights[name].shape or not bool(torch.isfinite(found).all()):
        raise InputError(f"the '{sent.kind}' of {sent.sender} has no finite '{name}' shaped as the weights")
    return found


def span_before_gap(gradient: Tensor) -> Tensor:
    """An orthonormal basis of the leading part of what a gradient [h, m] spans, [h, rank], where it spans all.

    It ends at the largest gap between two singular values that follow each other.
    """
    import torch

    left, size, _ = torch.linalg.svd(gradient.double(), full_matrices=False)
    found: Tensor = left[:, : 1 + int((size[:-1] / size[1:]).argmax())]
    return found


def distance_to(rows: Tensor, basis: Tensor) -> Tensor:
    """The distance of each row [n, h] to a span as a share of its length, [n]; 1 of a row that is zero.

    Args:
        rows: float64.
        basis: orthonormal, [h, rank].
    """
    import torch

    length, apart = rows.norm(dim=1), (rows - (rows @ basis) @ basis.t()).norm(dim=1)
    found: Tensor = torch.where(length > 0, apart / length.clamp_min(torch.finfo(rows.dtype).tiny), 1.0)
    return found.clamp_min(EXACT)
