"""Links from posteriors."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.attacks.links import link_posterior
from gaudit.attacks.links.link_posterior import (
    FEATURES,
    LINKS,
    SHADOW,
    LinkPosterior,
    balanced_pairs,
    classified,
    default_distance,
    trained,
)
from gaudit.attacks.links.pair_columns import NodeRows, columns, operators, scaled_columns
from gaudit.attacks.links.posterior_distances import MEASURES, distances
from gaudit.audit.games.referee import judge
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.errors import InputError
from gaudit.graphs.pair_codes import codes
from gaudit.graphs.preprocessing import preprocessed
from gaudit.targets.channel import Channel
from gaudit.targets.game import Adversary
from gaudit.targets.games.links import edge_presence
from gaudit.targets.messages import posteriors_kind
from gaudit.targets.models.propagation import gcn_operator
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of

NODES, WORDS, CLASSES, CLIENTS = 160, 60, 4, 2
EVERY = range(8)
RECIPE = TrainingConfig(hidden=8, epochs=30)


def graph(seed, nodes=NODES, words=WORDS, classes=CLASSES):
    """Homophilous: classes show in features and in links."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(nodes) % classes)
    p = np.full((nodes, words), 0.05)
    p[(y[:, None] == np.arange(words) * classes // words)] = 0.15
    links = np.triu(rng.random((nodes, nodes)) < np.where(y[:, None] == y, 0.05, 0.004), 1)
    train = torch.from_numpy(rng.random(nodes) < 0.5)
    return Data(
        x=torch.from_numpy((rng.random((nodes, words)) < p).astype(np.float32)),
        y=torch.from_numpy(y),
        edge_index=torch.from_numpy(np.stack(np.nonzero(links | links.T))),
        train_mask=train,
        val_mask=~train,
        test_mask=~train,
    )


class World:
    """Two clients, and a table of posteriors that somebody published."""

    def __init__(self, seed=0):
        self.data, rng = graph(seed), np.random.default_rng(seed)
        owner = torch.from_numpy(rng.permutation(NODES) % CLIENTS)
        self.clients = clients_of(self.data, Partition(owner, CLIENTS, "drawn", torch.empty((2, 0)).long()))
        self.secrets = edge_presence(self.clients, NODES, np.random.SeedSequence(seed))

    def leaky(self):
        """Posteriors that spell out a node's surroundings: means of means of random codes around it."""
        told = torch.randn(NODES, CLASSES, generator=torch.Generator().manual_seed(5))
        for client in self.clients:
            operator = gcn_operator(client.edges, len(client.nodes)).to_dense()
            mean = operator / operator.sum(1, keepdim=True)
            told[client.nodes] = mean @ mean @ mean @ told[client.nodes]
        return (2 * told / told.std()).softmax(1)

    def noise(self, seed):
        return torch.randn(NODES, CLASSES, generator=torch.Generator().manual_seed(seed)).softmax(1)

    def without_graph(self, labelled=0.5):
        """A perceptron's posteriors."""
        alone = Data(x=self.data.x, edge_index=torch.empty((2, 0)).long(), y=self.data.y)
        recipe = TrainingConfig(architecture="mlp", hidden=16, epochs=60)
        return trained(alone, recipe, CLASSES, labelled, np.random.SeedSequence(1))

    def given(self, attack, seed=3):
        return self.secrets.grant(self.data, Adversary(attack, recipe=RECIPE), np.random.SeedSequence(seed))

    def judged(self, attack, posteriors, seed=4, **knowledge):
        given, narrowed = self.given(attack)
        transcript = published(posteriors)
        knows = replace(given.knowledge, **knowledge)
        scores = attack(given.renamed(transcript.seen_by("public")), knows, np.random.SeedSequence(seed))
        return judge(scores, given, narrowed(self.secrets))

    def judged_blind(self, attack):
        given, narrowed = self.given(attack)
        scores = attack.blind(given.knowledge, np.random.SeedSequence(4))
        return judge(scores, given, narrowed(self.secrets))


def published(posteriors, nodes=None):
    channel = Channel()
    nodes = torch.arange(len(posteriors)) if nodes is None else nodes
    channel.send(posteriors_kind("full"), "server", "public", 1, {"nodes": nodes, "posteriors": posteriors})
    return channel.transcript


def auc(judged):
    return auc_finding([judged])


def deviation(judged):
    """Variance of the AUC where scores and truth are independent and pairs too."""
    links, others = judged.truth.sum(), (~judged.truth).sum()
    return (links + others + 1) / (12 * links * others)


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(autouse=True)
def small_shadow(monkeypatch):
    """A shadow graph with other sizes than the audited one."""
    monkeypatch.setattr(link_posterior, "_graph", lambda name: graph(99, nodes=120, words=40, classes=3))


@pytest.mark.parametrize("number", EVERY)
def test_planted_leak_is_found(world, number):
    attack = LinkPosterior(attack=number)
    found, blind = auc(world.judged(attack, world.leaky())), auc(world.judged_blind(attack))
    assert found.low > (0.6 if number == 2 else 0.7)  # a reference that knows nothing only adds noise
    assert found.estimate > blind.estimate


@pytest.mark.parametrize("name", MEASURES)
def test_planted_leak_is_found_by_every_distance(world, name):
    assert auc(world.judged(LinkPosterior(distance=name), world.leaky())).low > 0.65


@pytest.mark.parametrize("number", [0, 1, 3, 4])
def test_null_noise_is_chance(number):
    """Eight worlds: the mean AUC within 3.3 of its standard deviations (once in 1000)."""
    runs = [
        World(seed).judged(LinkPosterior(attack=number, epochs=20), World(seed).noise(seed)) for seed in range(8)
    ]
    off = np.mean([auc(run).estimate for run in runs]) - 0.5
    # pairs share nodes: of noise they are hardly dependent, which 1.5 allows for
    assert abs(off) < 1.5 * 3.3 * np.sqrt(np.mean([deviation(run) for run in runs]) / len(runs))


@pytest.mark.parametrize("number", [0, 3])
def test_null_posteriors_without_the_graph_have_no_edge(number):
    """What they reach is what features reach: no more than the label of a node tells, on the mean of six worlds."""
    gains = []
    for seed in range(6):
        world = World(seed)
        told = auc(world.judged(LinkPosterior(attack=number, epochs=20), world.without_graph())).estimate
        classes = torch.nn.functional.one_hot(world.data.y).float()
        gains.append(told - auc(world.judged(LinkPosterior(distance="euclidean"), classes)).estimate)
    assert np.mean(gains) < 0


def test_null_attack_2_takes_out_what_features_tell():
    """A perceptron like the reference differs from it by chance alone: mean AUC of ten worlds near 0.5."""
    attack = LinkPosterior(attack=2)
    worlds = [World(seed) for seed in range(10)]
    told = [auc(world.judged(attack, world.without_graph(labelled=0.1))).estimate for world in worlds]
    assert abs(np.mean(told) - 0.5) < 0.03


def test_attack_0_is_minus_the_distance(world):
    given, _ = world.given(LinkPosterior())
    view = given.renamed(published(world.leaky()).seen_by("public"))
    scores = LinkPosterior()(view, given.knowledge, np.random.SeedSequence(0))
    low, high = (part for part in np.divmod(scores.subjects, NODES))
    told = world.leaky()[torch.from_numpy(given.ids)]
    expected = -distances(told, torch.from_numpy(np.stack([low, high], 1)), "correlation")
    np.testing.assert_allclose(scores.score, expected, atol=1e-5)


@pytest.mark.parametrize("number", [n for n in EVERY if n not in LINKS])
def test_links_are_not_used_unless_granted(world, number):
    attack = LinkPosterior(attack=number)
    given, _ = world.given(attack)
    links = given.knowledge.links
    told = replace(links, known=torch.tensor([[0, 1], [2, 3]]), known_not=torch.tensor([[4], [5]]))
    fewer = replace(told, counts=torch.zeros_like(links.counts))
    one, other = (world.judged(attack, world.leaky(), links=k).score for k in (links, fewer))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("number", [n for n in EVERY if n not in FEATURES])
def test_features_and_labels_are_not_used_unless_granted(world, number):
    attack = LinkPosterior(attack=number, epochs=5)
    one = world.judged(attack, world.leaky()).score
    nothing = {"x": torch.zeros(NODES, WORDS), "labels": torch.full((NODES,), -1)}
    np.testing.assert_array_equal(one, world.judged(attack, world.leaky(), **nothing).score)


@pytest.mark.parametrize("number", FEATURES)
def test_features_are_used_where_granted(world, number):
    attack = LinkPosterior(attack=number, epochs=5)
    other = torch.rand(NODES, WORDS)
    one, changed = world.judged(attack, world.leaky()).score, world.judged(attack, world.leaky(), x=other).score
    assert not np.array_equal(one, changed)


@pytest.mark.parametrize("number", EVERY)
def test_the_same_twice_whatever_was_asked_before(world, number):
    attack = LinkPosterior(attack=number, epochs=5)
    one = world.judged(attack, world.leaky()).score
    LinkPosterior(attack=7, epochs=2)
    np.testing.assert_array_equal(one, world.judged(attack, world.leaky()).score)


@pytest.mark.parametrize("number", [0, 3])
def test_truth_does_not_reach_the_scores(world, number):
    """Other truth for pairs that it was not told of."""
    attack = LinkPosterior(attack=number, epochs=5)
    given, narrowed = world.given(attack)
    told = ~np.isin(world.secrets.subjects, narrowed(world.secrets).subjects)
    truth = world.secrets.truth.copy()
    truth[~told] = np.random.default_rng(0).permutation(truth[~told])
    other = World()
    other.secrets = replace(world.secrets, truth=truth)
    one, changed = (w.judged(attack, world.leaky(), links=given.knowledge.links).score for w in (world, world))
    np.testing.assert_array_equal(one, changed)
    view = given.renamed(published(world.leaky()).seen_by("public"))
    scores = attack(view, given.knowledge, np.random.SeedSequence(4))
    by_other = judge(scores, given, narrowed(other.secrets))
    np.testing.assert_array_equal(np.sort(by_other.score), np.sort(one))


def test_who_needs_links_says_so():
    for number in EVERY:
        attack = LinkPosterior(attack=number, known_links=0.3)
        assert attack.knows_links == (0.3 if number in LINKS else 0)


def test_too_few_known_links_are_refused(world):
    attack = LinkPosterior(attack=3)
    given, _ = world.given(attack)
    few = replace(given.knowledge.links, known=given.knowledge.links.known[:, :2])
    with pytest.raises(InputError, match="raise known_links or use fewer clients"):
        world.judged(attack, world.leaky(), links=few)


@pytest.mark.parametrize("number", SHADOW)
def test_audited_graph_is_no_shadow_graph(world, number, monkeypatch):
    order = torch.randperm(NODES)
    monkeypatch.setattr(link_posterior, "_graph", lambda name: Data(x=world.data.x[order]))
    with pytest.raises(InputError, match="the audited graph itself"):
        world.judged(LinkPosterior(attack=number), world.leaky())


@pytest.mark.parametrize("number", SHADOW)
def test_audited_graph_is_no_shadow_graph_however_its_features_are_scaled(world, number, monkeypatch):
    """The shadow graph is as its file has it, and the adversary knows the audited one as the target reads it."""
    order = torch.randperm(NODES)
    monkeypatch.setattr(link_posterior, "_graph", lambda name: Data(x=world.data.x[order]))
    scaled = preprocessed(world.data, "row-shares").x
    assert not torch.equal(scaled, world.data.x)
    ours = torch.from_numpy(world.given(LinkPosterior(attack=number))[0].ids)
    with pytest.raises(InputError, match="the audited graph itself"):
        world.judged(LinkPosterior(attack=number), world.leaky(), x=scaled[ours])


def test_bundled_shadow_graph_is_another_draw_than_the_audited_one(monkeypatch):
    monkeypatch.undo()
    link_posterior._graph.cache_clear()
    from gaudit.graphs.datasets.loading import load_dataset

    own, shadow = load_dataset("citations"), link_posterior._graph("Citations")
    assert not link_posterior._same(own.x, shadow.x)
    assert link_posterior._same(own.x, own.x[torch.randperm(len(own.x))])


def test_unknown_labels_are_refused_where_a_reference_is_trained(world):
    with pytest.raises(InputError, match="needs labels"):
        world.judged(LinkPosterior(attack=2), world.leaky(), labels=torch.full((NODES,), -1))


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (torch.full((NODES, CLASSES), float("nan")), "finite"),
        (torch.full((NODES, CLASSES), 0.5), "sum to 1"),
        (torch.full((NODES, CLASSES + 1), 0.2), r"\[160, 4\]"),
        (torch.full((NODES - 1, CLASSES), 0.25), "lacks"),
    ],
)
def test_a_broken_table_is_refused(world, broken, says):
    with pytest.raises(InputError, match=says):
        world.judged(LinkPosterior(), broken)


