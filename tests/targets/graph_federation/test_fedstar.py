"""FedStar: the structure's numbers by brute force, and that nothing else is sent."""

import networkx as nx
import numpy as np
import pytest
import torch

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.graph_federation.structure_encoding import structure_encoding


@pytest.mark.parametrize("seed", range(4))
def test_the_encoding_is_degrees_and_walks_that_come_back(seed):
    graph = nx.gnp_random_graph(25, 0.12 + 0.2 * seed, seed=seed)
    adjacency = nx.to_numpy_array(graph)
    degree = adjacency.sum(1)
    edges = torch.from_numpy(np.stack(np.nonzero(adjacency)))
    found = structure_encoding(edges, 25).numpy()
    chances = adjacency / np.maximum(degree, 1)[:, None]
    walks = [np.diag(np.linalg.matrix_power(chances, power)) for power in range(1, 17)]
    np.testing.assert_allclose(found[:, 16:], np.stack(walks, 1), atol=1e-6)
    for node in range(25):
        ones = np.flatnonzero(found[node, :16])
        assert ones.tolist() == ([min(int(degree[node]), 16) - 1] if degree[node] else [])


def test_many_graphs_are_encoded_as_each_by_itself_whatever_the_order_of_their_nodes():
    rng = np.random.default_rng(0)
    parts = [nx.gnp_random_graph(size, 0.2, seed=size) for size in (1, 3, 17, 150, 40)]
    both = [torch.tensor(list(p.to_directed().edges), dtype=torch.long).reshape(-1, 2).t() for p in parts]
    alone = [structure_encoding(edges, len(p)) for edges, p in zip(both, parts, strict=True)]
    whole = nx.disjoint_union_all(parts)
    moved = rng.permutation(len(whole))
    edges = torch.from_numpy(moved[np.array(list(whole.to_directed().edges)).T])
    found = structure_encoding(edges, len(whole))
    torch.testing.assert_close(found[torch.from_numpy(moved)], torch.cat(alone), atol=1e-6, rtol=0)


def ran(data=None, **settings):
    made = find("targets", "fedstar")(**({"clients": 3, "hidden": 8, "rounds": 4, "layers": 2} | settings))
    return made(data or forty_graphs(), Defense(), np.random.SeedSequence(0), lambda message: True)


def test_weights_of_the_structure_channel_alone_are_sent():
    sent = ran().transcript.messages
    carried = {name for m in sent if m.kind in ("convolutions", "convolutions-update") for name in m.tensors}
    assert carried == {"s0", "sb0", "s1", "sb1", "s2", "sb2"}
    rest = {(m.kind, *sorted(m.tensors)) for m in sent if not m.kind.startswith("convolutions")}
    assert rest == {("labelled-count", "count"), ("posteriors-full", "nodes", "posteriors")}


def test_what_is_sent_first_depends_on_no_feature():
    """Before any training the shared channel is the server's own draw, whatever the features are."""
    other = forty_graphs()
    other.x = -3 * other.x + 1
    one, two = (next(m for m in ran(d).transcript.messages if m.kind == "convolutions") for d in (None, other))
    assert all(torch.equal(one.tensors[name], two.tensors[name]) for name in one.tensors)
