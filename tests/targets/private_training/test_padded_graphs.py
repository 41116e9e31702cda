"""Graphs side by side: answers of the plain engine, each graph's gradient by hand, noise as promised."""

import numpy as np
import pytest
import torch
from opacus import GradSampleModule
from scipy.stats import chi2
from torch.nn import functional as F

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.graphs.collection import by_graph
from gaudit.targets.models.graph_models import logits_of, some_graphs
from gaudit.targets.models.graph_recipe import GraphRecipe
from gaudit.targets.models.training_config import initial_weights
from gaudit.targets.private_training.clipped_training import NoisySteps, clipped_sum, train_noisily
from gaudit.targets.private_training.padded_graphs import GraphNetwork, PaddedGraphs

GRAPHS, CLIP = 40, 0.3
ALL = torch.ones(GRAPHS, dtype=torch.bool)
DATA = forty_graphs()
LABELS = by_graph(DATA, "y")


def made(architecture, layers=2):
    """A recipe, first weights of it, and all graphs."""
    recipe = GraphRecipe(architecture=architecture, layers=layers, hidden=5)
    first = initial_weights(recipe, 3, 2, np.random.SeedSequence(3))
    return recipe, first, PaddedGraphs(some_graphs(DATA, ALL, recipe))


def how(clip=CLIP, at_once=7, steps=1, multiplier=1.0):
    return NoisySteps(rate=1.0, steps=steps, clip=clip, multiplier=multiplier, lr=1e-12, at_once=at_once)


def alone(recipe, weights, number):
    """The logits of one graph by the engine that all other models of graphs run on."""
    return logits_of(recipe, weights, some_graphs(DATA, torch.arange(GRAPHS) == number, recipe))


def by_hand(recipe, first, clip):
    """One graph after the other, by autograd on the plain engine."""
    weights = {name: weight.clone().requires_grad_() for name, weight in first.items()}
    total = {name: torch.zeros_like(weight) for name, weight in first.items()}
    for number in range(GRAPHS):
        loss = F.cross_entropy(alone(recipe, weights, number), LABELS[number : number + 1])
        found = torch.autograd.grad(loss, list(weights.values()))
        norm = float(torch.cat([part.flatten() for part in found]).norm())
        for name, part in zip(weights, found, strict=True):
            total[name] += part * min(1.0, clip / norm)
    return total


def summed(recipe, first, padded, records, clip=CLIP):
    """The clipped sum as the training makes it, one vector."""
    watched = GradSampleModule(GraphNetwork(recipe, first), loss_reduction="sum", strict=False)
    parts = clipped_sum(watched, padded.of, LABELS, records, how(clip))
    return torch.cat([part.flatten() for part in parts])


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("architecture", ["gin", "gcn"])
def test_answers_are_those_of_the_plain_engine(architecture, layers):
    recipe, first, padded = made(architecture, layers)
    network = GraphNetwork(recipe, first)
    told = network(*padded.of(torch.arange(GRAPHS)))
    assert torch.allclose(told, logits_of(recipe, first, some_graphs(DATA, ALL, recipe)), atol=1e-5)
    assert all(torch.equal(weight, first[name]) for name, weight in network.published().items())


@pytest.mark.parametrize("clip", [CLIP, 1e6])
@pytest.mark.parametrize("architecture", ["gin", "gcn"])
def test_the_sum_is_that_of_graphs_clipped_one_by_one(architecture, clip):
    recipe, first, padded = made(architecture)
    network = GraphNetwork(recipe, first)
    watched = GradSampleModule(network, loss_reduction="sum", strict=False)
    parts = clipped_sum(watched, padded.of, LABELS, padded.by_size(), how(clip))
    for weight, part in zip(network.parameters(), parts, strict=True):
        weight.data = part
    expected = by_hand(recipe, first, clip)
    for name, found in network.published().items():  # named as weights are
        assert torch.allclose(found, expected[name], atol=1e-4), name


@pytest.mark.parametrize("architecture", ["gin", "gcn"])
def test_guarantee_no_graph_moves_the_sum_by_more_than_the_clip(architecture):
    """Brute force: every graph away once, and its absence changes what the others are filled up to."""
    recipe, first, padded = made(architecture)
    everybody = padded.by_size()
    whole = summed(recipe, first, padded, everybody)
    moved = [
        float((whole - summed(recipe, first, padded, everybody[everybody != gone])).norm())
        for gone in range(GRAPHS)
    ]
    assert max(moved) <= CLIP + 1e-5
    assert max(moved) > CLIP / 2  # the clip is what bounds it


def measured_noise(share):
    """Sum of squares of the noise on 60 steps that move nothing, in the deviations that were promised, and how
    many numbers these are; ``share`` of the noise is drawn."""
    recipe, first, padded = made("gin")
    exact, promised, seen = summed(recipe, first, padded, torch.arange(GRAPHS)), 2.0, []
    network = GraphNetwork(recipe, first)

    def look(step):
        seen.append(GRAPHS * torch.cat([weight.grad.flatten() for weight in network.parameters()]) - exact)

    steps = how(steps=60, multiplier=share * promised)
    train_noisily(network, padded.of, LABELS, torch.arange(GRAPHS), steps, np.random.default_rng(1), look)
    scaled = torch.stack(seen).double() / (promised * CLIP)
    return float(scaled.square().sum()), scaled.numel()


def test_noise_has_the_deviation_that_the_accountant_was_told_and_half_of_it_is_found():
    """A chi-square test that fails once in a million times; a fault of half the noise is a quarter of the sum."""
    found, count = measured_noise(1.0)
    low, high = chi2.ppf([5e-7, 1 - 5e-7], count)
    assert low < found < high
    assert measured_noise(0.5)[0] < low
