"""What is read off messages: all that lone nodes give away, and not one claim too many."""

from collections import defaultdict

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch_geometric.data import Data

from gaudit.attacks.gradients.gradient_inversion import (
    ALIKE,
    MISSED,
    PartialSums,
    leading_row,
    partial_sums_of,
    read_class_gradients,
    read_gradient,
    read_partial_sums,
)
from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads, NoiseInstead
from gaudit.defenses.uploads.gradient_compression import QuantisedUploads, TopKUploads
from gaudit.defenses.uploads.laplace_uploads import LaplaceLDP
from gaudit.errors import InputError
from gaudit.graphs.datasets.bundled import citations
from gaudit.targets.channel import Channel
from gaudit.targets.condensation.matching import ClassCells
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.models.backbone import BACKBONES, GCN
from gaudit.targets.models.propagation import gcn_operator, mean_operator
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.partition import Partition, partition
from gaudit.targets.party import clients_of


@pytest.fixture(scope="module")
def graph():
    data = citations(seed=0)
    data.x = data.x.float()
    return data


@pytest.fixture(scope="module")
def parties(graph):
    """Ten clients by Dirichlet, with what each one's model reads."""
    clients = clients_of(graph, partition(graph, "dirichlet", 10, 0, beta=1.0))
    return clients, exchange(clients, 2, graph.num_nodes, Channel(), encrypted=True)


def model_of(name, data, hidden=256, seed=0):
    torch.manual_seed(seed)
    return BACKBONES[name](data.num_features, hidden, int(data.y.max()) + 1).weights()


def true_rows(name, theta, near):
    before = near.rows.to_dense() if name == "sgc" else GCN.hidden(theta, near.rows)
    return (near.second @ before).double()


def read_all(name, theta, parties):
    """(what was read, the true rows, the class) of each cell of each client."""
    for client, near in zip(*parties, strict=True):
        rows = true_rows(name, theta, near)
        sent = ClassCells(client, near).gradients(theta, BACKBONES[name], None)
        for label, read in read_class_gradients(sent, theta, name).items():
            yield read, rows[client.train & (client.y_train == label)], label


@pytest.mark.parametrize("name", ["gcn", "sgc"])
def test_planted_lone_nodes_are_read_exactly_and_no_other_cell(graph, parties, name):
    for seed in range(3):
        cells = list(read_all(name, model_of(name, graph, seed=seed), parties))
        lone = [len(rows) == 1 for _, rows, _ in cells]
        assert 8 < sum(lone) < len(lone) - 8
        for read, rows, label in cells:
            assert (read is not None) == (len(rows) == 1)
            if read is not None:
                assert read.label == label
                torch.testing.assert_close(read.vector, rows[0], rtol=1e-4, atol=1e-6)
                assert float(read.posterior.sum()) == pytest.approx(1)


def subgraph_gradient(data, nodes, architecture, dtype=torch.float32, seed=0, hidden=32):
    """A client's gradient at first weights with some labelled nodes, the weights, and the last layer's input."""
    recipe = TrainingConfig(architecture=architecture, hidden=hidden)
    theta = initial_weights(recipe, data.num_features, int(data.y.max()) + 1, np.random.SeedSequence(seed))
    theta = {weight: tensor.to(dtype) for weight, tensor in theta.items()}
    forward = Subgraph.of(recipe, data.x, data.edge_index)
    nothing = torch.empty(0, dtype=torch.long)
    sent = LocalTask(forward, nodes, data.y[nodes], nothing, nothing).gradient(theta)
    if architecture == "sage":
        mean = mean_operator(data.edge_index, data.num_nodes)
        before = torch.relu(mean @ (data.x @ theta["w1"]) + data.x @ theta["r1"] + theta["b1"])
        return sent, theta, torch.cat([mean @ before, before], 1)
    operator = gcn_operator(data.edge_index, data.num_nodes)
    return sent, theta, operator @ torch.relu(operator @ (data.x @ theta["w1"]) + theta["b1"])


