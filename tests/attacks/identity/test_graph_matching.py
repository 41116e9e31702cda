"""Matching of graphs: what is matched is right where it can be known, and what is left is left by the rule."""

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.identity.graph_matching import percolation, propagation
from gaudit.attacks.identity.structural_seeds import landmark_distances, matched_hubs, structural_seeds
from gaudit.graphs.network import Network
from support.random_networks import random_network, uneven_network


def part_of(network: Network, share: float, seed: int) -> Network:
    kept = np.random.default_rng(seed).permutation(network.size)[: round(share * network.size)]
    return Network(network.nodes, network.edges[:, np.sort(kept)])


def hidden(network: Network, seed: int) -> tuple[Network, np.ndarray]:
    """The same under other names, and these."""
    new = np.random.default_rng(seed).permutation(network.nodes)
    return network.renamed(new), new


def some(new: np.ndarray, share: float, seed: int) -> np.ndarray:
    known = np.random.default_rng(seed + 1).permutation(len(new))[: round(share * len(new))]
    return np.stack([known, new[known]])


EVEN = random_network(1000, 7500, 0)


@pytest.mark.parametrize("method", ["percolation", "propagation"])
def test_seeds_of_identical_random_graphs_match_everybody(method):
    assert EVEN.degrees.min() >= 2
    for seed in range(5):
        other, new = hidden(EVEN, seed)
        if method == "percolation":
            image = percolation(EVEN, other, some(new, 0.05, seed))
        else:
            image = propagation(EVEN, other, some(new, 0.05, seed), np.random.default_rng(seed))
        np.testing.assert_array_equal(image, new)


@given(st.integers(0, 10**6), st.integers(5, 60), st.integers(20, 150), st.floats(0.3, 1), st.integers(1, 4))
def test_percolation_makes_no_mistake_where_one_graph_is_part_of_the_other(seed, nodes, edges, share, threshold):
    whole = random_network(nodes, edges, seed)
    other, new = hidden(whole, seed)
    image = percolation(part_of(whole, share, seed), other, some(new, 0.2, seed), threshold)
    assert (image == new)[image >= 0].all()


@given(st.integers(0, 10**6), st.integers(10, 60), st.integers(20, 120), st.integers(1, 3))
def test_percolation_stops_only_where_nobody_stands_out(seed, nodes, edges, threshold):
    one, other = random_network(nodes, edges, seed), random_network(nodes + 3, edges, seed + 1)
    seeds = np.random.default_rng(seed).permutation(nodes)[:8].reshape(2, 4)
    image = percolation(one, other, seeds, threshold)
    matched = np.flatnonzero(image >= 0)
    np.testing.assert_array_equal(image[seeds[0]], seeds[1])
    assert len(np.unique(image[matched])) == len(matched)
    marks = one.adjacency[:, matched] @ other.adjacency[image[matched]]
    marks = np.delete(np.delete(marks.toarray(), matched, axis=0), image[matched], axis=1)
    best = np.sort(marks, axis=1)[:, -2:]
    asking = np.flatnonzero((best[:, 1] >= threshold) & (best[:, 1] > best[:, 0]))
    asked, marks = marks[asking].argmax(1), best[asking, 1]
    for candidate in np.unique(asked):  # each is asked for by several with equally many marks
        rivals = marks[asked == candidate]
        assert (rivals == rivals.max()).sum() > 1


@given(st.integers(0, 10**6), st.integers(5, 40), st.integers(10, 100))
def test_percolation_does_not_depend_on_names(seed, nodes, edges):
    one, other = random_network(nodes, edges, seed), random_network(nodes, edges, seed + 1)
    seeds = np.random.default_rng(seed).permutation(nodes)[:4].reshape(2, 2)
    (first, a), (second, b) = hidden(one, seed), hidden(other, seed + 5)
    plain, renamed = (
        percolation(one, other, seeds),
        percolation(first, second, np.stack([a[seeds[0]], b[seeds[1]]])),
    )
    np.testing.assert_array_equal(renamed[a], np.where(plain >= 0, b[plain], -1))


