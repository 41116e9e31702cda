"""Many graphs as one: who belongs where, and what does not make a collection."""

import pytest
import torch

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.errors import InputError
from gaudit.graphs.collection import (
    by_graph,
    collection_of,
    first_nodes,
    graphs_in,
    is_collection,
    reordered,
    sizes_of,
    split_graphs,
)
from gaudit.graphs.datasets.loading import load_dataset


@pytest.fixture(scope="module")
def forty():
    return forty_graphs()


def as_sets(x, edges, graph_of):
    """Each graph as its rows and the linked pairs of rows, by number."""
    rows = [tuple(row) for row in x.tolist()]
    found = {}
    for graph in graph_of.unique().tolist():
        mine = {rows[node] for node in (graph_of == graph).nonzero().flatten().tolist()}
        links = {(rows[a], rows[b]) for a, b in edges.t().tolist() if graph_of[a] == graph}
        found[graph] = (frozenset(mine), frozenset(links))
    return found


def test_fields_of_graphs(forty):
    assert is_collection(forty)
    assert not is_collection(load_dataset("karate"))
    assert graphs_in(forty) == 40
    assert sizes_of(forty).sum() == forty.num_nodes
    assert by_graph(forty, "y").tolist() == [graph % 2 for graph in range(40)]
    assert forty.graph_of[first_nodes(forty)].tolist() == list(range(40))
    for mask in ("train_mask", "val_mask", "test_mask"):
        assert torch.equal(by_graph(forty, mask)[forty.graph_of], forty[mask])


def test_another_order_has_the_same_graphs(forty):
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    before = as_sets(forty.x, forty.edge_index, forty.graph_of)
    after = as_sets(*reordered(forty, order))
    assert all(after[new] == before[old] for new, old in enumerate(order.tolist()))


def test_a_split_of_graphs():
    masks = torch.stack(list(split_graphs(200, 3).values()))
    assert masks.sum(0).tolist() == [1] * 200
    assert masks.sum(1).tolist() == [100, 20, 80]
    assert not torch.equal(masks, torch.stack(list(split_graphs(200, 4).values())))


def parts(graphs=10):
    node = torch.arange(3 * graphs)
    edges = torch.stack([node, 3 * (node // 3) + (node + 1) % 3])
    labels = torch.arange(graphs) % 2
    return {"x": torch.ones(len(node), 2), "edges": edges, "graph_of": node // 3, "labels": labels}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: parts(7), "7 graphs are too few"),
        (lambda p: {**p, "graph_of": p["graph_of"].flip(0)}, "graph by graph"),
        (lambda p: {**p, "graph_of": p["graph_of"] + 1}, "from 0 to 9"),
        (lambda p: {**p, "graph_of": p["graph_of"].clamp(max=8)}, "graph 9 has no node"),
        (lambda p: {**p, "edges": torch.tensor([[0, 2], [1, 3]])}, "joins nodes 2 and 3"),
        (lambda p: {**p, "labels": torch.zeros(10, dtype=torch.long)}, "only one class"),
        (lambda p: {**p, "x": p["x"] / 0}, "NaN or infinite"),
    ],
)
def test_what_is_no_collection(change, said):
    assert graphs_in(collection_of(**parts(), source="mine")) == 10
    with pytest.raises(InputError, match=said):
        collection_of(**change(parts()), source="mine")