@pytest.mark.parametrize("architecture", ["gcn", "sage"])
def test_planted_a_client_with_one_label_is_read_off_its_gradient(graph, architecture):
    for node in (0, 5, 77):
        sent, theta, rows = subgraph_gradient(graph, torch.tensor([node]), architecture)
        read = read_gradient(sent, theta, architecture)
        assert read.label == int(graph.y[node])
        torch.testing.assert_close(read.vector.float(), rows[node], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("architecture", ["gcn", "sage"])
@pytest.mark.parametrize("same_class", [True, False])
def test_null_several_labels_are_never_read(graph, architecture, same_class):
    draw = torch.Generator().manual_seed(0)
    for seed in range(12):
        pool = (graph.y == seed % 7).nonzero().flatten() if same_class else torch.arange(graph.num_nodes)
        nodes = pool[torch.randperm(len(pool), generator=draw)[: 2 + seed % 3]]
        sent, theta, _ = subgraph_gradient(graph, nodes, architecture, seed=seed)
        assert read_gradient(sent, theta, architecture) is None


def one_layer(rows, labels, weights, bias):
    """Gradient of the mean cross-entropy of a last layer, as an SGC's."""
    error = (rows @ weights + bias).softmax(1)
    error[torch.arange(len(labels)), labels] -= 1
    error /= len(labels)
    return {"w": rows.t() @ error, "b": error.sum(0)}


def drawn_layer(seed, rows=40, classes=5, scale=0.3):
    draw = torch.Generator().manual_seed(seed)
    return scale * torch.randn(rows, classes, generator=draw), 0.1 * torch.randn(classes, generator=draw)


@pytest.mark.parametrize("classes", [3, 4, 7])
def test_null_of_nodes_as_alike_as_stated_no_larger_share_passes_for_one(classes):
    """At first weights their errors are nearly parallel, and the gradient is nearly of rank one."""
    passed, alone, pairs = 0, 0, 400
    for seed in range(pairs):
        weights, bias = drawn_layer(seed, rows=200, classes=classes, scale=0.3)
        draw = torch.Generator().manual_seed(1000 + seed)
        row = torch.rand(200, generator=draw)
        off = torch.randn(200, generator=draw)
        off *= ALIKE * row.norm() / off.norm()
        theta, twice = {"w": weights, "b": bias}, torch.tensor([1, 1])
        sent = one_layer(torch.stack([row + off, row - off]), twice, weights, bias)
        passed += read_gradient(sent, theta, "sgc") is not None
        alone += read_gradient(one_layer(row[None], twice[:1], weights, bias), theta, "sgc") is not None
    assert passed <= binom.isf(1e-3, pairs, MISSED)
    assert alone > 0.5 * pairs  # it does claim something here


def test_null_weights_so_small_that_posteriors_are_alike_within_rounding():
    """The posterior check tells nothing there, the rank of the gradient everything."""
    for seed in range(50):
        weights, bias = drawn_layer(seed, rows=200, classes=7, scale=3e-4)
        rows = torch.rand(2, 200, generator=torch.Generator().manual_seed(seed))
        theta = {"w": weights, "b": bias}
        assert read_gradient(one_layer(rows, torch.tensor([1, 1]), weights, bias), theta, "sgc") is None
        assert read_gradient(one_layer(rows[:1], torch.tensor([1]), weights, bias), theta, "sgc") is not None


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_null_of_two_classes_nothing_is_claimed(scale):
    """All errors are parallel there: any gradient is of rank one."""
    for seed in range(50):
        weights, bias = drawn_layer(seed, classes=2, scale=scale)
        rows = torch.rand(1 + seed % 2, 40, generator=torch.Generator().manual_seed(seed))
        sent = one_layer(rows, torch.ones(len(rows), dtype=torch.long), weights, bias)
        assert read_gradient(sent, {"w": weights, "b": bias}, "sgc") is None


@pytest.mark.parametrize("count", [1, 2])
def test_null_saturated_posteriors_are_not_read(count):
    """Sure and wrong, all nodes of a class have the same error: one cannot be told from two."""
    weights, bias = drawn_layer(0, classes=3, scale=1.0)
    draw = torch.Generator().manual_seed(0)
    rows = 40 * torch.rand(500, 40, generator=draw)
    sure = (rows @ weights + bias).softmax(1)[:, 0] < 1e-4
    wrong = rows[sure & ((rows @ weights + bias).argmax(1) == 1)]
    both = wrong[:2] if len(wrong) > 1 else rows[sure][:2]
    sent = one_layer(both[:count], torch.zeros(count, dtype=torch.long), weights, bias)
    assert read_gradient(sent, {"w": weights, "b": bias}, "sgc") is None


def test_null_another_models_weights_or_a_scrambled_gradient_read_nothing():
    for seed in range(50):
        weights, bias = drawn_layer(seed)
        row = torch.rand(40, generator=torch.Generator().manual_seed(seed))
        sent = one_layer(row[None], torch.tensor([seed % 5]), weights, bias)
        other_weights, other_bias = drawn_layer(seed + 500)
        assert read_gradient(sent, {"w": other_weights, "b": other_bias}, "sgc") is None
        order = torch.randperm(40, generator=torch.Generator().manual_seed(seed))
        assert read_gradient({**sent, "w": sent["w"][order]}, {"w": weights, "b": bias}, "sgc") is None
        assert read_gradient(sent, {"w": weights, "b": bias}, "sgc").label == seed % 5


def test_twins_cannot_be_told_from_one_node_and_the_row_is_theirs():
    weights, bias = drawn_layer(0)
    row = torch.rand(40, generator=torch.Generator().manual_seed(0))
    read = read_gradient(
        one_layer(row.expand(2, 40), torch.tensor([2, 2]), weights, bias), {"w": weights, "b": bias}, "sgc"
    )
    assert read.label == 2
    torch.testing.assert_close(read.vector.float(), row, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "defense",
    [
        LaplaceLDP(),
        LaplaceLDP(epsilon=1000.0, clip=1.0),
        GaussianUploads(multiplier=0.001),
        NoiseInstead(),
        QuantisedUploads(bits=8),
        TopKUploads(share=0.01),
    ],
    ids=repr,
)
def test_null_what_a_defense_changed_is_not_read(graph, parties, defense):
    theta = model_of("gcn", graph)
    channel = Channel(mods=(defense.on_message(np.random.SeedSequence(0)),))
    for client, near in zip(*parties, strict=True):
        own = ClassCells(client, near).gradients(theta, GCN, None)
        sent = channel.send("class-gradients", client.name, "server", 0, own)
        assert set(read_class_gradients(sent, theta, "gcn").values()) == {None}


def test_planted_direction_of_a_row_survives_a_little_noise_without_checks():
    weights, bias = drawn_layer(0)
    row = torch.rand(40, generator=torch.Generator().manual_seed(0))
    sent = one_layer(row[None], torch.tensor([1]), weights, bias)
    noise = torch.randn(40, 5, generator=torch.Generator().manual_seed(1))
    for size, least in [(0.0, 0.999999), (0.01, 0.99)]:
        found = leading_row({**sent, "w": sent["w"] + size * noise}, "sgc")
        assert float(found @ row.double() / row.norm()) > least
        assert float(found.norm()) == pytest.approx(1)
    assert float(leading_row({**sent, "w": noise}, "sgc") @ row.double() / row.norm()) < 0.5


def test_types_of_numbers(graph):
    """In float64 as in float32; in half precision several nodes could not be told apart, so nothing is claimed."""
    weights, bias = drawn_layer(0)
    row = torch.rand(40, generator=torch.Generator().manual_seed(0))
    sent, theta = one_layer(row[None], torch.tensor([1]), weights, bias), {"w": weights, "b": bias}
    double = one_layer(row[None].double(), torch.tensor([1]), weights.double(), bias.double())
    read = read_gradient(double, {name: tensor.double() for name, tensor in theta.items()}, "sgc")
    torch.testing.assert_close(read.vector, row.double(), rtol=1e-12, atol=1e-12)
    assert read_gradient({name: tensor.half() for name, tensor in sent.items()}, theta, "sgc") is None


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_null_a_broken_gradient_is_not_read(value):
    weights, bias = drawn_layer(0)
    row = torch.rand(1, 40, generator=torch.Generator().manual_seed(0))
    sent = one_layer(row, torch.tensor([1]), weights, bias)
    theta = {"w": weights, "b": bias}
    assert read_gradient({**sent, "w": sent["w"] * value}, theta, "sgc") is None
    assert read_gradient({**sent, "b": sent["b"] * value}, theta, "sgc") is None


@pytest.mark.parametrize(
    ("architecture", "sent", "says"),
    [
        (
            "gat",
            {},
            "nothing can be read off gradients of 'gat' in closed form: expected one of gcn, mlp, sage, sgc",
        ),
        ("sgc", {"w": torch.zeros(4, 3)}, "the gradient lacks b, which a sgc's last layer has"),
        ("sgc", {"w": torch.zeros(4, 2), "b": torch.zeros(2)}, r"shapes \(4, 2\) and \(2,\), the model's \(4, 3\)"),
        ("sgc", {"w": torch.zeros(4), "b": torch.zeros(3)}, "expected w as matrices and b as a vector"),
    ],
)
def test_messages_that_do_not_fit_are_refused(architecture, sent, says):
    with pytest.raises(InputError, match=says):
        read_gradient(sent, {"w": torch.zeros(4, 3), "b": torch.zeros(3)}, architecture)


@pytest.mark.parametrize("key", ["w2", "zero/w2", "-1/w2"])
def test_names_that_are_not_a_class_and_a_weight_are_refused(key):
    with pytest.raises(InputError, match="expected names like '0/w2'"):
        read_class_gradients({key: torch.zeros(2, 2)}, {}, "gcn")


# partial sums


def talked(data, owner, encrypted=False):
    """The clients' partial sums, and the nodes behind each, by client and node that it is about."""
    owner = torch.as_tensor(owner)
    clients = clients_of(data, Partition(owner, int(owner.max()) + 1, "given", torch.empty(2, 0).long()))
    channel = Channel()
    exchange(clients, 1, data.num_nodes, channel, encrypted)
    behind = defaultdict(list)
    loops = torch.arange(data.num_nodes).repeat(2, 1)
    for source, goal in torch.cat([loops, data.edge_index], 1).t().tolist():
        behind[f"client:{int(owner[source])}", goal].append(source)
    return channel.transcript, behind


def small(x, pairs):
    """A graph with a label on every node."""
    n = len(x)
    edges = torch.tensor([*pairs, *((b, a) for a, b in pairs)]).t()
    every = torch.ones(n, dtype=torch.bool)
    masks = {"train_mask": every, "val_mask": ~every, "test_mask": ~every}
    return Data(x=torch.as_tensor(x).float(), y=torch.arange(n) % 2, edge_index=edges, **masks)


def read_of(transcript, binary=False, observer="server"):
    exchanges = partial_sums_of(transcript.seen_by(observer).messages)
    return [row for sent in exchanges for row in read_partial_sums(sent, binary)]


def true_claim(row, behind, x):
    """Whether a claimed row is that of a contributor, the others (if any) having no word, and of the named node."""
    inside = behind[row.sender, row.place]
    inside = inside if len(inside) == 1 else [u for u in inside if bool(x[u].any())]
    if len(inside) != 1 or row.node not in (None, inside[0]):
        return False
    own = x[inside[0]]
    if row.degree is None:  # up to a factor
        return bool(torch.allclose(row.row / row.row.norm(), own / own.norm(), atol=1e-5))
    return bool(torch.allclose(row.row, own, rtol=1e-4, atol=1e-6))


@pytest.fixture(scope="module")
def spread(graph):
    return partition(graph, "dirichlet", 10, 0, beta=1.0).owner


def test_planted_nearly_every_row_that_is_alone_in_a_sum_is_read_and_no_other(graph, spread):
    transcript, behind = talked(graph, spread)
    rows = read_of(transcript, binary=True)
    assert all(true_claim(row, behind, graph.x) for row in rows)
    alone = {nodes[0] for nodes in behind.values() if len(nodes) == 1}
    read = {behind[row.sender, row.place][0] for row in rows if row.degree is not None}
    assert len(read) > 0.98 * len(alone)
    assert len(alone) > 0.75 * graph.num_nodes
    assert sum(row.node is not None for row in rows) > 0.9 * len(rows)
    proofs = [row.counted for row in rows]
    assert 0.2 < np.mean(proofs) < 0.8  # both are needed


def test_planted_of_any_features_counting_proves_what_it_claims(graph, spread):
    data = graph.clone()
    data.x = graph.x * torch.rand(graph.x.shape, generator=torch.Generator().manual_seed(0))
    transcript, behind = talked(data, spread)
    rows = read_of(transcript)
    assert rows
    assert all(row.counted and true_claim(row, behind, data.x) for row in rows)
    counted = {(row.sender, row.place) for row in rows}
    transcript, _ = talked(graph, spread)
    assert counted == {(row.sender, row.place) for row in read_of(transcript, binary=True) if row.counted}


def test_a_path_across_two_clients():
    """0 - 1 | 2 - 3, and 4 alone: worked out by hand."""
    data = small([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1], [0, 0, 0, 1]], [(0, 1), (1, 2), (2, 3)])
    transcript, behind = talked(data, [0, 0, 1, 1, 1])
    rows = {(row.sender, row.place): row for row in read_of(transcript)}
    # 1's row goes to 2's sum alone and 2's to 1's, but their own sums hold two rows; 4 has no neighbour
    assert set(rows) == {("client:1", 4)}
    assert (rows["client:1", 4].node, rows["client:1", 4].degree) == (4, 0)
    by_value = {(row.sender, row.place): row for row in read_of(transcript, binary=True)}
    assert set(by_value) == {("client:1", 4), ("client:0", 2), ("client:1", 1)}
    assert (by_value["client:0", 2].node, by_value["client:0", 2].degree) == (1, 2)
    assert by_value["client:0", 2].row.tolist() == pytest.approx([0, 1, 1, 0], abs=1e-5)
    assert all(true_claim(row, behind, data.x) for row in by_value.values())


