"""Membership from the labels around a node, under guesses at the other members."""

from dataclasses import replace
from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.special import expit, logit
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from gaudit.attacks.membership import gbase
from gaudit.attacks.membership.base_membership import BASE, log_mean
from gaudit.attacks.membership.gbase import (
    GBASE,
    balls_around,
    differences,
    hops_changed,
    mean_log_odds,
    propagation_steps,
)
from gaudit.audit.statistics.metrics import auc, auc_finding
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.games.membership import NodeKnowledge, NodePresence
from gaudit.targets.messages import CONDENSED_KIND as RELEASE_KIND
from gaudit.targets.messages import MODEL_KIND, posteriors_kind
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.models.training_task import Query, TrainingTask

ARCHITECTURES = ("gcn", "sgc", "sage", "gat", "mlp")
NODES, FEATURES, CLASSES, MODELS = 60, 12, 3, 2
ROUNDING = 5e-5
"""Sums of single-precision numbers of up to 20, which kinds of processors add up in different orders."""


@pytest.fixture(scope="module")
def small() -> NodeKnowledge:
    """A graph in which balls are neither the whole graph nor single nodes; 50 of 60 nodes are in question."""
    rng = np.random.default_rng(0)
    edges = torch.from_numpy(rng.integers(0, NODES, (2, 75)))
    edges = to_undirected(edges[:, edges[0] != edges[1]])
    return NodeKnowledge(
        x=torch.from_numpy((rng.random((NODES, FEATURES)) < 0.4).astype(np.float32)),
        edges=edges,
        neighbours="true",
        labels=torch.from_numpy(rng.integers(0, CLASSES, NODES)),
        subjects=torch.from_numpy(np.sort(rng.permutation(NODES)[:50])),
        shadow=torch.empty(0, dtype=torch.long),
        shadow_edges=torch.empty((2, 0), dtype=torch.long),
        members=25,
        classes=CLASSES,
        game=NodePresence.name,
        auditor=True,
        all_edges=edges,
    )


@pytest.fixture(scope="module")
def masks() -> np.ndarray:
    return np.random.default_rng(1).random((3, 50)) < 0.6


def a_recipe(architecture: str) -> TrainingConfig:
    return TrainingConfig(architecture=architecture, hidden=8, heads=2)


class Models:
    """Random models; asked about a graph of one's own as attacks do, or about one that is cut out by hand."""

    def __init__(self, knowledge: NodeKnowledge, recipe: TrainingConfig) -> None:
        drawn = [initial_weights(recipe, FEATURES, CLASSES, np.random.SeedSequence(k)) for k in range(MODELS)]
        self.weights = {name: torch.stack([3 * w[name] for w in drawn]) for name in drawn[0]}
        self.data = Data(x=knowledge.x, edge_index=knowledge.edges, y=knowledge.labels)
        self.recipe = recipe

    def ask(self, query: Query) -> torch.Tensor:
        task = TrainingTask(self.data, torch.ones((MODELS, NODES), dtype=torch.bool), self.recipe, CLASSES)
        return ask_models(task, [query], self.weights)[0]

    def log_likelihood(self, graph: nx.Graph) -> torch.Tensor:
        """Sum of log p(y) over all nodes of a graph, [MODELS]."""
        nodes = sorted(graph)
        if not nodes:
            return torch.zeros(MODELS, dtype=torch.float64)
        place = {node: k for k, node in enumerate(nodes)}
        ends = [(place[a], place[b]) for u, v in graph.edges for a, b in ((u, v), (v, u))]
        data = Data(
            x=self.data.x[nodes],
            edge_index=torch.tensor(ends, dtype=torch.long).reshape(-1, 2).t(),
            y=torch.zeros(len(nodes), dtype=torch.long),
        )
        task = TrainingTask(data, torch.ones((MODELS, len(nodes)), dtype=torch.bool), self.recipe, CLASSES)
        (logits,) = ask_models(task, [Query(torch.arange(len(nodes)), data.edge_index)], self.weights)
        y, known = self.data.y[nodes].clamp_min(0), self.data.y[nodes] >= 0
        every = logits.double().log_softmax(2)[:, torch.arange(len(nodes)), y]
        return (every * known).sum(1)


