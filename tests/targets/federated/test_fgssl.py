"""FGSSL: its two terms by hand, and federated averaging without them."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.fgssl import FGSSL, contrast, structure_distance, thinned
from gaudit.targets.federated.local_training import Subgraph
from gaudit.targets.models.propagation import gcn_operator
from gaudit.targets.models.training_config import TrainingConfig, initial_weights

SMALL = {"clients": 2, "hidden": 4, "rounds": 2, "local_epochs": 2, "lr": 0.05}


def ran(target):
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(0), lambda message: True)


def weights_of(run) -> dict[str, torch.Tensor]:
    return dict(run.transcript.seen_by("public").last("model").tensors)


def test_without_its_terms_it_is_federated_averaging():
    one, other = ran(FGSSL(contrast=0, structure=0, **SMALL)), ran(FedAvg(**SMALL))
    for mine, theirs in zip(one.transcript.messages, other.transcript.messages, strict=True):
        assert (mine.kind, mine.sender, mine.round) == (theirs.kind, theirs.sender, theirs.round)
        assert all(torch.equal(mine.tensors[name], tensor) for name, tensor in theirs.tensors.items())


@pytest.mark.parametrize("term", ["contrast", "structure"])
@pytest.mark.parametrize("architecture", ["gcn", "sage", "gat"])
def test_each_term_changes_the_model(term, architecture):
    other = {"contrast": "structure", "structure": "contrast"}[term]
    one = weights_of(ran(FGSSL(**{term: 1.0, other: 0.0, "architecture": architecture}, **SMALL)))
    none = weights_of(ran(FGSSL(contrast=0, structure=0, architecture=architecture, **SMALL)))
    assert not torch.equal(one["w1"], none["w1"])


def test_contrast_by_hand():
    torch.manual_seed(0)
    ours, theirs, labels, temperature = torch.randn(5, 3), torch.randn(5, 3), torch.tensor([0, 0, 1, 1, 1]), 0.5
    alike = torch.exp(F.cosine_similarity(ours[:, None], theirs[None], dim=2) / temperature)
    rows = []
    for i in range(5):
        others = sum(alike[i, k] for k in range(5) if labels[k] != labels[i])
        rows.append(
            np.mean(
                [
                    -float(torch.log(alike[i, p] / (alike[i, p] + others)))
                    for p in range(5)
                    if labels[p] == labels[i]
                ]
            )
        )
    assert float(contrast(ours, theirs, labels, temperature)) == pytest.approx(np.mean(rows), rel=1e-5)


def test_structure_by_hand():
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1]])
    ours, theirs = torch.randn(4, 3), torch.randn(4, 3)
    expected = []
    for node in range(3):  # the fourth has no neighbour
        near = edges[1][edges[0] == node]
        shares = [
            F.cosine_similarity(rows[node][None], rows[near], dim=1).div(0.3).softmax(0) for rows in (theirs, ours)
        ]
        expected.append(float((shares[0] * (shares[0] / shares[1]).log()).sum()))
    found = structure_distance(ours, theirs, edges, 0.3)
    assert float(found) == pytest.approx(np.mean(expected), rel=1e-5)
    assert float(structure_distance(ours, ours, edges, 0.3)) == pytest.approx(0, abs=1e-6)
    assert float(structure_distance(ours, theirs, edges[:, :0], 0.3)) == 0


def test_one_class_alone_has_no_contrast():
    rows = torch.randn(3, 2)
    assert float(contrast(rows, rows, torch.zeros(3, dtype=torch.long), 0.1)) == 0


def test_a_thinned_graph_loses_edges_in_both_directions():
    data, recipe = load_dataset("karate"), TrainingConfig(hidden=4)
    whole = Subgraph.of(recipe, data.x, data.edge_index)
    left = thinned(whole, 0.5, torch.Generator().manual_seed(0))
    pairs = set(map(tuple, left.edges.t().tolist()))
    assert pairs < set(map(tuple, data.edge_index.t().tolist()))
    assert pairs == {(b, a) for a, b in pairs}
    operator = gcn_operator(left.edges, data.num_nodes)
    weights = initial_weights(recipe, data.num_features, 4, np.random.SeedSequence(0))
    expected = torch.relu(operator @ (data.x @ weights["w1"]) + weights["b1"])
    torch.testing.assert_close(left.hidden(weights), expected)
    same = thinned(whole, 0.0, torch.Generator().manual_seed(0))
    assert torch.equal(same.edges, whole.edges)