def test_null_two_rows_of_one_degree_without_a_common_word_are_not_taken_for_one():
    """A triangle: 1 and 2 are of one client and next to 0 and to each other; every sum has a single value."""
    data = small([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [(0, 1), (0, 2), (1, 2)])
    transcript, behind = talked(data, [0, 1, 1])
    assert len(behind["client:1", 0]) == 2
    rows = read_of(transcript, binary=True)
    assert all(true_claim(row, behind, data.x) for row in rows)
    assert ("client:1", 0) not in {(row.sender, row.place) for row in rows}


def test_null_small_random_graphs_make_no_false_claim():
    """Dense, few words, one degree: where values mislead most."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = 12
        pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.25] or [(0, 1)]
        data = small((rng.random((n, 25)) < 0.2).astype(np.float32), pairs)
        transcript, behind = talked(data, rng.permutation(n) % 3)
        assert all(true_claim(row, behind, data.x) for row in read_of(transcript, binary=True) if row.counted)


def test_null_scrambled_sums_prove_nothing_by_value(graph, spread):
    transcript, _ = talked(graph, spread)
    (sent,) = partial_sums_of(transcript.seen_by("server").messages)
    draw = torch.Generator().manual_seed(0)
    noisy = [
        PartialSums(p.sender, p.nodes, p.sums * (1 + 0.01 * torch.rand(p.sums.shape, generator=draw)), p.degree)
        for p in sent
    ]
    assert all(row.counted for row in read_partial_sums(noisy, binary=True))


def test_null_sealed_sums_show_nothing_to_the_server(graph, spread):
    transcript, _ = talked(graph, spread, encrypted=True)
    assert read_of(transcript, binary=True) == []


def test_exchanges_are_kept_apart():
    data = small(np.eye(4), [(0, 1), (1, 2), (2, 3)])
    first, _ = talked(data, [0, 0, 1, 1])
    data.x = 1 - data.x
    second, _ = talked(data, [0, 0, 1, 1])
    exchanges = partial_sums_of(first.messages + second.messages)
    assert [[part.sender for part in sent] for sent in exchanges] == [["client:0", "client:1"]] * 2
    assert not torch.equal(exchanges[0][0].sums, exchanges[1][0].sums)
    assert partial_sums_of([]) == []
    assert read_partial_sums([]) == []


def test_sums_that_do_not_fit_are_refused():
    broken = PartialSums("client:0", torch.arange(3), torch.zeros(2, 4), torch.zeros(3))
    with pytest.raises(InputError, match=r"'client:0' sent 3 ids with sums \(2, 4\) and 3 degrees"):
        read_partial_sums([broken])
