"""Links by model inversion: the graph under which a client's model says what its nodes are."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from ...errors import InputError
from ...settings import Settings
from ...targets.games.links import LinkKnowledge
from ...targets.messages import GLOBAL_KIND, PEER_KIND, UPDATE_KIND, Carries, Carrying
from ...targets.mixing import PEERS
from ...targets.models.training_config import TrainingConfig, weight_shapes
from ...targets.transcript import Message, View
from .adjacency_descent import AdjacencyDescent, refined
from .link_attack import LinkAttack, Part, cosine_of_pairs, of_client, parts_of
from .relaxed_attention import LARGEST, RelaxedAttention
from .relaxed_model import ModelOnGraph, RelaxedModel
from .weighted_graph import WeightedGraph

ARCHITECTURES = ("gcn", "sage", "gat")


class GraphMISettings(Settings):
    """Settings of `GraphMI`; the authors' values, of which 5 to 10 iterations are enough."""

    iterations: int = Field(100, ge=0, description="steps; 0: the model's embedding of each node alone")
    lr: float = Field(0.1, gt=0, description="size of a step")
    sparsity: float = Field(1e-3, ge=0, description="weight of the norm of the adjacency's entries")
    smoothness: float = Field(1e-4, ge=0, description="weight of feature smoothness")
    smooth_from: int = Field(50, ge=0, description="step from which on smoothness counts, as in the authors' code")
    density: float = Field(1.0, gt=0, description="budget of edges, in multiples of the number of edges there are")
    labels: float = Field(
        1.0,
        gt=0,
        le=1,
        description="share of a client's nodes whose labels are used, drawn at random; the budget shrinks with its "
        "square, as do the edges among these nodes (the authors attack a tenth of the nodes)",
    )
    decode: Literal["embedding", "adjacency"] = Field(
        "embedding", description="what scores a pair: likeness of hidden layers, or its optimised weight"
    )
    candidates: int = Field(
        0,
        ge=0,
        description="pairs of each node that may get a weight, drawn at random, each for many; 0: all. 32, say, "
        "for graphs of more than 20,000 nodes; pairs in question are all scored either way",
    )
    samples: int = Field(0, ge=0, description="graphs drawn from the optimised weights, of which the best is kept")

    @model_validator(mode="after")
    def _samples_of_an_adjacency(self) -> "GraphMISettings":
        if self.samples and self.decode != "adjacency":
            raise ValueError(
                "samples are drawn from the optimised adjacency: set decode to 'adjacency', or samples 0"
            )
        return self


class GraphMI(LinkAttack):
    """GraphMI (Zhang et al. 2021, IJCAI): projected gradient descent on the adjacency, white-box.

    From a client's last update (where there is none, from the last common model), the features, the labels and the
    number of edges it looks for the graph under which the model gets the labels right, see `AdjacencyDescent`
    (Algorithm 1, Eq. 13). A pair's score is the cosine of its nodes' hidden layers ReLU(S X W1 + b1) under that
    graph (the graph auto-encoder, Eq. 14), or its weight in the graph, ties broken by the loss's gradient.

    The authors' code is followed: sparsity is the Euclidean norm of the entries, smoothness counts from step 50 on,
    and nothing is drawn at random in the end, as the paper does; ``samples`` draws from the optimised weights. The
    code scores with the graph before the last step; here it is the graph after it.

    The authors attack a tenth of the nodes: the loss counts these nodes' labels alone, and the budget is the number
    of edges among them (``labels = 0.1``). Here all labels count by default, as the server of SOS knows them all.

    Reads GCN, GraphSAGE (mean), and GAT of at most 3,000 nodes a client: attention has a number of its own for each
    pair, so that its gradient is dense. How many heads a GAT has is not seen in its weights, so its recipe must be
    known. Of the others memory for a client of n nodes: O(n (d + h)); some 24 bytes for a pair with a
    weight, 2 n^2 bytes at most; and 2 n^2 bytes (1 GiB at most) once smoothness counts. Scores are those of the
    pairs in question alone. 19,717 nodes take 2 to 3 GiB. With ``candidates`` only some pairs, drawn at random, may
    get a weight, and a step costs what these cost. Pairs in question are scored all the same, so an AUC leaves none
    of them out; but it is the AUC of this search, which is another than that over all pairs. Some 10 iterations
    serve it: on 100,000 nodes a hundred were worse than none.
    """

    name = "graphmi"
    any_of: ClassVar[tuple[Carrying, ...]] = (
        Carrying.any_of(Carries.CLASSIFIER, to="server"),
        Carrying.any_of(Carries.CLASSIFIER, to="clients"),
        PEERS,
    )
    Settings = GraphMISettings
    settings: GraphMISettings

    @classmethod
    def preset(cls, preset: str) -> dict[str, Any]:
        return {"iterations": 10} if preset == "quick" else {}

    def why_not(self, view: View, knowledge: LinkKnowledge) -> str | None:
        recipe = knowledge.recipe
        if recipe is not None and recipe.architecture not in ARCHITECTURES:
            return _unreadable(recipe.architecture)
        if recipe is not None and recipe.architecture == "gat":
            largest = max((len(part.nodes) for _, part in parts_of(knowledge)), default=0)
            if largest > LARGEST:
                return (
                    f"a client holds {largest} nodes, and of a GAT the gradient is dense, for {LARGEST} nodes at "
                    "most: use more clients or a smaller graph"
                )
        return super().why_not(view, knowledge)

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        message = _of_part(view, part)
        recipe = knowledge.recipe or _recognised(message, part)
        weights = _checked(message, recipe, part)
        x = part.x.float()
        s, model = self.settings, _model(recipe, weights, x)
        budget, labels = s.density * s.labels**2 * part.edges, some_of(part.labels, s.labels)
        descent = AdjacencyDescent(
            model, x, labels, budget, s.lr, s.sparsity, s.smoothness, s.smooth_from, candidates=s.candidates
        )
        return self.decoded(descent, descent.found(s.iterations), part.pairs)

    def decoded(self, descent: AdjacencyDescent, graph: WeightedGraph, pairs: Tensor) -> Tensor:
        """Scores of some pairs [s, 2] under the graph that was found, [s]."""
        if self.settings.decode == "embedding":
            return cosine_of_pairs(descent.model.hidden(graph), pairs)
        relaxed = refined(graph.at(pairs), descent.model.gradient(graph, descent.labels).at(pairs))
        if not self.settings.samples:
            return relaxed
        return 6 * descent.drawn(graph, self.settings.samples).at(pairs) + relaxed  # relaxed is within [-2, 3]

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """Cosine of raw features: what needs no model."""
        return cosine_of_pairs(part.x.float(), part.pairs)