def test_without_a_table_it_does_not_apply(world):
    given, _ = world.given(LinkPosterior())
    with pytest.raises(InputError, match="'public' sees no messages that carry posteriors"):
        LinkPosterior()(Channel().transcript.seen_by("public"), given.knowledge, np.random.SeedSequence(0))


def test_two_classes_are_compared_by_cosine():
    assert default_distance(2) == "cosine"
    assert default_distance(3) == "correlation"


def test_columns_are_the_same_in_either_order():
    rows = NodeRows(torch.rand(9, 4), torch.rand(9, 4), torch.rand(9, 6), entrywise=True)
    pairs = torch.tensor([[0, 1], [5, 2], [3, 3]])
    found = columns(rows, pairs)
    assert found.shape == (3, 2 * (8 + 4 + 16) + 8)
    torch.testing.assert_close(found, columns(rows, pairs.flip(1)))


def test_operators_by_hand():
    found = operators(torch.tensor([[1.0], [4.0]]), torch.tensor([[0, 1]]))
    assert found.tolist() == [[2.5, 4, 3, 9]]


def test_scale_does_not_depend_on_the_pairs_in_question():
    rows, few = NodeRows(torch.rand(50, 3).softmax(1), None, None), torch.tensor([[0, 1], [2, 3]])
    torch.manual_seed(0)
    alone = scaled_columns(rows, [few])[0]
    torch.manual_seed(0)
    together = scaled_columns(rows, [torch.cat([few, torch.zeros(40, 2).long()])])[0]
    torch.testing.assert_close(alone, together[:2])


def test_balanced_pairs_are_all_links_and_as_many_others():
    data = graph(7)
    pairs, linked = balanced_pairs(data, np.random.default_rng(0))
    row, col = data.edge_index.numpy()
    links = np.unique(codes(row, col, NODES))
    found = codes(*pairs.numpy().T, NODES)
    assert set(found[linked.bool().numpy()]) == set(links)
    assert not set(found[~linked.bool().numpy()]) & set(links)
    assert (linked == 0).sum() == (linked == 1).sum()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert len(np.unique(found)) == len(found)


def test_classifier_learns():
    torch.manual_seed(0)
    columns_ = torch.randn(400, 3).double()
    linked = (columns_[:, 0].abs() > 0.7).long()
    told = classified(columns_[:200], linked[:200], columns_[200:], 50)
    assert ((told > 0.5).long() == linked[200:]).double().mean() > 0.85