def by_hand(models: Models, knowledge: NodeKnowledge, masks: np.ndarray, radius: int) -> np.ndarray:
    """Delta of each ball, cut out by networkx and asked about by itself: [MODELS, M, s]."""
    whole = nx.Graph(knowledge.edges.t().tolist())
    whole.add_nodes_from(range(NODES))
    found = np.zeros((MODELS, *masks.shape))
    for g, mask in enumerate(masks):
        for i, node in enumerate(knowledge.subjects.tolist()):
            seen = whole.subgraph({*knowledge.subjects[torch.from_numpy(mask)].tolist(), node})
            ball = nx.ego_graph(seen, node, radius)
            without = ball.copy()
            without.remove_node(node)
            found[:, g, i] = models.log_likelihood(ball) - models.log_likelihood(without)
    return found


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_differences_are_those_of_balls_cut_out_by_hand(small, masks, architecture):
    recipe = a_recipe(architecture)
    models = Models(small, recipe)
    (found,) = differences(small, recipe, masks, (models.ask,))
    radius = {"mlp": 0}.get(architecture, 4)
    np.testing.assert_allclose(found, by_hand(models, small, masks, radius), atol=ROUNDING)


@pytest.mark.parametrize("radius", [1, 3])
def test_the_radius_can_be_set(small, masks, radius):
    models = Models(small, a_recipe("gcn"))
    (found,) = differences(small, models.recipe, masks[:1], (models.ask,), radius)
    np.testing.assert_allclose(found, by_hand(models, small, masks[:1], radius), atol=ROUNDING)


@pytest.mark.parametrize("architecture", ["gcn", "sage"])
def test_nodes_with_unknown_labels_are_left_out_of_the_sums_but_stay_in_the_graph(small, masks, architecture):
    labels = small.labels.clone()
    labels[small.subjects[::3]] = -1
    known = replace(small, labels=labels)
    models = Models(known, a_recipe(architecture))
    (found,) = differences(known, models.recipe, masks[:1], (models.ask,))
    np.testing.assert_allclose(found, by_hand(models, known, masks[:1], 4), atol=ROUNDING)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_as_many_hops_are_asked_about_as_answers_change(small, masks, architecture, monkeypatch):
    """One hop less would be wrong: GCN weights edges by degrees, so that three hops change and not two."""
    recipe = a_recipe(architecture)
    models, hops = Models(small, recipe), hops_changed(recipe)
    assert hops == {"gcn": 3, "sgc": 3, "sage": 2, "gat": 2, "mlp": 0}[architecture]
    (found,) = differences(small, recipe, masks, (models.ask,))
    for wrong, same in ((hops + 1, True), (hops - 1, False)):
        monkeypatch.setattr(gbase, "hops_changed", lambda recipe, wrong=wrong: wrong)
        (other,) = differences(small, recipe, masks, (models.ask,))
        assert np.allclose(found, other, atol=ROUNDING) == same


def test_balls_are_those_of_networkx(small, masks):
    source, end = small.edges.numpy()
    adjacency = gbase.sp.csr_matrix((np.ones(len(source), np.float32), (source, end)), shape=(NODES, NODES))
    subjects = small.subjects.numpy()
    members = subjects[masks[0]]
    (balls,) = balls_around(adjacency, subjects, members, 4)
    whole = nx.Graph(small.edges.t().tolist())
    whole.add_nodes_from(range(NODES))
    sizes = []
    for row, node in enumerate(subjects.tolist()):
        seen = whole.subgraph({*members.tolist(), node})
        expected = nx.single_source_shortest_path_length(seen, node, cutoff=4)
        part = balls[row]
        assert dict(zip(part.indices.tolist(), part.data.astype(int).tolist(), strict=True)) == expected
        sizes.append(len(expected))
    assert 1 in sizes
    assert 8 < max(sizes) < masks[0].sum()  # something is left outside


