"""Local training: the same model as shadow models have, gradients as autograd has them on dense matrices."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.targets.defense import LossTerm
from gaudit.targets.federated.local_training import LocalTask, Subgraph, dropout
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.models.training_task import Query, TrainingTask

NODES, FEATURES, CLASSES = 25, 7, 3
ARCHITECTURES = ("gcn", "sage", "gat")


@pytest.fixture(scope="module")
def graph() -> Data:
    """A random graph whose last node is alone."""
    torch.manual_seed(0)
    pairs = torch.combinations(torch.arange(NODES - 1))
    chosen = pairs[torch.rand(len(pairs)) < 0.15].t()
    x = torch.randn(NODES, FEATURES) * (torch.rand(NODES, FEATURES) < 0.2)
    return Data(x=x, y=torch.arange(NODES) % CLASSES, edge_index=torch.cat([chosen, chosen.flip(0)], 1))


def recipe_of(architecture: str, **settings) -> TrainingConfig:
    return TrainingConfig(architecture=architecture, hidden=4, heads=2, **settings)


def weights_of(recipe: TrainingConfig, seed: int = 0) -> dict[str, torch.Tensor]:
    drawn = initial_weights(recipe, FEATURES, CLASSES, np.random.SeedSequence(seed))
    return {n: w + 0.1 * torch.randn(w.shape, generator=torch.Generator().manual_seed(1)) for n, w in drawn.items()}


def task_of(graph: Data, recipe: TrainingConfig, edges: torch.Tensor | None = None, term=None) -> LocalTask:
    forward = Subgraph.of(recipe, graph.x, graph.edge_index if edges is None else edges)
    labelled, reference = torch.arange(0, NODES, 2), torch.arange(1, NODES, 4)
    return LocalTask(forward, labelled, graph.y[labelled], reference, graph.y[reference], term)


def dense_logits(recipe: TrainingConfig, w: dict, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """The three architectures as their papers write them, with dense matrices."""
    adjacency = torch.zeros(len(x), len(x))
    adjacency[edges[1], edges[0]] = 1
    loops = adjacency + torch.eye(len(x))

    def layer(rows, number):
        projected = rows @ w["w" + number]
        if recipe.architecture == "gcn":
            scale = loops.sum(1) ** -0.5
            return scale[:, None] * loops * scale @ projected + w["b" + number]
        if recipe.architecture == "sage":
            mean = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
            return mean @ projected + rows @ w["r" + number] + w["b" + number]
        heads = recipe.heads if number == "1" else 1
        parts = []
        for own, sender, receiver in zip(
            *(t.chunk(heads, -1) for t in (projected, w["from" + number], w["to" + number])), strict=True
        ):
            score = F.leaky_relu((own @ receiver)[:, None] + (own @ sender)[None, :], 0.2)
            parts.append(score.masked_fill(loops == 0, -torch.inf).softmax(1) @ own)
        return torch.cat(parts, 1) + w["b" + number]

    hidden = layer(x, "1")
    return layer(F.elu(hidden) if recipe.architecture == "gat" else hidden.relu(), "2")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_logits_are_those_of_shadow_models(graph, architecture):
    recipe = recipe_of(architecture)
    weights = weights_of(recipe)
    task = TrainingTask(graph, torch.ones(1, NODES, dtype=torch.bool), recipe, CLASSES)
    (asked,) = ask_models(
        task, [Query(torch.arange(NODES), graph.edge_index)], {n: w[None] for n, w in weights.items()}
    )
    torch.testing.assert_close(Subgraph.of(recipe, graph.x, graph.edge_index)(weights), asked[0])


@pytest.mark.parametrize("edgeless", [False, True])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradient_is_autograds_on_dense_matrices(graph, architecture, edgeless):
    recipe = recipe_of(architecture)
    edges = graph.edge_index[:, :0] if edgeless else graph.edge_index
    weights = weights_of(recipe)
    task = task_of(graph, recipe, edges)
    free = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    logits = dense_logits(recipe, free, graph.x, edges)
    F.cross_entropy(logits[task.labelled], task.labels).backward()
    found = task.gradient(weights)
    assert found.keys() == weights.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, free[name].grad, atol=1e-6, rtol=1e-4)


class Pushing(LossTerm):
    """A term with a fixed derivative, which notes what it is shown."""

    def __init__(self, derivative: torch.Tensor) -> None:
        self.derivative = derivative

    def gradient(self, logits, labels, reference, reference_labels):
        self.shown = logits, labels, reference, reference_labels
        return self.derivative


def test_a_defenses_term_is_averaged_over_labelled_nodes(graph):
    recipe = recipe_of("gcn")
    weights, plain = weights_of(recipe), task_of(graph, recipe)
    term = Pushing(torch.randn(len(plain.labelled), CLASSES, generator=torch.Generator().manual_seed(5)))
    found, without = task_of(graph, recipe, term=term).gradient(weights), plain.gradient(weights)
    free = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    logits = dense_logits(recipe, free, graph.x, graph.edge_index)
    (logits[plain.labelled] * term.derivative).sum().div(len(plain.labelled)).backward()
    for name in weights:
        torch.testing.assert_close(found[name] - without[name], free[name].grad, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(term.shown[0], logits.detach()[plain.labelled])
    torch.testing.assert_close(term.shown[2], logits.detach()[plain.reference])
    assert torch.equal(term.shown[1], plain.labels)
    assert torch.equal(term.shown[3], plain.reference_labels)


def test_labelled_nodes_count_as_much_as_is_said(graph):
    """Their losses are weighed, and so is what a defense's term adds for them; the mean is over all of them."""
    recipe = recipe_of("gcn")
    weights, coins = weights_of(recipe), torch.Generator().manual_seed(5)
    plain = task_of(graph, recipe)
    counts = torch.rand(len(plain.labelled), generator=coins)
    term = Pushing(torch.randn(len(counts), CLASSES, generator=coins))
    found = replace(plain, counts=counts).gradient(weights)
    pushed = replace(plain, counts=counts, term=term).gradient(weights)
    free = {name: w.clone().requires_grad_() for name, w in weights.items()}
    own = dense_logits(recipe, free, graph.x, graph.edge_index)[plain.labelled]
    losses = torch.stack([F.cross_entropy(own[i], plain.labels[i]) for i in range(len(counts))])
    added = (counts[:, None] * term.derivative * own).sum() / len(counts)
    torch.testing.assert_close(plain.losses(weights), losses.detach())
    by_losses = torch.autograd.grad(counts @ losses / len(counts), list(free.values()), retain_graph=True)
    by_term = torch.autograd.grad(added, list(free.values()))
    for name, one, other in zip(free, by_losses, by_term, strict=True):
        torch.testing.assert_close(found[name], one)
        torch.testing.assert_close(pushed[name], one + other)


