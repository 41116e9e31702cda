"""Whole graphs out of one gradient: kinds, counts and links against the graph, and the gradient they give."""

from collections import Counter

import igraph
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.attacks.gradients.kinds_of_nodes import Kinds, Limits, kinds_in
from gaudit.attacks.gradients.linked_kinds import linked
from gaudit.attacks.gradients.whole_graphs import counts_of, features_of, link_balance, rebuilt
from gaudit.targets.models.graph_models import Graphs, logits_of
from gaudit.targets.models.graph_recipe import GraphRecipe
from gaudit.targets.models.training_config import initial_weights

RECIPE, FEATURES, LIMITS = GraphRecipe(hidden=64, layers=3), torch.eye(3), Limits(degree=3)
FEATURE = [0, 0, 1, 0, 2, 1, 0]
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 6)]
"""A ring of four with a tail of three."""


def gradient_of(feature, edges, label, weights):
    both = torch.tensor([pair for u, v in edges for pair in ((u, v), (v, u))]).t().reshape(2, -1)
    graphs = Graphs.of(FEATURES[torch.tensor(feature)], both, torch.zeros(len(feature), dtype=torch.long), RECIPE)
    free = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    loss = F.cross_entropy(logits_of(RECIPE, free, graphs), torch.tensor([label]))
    return dict(zip(free, torch.autograd.grad(loss, list(free.values())), strict=True))


@pytest.fixture(scope="module")
def weights():
    """Weights at which the last layer's gradient spans all of its seven rows."""
    return initial_weights(RECIPE, 3, 2, np.random.SeedSequence(1))


@pytest.fixture(scope="module")
def gradient(weights):
    return gradient_of(FEATURE, EDGES, 1, weights)


def refined_by_hand():
    """Kinds of all nodes, layer by layer, as nested tuples."""
    near = [[v if u == node else u for u, v in EDGES if node in (u, v)] for node in range(len(FEATURE))]
    layers, kinds = [], list(FEATURE)
    for _ in range(RECIPE.layers):
        kinds = [
            (kinds[node], tuple(sorted((kinds[other] for other in near[node]), key=repr))) for node in range(7)
        ]
        layers.append(kinds)
    return layers


def nested(found: list[Kinds]):
    """The same of what was found."""
    names, layers = list(range(len(FEATURES))), []
    for layer in found:
        names = [
            (names[own], tuple(sorted((names[other] for other in around), key=repr)))
            for own, around in zip(layer.own, layer.around, strict=True)
        ]
        layers.append(names)
    return layers


def test_all_kinds_that_are_there_are_found(gradient, weights):
    found = kinds_in(gradient, weights, FEATURES, LIMITS)
    assert found is not None
    for there, told in zip(refined_by_hand(), nested(found), strict=True):
        assert set(there) <= set(told)


def test_counts_are_those_of_the_graph(gradient, weights):
    found = kinds_in(gradient, weights, FEATURES, LIMITS)
    row = (gradient["w"][:, 0].double() / gradient["b"][0].double()).numpy()
    counts = counts_of(found, row, 50)
    told = {name: int(count) for name, count in zip(nested(found)[-1], counts, strict=True) if count}
    assert told == dict(Counter(refined_by_hand()[-1]))
    assert np.bincount(np.repeat(features_of(found), counts)).tolist() == np.bincount(FEATURE).tolist()
    assert not (link_balance(found[-1]) @ counts).any()


def test_a_graph_is_rebuilt_and_gives_the_gradient(gradient, weights):
    got = rebuilt(gradient, weights, FEATURES, LIMITS)
    one, two = igraph.Graph(n=7, edges=EDGES), igraph.Graph(n=len(got.feature), edges=got.edges.tolist())
    assert one.isomorphic_vf2(two, color1=FEATURE, color2=got.feature.tolist())
    again = gradient_of(got.feature.tolist(), got.edges.tolist(), 1, weights)
    for name, value in gradient.items():
        torch.testing.assert_close(again[name], value, atol=1e-5, rtol=1e-3)


def test_where_the_last_layer_spans_too_little_it_leaves_nothing_out():
    """At these weights its gradient spans five dimensions, and seven rows are there."""
    weights = initial_weights(RECIPE, 3, 2, np.random.SeedSequence(4))
    gradient = gradient_of(FEATURE, EDGES, 1, weights)
    there = set(refined_by_hand()[-1])
    filtered, whole = (kinds_in(gradient, weights, FEATURES, LIMITS, last_too) for last_too in (True, False))
    assert not there <= set(nested(filtered)[-1])
    assert there <= set(nested(whole)[-1])
    got = rebuilt(gradient, weights, FEATURES, LIMITS)
    one, two = igraph.Graph(n=7, edges=EDGES), igraph.Graph(n=len(got.feature), edges=got.edges.tolist())
    assert one.isomorphic_vf2(two, color1=FEATURE, color2=got.feature.tolist())


def test_a_gradient_of_noise_rebuilds_nothing(gradient, weights):
    noise = torch.Generator().manual_seed(0)
    noisy = {n: g + g.std() * torch.randn(g.shape, generator=noise) for n, g in gradient.items()}
    assert rebuilt(noisy, weights, FEATURES, LIMITS) is None
    zero = {name: torch.zeros_like(value) for name, value in gradient.items()}
    assert rebuilt(zero, weights, FEATURES, LIMITS) is None


def test_too_many_candidates_are_not_looked_at(gradient, weights):
    assert kinds_in(gradient, weights, FEATURES, Limits(degree=3, candidates=10)) is None


@pytest.mark.parametrize("seed", range(5))
def test_links_make_a_connected_simple_graph_of_those_kinds(seed):
    """Any graph will do: random ones are linked again from their own degrees."""
    graph = igraph.Graph.Tree_Game(9) if seed % 2 else igraph.Graph.K_Regular(8, 3)
    degrees = graph.degree()
    last = Kinds((0,) * len(degrees), tuple((0,) * degree for degree in degrees), torch.zeros(len(degrees), 1))
    edges = linked(last, np.arange(len(degrees)))
    again = igraph.Graph(n=len(degrees), edges=edges.tolist())
    assert again.degree() == degrees
    assert again.is_simple()
    assert again.is_connected()


def test_kinds_that_cannot_be_linked_are_given_up():
    odd = Kinds((0, 0, 0), ((0,), (0,), (0,)), torch.zeros(3, 1))
    assert linked(odd, np.arange(3)) is None
    apart = Kinds((0, 0, 0, 0), ((0,),) * 4, torch.zeros(4, 1))
    assert linked(apart, np.arange(4)) is None