def test_sampled_balls_lie_in_the_whole_ones_and_those_of_all_neighbours_are_the_whole_ones(small, masks):
    source, end = small.edges.numpy()
    adjacency = gbase.sp.csr_matrix((np.ones(len(source), np.float32), (source, end)), shape=(NODES, NODES))
    subjects, coins = small.subjects.numpy(), np.random.default_rng(0)
    members = subjects[masks[0]]
    (whole,) = balls_around(adjacency, subjects, members, 3)
    (same,), (some,) = (
        balls_around(adjacency, subjects, members, 3, partial(gbase.some_of_each_row, most=most, coins=coins))
        for most in (NODES, 2)
    )
    assert (same != whole).nnz == 0
    assert some.nnz < whole.nnz
    sizes = np.diff(some.indptr)
    assert sizes.max() <= 1 + 2 + 4 + 8
    for row, node in enumerate(subjects.tolist()):
        assert set(some[row].indices) <= set(whole[row].indices)
        assert node in some[row].indices[some[row].data == 0]


def test_each_neighbour_is_followed_as_often_as_the_others():
    matrix = gbase.sp.csr_matrix(np.triu(np.ones((6, 6), np.float32), 1))
    coins, total = np.random.default_rng(0), np.zeros((6, 6))
    for _ in range(4000):
        drawn = gbase.some_of_each_row(matrix, 2, coins)
        assert (np.diff(drawn.indptr) == np.minimum(np.diff(matrix.indptr), 2)).all()
        total += drawn.toarray()
    for row, degree in enumerate([5, 4, 3]):
        share = 2 / degree
        own = total[row, row + 1 :] / 4000
        assert np.abs(own - share).max() < 4.5 * np.sqrt(share * (1 - share) / 4000)
    assert (total[3, 4:] == 4000).all()


def test_numbers_do_not_depend_on_how_balls_are_dealt_out(small, masks, monkeypatch):
    models = Models(small, a_recipe("gcn"))
    (one,) = differences(small, models.recipe, masks, (models.ask,))
    for block, rows in ((7, 10**9), (256, 40), (1, 1)):
        monkeypatch.setattr(gbase, "BLOCK", block)
        monkeypatch.setattr(gbase, "ROWS", rows)
        (other,) = differences(small, models.recipe, masks, (models.ask,))
        np.testing.assert_allclose(one, other, atol=ROUNDING)


def test_radius_is_the_square_of_the_steps():
    steps = {a: propagation_steps(a_recipe(a)) for a in ARCHITECTURES}
    assert steps == {"gcn": 2, "sgc": 2, "sage": 2, "gat": 2, "mlp": 0}
    assert propagation_steps(TrainingConfig(architecture="sgc", hops=3)) == 3


@pytest.mark.parametrize("prior", [0.5, 0.2])
def test_score_is_that_of_the_paper(prior):
    """The mean of sigmoids, written out; ours are its log-odds."""
    rng = np.random.default_rng(2)
    target, shadow = rng.standard_normal((3, 5)), rng.standard_normal((4, 3, 5))
    found = GBASE()._score(target, shadow, np.zeros((4, 5), dtype=bool), 0.7, prior)
    for i in range(5):
        odds = [target[g, i] - 0.7 * np.log(np.exp(shadow[:, g, i]).mean()) + logit(prior) for g in range(3)]
        assert abs(expit(found[i]) - np.mean(1 / (1 + np.exp(-np.array(odds))))) < 1e-12


def test_scores_do_not_saturate():
    """Beyond log-odds of 37 a sigmoid is 1 in float64, and nodes would be tied."""
    odds = np.stack([np.linspace(40, 60, 11), np.linspace(50, 70, 11)])
    assert len(np.unique(expit(odds).mean(0))) == 1
    assert (np.diff(mean_log_odds(odds)) > 0).all()
    np.testing.assert_allclose(mean_log_odds(-odds), -mean_log_odds(odds))


@pytest.fixture(scope="module")
def leaky(publish_model):
    """Overfitted models on worlds with edges enough for neighbourhoods among the nodes in question."""
    return [publish_model(seed, "true", NodePresence.name, "true") for seed in range(3)]


@pytest.fixture(scope="module")
def innocent(publish_model):
    return [publish_model(600 + seed, "other", NodePresence.name, "true") for seed in range(24)]


