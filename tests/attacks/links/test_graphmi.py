"""Links by model inversion, and the descent that it rests on."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.attacks.links.adjacency_descent import AdjacencyDescent, refined
from gaudit.attacks.links.graphmi import GraphMI, some_of
from gaudit.attacks.links.projection import Projection, smallest_shift
from gaudit.attacks.links.relaxed_attention import RelaxedAttention
from gaudit.attacks.links.relaxed_model import RelaxedModel
from gaudit.attacks.links.smoothness import Gram, Smoothness
from gaudit.attacks.links.weighted_graph import Tile, WeightedGraph, tiles_of, tiles_with
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.graphs.pair_codes import codes
from gaudit.targets.channel import Channel
from gaudit.targets.games.links import EdgePresence, LinkKnowledge, Links
from gaudit.targets.messages import GLOBAL_KIND, GRADIENT_KIND, UPDATE_KIND
from gaudit.targets.models.model_ensemble import ask_models, train_models
from gaudit.targets.models.propagation import dense_gcn_operator, mean_operator
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.models.training_task import Query, TrainingTask

WORDS, CLASSES, HIDDEN = 40, 3, 8
HEADS = TrainingConfig().heads


def drawn_features(n, seed=0, dtype=torch.float32):
    draw = torch.Generator().manual_seed(seed)
    return (torch.rand(n, WORDS, generator=draw) < 0.15).to(dtype)


def drawn_weights(architecture, dtype=torch.float64, seed=1, scale=2.0):
    recipe = TrainingConfig(architecture=architecture, hidden=HIDDEN)
    made = initial_weights(recipe, WORDS, CLASSES, np.random.SeedSequence(seed))
    made["b1"] = torch.linspace(-0.2, 0.2, HIDDEN)
    return {name: scale * weight.to(dtype) for name, weight in made.items()}


def upper(dense, side):
    """A dense symmetric matrix as a `WeightedGraph`."""
    tiles = [
        Tile(r, c, dense[r, c].triu(1) if r == c else dense[r, c].clone()) for r, c in tiles_of(len(dense), side)
    ]
    kept = [tile.compact() for tile in tiles]
    return WeightedGraph(len(dense), [tile for tile in kept if tile is not None], dense)


def whole(graph, side):
    """A `WeightedGraph` as a dense symmetric matrix."""
    dense = torch.zeros(graph.nodes, graph.nodes, dtype=graph.like.dtype)
    for rows, cols in tiles_of(graph.nodes, side):
        dense[rows, cols] = graph.tile(rows, cols)
    return dense + dense.t()


def random_graph(n, share, seed, dtype=torch.float64):
    draw = torch.Generator().manual_seed(seed)
    some = torch.rand(n, n, generator=draw, dtype=dtype) * (torch.rand(n, n, generator=draw) < share)
    return some.triu(1) + some.triu(1).t()


def relaxed(architecture, weights, x):
    if architecture == "gat":
        return RelaxedAttention(weights, HEADS, x)
    return RelaxedModel(architecture, weights, x)


def plain_attention(weights, layer, rows, adjacency, heads):
    """One node and head after the other: shares A_ij exp(e_ij), with 1 for the node itself."""
    found = []
    for i in range(len(rows)):
        parts = []
        for own, sender, receiver in zip(
            *(t.chunk(heads, -1) for t in (rows, weights["from" + layer], weights["to" + layer])), strict=True
        ):
            score = F.leaky_relu(own @ sender + own[i] @ receiver, 0.2).exp()
            share = score * torch.cat([adjacency[i, :i], torch.ones(1, dtype=rows.dtype), adjacency[i, i + 1 :]])
            parts.append((share / share.sum()) @ own)
        found.append(torch.cat(parts))
    return torch.stack(found) + weights["b" + layer]


def plain_logits(architecture, weights, x, adjacency):
    """The model on a dense weighted graph, with autograd."""
    if architecture == "gat":
        hidden = F.elu(plain_attention(weights, "1", x @ weights["w1"], adjacency, HEADS))
        return plain_attention(weights, "2", hidden @ weights["w2"], adjacency, 1), hidden
    if architecture == "gcn":
        operator = dense_gcn_operator(adjacency).to(adjacency.dtype)
        hidden = torch.relu(operator @ (x @ weights["w1"]) + weights["b1"])
        return operator @ (hidden @ weights["w2"]) + weights["b2"], hidden
    operator = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
    hidden = torch.relu(operator @ x @ weights["w1"] + x @ weights["r1"] + weights["b1"])
    return operator @ hidden @ weights["w2"] + hidden @ weights["r2"] + weights["b2"], hidden


def plain_smoothness(x, adjacency):
    degrees = adjacency.sum(1)
    scale = torch.diag((degrees + 1e-3) ** -0.5)
    return torch.trace(x.t() @ scale @ (torch.diag(degrees) - adjacency) @ scale @ x)


def plain_step(architecture, weights, x, labels, entries, settings, smooth):
    """One step of the authors' algorithm on the vector of all pairs, by autograd; bisection to 1e-12."""
    n, (row, col) = len(x), torch.triu_indices(len(x), len(x), 1)
    entries = entries.clone().requires_grad_()
    half = torch.zeros(n, n, dtype=x.dtype).index_put((row, col), entries)
    adjacency = half + half.t()
    known = labels >= 0
    logits, _ = plain_logits(architecture, weights, x, adjacency)
    loss = F.nll_loss(logits[known].log_softmax(1), labels[known])
    loss = loss + settings["sparsity"] * (entries.norm() if entries.any() else 0 * entries.sum())
    if smooth:
        loss = loss + settings["smoothness"] * plain_smoothness(x, adjacency)
    (slope,) = torch.autograd.grad(loss, entries)
    moved = (entries - settings["lr"] * slope).detach()
    low, high = 0.0, float(moved.max())
    if moved.clamp(0, 1).sum() > settings["budget"]:
        while high - low > 1e-12:
            middle = (low + high) / 2
            over = (moved - middle).clamp(0, 1).sum() > settings["budget"]
            low, high = (middle, high) if over else (low, middle)
        moved = moved - high
    return moved.clamp(0, 1)


