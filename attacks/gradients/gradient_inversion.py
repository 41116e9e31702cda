"""What can be read off messages in closed form: a lone node's row from a gradient, raw rows from partial sums.

Nothing is optimised or guessed here. A gradient of the cross-entropy by the last layer is a sum over nodes of
(what the layer read) x (posterior - label). Of one node alone both factors can be had exactly, which Phong et al.
(2018, section 3) noted for fully connected layers; message passing only changes what the row is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...errors import InputError
from ...targets.games.lone_node import LoneNode, UploadKnowledge
from ...targets.messages import CLASS_GRADIENTS_KIND, MATCHING_MODEL_KIND, Carries, Carrying
from ...targets.transcript import Message, View
from ..attack import Attack

if TYPE_CHECKING:
    from torch import Tensor

LAST_LAYER = {
    "gcn": ("b2", ("w2",)),
    "mlp": ("b2", ("w2",)),
    "sage": ("b2", ("w2", "r2")),
    "sgc": ("b", ("w",)),
}
"""Bias and weights of the last layer, by architecture, where logits are (what it reads) @ weights + bias."""
WORST_RESIDUAL = 6.0
"""In roundings; 3.1 was the most of 11,700 lone nodes with up to 171 neighbours, whose sums round most."""
WORST_MISMATCH = 12.0
"""In roundings; 4.0 was the most there."""
ALIKE = 0.05
"""How far two nodes' rows are taken to be from their mean at least, relative to its length. Two random nodes of a
class in Cora, CiteSeer or PubMed are 0.08 to 0.9 from it; nearest neighbours that are no twins 0.03 to 0.5."""
MISSED = 0.01
"""Share of such pairs, in random directions, that may pass for one node."""


@dataclass(frozen=True, eq=False)
class ReadOut:
    """What a gradient gives away of its only node.

    Attributes:
        label: its class.
        vector: what the last layer read for it, float64: (A_hat H)_v [h] of a GCN, (A_hat^2 X)_v [d] of a two-hop
            SGC, the mean of its neighbours' hidden vectors and then its own [2h] of a GraphSAGE.
        posterior: the model's, [C].
        residual: share of the gradient that is not vector x error, in roundings of the gradient's type.
        mismatch: largest difference between the posterior told by the bias and that computed from the vector, on
            a logarithmic scale, in roundings.
    """

    label: int
    vector: Tensor
    posterior: Tensor
    residual: float
    mismatch: float


def read_class_gradients(
    message: Mapping[str, Tensor], theta: Mapping[str, Tensor], architecture: str
) -> dict[int, ReadOut | None]:
    """Reads each class's gradient of a ``class-gradients`` message (tensors named ``<class>/<weight>``).

    Args:
        message: the tensors of the message.
        theta: weights by name, as the server sent them in that round.
        architecture: of the model, see `LAST_LAYER`.

    Returns:
        For each class that the client has: what was read, or None.

    Raises:
        InputError: see `read_gradient`; or a tensor's name is not a class and a weight.
    """
    cells: dict[int, dict[str, Tensor]] = {}
    for key, tensor in message.items():
        label, slash, name = key.partition("/")
        if not (slash and label.isascii() and label.isdigit()):
            raise InputError(f"a gradient by class holds '{key}': expected names like '0/w2', a class and a weight")
        cells.setdefault(int(label), {})[name] = tensor
    return {label: read_gradient(gradient, theta, architecture) for label, gradient in cells.items()}


def read_gradient(gradient: Mapping[str, Tensor], theta: Mapping[str, Tensor], architecture: str) -> ReadOut | None:
    """The row and the label of the only labelled node behind a gradient of the mean cross-entropy, or None.

    The bias's gradient is e = p - y, whose one negative entry is the label. The weights' is the row times e, so
    the row is its product with e / |e|^2. Three checks stand before a claim, for several nodes give a matrix that
    is nearly of rank one too, when their posteriors are alike (one class, first weights):

    1. what is left of the weights' gradient without row x e is within rounding. Of k nodes it is the covariance of
       their rows and posteriors, which is of second order in their distance: about 1e-4 of the whole at first
       weights (1,000 roundings of float32), 5e-7 (9 roundings) for the most alike pairs of PubMed;
    2. the row, put into the last layer, gives the posterior that e tells of, within rounding. The mean of several
       posteriors is not that of the mean row (Jensen), also of second order; on its own it is the weaker check,
       but it also refuses a gradient that a defense changed along with its bias;
    3. the first check could have failed: where the posterior is saturated it hardly depends on the row, and
       several nodes leave nothing above rounding. Of nodes that are only as far apart as `ALIKE`, in no special
       direction, at most a share `MISSED` may pass; else nothing is claimed.

    What no check can tell: nodes with the same row (twins) from one node; the row is right for each then. Nor rows
    that differ only where the last layer's weights do not look; these occur by construction, not by chance. And of
    two classes all errors are parallel, every gradient is of rank one, and nothing is claimed.

    Args:
        gradient: by weight name.
        theta: the weights at which it was taken, by name.
        architecture: of the model, see `LAST_LAYER`.

    Raises:
        InputError: an unknown architecture, or a tensor of the last layer is missing or of another shape.
    """
    import torch

    weights, bias = _last_layer(theta, architecture, "the model")
    by_weights, error = _last_layer(gradient, architecture, "the gradient")
    if by_weights.shape != weights.shape or error.shape != bias.shape:
        raise InputError(
            f"the gradient's last layer has shapes {tuple(by_weights.shape)} and {tuple(error.shape)}, the model's "
            f"{tuple(weights.shape)} and {tuple(bias.shape)}: expected the same"
        )
    rounding = torch.finfo(gradient[LAST_LAYER[architecture][0]].dtype).eps / 2
    negative = (error < 0).nonzero().flatten()
    if len(negative) != 1 or not bool(torch.isfinite(by_weights).all() and by_weights.any()):
        return None
    label, vector = int(negative), by_weights @ error / (error @ error)
    residual = float((by_weights - torch.outer(vector, error)).norm() / by_weights.norm()) / rounding
    mismatch = _mismatch(vector, error, weights, bias, label, rounding)
    posterior = (vector @ weights + bias).softmax(0)
    if not (residual <= WORST_RESIDUAL and mismatch <= WORST_MISMATCH):
        return None
    if not _residual_of_several(vector, label, weights, posterior) > WORST_RESIDUAL * rounding:
        return None
    return ReadOut(label, vector, posterior, residual, mismatch)


def leading_row(gradient: Mapping[str, Tensor], architecture: str) -> Tensor:
    """The direction of the row in the matrix of rank one that is closest to the weights' gradient, unchecked.

    What an adversary takes who knows from elsewhere that one node is behind a gradient that a defense changed;
    of several nodes it is a mixture of theirs.

    Returns:
        A vector of length 1, float64; its sign is such that its entries sum to something positive.

    Raises:
        InputError: see `read_gradient`.
    """
    import torch

    by_weights, _ = _last_layer(gradient, architecture, "the gradient")
    row: Tensor = torch.linalg.svd(by_weights, full_matrices=False).U[:, 0]
    return row if float(row.sum()) >= 0 else -row


def _last_layer(tensors: Mapping[str, Tensor], architecture: str, whose: str) -> tuple[Tensor, Tensor]:
    """Weights, one above the other, [rows, C], and bias [C], in float64."""
    import torch

    if architecture not in LAST_LAYER:
        raise InputError(
            f"nothing can be read off gradients of '{architecture}' in closed form: expected one of "
            f"{', '.join(LAST_LAYER)}"
        )
    bias, weights = LAST_LAYER[architecture]
    missing = [name for name in (*weights, bias) if name not in tensors]
    if missing:
        raise InputError(f"{whose} lacks {' and '.join(missing)}, which a {architecture}'s last layer has")
    if any(tensors[name].dim() != 2 for name in weights) or tensors[bias].dim() != 1:
        raise InputError(f"{whose}: expected {' and '.join(weights)} as matrices and {bias} as a vector")
    return torch.cat([tensors[name].double() for name in weights]), tensors[bias].double()


def _mismatch(vector: Tensor, error: Tensor, weights: Tensor, bias: Tensor, label: int, rounding: float) -> float:
    """Difference of log-posteriors in units of what rounding the logits costs; infinite if none can be compared.

    The label's own is left out: of 1 - p only so many digits are left.
    """
    told = error > 1e-30  # below, float32 has lost digits
    told[label] = False
    if not bool(told.any()):
        return float("inf")
    computed = (vector @ weights + bias).log_softmax(0)
    size = 1 + vector.abs() @ weights.abs() + bias.abs()
    unit = rounding * (size[told] + size.max())
    return float(((error[told].log() - computed[told]).abs() / unit).max())


def _residual_of_several(vector: Tensor, label: int, weights: Tensor, posterior: Tensor) -> float:
    """Relative residual that nodes whose rows are `ALIKE` from their mean exceed, all but a share `MISSED`.

    A row that moves by m moves its posterior by m W J with J = diag(p) - p p^T, and the residual is the mean of
    their products, but for what is parallel to e. In a random direction |m W J|^2 (across e) is taken as a
    chi-square of as many degrees of freedom as there are singular values that count; the lower tail of that is
    its first term, (x / 2)^(k/2) / Gamma(k/2 + 1).
    """
    import torch

    # where p is nearly 1, neither p - 1 nor p - p^2 would have digits left: both from the other classes
    error = posterior.clone()
    error[label] = 0
    error[label] = -error.sum()
    products = torch.outer(posterior, posterior).fill_diagonal_(0)
    slope = torch.diag(products.sum(1)) - products
    across = torch.eye(len(error)).to(error) - torch.outer(error, error) / (error @ error)
    moves = weights @ slope @ across
    gram = moves.t() @ moves
    size, spread = float(gram.trace()), float(gram.norm())
    if not spread > 0:
        return 0.0
    freedom = (size / spread) ** 2
    tail = 2 * (MISSED * math.gamma(freedom / 2 + 1)) ** (2 / freedom)
    moved = math.sqrt(size / freedom * tail / len(vector))
    return float(ALIKE**2 * vector.norm() * moved / error.norm())


@dataclass(frozen=True, eq=False)
class PartialSums:
    """What one client sends in one-step neighbour communication (`targets.exchange`), in plain text.

    Attributes:
        sender: who sends it.
        nodes: ids of the nodes that it touches, ascending [m].
        sums: of each, the sum of x_u / sqrt(d_u + 1) over the client's own nodes u next to it, and itself, [m, d].
        degree: of the client's own nodes their number of neighbours; 0 of all others, [m].
    """

    sender: str
    nodes: Tensor
    sums: Tensor
    degree: Tensor


@dataclass(frozen=True, eq=False)
class ReadRow:
    """A raw feature row that a partial sum gives away: nobody else contributed to the sum.

    Attributes:
        sender: the client whose node it is.
        place: the node that the sum is about, whose neighbour the row's node is (or which it is itself).
        node: whose row it is, where only one of the client's nodes fits.
        degree: its number of neighbours, where all nodes that fit agree in it.
        row: the features [d]; up to a factor where ``degree`` is None.
        counted: whether numbers of contributors alone prove it, else the values do.
    """

    sender: str
    place: int
    node: int | None
    degree: int | None
    row: Tensor
    counted: bool


def partial_sums_of(messages: Sequence[Message]) -> list[list[PartialSums]]:
    """The exchanges that an observer could read, in order: one entry per client each.

    A client's ``neighbour-ids`` go before its ``neighbour-sums``; sealed ones have no content and are left out.
    """
    asked: dict[str, Tensor] = {}
    exchanges: list[list[PartialSums]] = []
    count: dict[str, int] = {}
    for message in messages:
        if message.kind == "neighbour-ids" and message.tensors:
            asked[message.sender] = message.tensors["nodes"]
        if message.kind == "neighbour-sums" and message.tensors and message.sender in asked:
            at = count.get(message.sender, 0)
            count[message.sender] = at + 1
            exchanges.extend([] for _ in range(at + 1 - len(exchanges)))
            body = message.tensors
            exchanges[at].append(
                PartialSums(message.sender, asked.pop(message.sender), body["sums"], body["degree"])
            )
    return exchanges


def read_partial_sums(sent: Sequence[PartialSums], binary: bool = False) -> list[ReadRow]:
    """The sums of one exchange to which one node alone contributed, as raw rows.

    Two proofs, each from what the server sees:

    - by counting: a node's degree is the number of contributions to it, and each other client that touches it
      makes one at least. If that many clients make up its degree, each made exactly one, and the node's own
      client none beside the node itself: its own sum is its own row.
    - by value, of features that are 0 or 1: nodes that contribute have values 1 / sqrt(d + 1), so a sum with a
      single value that fits some degree d is one row, or several rows of this degree without a common word. The
      latter is ruled out as far as can be: exactly one node of the client may fit.

    A node u fits a row that the client sent for v if it has the degree, if v's client touches u, and if u's own
    sum is nowhere below the row. The last holds for features that are not negative.

    Args:
        sent: of all clients.
        binary: whether features are known to be 0 or 1.

    Raises:
        InputError: shapes that do not go together.
    """
    return _Reading(sent, binary).rows()


class _Reading:
    """What the server works out of one exchange; the attributes are by node id."""

    def __init__(self, sent: Sequence[PartialSums], binary: bool) -> None:
        import torch

        for part in sent:
            if part.sums.dim() != 2 or not len(part.nodes) == len(part.sums) == len(part.degree):
                raise InputError(
                    f"'{part.sender}' sent {len(part.nodes)} ids with sums {tuple(part.sums.shape)} and "
                    f"{len(part.degree)} degrees: expected a row and a degree for each id"
                )
        self.sent, self.binary = sent, binary
        nodes = max((int(part.nodes.max()) + 1 for part in sent if len(part.nodes)), default=0)
        self.degree, self.touched = torch.zeros(nodes, dtype=torch.long), torch.zeros(nodes, dtype=torch.long)
        self.owner = torch.full((nodes,), -1)
        self.place = torch.full((len(sent), nodes), -1)  # of each node among a client's
        for number, part in enumerate(sent):
            ids, degree = part.nodes.cpu(), part.degree.cpu().long()
            self.degree[ids] += degree
            self.touched[ids] += 1
            self.owner[ids[degree > 0]] = number
            self.place[number, ids] = torch.arange(len(ids))
        lonely = (self.owner < 0) & (self.touched == 1)  # no neighbours at all: its client alone touches it
        for number in range(len(sent)):
            self.owner[lonely & (self.place[number] >= 0)] = number
        self.counted = (self.owner >= 0) & (self.degree == self.touched - 1)
        self.own = [(self.owner == number).nonzero().flatten() for number in range(len(sent))]

    def rows(self) -> list[ReadRow]:
        found = (
            self._read(number, int(node), part.sums[at])
            for number, part in enumerate(self.sent)
            for at, node in enumerate(part.nodes.tolist())
        )
        return [row for row in found if row is not None]

    def _read(self, number: int, node: int, total: Tensor) -> ReadRow | None:
        """What a client's sum for one node gives away."""
        sender, own = self.sent[number].sender, int(self.owner[node]) == number
        counted = bool(self.counted[node])
        if own and counted:
            degree = int(self.degree[node])
            return ReadRow(sender, node, node, degree, total * (degree + 1) ** 0.5, True)
        told = _degree_of(total) if self.binary else None
        if not counted and told is None:
            return None
        fitting = self._fitting(number, node, total, told)
        if not counted and (len(fitting) != 1 or (own and fitting[0] != node)):
            return None
        degrees = set(self.degree[fitting].tolist()) if told is None else {told}
        degree_or_none = degrees.pop() if len(degrees) == 1 else None
        scale = 1.0 if degree_or_none is None else (degree_or_none + 1) ** 0.5
        whose = int(fitting[0]) if len(fitting) == 1 else None
        return ReadRow(sender, node, whose, degree_or_none, total * scale, counted)

    def _fitting(self, number: int, node: int, total: Tensor, told: int | None) -> Tensor:
        """The client's nodes that may have contributed ``total`` to ``node`` alone, [k]."""
        part, other = self.sent[number], int(self.owner[node])
        nodes = self.own[number]
        if other == number:  # the node itself, or one that contributes beside it
            nodes = nodes[self.degree[nodes] == self.degree[node]]
        else:  # the node's client must touch the row's node in turn
            nodes = nodes[self.place[other, nodes] >= 0]
        if told is not None:
            nodes = nodes[self.degree[nodes] == told]
        words = total.nonzero().flatten()
        theirs = part.sums[self.place[number, nodes].to(total.device)][:, words]
        return nodes[(theirs >= total[words] * (1 - 1e-5)).all(1).cpu()]


