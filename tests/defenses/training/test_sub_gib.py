"""Sub-GIB: its losses against brute force, where gradients go, what the node scores follow."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.defenses.training.sub_gib import (
    LOG_4,
    SubGIB,
    SubGIBSettings,
    classification,
    discrimination,
    fitted_scores,
    node_scores,
    smoothness,
    spread,
    told_apart,
)
from gaudit.errors import InputError
from gaudit.targets.models.propagation import Factor, gcn_operator
from gaudit.targets.party import Client

SMALL = {"hidden": 16, "epochs": 60, "lr": 0.01}
HOW = ("normalised", "mean", "sum")


def random_links(nodes: int, density: float, seed: int) -> torch.Tensor:
    """A symmetric 0/1 matrix without loops, dense."""
    drawn = np.triu(np.random.default_rng(seed).random((nodes, nodes)) < density, 1)
    return torch.from_numpy(drawn | drawn.T).float()


def dense_gcn(adjacency: torch.Tensor) -> torch.Tensor:
    with_loops = adjacency + torch.eye(len(adjacency))
    scale = with_loops.sum(1).rsqrt()
    return scale[:, None] * with_loops * scale


@pytest.fixture(scope="module")
def model() -> SubGIB:
    torch.manual_seed(0)
    return SubGIB(30, 8, 3)


def representations(model: SubGIB, client: Client, inside=None, order=None) -> torch.Tensor:
    n = len(client.nodes)
    adjacency = torch.zeros(n, n)
    adjacency[client.edges[0], client.edges[1]] = 1
    first = client.x @ model.w1
    first = first if order is None else first[order]
    return model.encode(Factor.of(adjacency), first, torch.ones(n) if inside is None else inside)


def test_aggregation_over_a_soft_subgraph_is_that_of_the_weighted_adjacency():
    links, h = random_links(9, 0.4, 1), torch.randn(9, 4)
    inside = torch.rand(9, generator=torch.Generator().manual_seed(2))
    soft = inside[:, None] * links * inside
    assert torch.allclose(spread(Factor.of(links), h, inside), dense_gcn(soft) @ h, atol=1e-6)
    assert torch.allclose(spread(Factor.of(links.to_sparse_csr()), h, inside), dense_gcn(soft) @ h, atol=1e-6)


def test_a_hard_selection_is_the_graph_convolution_on_the_induced_subgraph(federation):
    client = federation.clients[0]
    n = len(client.nodes)
    kept = torch.rand(n, generator=torch.Generator().manual_seed(0)) < 0.5
    links = torch.zeros(n, n)
    links[client.edges[0], client.edges[1]] = 1
    h = torch.randn(n, 3)
    everything = spread(Factor.of(links), h, torch.ones(n))
    assert torch.allclose(everything, gcn_operator(client.edges, n) @ h, atol=1e-6)
    part = dense_gcn(links[kept][:, kept]) @ h[kept]
    assert torch.allclose(spread(Factor.of(links), h, kept.float())[kept], part, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_smoothness_is_the_trace_with_the_laplacian(seed):
    links = random_links(12, 0.3, seed)
    inside = torch.rand(12, generator=torch.Generator().manual_seed(seed))
    belonging = torch.stack([inside, 1 - inside], 1)
    laplacian, edges = torch.diag(links.sum(1)) - links, links.nonzero().T
    trace = float(torch.trace(belonging.T @ laplacian @ belonging))
    assert smoothness(belonging, edges, "sum") == pytest.approx(trace, rel=1e-5)
    assert smoothness(belonging, edges, "mean") == pytest.approx(trace / (len(edges[0]) / 2), rel=1e-5)
    scale = torch.diag(links.sum(1).clamp(min=1).rsqrt())
    normalised = torch.trace(belonging.T @ scale @ laplacian @ scale @ belonging)
    assert smoothness(belonging, edges, "normalised") == pytest.approx(float(normalised), rel=1e-5)


@pytest.mark.parametrize("how", HOW)
def test_one_half_everywhere_is_a_minimum_and_which_other_shares_are_depends_on_the_laplacian(how):
    edges = random_links(12, 0.3, 0).nonzero().T
    degrees = torch.bincount(edges[0], minlength=12)

    def at(inside):
        return float(smoothness(torch.stack([inside, 1 - inside], 1), edges, how))

    least = at(torch.full((12,), 0.5))
    drawn = torch.rand(200, 12, generator=torch.Generator().manual_seed(0))
    assert all(at(inside) >= least - 1e-6 for inside in drawn)
    equal, by_degree = torch.full((12,), 0.9), 0.5 + 0.1 * degrees.sqrt()
    also, not_so = (by_degree, equal) if how == "normalised" else (equal, by_degree)
    assert at(also) == pytest.approx(least, abs=1e-5)
    assert at(not_so) > least + 1e-3


def test_smoothness_of_two_linked_nodes_by_hand():
    belonging = torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.0, 1.0]])
    edges = torch.tensor([[0, 1], [1, 0]])
    assert all(float(smoothness(belonging, edges, how)) == pytest.approx(0.5) for how in HOW)


def test_discriminator_loss_is_binary_cross_entropy_and_log_4_without_a_clue():
    real, corrupted = torch.randn(7), torch.randn(7)
    expected = F.binary_cross_entropy_with_logits(real, torch.ones(7))
    expected = expected + F.binary_cross_entropy_with_logits(corrupted, torch.zeros(7))
    assert float(told_apart(real, corrupted)) == pytest.approx(float(expected))
    assert float(told_apart(torch.zeros(3), torch.zeros(3))) == pytest.approx(LOG_4)
    assert float(told_apart(torch.full((3,), 40.0), torch.full((3,), -40.0))) == pytest.approx(0, abs=1e-6)


def test_information_is_what_the_loss_lacks_to_log_4_and_never_below_nothing(model, federation):
    real = representations(model, federation.clients[0])
    same = discrimination(model, real, real)
    assert same.information(0.5) >= 0
    assert float(same.loss(0.0)) >= LOG_4 - 1e-6  # the same thing cannot be told from itself
    assert float(same.information(0.5)) == pytest.approx(0, abs=1e-6)
    other = replace(same, holistic=torch.tensor(1.0), regional=torch.tensor(0.5))
    assert float(other.information(0.5)) == pytest.approx(LOG_4 - 1 + 0.5 * (LOG_4 - 0.5))
    assert float(other.loss(0.5)) == pytest.approx(1.25)


def trained_discriminators(client: Client, real_order) -> float:
    """Regional and holistic loss on a fresh corruption after 300 steps on a fixed encoder."""
    torch.manual_seed(0)
    model, n = SubGIB(client.x.shape[1], 32, client.classes), len(client.nodes)
    optimiser = torch.optim.Adam(model.discriminators(), lr=0.05)

    def now() -> torch.Tensor:
        with torch.no_grad():
            real = representations(model, client, order=real_order(n))
            corrupted = representations(model, client, order=torch.randperm(n))
        return discrimination(model, real, corrupted).loss(1.0)

    for _ in range(300):
        optimiser.zero_grad()
        now().backward()
        optimiser.step()
    with torch.no_grad():
        return float(np.mean([float(now()) for _ in range(20)]))


def test_discriminators_tell_a_graph_from_its_shuffled_twin_and_nothing_from_nothing(federation):
    client = federation.clients[0]
    assert trained_discriminators(client, torch.arange) < 0.9 * 2 * LOG_4
    assert trained_discriminators(client, torch.randperm) > 0.97 * 2 * LOG_4


def test_classification_at_a_hard_selection_is_the_mean_over_labelled_nodes_inside(model, federation):
    client = federation.clients[0]
    inside = (torch.arange(len(client.nodes)) % 3 > 0).float()
    found = representations(model, client, inside)
    on = client.train & (inside > 0)
    expected = F.cross_entropy(model.classifier(found[on]), client.y_train[on])
    assert float(classification(model, found, inside, client)) == pytest.approx(float(expected), rel=1e-5)


def test_dropping_a_label_is_no_way_to_lower_the_loss(model, federation):
    """The share of a node weighs its loss, but has no gradient from there."""
    client = federation.clients[0]
    inside = torch.full((len(client.nodes),), 0.5, requires_grad=True)
    found = representations(model, client, inside)
    weighed = classification(model, found.detach(), inside, client)
    assert torch.autograd.grad(weighed, inside, allow_unused=True)[0] is None
    through = torch.autograd.grad(classification(model, found, inside, client), inside)[0]
    assert bool((through != 0).any())


def test_labels_of_other_than_training_nodes_are_not_read(federation):
    client = federation.clients[0]
    settings = SubGIBSettings(hidden=8, epochs=5)
    before = node_scores(client, settings, np.random.SeedSequence(0))
    other = torch.where(client.train, client.y_train, (client.y_train + 1) % client.classes)
    after = node_scores(replace(client, y_train=other, y=other), settings, np.random.SeedSequence(0))
    assert torch.equal(before, after)
    flipped = replace(client, y_train=(client.y_train + 1) % client.classes)
    assert not torch.equal(before, node_scores(flipped, settings, np.random.SeedSequence(0)))


def moved_by(model: SubGIB, loss: torch.Tensor) -> set[str]:
    """Names of the weights that a loss has a gradient for."""
    names, weights = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(loss, weights, allow_unused=True, retain_graph=True)
    return {name for name, g in zip(names, found, strict=True) if g is not None and bool((g != 0).any())}


def test_gradients_reach_every_part_and_only_the_parts_meant(model, federation):
    client = federation.clients[0]
    real = representations(model, client)
    corrupted = representations(model, client, order=torch.randperm(len(client.nodes)))
    belonging = torch.softmax(model.belonging(real), 1)
    encoder = {"w1", "b1", "w2", "b2"}
    heads = {
        part: {f"{part}.{what}" for what in ("weight", "bias")}
        for part in ("belonging", "classifier", "holistic", "regional")
    }
    fit = classification(model, representations(model, client, belonging[:, 0]), belonging[:, 0], client)
    assert moved_by(model, fit) == encoder | heads["belonging"] | heads["classifier"]
    for how in HOW:
        assert moved_by(model, smoothness(belonging, client.edges, how)) == encoder | heads["belonging"]
    estimate = discrimination(model, real.detach(), corrupted.detach()).loss(0.5)
    assert moved_by(model, estimate) == heads["holistic"] | heads["regional"]
    penalty = discrimination(model, real, corrupted).loss(0.5)
    assert moved_by(model, penalty) == encoder | heads["holistic"] | heads["regional"]
    inner, outer = set(model.discriminators()), set(model.others())
    assert not inner & outer
    assert inner | outer == set(model.parameters())
    assert inner == {p for part in ("holistic", "regional") for p in getattr(model, part).parameters()}


def test_the_two_steps_pull_the_information_apart(federation):
    """What the discriminators' step raises, the encoder's step on the penalty lowers."""
    client = federation.clients[0]
    torch.manual_seed(1)
    model = SubGIB(client.x.shape[1], 32, client.classes)
    order = torch.randperm(len(client.nodes))

    def now():
        return discrimination(model, representations(model, client), representations(model, client, order=order))

    start = float(now().information(1.0))
    inner = torch.optim.Adam(model.discriminators(), lr=0.02)
    for _ in range(100):
        inner.zero_grad()
        now().loss(1.0).backward()
        inner.step()
    told = float(now().information(1.0))
    assert told > start + 0.1
    outer = torch.optim.Adam([model.w1, model.b1, model.w2, model.b2], lr=0.002)
    for _ in range(20):
        outer.zero_grad()
        now().information(1.0).backward()
        outer.step()
    assert float(now().information(1.0)) < told - 0.1


def scores_of(client: Client, seed: int = 0, **settings) -> torch.Tensor:
    return node_scores(client, SubGIBSettings(**{**SMALL, **settings}), np.random.SeedSequence(seed))


def test_scores_are_shares_that_differ_and_follow_the_seed(federation):
    client = federation.clients[0]
    one, again, other = (scores_of(client, seed) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert one.shape == (len(client.nodes),)
    assert 0 <= float(one.min()) < float(one.max()) <= 1
    assert len(one.unique()) > 0.9 * len(one)


def test_the_callers_random_numbers_are_left_alone(federation):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    scores_of(federation.clients[0], epochs=2)
    assert torch.equal(torch.rand(2), expected)


def test_the_sum_over_edges_leaves_scores_nearly_constant_and_its_mean_does_not(federation):
    client = federation.clients[0]
    linked = torch.bincount(client.edges[0], minlength=len(client.nodes)) > 0
    total, mean = (scores_of(client, smoothness=how)[linked].std() for how in ("sum", "mean"))
    assert total < 0.02
    assert mean > 3 * total


def half_misled(seed: int) -> tuple[Client, torch.Tensor]:
    """Nodes whose words tell their label, linked to their like; and as many with the words of any label and a mark
    of their own, linked to all alike. Returns the client and which nodes are of the first sort."""
    rng, half = np.random.default_rng(seed), 60
    n = 2 * half
    y, good = np.arange(n) % 2, np.arange(n) < half
    x = (rng.random((n, 40)) < 0.1).astype(np.float32)
    x[:, :2] = np.eye(2)[np.where(good, y, rng.permutation(y))]
    x[:, 2] = ~good
    links = rng.random((n, n)) < 0.04
    links[:half, :half] = (rng.random((half, half)) < 0.06) & (y[:half, None] == y[:half])
    links = np.triu(links, 1)
    edges = torch.from_numpy(np.stack(np.nonzero(links | links.T)))
    train = torch.from_numpy(good & (np.arange(n) % 3 > 0))
    nobody, none = torch.zeros(n, dtype=torch.bool), torch.empty((2, 0), dtype=torch.long)
    nodes, labels, features = torch.arange(n), torch.from_numpy(y), torch.from_numpy(x)
    client = Client(0, nodes, features, labels, labels, train, nobody, nobody, train, edges, none, classes=2)
    return client, torch.from_numpy(good)


def test_nodes_that_tell_of_their_neighbours_labels_tend_to_score_higher():
    """More than half of the top half, over graphs and first weights; each share deviates by about 0.05."""
    shares = []
    for seed in range(8):
        client, good = half_misled(seed)
        top = scores_of(client, seed, epochs=40, smoothness="mean").argsort(descending=True)[:60]
        shares.append(float(good[top].float().mean()))
    assert np.mean(shares) > 0.55


def information_after(client: Client, beta: float) -> float:
    """What the discriminators tell of a fresh corruption after the whole optimisation."""
    torch.manual_seed(0)
    model = SubGIB(client.x.shape[1], 16, client.classes)
    fitted_scores(
        model, client, SubGIBSettings(**{**SMALL, "epochs": 150}, beta=beta, gamma=1.0, smoothness="mean")
    )
    with torch.no_grad():
        real = representations(model, client)
        orders = [torch.randperm(len(real)) for _ in range(10)]
        losses = [
            discrimination(model, real, representations(model, client, order=order)).loss(1.0) for order in orders
        ]
    return 2 * LOG_4 - float(torch.stack(losses).mean())


def test_beta_keeps_the_representations_from_telling_of_the_graph(federation):
    without, with_it = (information_after(federation.clients[0], beta) for beta in (0.0, 1.0))
    assert without > 0.06
    assert with_it < 0.3 * without


@pytest.mark.parametrize(
    ("name", "value"),
    [("beta", 0.0), ("gamma", 5.0), ("smoothness", "sum"), ("smoothness", "mean"), ("epochs", 21)],
)
def test_every_setting_of_the_objective_matters(federation, name, value):
    client = federation.clients[0]
    assert not torch.equal(scores_of(client, epochs=20), scores_of(client, **{"epochs": 20, name: value}))


def test_diverged_training_is_refused(federation):
    client = replace(federation.clients[0], x=federation.clients[0].x * float("inf"))
    with pytest.raises(InputError, match=r"Sub-GIB diverges on the data of client:0: use a smaller lr than 0\.01"):
        scores_of(client, epochs=2)


def test_defaults_are_the_papers():
    s = SubGIBSettings()
    assert (s.beta, s.gamma, s.epochs, s.hidden, s.lr) == (0.2, 0.5, 150, 512, 1e-3)
    assert s.smoothness == "normalised"
