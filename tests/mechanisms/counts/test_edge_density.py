"""Edge density: what one node changes, by brute force; two budgets that add up; what a bound near n p gains."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.counts import edge_density as module
from gaudit.mechanisms.counts.edge_density import bound_for, edge_density
from gaudit.mechanisms.node_private import bounded_flow, flow_sensitivity


def of_pairs(nodes, pairs):
    return Network.from_edges(nodes, [a for a, _ in pairs], [b for _, b in pairs])


def random_graph(nodes, p, seed):
    pairs = np.array(list(combinations(range(nodes), 2)))
    return of_pairs(nodes, pairs[np.random.default_rng(seed).random(len(pairs)) < p].tolist())


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_sensitivity_a_node_that_becomes_blank_changes_the_flow_by_twice_the_bound_at_most(bound):
    """All 1,024 networks of five nodes, and each of their nodes."""
    every = list(combinations(range(5), 2))
    flows = {}
    for code in range(2 ** len(every)):
        pairs = frozenset(pair for place, pair in enumerate(every) if code >> place & 1)
        flows[pairs] = bounded_flow(of_pairs(5, sorted(pairs)), bound)
    changed = [
        flow - flows[frozenset(pair for pair in pairs if node not in pair)]
        for pairs, flow in flows.items()
        for node in range(5)
    ]
    assert min(changed) == 0
    assert max(changed) == flow_sensitivity(bound)


def test_sensitivity_holds_on_larger_networks_too():
    rng = np.random.default_rng(0)
    for nodes in (6, 7, 8):
        for _ in range(10):
            pairs = [pair for pair in combinations(range(nodes), 2) if rng.random() < rng.random()]
            node, bound = int(rng.integers(nodes)), int(rng.integers(1, nodes))
            blank = [pair for pair in pairs if node not in pair]
            change = bounded_flow(of_pairs(nodes, pairs), bound) - bounded_flow(of_pairs(nodes, blank), bound)
            assert 0 <= change <= flow_sensitivity(bound)


def test_both_steps_have_noise_for_what_a_node_changes_and_epsilons_add_up(monkeypatch):
    asked, laplace = [], module.discrete_laplace
    monkeypatch.setattr(
        module, "discrete_laplace", lambda scale, *rest: asked.append(scale) or laplace(scale, *rest)
    )
    bounds, chosen = [], module.bound_for
    monkeypatch.setattr(module, "bound_for", lambda *told: bounds.append(chosen(*told)) or bounds[-1])
    found = edge_density(random_graph(40, 0.2, 0), 1.0, np.random.default_rng(0))
    of_count, of_flow = Fraction(39) / asked[0], Fraction(2 * bounds[0]) / asked[1]
    assert of_count + of_flow == found.guarantee.epsilon == 1
    assert found.guarantee.unit == "node"


def test_without_noise_it_is_the_density_and_never_leaves_its_limits():
    network = random_graph(30, 0.3, 1)
    assert edge_density(network, 1e6, np.random.default_rng(0)).values == pytest.approx(network.size / 435)
    for seed in range(20):
        assert 0 <= edge_density(network, 0.05, np.random.default_rng(seed)).values <= 1


def test_of_random_graphs_it_is_nearer_than_noise_for_all_degrees():
    """Mean error of 60 draws, against the mean of Laplace noise of scale n - 1. It is about a third of that."""
    nodes, epsilon = 300, 2.0
    network = random_graph(nodes, 0.05, 2)
    pairs = nodes * (nodes - 1) / 2
    errors = [
        abs(edge_density(network, epsilon, np.random.default_rng(seed)).values - network.size / pairs)
        for seed in range(60)
    ]
    assert np.mean(errors) < 0.5 * (nodes - 1) / epsilon / pairs


def test_the_bound_covers_degrees_of_random_graphs_and_stays_within_its_limits():
    for seed in range(10):
        network = random_graph(200, 0.1, seed)
        assert network.degrees.max() <= bound_for(network.size, 200, Fraction(1)) < 199
    assert bound_for(-(10**9), 50, Fraction(1)) >= 1
    assert bound_for(10**9, 50, Fraction(1)) == 49


def test_too_few_nodes_are_refused():
    with pytest.raises(InputError, match="expected 2 or more"):
        edge_density(Network.from_edges(1, [], []), 1.0)