@pytest.mark.parametrize("strategy", ["model-independent", "mia"])
def test_planted_overfit_is_found(leaky, strategy):
    findings = [auc_finding([model.judged(GBASE(strategy=strategy))]) for model in leaky]
    assert min(f.low for f in findings) > 0.6
    assert np.mean([f.estimate for f in findings]) > 0.75


@pytest.mark.parametrize("architecture", ["sage", "mlp", "gat"])
def test_planted_overfit_of_other_architectures_is_found(publish_model, architecture):
    recipe = TrainingConfig(architecture=architecture, hidden=16, epochs=80, lr=0.03, weight_decay=0, dropout=0)
    model = publish_model(0, "true", NodePresence.name, "true", recipe)
    assert auc_finding([model.judged(GBASE(shadows=8))]).low > 0.6


def test_sampled_balls_find_it_too_and_nothing_of_others(leaky, innocent, at_chance):
    findings = [auc_finding([model.judged(GBASE(fanout=2))]) for model in leaky]
    assert min(f.low for f in findings) > 0.6
    at_chance([model.judged(GBASE(fanout=2, shadows=8)) for model in innocent])


def test_as_many_neighbours_as_there_are_change_no_number(leaky):
    whole, all_drawn, few = (leaky[0].scores(GBASE(shadows=8, fanout=n)).score for n in (None, 10_000, 1))
    np.testing.assert_array_equal(whole, all_drawn)
    assert not np.allclose(whole, few, atol=1e-3)


@pytest.mark.parametrize("strategy", ["model-independent", "mia"])
def test_null_model_of_other_nodes_is_chance(innocent, at_chance, strategy):
    at_chance([model.judged(GBASE(strategy=strategy, shadows=8)) for model in innocent])


def test_null_blind_baseline_is_chance(innocent, at_chance):
    at_chance([model.judged_blind(GBASE(shadows=8)) for model in innocent])


def test_null_scrambled_truth_is_chance(leaky, at_chance):
    judged = leaky[0].judged(GBASE())
    at_chance([judged.scrambled(np.random.default_rng(seed)) for seed in range(40)])


def test_without_neighbourhoods_it_is_base_and_with_them_it_is_not(leaky):
    """Balls of radius 0 are isolated nodes: log p(y) - log mean p(y), on the same shadow models."""
    known = leaky[0].given.knowledge
    apart = leaky[0].told(neighbours="none", edges=known.edges[:, :0])
    base = apart.scores(BASE()).score
    np.testing.assert_allclose(leaky[0].scores(GBASE(radius=0)).score, base, atol=ROUNDING)
    assert not np.allclose(leaky[0].scores(GBASE()).score, base, atol=1e-2)


def test_same_knowledge_same_numbers_whoever_is_a_member(leaky):
    one, again = (leaky[0].scores(GBASE(), seed=seed).score for seed in (0, 1))
    np.testing.assert_array_equal(one, again)  # guesses hang on the auditor's coins alone
    told = replace(leaky[0], world=leaky[0].world.with_other_truth())
    np.testing.assert_array_equal(one, told.scores(GBASE()).score)
    other = leaky[0].told(seed=np.random.SeedSequence(77)).scores(GBASE()).score
    assert not np.allclose(one, other, atol=1e-3)


def test_guesses_follow_the_prior_or_base(leaky, monkeypatch):
    drawn = []

    def spied(knowledge, recipe, masks, *rest):
        drawn.append(masks)
        return differences(knowledge, recipe, masks, *rest)

    monkeypatch.setattr(gbase, "differences", spied)
    base = expit(leaky[0].scores(GBASE(radius=0, masks=1)).score)
    leaky[0].scores(GBASE(masks=60, radius=0, prior=0.3))
    assert abs(drawn[-1].mean() - 0.3) < 4 * np.sqrt(0.21 / drawn[-1].size)
    leaky[0].scores(GBASE(masks=60, strategy="mia", radius=0))
    asked, guessed = drawn[-2:]
    assert asked.shape[0] == 1
    assert not asked.any()
    assert np.abs(guessed.mean(0) - base).max() < 4.5 * np.sqrt(0.25 / 60)
    assert np.corrcoef(guessed.mean(0), base)[0, 1] > 0.9