@pytest.mark.parametrize("architecture", ["gcn", "sage", "gat"])
@pytest.mark.parametrize("budget", [1000.0, 9.0])
def test_all_pairs_as_candidates_are_the_exact_descent(architecture, budget):
    n, side = 31, 7
    x, weights = drawn_features(n, dtype=torch.float64), drawn_weights(architecture)
    labels, model = torch.arange(n) % CLASSES, relaxed(architecture, weights, x)
    given = {"lr": 0.8, "sparsity": 0.02, "smoothness": 2e-3, "budget": budget, "smooth_from": 4, "side": side}
    exact, some = (AdjacencyDescent(model, x, labels, **given, candidates=k) for k in (0, 2))
    everybody = torch.triu_indices(n, n, 1).t()
    some._chosen = tiles_with(everybody, n, x)
    assert some.stands_for == 1
    graphs = [exact.empty(), some.empty()]
    for number in range(8):
        graphs = [one.step(graph, number) for one, graph in zip((exact, some), graphs, strict=True)]
        told = [graph.at(everybody) for graph in graphs]
        assert float((told[0] - told[1]).abs().max()) < 1e-10
    assert graphs[0].count > 5


def test_drawn_candidates_alone_get_a_weight_and_stand_for_all():
    """One step from the empty graph: weights add up to what those of all pairs do; 20 draws of a tenth of them."""
    n, count = 90, 9
    x, weights = drawn_features(n, dtype=torch.float64), drawn_weights("gcn")
    labels, model = torch.arange(n) % CLASSES, relaxed("gcn", weights, x)
    everybody = torch.triu_indices(n, n, 1).t()
    exact = float(AdjacencyDescent(model, x, labels, 1e6).found(1).at(everybody).sum())
    sums = []
    for seed in range(20):
        torch.manual_seed(seed)
        descent = AdjacencyDescent(model, x, labels, 1e6, candidates=count)
        found = descent.found(1).at(everybody)
        chosen = torch.cat([torch.stack(tile.ends(), 1) for tile in descent.chosen]).long()
        assert 0.9 < len(chosen) / (n * count / 2) <= 1
        assert len(chosen.unique(dim=0)) == len(chosen)
        where = (everybody[:, None] == chosen[None]).all(2).any(1)
        assert not bool(found[~where].any())
        sums.append(float(found.sum()))
    off = (np.mean(sums) - exact) / (np.std(sums, ddof=1) / np.sqrt(len(sums)))
    assert abs(off) < 3.9  # once in 1000, by Student's law


@pytest.mark.parametrize("nodes", [1, 2, 7])
def test_few_nodes_have_all_pairs_as_candidates(nodes):
    x, weights = drawn_features(nodes), drawn_weights("gcn", dtype=torch.float32)
    model, labels = relaxed("gcn", weights, x), torch.arange(nodes) % CLASSES
    some, exact = (AdjacencyDescent(model, x, labels, 5.0, candidates=k).found(3) for k in (4, 0))
    everybody = torch.triu_indices(nodes, nodes, 1).t()
    assert torch.equal(some.at(everybody), exact.at(everybody))