def test_nodes_that_count_once_each_change_no_bit(graph):
    plain, weights = task_of(graph, recipe_of("gcn")), weights_of(recipe_of("gcn"))
    ones = replace(plain, counts=torch.ones(len(plain.labelled))).gradient(weights)
    assert all(torch.equal(ones[name], expected) for name, expected in plain.gradient(weights).items())


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_local_steps_are_torchs_and_leave_what_was_received_alone(graph, optimiser):
    recipe = recipe_of("gcn")
    weights = weights_of(recipe)
    before = {name: weight.clone() for name, weight in weights.items()}
    task = task_of(graph, recipe)
    found = task.trained(weights, steps=4, optimiser=optimiser, lr=0.05, weight_decay=0.01)
    free = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    walker = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[optimiser](
        free.values(), lr=0.05, weight_decay=0.01
    )
    for _ in range(4):
        walker.zero_grad()
        logits = dense_logits(recipe, free, graph.x, graph.edge_index)
        F.cross_entropy(logits[task.labelled], task.labels).backward()
        walker.step()
    for name in weights:
        torch.testing.assert_close(found[name], free[name].detach(), atol=1e-5, rtol=1e-4)
        assert torch.equal(weights[name], before[name])
        assert not found[name].requires_grad


def test_a_correction_is_added_to_the_gradient_at_the_weights_of_each_step(graph):
    recipe = recipe_of("gcn")
    weights, task, seen = weights_of(recipe), task_of(graph, recipe), []

    def correction(name, weight):
        seen.append((name, weight.clone()))
        return torch.full_like(weight, 2.0)

    found = task.trained(weights, steps=2, optimiser="sgd", lr=0.1, weight_decay=0, correction=correction)
    current = weights
    for step in range(2):
        assert all(torch.equal(w, current[n]) for n, w in seen[step * len(weights) : (step + 1) * len(weights)])
        gradient = task.gradient(current)
        current = {n: w - 0.1 * (gradient[n] + 2) for n, w in current.items()}
        current = {n: w if step else seen[len(weights) + i][1] for i, (n, w) in enumerate(current.items())}
    for name in weights:
        torch.testing.assert_close(found[name], current[name])


def test_dropout_drops_its_share_and_keeps_the_mean():
    """Binomial(40 000, 0.25); out of bounds by chance once in a million."""
    hidden = torch.ones(200, 200)
    dropped = dropout(0.25, torch.Generator().manual_seed(0))(hidden)
    low, high = binom.interval(1 - 1e-6, hidden.numel(), 0.25)
    assert low <= int((dropped == 0).sum()) <= high
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    assert dropout(0.0, torch.Generator())(hidden) is hidden


def test_dropout_acts_in_training_and_not_in_gradients(graph):
    recipe = recipe_of("gcn", dropout=0.5)
    weights, task = weights_of(recipe), task_of(graph, recipe)
    one, other, same = (
        task.trained(
            weights,
            steps=1,
            optimiser="sgd",
            lr=0.1,
            weight_decay=0,
            drop=dropout(0.5, torch.Generator().manual_seed(seed)),
        )
        for seed in (0, 1, 0)
    )
    assert torch.equal(one["w2"], same["w2"])
    assert not torch.allclose(one["w2"], other["w2"])
    assert not torch.allclose(one["w2"], weights["w2"] - 0.1 * task.gradient(weights)["w2"])