def _degree_of(total: Tensor) -> int | None:
    """The d for which all values but zeros are 1 / sqrt(d + 1), or None."""
    values = total[total != 0]
    if not len(values) or float(values.max()) > float(values.min()) * (1 + 1e-6) or float(values.min()) <= 0:
        return None
    degree = float(values[0].double()) ** -2 - 1
    whole = round(degree)
    return whole if abs(degree - whole) < 1e-4 * (whole + 1) and whole >= 0 else None


class GradientReadout(Attack[UploadKnowledge]):
    """Names the uploaded class gradients that one labelled node alone is behind, see `readout.read_gradient`.

    Where it names one, it has the node's label and what the last layer read for it, exactly. It claims or it does
    not: the score is 1 or 0. Read is the first round.
    """

    name = "gradient-readout"
    games = (LoneNode.name,)
    needs: ClassVar[tuple[Carrying, ...]] = (
        Carrying.any_of(Carries.CLASS_GRADIENTS, to="server"),
        Carrying.any_of(Carries.MATCHED_AT),
    )
    observer = "server"
    first_rounds = 1
    planted = "planted-gradients"

    def score(self, view: View, knowledge: UploadKnowledge) -> Tensor:
        import torch

        theta = view.of_kind(MATCHING_MODEL_KIND)[0]
        model = _architecture(theta.tensors)
        claimed = set()
        for message in view.of_kind(CLASS_GRADIENTS_KIND):
            if message.round == theta.round and message.sender.startswith("client:"):
                client = int(message.sender.partition(":")[2])
                found = read_class_gradients(message.tensors, theta.tensors, model)
                claimed |= {client * knowledge.classes + c for c, read in found.items() if read is not None}
        return torch.tensor([float(cell in claimed) for cell in knowledge.subjects.tolist()])

    def blind_score(self, knowledge: UploadKnowledge) -> Tensor:
        """Nothing is claimed of a gradient that was not seen."""
        import torch

        return torch.zeros(len(knowledge.subjects))


def _architecture(weights: Mapping[str, Tensor]) -> str:
    if {"w", "b"} <= set(weights):
        return "sgc"
    if {"w2", "b2"} <= set(weights):
        return "sage" if "r2" in weights else "gcn"
    raise InputError(f"the model has weights {', '.join(sorted(weights))}: expected those of a GCN, SGC or SAGE")