def test_pairs_lie_in_their_tiles():
    nodes, side = 37, 8
    pairs = torch.triu_indices(nodes, nodes, 1).t()[::7]
    pairs = pairs[torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))]
    tiles = tiles_with(pairs, nodes, torch.zeros(1), side)
    found = [pair for tile in tiles for pair in zip(*(ends.tolist() for ends in tile.ends()), strict=True)]
    assert sorted(found) == sorted(map(tuple, pairs.tolist()))
    for tile in tiles:
        assert bool((tile.places[1:] > tile.places[:-1]).all())
        assert all(tile.rows.start <= i < tile.rows.stop for i in tile.ends()[0].tolist())


@pytest.mark.parametrize("architecture", ["gcn", "sage", "gat"])
@pytest.mark.parametrize(
    ("budget", "patience"), [(1000.0, 1 << 16), (9.0, 1 << 16), (9.0, 5)], ids=["loose", "tight", "dropped early"]
)
def test_descent_equals_dense_autograd(architecture, budget, patience):
    n, side = 31, 7
    x, weights = drawn_features(n, dtype=torch.float64), drawn_weights(architecture)
    labels = torch.arange(n) % CLASSES
    labels[::5] = -1
    settings = {"lr": 0.8, "sparsity": 0.02, "smoothness": 2e-3, "budget": budget}
    model = relaxed(architecture, weights, x)
    descent = AdjacencyDescent(model, x, labels, **settings, smooth_from=7, side=side, patience=patience)
    row, col = torch.triu_indices(n, n, 1)
    entries, graph, bound = torch.zeros(len(row), dtype=x.dtype), descent.empty(), []
    for number in range(14):
        entries = plain_step(architecture, weights, x, labels, entries, settings, number >= 7)
        graph = descent.step(graph, number)
        found = whole(graph, side)
        assert torch.equal(found, found.t())
        assert float((found[row, col] - entries).abs().max()) < 1e-8
        bound.append(float(entries.sum()) > 0.999 * budget)
    assert entries.max() > 0.05  # something happened
    assert any(bound) == (budget < 1000)


def test_descent_in_float32_stays_within_1e_5_per_step():
    n, side = 30, 8
    x = drawn_features(n, dtype=torch.float64)
    weights, labels = drawn_weights("gcn", scale=1.0), torch.arange(n) % CLASSES
    settings = {"lr": 0.1, "sparsity": 1e-3, "smoothness": 1e-4, "budget": 20.0}
    single = {name: weight.float() for name, weight in weights.items()}
    model = RelaxedModel("gcn", single, x.float())
    descent = AdjacencyDescent(model, x.float(), labels, **settings, smooth_from=3, side=side)
    row, col = torch.triu_indices(n, n, 1)
    graph = descent.empty()
    for number in range(8):
        before = whole(graph, side)[row, col].double()
        wanted = plain_step("gcn", weights, x, labels, before, settings, number >= 3)
        graph = descent.step(graph, number)
        assert float((whole(graph, side)[row, col] - wanted).abs().max()) < 1e-5


@pytest.mark.parametrize("share", [0.004, 0.5])
def test_weighted_graph_is_the_matrix_it_stands_for(share):
    dense = random_graph(60, share, seed=2)
    for side in (16, 60, 512):
        graph = upper(dense, side)
        rows = torch.randn(60, 3, dtype=torch.float64)
        torch.testing.assert_close(graph @ rows, dense @ rows)
        torch.testing.assert_close(graph.degrees, dense.sum(1))
        assert graph.norm == pytest.approx(float(dense.square().sum() / 2) ** 0.5)
        assert graph.count == int((dense > 0).sum()) // 2
        pairs = torch.cartesian_prod(torch.arange(60), torch.arange(60))
        torch.testing.assert_close(graph.at(pairs[pairs[:, 0] != pairs[:, 1]]), dense[~torch.eye(60, dtype=bool)])


def test_sparse_tiles_hold_their_entries_alone():
    dense = torch.zeros(600, 600)
    dense[3, 590] = dense[590, 3] = 0.5
    (tile,) = upper(dense, 200).tiles.values()
    assert tile.places is not None
    assert tile.values.tolist() == [0.5]