def test_a_higher_threshold_spreads_less_far():
    base = uneven_network(600, 2500, 0)
    other, new = hidden(base, 0)
    counts = [(percolation(base, other, some(new, 0.05, 0), r) >= 0).sum() for r in (1, 2, 3, 5)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


def propagated_by_hand(one, other, seeds, order, theta):
    """One pass of propagation with dense arrays."""
    links, links_other = one.adjacency.toarray(), other.adjacency.toarray()
    image, preimage = np.full(one.nodes, -1), np.full(other.nodes, -1)
    image[seeds[0]], preimage[seeds[1]] = seeds[1], seeds[0]

    def first(node, near, near_other, match, taken):
        known = [match[v] for v in np.flatnonzero(near[node]) if match[v] >= 0]
        scores = near_other[known].sum(0) / np.sqrt(np.maximum(near_other.sum(0), 1)) * (taken < 0)
        second, best = np.sort(scores)[-2:]
        lead = (best - second) / scores.std() if scores.std() > 0 else 0
        return (int(scores.argmax()), lead) if best > 0 else (-1, 0)

    for node in order:
        best, lead = first(node, links, links_other, image, preimage)
        if best < 0 or lead < theta:
            continue
        back, lead = first(best, links_other, links, preimage, image)
        if back == node and lead >= theta:
            image[node], preimage[best] = best, node
    return image


@given(st.integers(0, 10**6), st.integers(10, 40), st.integers(20, 120), st.sampled_from([0.3, 1.0, 3.0]))
def test_a_pass_of_propagation_is_the_published_rule(seed, nodes, edges, theta):
    one, other = random_network(nodes, edges, seed), random_network(nodes, edges, seed)
    other = other.renamed(np.random.default_rng(seed).permutation(nodes))
    seeds = np.random.default_rng(seed).permutation(nodes)[:6].reshape(2, 3)
    free = np.setdiff1d(np.arange(nodes), seeds[0])
    order = np.random.default_rng(7).permutation(free)
    image = propagation(one, other, seeds, np.random.default_rng(7), theta, passes=1)
    np.testing.assert_array_equal(image, propagated_by_hand(one, other, seeds, order, theta))


def test_propagation_keeps_seeds_and_matches_one_to_one():
    base = uneven_network(400, 2500, 1)
    other, _ = hidden(base, 1)
    seeds = np.random.default_rng(0).permutation(400)[:40].reshape(2, 20)  # wrong ones
    image = propagation(base, other, seeds, np.random.default_rng(0))
    np.testing.assert_array_equal(image[seeds[0]], seeds[1])
    found = image[image >= 0]
    assert len(np.unique(found)) == len(found)


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(0, 60), st.integers(1, 9))
def test_landmark_distances_are_those_of_breadth_first_search(seed, nodes, edges, depth):
    network = random_network(nodes, edges, seed)
    landmarks = np.random.default_rng(seed).permutation(nodes)[:3]
    expected = np.array(network.igraph().distances(target=landmarks.tolist()))
    np.testing.assert_array_equal(landmark_distances(network, landmarks, depth), np.minimum(expected, depth + 1))


def test_hubs_are_matched_though_a_tenth_of_the_edges_is_missing():
    base = uneven_network(2000, 20_000, 0)
    other, new = hidden(base, 0)
    pairs = matched_hubs(part_of(base, 0.9, 0), other, *profiles(part_of(base, 0.9, 0), other), 100)
    assert pairs.shape == (2, 100)
    assert (new[pairs[0]] == pairs[1]).mean() > 0.9


def profiles(*networks: Network) -> list[np.ndarray]:
    """Degrees alone."""
    return [np.log1p(network.degrees / network.degrees.mean())[:, None] for network in networks]


@pytest.mark.parametrize("share", [1.0, 0.9, 0.8])
def test_structure_alone_gives_right_seeds(share):
    for base in (uneven_network(2000, 20_000, 0), random_network(1500, 11_000, 1)):
        if share == 0.8 and base.nodes == 1500:
            continue  # without hubs more of the edges must be there
        other, new = hidden(base, 0)
        seeds = structural_seeds(part_of(base, share, 0), other)
        assert seeds.shape[1] > 400
        assert (new[seeds[0]] == seeds[1]).mean() > 0.98


@pytest.mark.parametrize(("nodes", "others"), [(1, 1), (1, 4), (4, 1), (3, 3), (30, 50), (50, 30)])
def test_small_graphs_and_such_without_edges_are_no_error(nodes, others):
    for edges in (0, 2):
        one, other = random_network(nodes, edges, 0), random_network(others, edges, 1)
        seeds = structural_seeds(one, other)
        assert len(np.unique(seeds[0])) == len(np.unique(seeds[1])) == seeds.shape[1] <= min(nodes, others)
        image = percolation(one, other, seeds)
        np.testing.assert_array_equal(image[seeds[0]], seeds[1])


def test_the_same_graphs_give_the_same_match():
    base = igraph.Graph.Famous("Zachary")
    karate = Network.from_edges(34, *np.array(base.get_edgelist()).T)
    one = [structural_seeds(karate, karate) for _ in range(2)]
    np.testing.assert_array_equal(*one)
    again = [propagation(karate, karate, one[0][:, :3], np.random.default_rng(5)) for _ in range(2)]
    np.testing.assert_array_equal(*again)