def test_guesses_hold_nobody_but_the_nodes_in_question(leaky):
    """Others were not in the training graph, and an auditor knows it: edges to them change nothing."""
    known = leaky[0].given.knowledge
    inside = torch.isin(known.edges, known.subjects).all(0)
    assert not bool(inside.all())
    fewer = leaky[0].told(edges=known.edges[:, inside])
    np.testing.assert_allclose(leaky[0].scores(GBASE()).score, fewer.scores(GBASE()).score, atol=ROUNDING)


def test_updates_are_asked_too(leaky):
    """Two clients' uploads: each is judged, and a node's score is its highest."""
    channel = Channel()
    weights = dict(leaky[0].transcript.messages[0].tensors)
    noise = {
        name: w + 0.3 * torch.randn(w.shape, generator=torch.Generator().manual_seed(0))
        for name, w in weights.items()
    }
    for client, sent in enumerate((weights, noise)):
        channel.send("update", f"client:{client}", "server", 0, sent)
    both = replace(leaky[0], transcript=channel.transcript, observer="server").scores(GBASE()).score
    assert (both >= leaky[0].scores(GBASE()).score - 1e-9).all()


def test_a_released_graph_is_asked_through_models_trained_on_it(leaky):
    """Members with their labels published as they are, without links."""
    world = leaky[0].world
    channel = Channel()
    channel.send(RELEASE_KIND, "server", "public", 1, world.release(world.members).tensors())
    attack = GBASE(model={"hidden": 16, "epochs": 80, "lr": 0.03}, release_models=2, shadows=8)
    found = replace(leaky[0], transcript=channel.transcript).judged(attack)
    assert auc(found.truth, found.score) > 0.6


def table(leaky) -> Channel:
    channel = Channel()
    posteriors = torch.full((len(leaky.given.knowledge.x), CLASSES), 1 / CLASSES)
    content = {"nodes": torch.arange(len(posteriors)), "posteriors": posteriors}
    channel.send(posteriors_kind("full"), "server", "public", 1, content)
    return channel


def test_tables_are_refused(leaky):
    told = replace(leaky[0], transcript=table(leaky[0]).transcript)
    with pytest.raises(InputError, match=r"'g-base' does not apply: it asks about subgraphs.*only a model"):
        told.scores(GBASE())
    with pytest.raises(InputError, match=r"tables at most \(artefact 'posteriors'\)"):
        leaky[0].scores(GBASE(artefact="posteriors"))


def test_a_model_is_asked_though_there_are_tables(leaky):
    channel = table(leaky[0])
    channel.send(MODEL_KIND, "server", "public", 1, dict(leaky[0].transcript.messages[0].tensors))
    both = replace(leaky[0], transcript=channel.transcript)
    np.testing.assert_array_equal(both.scores(GBASE()).score, leaky[0].scores(GBASE()).score)


@pytest.mark.parametrize("neighbours", ["none", "apart"])
def test_it_needs_edges_to_ask_with(leaky, neighbours):
    with pytest.raises(InputError, match=f"not '{neighbours}'"):
        leaky[0].told(neighbours=neighbours).scores(GBASE())


def test_the_transductive_game_is_refused(publish_model):
    model = publish_model(0)
    with pytest.raises(InputError, match="it plays node-presence, not label-membership"):
        model.scores(GBASE())


def test_labels_alone_can_be_used(leaky):
    judged = leaky[0].judged(GBASE(labels_only=True))
    assert auc(judged.truth, judged.score) > 0.5
    assert not np.allclose(judged.score, leaky[0].judged(GBASE()).score)


def test_the_mean_over_models_is_that_of_ratios():
    """log mean exp, not the mean: the formula's denominator is a mean of probabilities."""
    shadow = np.log(np.array([[[0.1]], [[0.9]]]))
    assert abs(float(log_mean(shadow, np.ones((2, 1, 1), dtype=bool))[0, 0]) - np.log(0.5)) < 1e-12