@pytest.mark.parametrize("budget", [0.5, 3.0, 40.0])
def test_projection_is_the_nearest_point(budget):
    """Karush-Kuhn-Tucker: a common shift for what lies inside, the budget met where there is a shift."""
    dense = 3 * random_graph(40, 0.6, seed=3).clamp(max=0.6)
    projection = Projection(budget, patience=3)
    for rows, cols in tiles_of(40, 9):
        projection.add(Tile(rows, cols, dense[rows, cols].triu(1) if rows == cols else dense[rows, cols].clone()))
    found = whole(projection.graph(40, dense), 9)
    assert float(found.sum()) / 2 == pytest.approx(budget, rel=1e-6)
    inside = (found > 0) & (found < 1)
    shifts = (dense - found)[inside]
    assert float(shifts.max() - shifts.min()) < 1e-9 if len(shifts) else True
    assert bool((dense[found == 1] - 1 >= projection.shift - 1e-9).all())
    assert bool((dense[found == 0] <= projection.shift + 1e-9).all())


def test_projection_within_the_budget_only_cuts_off():
    dense = 3 * random_graph(20, 0.6, seed=4)
    projection = Projection(1e4)
    projection.add(Tile(slice(0, 20), slice(0, 20), dense.triu(1).clone()))
    torch.testing.assert_close(whole(projection.graph(20, dense), 20), dense.clamp(0, 1))


def test_shift_of_equal_values():
    assert smallest_shift(torch.full((10,), 0.4), 1.0) == pytest.approx(0.3)
    assert smallest_shift(torch.tensor([5.0, 5.0, 0.2]), 2.0) == pytest.approx(0.2, abs=1e-6)


def test_smoothness_is_the_trace():
    x = drawn_features(23, dtype=torch.float64)
    for share in (0.02, 0.7):
        dense = random_graph(23, share, seed=5)
        kept, anew = (Smoothness.of(upper(dense, 6), Gram(x, largest)).value for largest in (2**30, 0))
        assert kept == anew == pytest.approx(float(plain_smoothness(x, dense)))


@pytest.mark.parametrize("architecture", ["gcn", "sage", "gat"])
def test_relaxed_model_agrees_with_the_trained_one_on_a_graph_of_edges(architecture):
    x, weights = drawn_features(50), drawn_weights(architecture, torch.float32)
    dense = (random_graph(50, 0.05, seed=6) > 0).float()
    edges = dense.nonzero().t().contiguous()
    from torch_geometric.data import Data

    labels = torch.arange(50) % CLASSES
    recipe = TrainingConfig(architecture=architecture, hidden=HIDDEN)
    task = TrainingTask(Data(x=x, edge_index=edges, y=labels), torch.ones(1, 50, dtype=torch.bool), recipe, CLASSES)
    (logits,) = ask_models(task, [Query(torch.arange(50), edges)], {k: w[None] for k, w in weights.items()})
    model = relaxed(architecture, weights, x)
    graph = upper(dense, 16)
    assert model.loss(graph, labels) == pytest.approx(float(F.cross_entropy(logits[0], labels)), rel=1e-5)
    hidden = plain_logits(architecture, weights, x, dense)[1]
    torch.testing.assert_close(model.hidden(graph), hidden, atol=1e-4, rtol=1e-4)
    assert torch.equal(mean_operator(edges, 50).to_dense() > 0, dense > 0)


def test_ties_are_broken_by_the_gradient_and_only_ties():
    weights = torch.tensor([0.0, 0.0, 0.3, 1.0, 1.0, 0.2])
    slopes = torch.tensor([1.0, -2.0, 2.0, -1.0, 0.5, -2.0])
    order = refined(weights, slopes).argsort(descending=True)
    assert order.tolist() == [3, 4, 2, 5, 1, 0]


# --- the attack -------------------------------------------------------------------------------------------------