def some_of(labels: Tensor, share: float) -> Tensor:
    """The labels [n] of a share of the nodes, drawn by torch's generator, one node at least; -1 for the others."""
    if share == 1:
        return labels
    drawn = torch.randperm(len(labels))[: max(1, int(share * len(labels)))].to(labels.device)
    return torch.full_like(labels, -1).index_copy(0, drawn, labels[drawn])


def _model(recipe: TrainingConfig, weights: Mapping[str, Tensor], x: Tensor) -> ModelOnGraph:
    if recipe.architecture == "gat":
        return RelaxedAttention(weights, recipe.heads, x)
    return RelaxedModel("sage" if recipe.architecture == "sage" else "gcn", weights, x)


def _unreadable(architecture: str) -> str:
    return f"it reads the weights of {', '.join(ARCHITECTURES)} models of two layers, not of '{architecture}'"


def _of_part(view: View, part: Part) -> Message:
    """A client's last update, or the last common model; where it is not heard, the last that a peer sent."""
    updates = of_client(view, UPDATE_KIND, part) or of_client(view, PEER_KIND, part)
    sent = updates or view.of_kind(GLOBAL_KIND) or view.of_kind(PEER_KIND)
    if not sent:
        raise InputError(f"{part.sender} sent no '{UPDATE_KIND}' and there is no '{GLOBAL_KIND}' to attack instead")
    return sent[-1]


def _recognised(message: Message, part: Part) -> TrainingConfig:
    """The recipe that the names of weights tell."""
    marks = {"r1": "sage", "from1": "gat", "w": "sgc"}
    told = next((architecture for mark, architecture in marks.items() if mark in message.tensors), "gcn")
    if told == "gat":
        raise InputError(
            f"{_called(message, part)} is a GAT's, and the number of its heads is not seen in its weights: "
            "graphmi needs to know its recipe"
        )
    if told not in ARCHITECTURES:
        raise InputError(f"{_called(message, part)} cannot be attacked by graphmi: {_unreadable(told)}")
    w1 = message.tensors.get("w1")
    hidden = w1.shape[-1] if w1 is not None and w1.dim() else 1
    return TrainingConfig.checked("a recognised model", {"architecture": told, "hidden": hidden})


def _checked(message: Message, recipe: TrainingConfig, part: Part) -> Mapping[str, Tensor]:
    """A model's weights in float32, beside the features.

    Raises:
        InputError: a weight is missing, has another shape, or is not finite.
    """
    d, found = part.x.shape[1], {}
    model = f"a '{recipe.architecture}' model of {d} features, {recipe.hidden} hidden units, {part.classes} classes"
    for name, shape in weight_shapes(recipe, d, part.classes).items():
        weight = message.tensors.get(name)
        if weight is None:
            raise InputError(f"{_called(message, part)} lacks '{name}', expected shape {shape} of {model}")
        if tuple(weight.shape) != shape or not weight.is_floating_point():
            got = f"shape {tuple(weight.shape)}" if tuple(weight.shape) != shape else f"type {weight.dtype}"
            raise InputError(
                f"{_called(message, part)} does not fit: '{name}' has {got}, "
                f"expected {'floating-point numbers of ' if 'type' in got else ''}shape {shape} of {model}"
            )
        if not bool(torch.isfinite(weight).all()):
            raise InputError(
                f"{_called(message, part)} holds numbers in '{name}' that are not finite: the training "
                "that made it diverged, lower its learning rate or its noise"
            )
        found[name] = weight.to(part.x.device, torch.float32)
    return found


def _called(message: Message, part: Part) -> str:
    if message.kind in (UPDATE_KIND, PEER_KIND) and message.sender == part.sender:
        return f"the update of {part.sender} in round {message.round}"
    return f"the common model of round {message.round}, read in the place of {part.sender}'s update,"