def links_of(x, labels, edges, sent, *, kind=UPDATE_KIND, sender="client:0", strangers=0, recipe=None):
    """Knowledge and view of a server where client 0 holds the first nodes, and the truth of all its pairs."""
    n = len(x) - strangers
    low, high = np.triu_indices(n, 1)
    owner = torch.full((len(x),), -1)
    owner[:n] = 0
    nothing = torch.empty((2, 0), dtype=torch.long)
    truth = torch.zeros(n, n, dtype=torch.bool)
    truth[edges[0], edges[1]] = True
    knowledge = LinkKnowledge(
        x=x,
        labels=labels,
        subjects=torch.from_numpy(codes(low, high, len(x))),
        members=edges.shape[1] // 2,
        classes=CLASSES,
        game=EdgePresence.name,
        recipe=recipe,
        links=Links(owner, torch.tensor([edges.shape[1] // 2]), nothing, nothing),
    )
    channel = Channel()
    for round_, tensors in enumerate(sent):
        channel.send(kind, sender, "clients" if sender == "server" else "server", round_, tensors)
    return knowledge, channel.transcript.seen_by("server"), truth[low, high].numpy()


def scored(attack, knowledge, view, seed=0):
    return attack(view, knowledge, np.random.SeedSequence(seed)).score


def blind(knowledge):
    return GraphMI().blind(knowledge, np.random.SeedSequence(0)).score


@pytest.fixture(scope="module")
def homophilous():
    """120 nodes of three classes whose words and links both follow the class."""
    rng = np.random.default_rng(0)
    n = 120
    labels = rng.integers(0, CLASSES, n)
    p = np.full((n, WORDS), 0.06)
    for c in range(CLASSES):
        p[np.ix_(labels == c, range(c * WORDS // CLASSES, (c + 1) * WORDS // CLASSES))] = 0.16
    x = torch.from_numpy((rng.random((n, WORDS)) < p).astype(np.float32))
    links = np.triu(rng.random((n, n)) < np.where(labels[:, None] == labels, 0.08, 0.005), 1)
    edges = torch.from_numpy(np.stack(np.nonzero(links | links.T)))
    return x, torch.from_numpy(labels), edges


@pytest.fixture(scope="module")
def trained(homophilous):
    """A GCN, a GraphSAGE and a GAT trained on it, on a quarter of the labels."""
    from torch_geometric.data import Data

    x, labels, edges = homophilous
    members = torch.zeros(1, len(x), dtype=torch.bool)
    members[0, ::4] = True
    models = {}
    for architecture in ("gcn", "sage", "gat"):
        recipe = TrainingConfig(architecture=architecture, hidden=HIDDEN, epochs=100)
        task = TrainingTask(Data(x=x, edge_index=edges, y=labels), members, recipe, CLASSES)
        weights = train_models(task, [], np.random.SeedSequence(3), keep_weights=True).weights
        models[architecture] = {name: weight[0] for name, weight in weights.items()}
    return models


def by_heart(n=60, degree=1, seed=0):
    """Weights of a GCN that knows links by heart: each of 30 couples has a direction in the hidden layer.

    Features are random and say nothing; W1 = pinv(X) E, where row i of E tells the couple of node i.
    """
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.standard_normal((n, 2 * n)).astype(np.float32))
    couple = torch.from_numpy(rng.permutation(n) % (n // 2))
    told = F.one_hot(couple, n // 2).float()
    labels = couple % CLASSES
    weights = {
        "w1": torch.linalg.pinv(x) @ told,
        "b1": torch.zeros(n // 2),
        "w2": F.one_hot(torch.arange(n // 2) % CLASSES, CLASSES).float(),
        "b2": torch.zeros(CLASSES),
    }
    linked = (couple[:, None] == couple) & ~torch.eye(n, dtype=torch.bool)
    return x, labels, linked.nonzero().t(), weights


@pytest.mark.parametrize("iterations", [0, 10, 60])
def test_planted_links_in_the_weights_are_found(iterations):
    x, labels, edges, weights = by_heart()
    knowledge, view, truth = links_of(x, labels, edges, [weights])
    assert auc(truth, scored(GraphMI(iterations=iterations), knowledge, view)) > 0.99
    assert abs(auc(truth, blind(knowledge)) - 0.5) < 0.17  # 30 links: sd .053


def test_planted_links_are_found_in_the_adjacency():
    """Only a link can tell the class of a node without words: its own embedding is zero."""
    x, labels, edges, weights = by_heart()
    silent = edges[:, edges[0] < edges[1]][1]
    weights["w1"] = torch.linalg.pinv(x) @ (x @ weights["w1"]).index_fill(0, silent, 0)
    knowledge, view, truth = links_of(x, labels, edges, [weights])
    found = auc(truth, scored(GraphMI(decode="adjacency", iterations=20), knowledge, view))
    assert found > 0.8
    assert found > auc(truth, scored(GraphMI(iterations=0), knowledge, view)) + 0.2


@pytest.mark.parametrize(("architecture", "least"), [("gcn", 0.75), ("sage", 0.75), ("gat", 0.68)])
def test_planted_leak_of_a_trained_model_is_found(homophilous, trained, architecture, least):
    recipe = TrainingConfig(architecture=architecture, hidden=HIDDEN)
    knowledge, view, truth = links_of(*homophilous, [trained[architecture]], recipe=recipe)
    assert auc(truth, scored(GraphMI(iterations=10), knowledge, view)) > least


def test_half_precision_of_weights_and_every_step_hardly_changes_what_is_found(homophilous, trained):
    """SOS trains in half precision. By autograd, on a dense graph."""
    x, labels, edges = homophilous
    truth = links_of(x, labels, edges, [])[2]
    settings = {"lr": 0.1, "sparsity": 1e-3, "smoothness": 1e-4, "budget": edges.shape[1] / 2}
    row, col = np.triu_indices(len(x), 1)
    found = {}
    for kind in (torch.float64, torch.float16):
        weights = {name: weight.to(kind) for name, weight in trained["gcn"].items()}
        words, entries = x.to(kind), torch.zeros(len(row), dtype=kind)
        for step in range(30):
            entries = plain_step("gcn", weights, words, labels, entries, settings, step >= 15)
        half = torch.zeros(len(x), len(x), dtype=kind)
        half[row, col] = entries
        _, hidden = plain_logits("gcn", weights, words, half + half.t())
        unit = F.normalize(hidden.double())
        found[kind] = auc(truth, (unit @ unit.t())[row, col].numpy())
    assert found[torch.float64] > 0.75
    assert abs(found[torch.float16] - found[torch.float64]) < 2e-3


@pytest.mark.parametrize("decode", ["embedding", "adjacency"])
def test_null_unrelated_graph_is_chance(trained, homophilous, decode):
    """Links drawn without regard to features, labels and weights: the AUC over 40 draws is 1/2 within 3.3 sd."""
    x, labels, edges = homophilous
    knowledge, view, _ = links_of(x, labels, edges, [trained["gcn"]])
    score = scored(GraphMI(iterations=10, decode=decode), knowledge, view)
    rng, areas = np.random.default_rng(7), []
    for _ in range(40):
        truth = np.zeros(len(score), dtype=bool)
        truth[rng.choice(len(score), 200, replace=False)] = True
        areas.append(auc(truth, score))
    assert abs(np.mean(areas) - 0.5) < 3.3 * np.sqrt(1 / (12 * 200) / 40) * 1.05


@pytest.mark.parametrize("architecture", ["gcn", "sage"])
@pytest.mark.parametrize("iterations", [0, 10])
def test_null_noise_in_the_place_of_an_update_says_no_more_than_features(homophilous, architecture, iterations):
    """Ten draws of noise; the mean may exceed the blind baseline by two standard errors of it at most.

    The labels would say much more (two nodes of one class: AUC 0.79), but noise cannot bring them in.
    """
    knowledge, _, truth = links_of(*homophilous, [])
    areas = []
    for seed in range(10):
        noise = drawn_weights(architecture, torch.float32, seed=100 + seed, scale=1)
        _, view, _ = links_of(*homophilous, [noise])
        areas.append(auc(truth, scored(GraphMI(iterations=iterations), knowledge, view)))
    assert np.mean(areas) < auc(truth, blind(knowledge)) + 2 * np.std(areas) / np.sqrt(10)


def test_null_noise_cannot_be_told_from_other_noise(homophilous, trained):
    """With steps, noise gives what first weights give, and less than the trained model."""
    settings, areas = {"iterations": 10}, []
    for sent in [drawn_weights("gcn", torch.float32, seed=k, scale=1) for k in range(6)]:
        knowledge, view, truth = links_of(*homophilous, [sent])
        areas.append(auc(truth, scored(GraphMI(**settings), knowledge, view)))
    knowledge, view, truth = links_of(*homophilous, [trained["gcn"]])
    assert np.mean(areas) < auc(truth, scored(GraphMI(**settings), knowledge, view)) - 0.03


def test_the_last_update_counts(homophilous, trained):
    noise = drawn_weights("gcn", torch.float32)
    alone, both = (links_of(*homophilous, sent) for sent in ([trained["gcn"]], [noise, trained["gcn"]]))
    np.testing.assert_array_equal(*(scored(GraphMI(iterations=5), k, v) for k, v, _ in (alone, both)))


def test_common_model_stands_in_where_gradients_are_sent(homophilous, trained):
    sent = [trained["gcn"]]
    own, view, _ = links_of(*homophilous, sent)
    _, common, _ = links_of(*homophilous, sent, kind=GLOBAL_KIND, sender="server")
    attack = GraphMI(iterations=5)
    np.testing.assert_array_equal(scored(attack, own, view), scored(attack, own, common))
    _, gradients, _ = links_of(*homophilous, sent, kind=GRADIENT_KIND)
    with pytest.raises(InputError, match=r"'graphmi' does not apply.*sees neither uploads .* nor messages to"):
        scored(attack, own, gradients)


def test_zero_steps_are_the_cosine_of_each_nodes_own_embedding(homophilous, trained):
    x, weights = homophilous[0], trained["gcn"]
    knowledge, view, _ = links_of(*homophilous, [weights])
    rows = F.normalize(torch.relu(x @ weights["w1"] + weights["b1"]), dim=1)
    low, high = np.triu_indices(len(x), 1)
    wanted = (rows @ rows.t())[low, high]
    np.testing.assert_allclose(scored(GraphMI(iterations=0), knowledge, view), wanted, atol=1e-5)


def test_scores_do_not_depend_on_strangers_or_on_the_seed(homophilous, trained):
    x, labels, edges = homophilous
    more = torch.cat([x, drawn_features(30, seed=9)]), torch.cat([labels, torch.zeros(30, dtype=torch.long)]), edges
    alone, among = links_of(*homophilous, [trained["gcn"]]), links_of(*more, [trained["gcn"]], strangers=30)
    one, other = scored(GraphMI(iterations=5), *alone[:2]), scored(GraphMI(iterations=5), *among[:2], seed=1)
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_samples_are_graphs_within_the_budget_and_follow_the_seed(homophilous, trained):
    knowledge, view, truth = links_of(*homophilous, [trained["gcn"]])
    attack = GraphMI(decode="adjacency", iterations=60, samples=4, lr=5.0, density=0.5)
    one, again, other = (scored(attack, knowledge, view, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    drawn = one > 3
    assert 0 < drawn.sum() <= 0.5 * truth.sum()


def test_the_best_sample_has_the_smallest_objective(homophilous, trained):
    x, labels, _ = homophilous
    descent = AdjacencyDescent(RelaxedModel("gcn", trained["gcn"], x), x, labels, budget=1e6)
    relaxed = upper(0.1 * random_graph(len(x), 1.0, seed=1, dtype=torch.float32), 64)
    torch.manual_seed(0)
    best = descent.drawn(relaxed, 8)
    torch.manual_seed(0)
    assert descent.objective(best) == min(descent.objective(relaxed.drawn()) for _ in range(8))


def test_a_client_without_edges_gives_what_its_nodes_alone_say(homophilous, trained):
    x, labels, _ = homophilous
    knowledge, view, _ = links_of(x, labels, torch.empty((2, 0), dtype=torch.long), [trained["gcn"]])
    np.testing.assert_array_equal(
        scored(GraphMI(iterations=20), knowledge, view), scored(GraphMI(iterations=0), knowledge, view)
    )


@pytest.mark.parametrize("decode", ["embedding", "adjacency"])
@pytest.mark.parametrize("n", [1, 2])
def test_tiny_clients_are_no_error(homophilous, trained, n, decode):
    x, labels, _ = homophilous
    edges = torch.tensor([[0, 1], [1, 0]]) if n == 2 else torch.empty((2, 0), dtype=torch.long)
    knowledge, view, _ = links_of(x[:n], labels[:n], edges, [trained["gcn"]])
    assert scored(GraphMI(iterations=60, decode=decode), knowledge, view).shape == (n * (n - 1) // 2,)


def test_zero_rows_and_unknown_labels_are_no_error(homophilous, trained):
    x, labels, edges = homophilous
    weights = {**trained["gcn"], "b1": torch.full((HIDDEN,), -100.0)}
    knowledge, view, _ = links_of(0 * x, torch.full_like(labels, -1), edges, [weights])
    for decode in ("embedding", "adjacency"):
        assert np.isfinite(scored(GraphMI(iterations=60, decode=decode), knowledge, view)).all()


def without(weights, name):
    return {key: weight for key, weight in weights.items() if key != name}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda w: {**w, "w1": w["w1"][1:]}, r"update of client:0 in round 0.*'w1' has shape \(39, 8\).*\(40, 8\)"),
        (lambda w: {**w, "w2": w["w2"].t()}, r"client:0.*'w2' has shape \(3, 8\).*expected shape \(8, 3\)"),
        (lambda w: {**w, "b1": w["b1"] * float("nan")}, "client:0.*'b1' that are not finite"),
        (lambda w: {**w, "b2": w["b2"] / 0}, "client:0.*'b2' that are not finite"),
        (lambda w: {**w, "b2": w["b2"].long()}, "client:0.*'b2' has type torch.int64"),
        (lambda w: without(w, "b1"), "client:0.*lacks 'b1'"),
        (lambda w: without(w, "w1"), "client:0.*lacks 'w1'"),
        (lambda w: {**w, "from1": w["b1"]}, "client:0.*a GAT's, and the number of its heads is not seen"),
        (lambda w: {"w": w["w1"], "b": w["b1"]}, "not of 'sgc'"),
        (lambda w: {**w, "r1": w["w1"]}, r"client:0.*lacks 'r2'"),
    ],
)
def test_broken_update_is_one_clear_line(homophilous, trained, change, says):
    knowledge, view, _ = links_of(*homophilous, [change(trained["gcn"])])
    with pytest.raises(InputError, match=says) as error:
        scored(GraphMI(iterations=1), knowledge, view)
    assert "\n" not in str(error.value)


def test_other_architectures_are_refused_before_anything_is_read(homophilous, trained):
    knowledge, view, _ = links_of(
        *homophilous, [trained["gcn"]], recipe=TrainingConfig(architecture="sgc", hidden=HIDDEN)
    )
    with pytest.raises(InputError, match=r"does not apply.*gcn, sage, gat.*'sgc'"):
        scored(GraphMI(), knowledge, view)


def test_a_gat_on_more_nodes_than_dense_matrices_allow_is_refused(monkeypatch, homophilous, trained):
    recipe = TrainingConfig(architecture="gat", hidden=HIDDEN)
    knowledge, view, _ = links_of(*homophilous, [trained["gat"]], recipe=recipe)
    monkeypatch.setattr("gaudit.attacks.links.graphmi.LARGEST", 119)
    with pytest.raises(InputError, match="a client holds 120 nodes, and of a GAT the gradient is dense, for 119"):
        scored(GraphMI(), knowledge, view)


def test_a_share_of_the_labels_shrinks_the_budget_and_uses_no_other_label(homophilous, trained):
    """The budget is that of the edges among the nodes; which labels others have makes no difference."""
    x, labels, edges = homophilous
    drawn = some_of(labels, 0.1)
    known = drawn >= 0
    assert int(known.sum()) == 12
    assert torch.equal(drawn[known], labels[known])
    assert torch.equal(some_of(labels, 1.0), labels)
    assert int((some_of(labels, 1e-9) >= 0).sum()) == 1
    knowledge, view, truth = links_of(x, labels, edges, [trained["gcn"]])
    attack = GraphMI(iterations=20, labels=0.1, decode="adjacency")
    areas = [auc(truth, scored(attack, knowledge, view, seed)) for seed in range(3)]
    everything = auc(truth, scored(GraphMI(iterations=20, decode="adjacency"), knowledge, view))
    assert np.mean(areas) < everything
    assert len(set(areas)) == 3  # other nodes for another seed


def test_recipe_tells_the_width(homophilous, trained):
    knowledge, view, _ = links_of(*homophilous, [trained["gcn"]], recipe=TrainingConfig(hidden=HIDDEN + 1))
    with pytest.raises(InputError, match=r"'w1' has shape \(40, 8\), expected shape \(40, 9\)"):
        scored(GraphMI(), knowledge, view)


def test_settings_are_the_authors_and_samples_need_an_adjacency():
    assert GraphMI().settings.model_dump() == {
        "iterations": 100,
        "lr": 0.1,
        "sparsity": 1e-3,
        "smoothness": 1e-4,
        "smooth_from": 50,
        "density": 1.0,
        "labels": 1.0,
        "decode": "embedding",
        "candidates": 0,
        "samples": 0,
    }
    assert GraphMI(**GraphMI.preset("quick")).settings.iterations == 10
    with pytest.raises(InputError, match="set decode to 'adjacency'"):
        GraphMI(samples=3)


@pytest.mark.parametrize("share", [0.01, 0.9])
def test_a_tile_of_few_pairs_tells_the_weights_of_one_of_all(share):
    generator = torch.Generator().manual_seed(0)
    values = torch.rand((5, 7), generator=generator) * (torch.rand((5, 7), generator=generator) < share)
    values[3, 2] = 0.5
    places = values.flatten().nonzero().flatten().int()
    tile = Tile(slice(10, 15), slice(20, 27), values.flatten()[places.long()], places)
    row, col = torch.cartesian_prod(torch.arange(5), torch.arange(7)).t()
    assert torch.equal(tile.at(row, col), values.flatten())
    assert torch.equal(tile.at(row, col), tile.dense()[row, col])
