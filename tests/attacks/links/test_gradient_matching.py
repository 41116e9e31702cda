"""Links from a client's gradient."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.attacks.links.gradient_matching import (
    GradientMatching,
    GradientMatchingSettings,
    Seen,
    gradient_parts,
    matched,
)
from gaudit.audit.games.referee import judge
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.defense import Defense
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.federated.scaffold import Scaffold
from gaudit.targets.games.links import edge_presence
from gaudit.targets.messages import CONTROL_KIND, GLOBAL_CONTROL_KIND, GLOBAL_KIND, GRADIENT_KIND, UPDATE_KIND
from gaudit.targets.models.propagation import gcn_operator
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of
from support.adversaries import adversary

NODES, WORDS, CLASSES, CLIENTS = 120, 200, 3, 2
RECIPE = TrainingConfig(hidden=8, dropout=0)


class Clients:
    """Two clients whose links have nothing to do with features and classes, and what they send."""

    def __init__(self, seed=0, labelled=0.6):
        rng = np.random.default_rng(seed)
        links = np.triu(rng.random((NODES, NODES)) < 0.04, 1)
        row, col = np.nonzero(links | links.T)
        y = torch.from_numpy(rng.integers(CLASSES, size=NODES))
        y[:CLASSES] = torch.arange(CLASSES)
        train = torch.from_numpy(rng.random(NODES) < labelled)
        self.data = Data(
            x=torch.from_numpy((rng.random((NODES, WORDS)) < 0.1).astype(np.float32)),
            y=y,
            edge_index=torch.from_numpy(np.stack([row, col])),
            train_mask=train,
            val_mask=~train,
            test_mask=~train,
        )
        owner = torch.from_numpy(rng.permutation(NODES) % CLIENTS)
        self.clients = clients_of(self.data, Partition(owner, CLIENTS, "drawn", torch.empty((2, 0)).long()))
        self.weights = initial_weights(RECIPE, WORDS, CLASSES, np.random.SeedSequence(seed))
        self.secrets = edge_presence(self.clients, NODES, np.random.SeedSequence(seed))

    def tasks(self):
        return [LocalTask.of(c, Subgraph.of(RECIPE, c.x, c.edges)) for c in self.clients]

    def sent(self, rounds=1, **changed):
        """A transcript with gradients, or with other ``changed`` tensors of client 0 in their place."""
        channel, weights = Channel(), self.weights
        for t in range(rounds):
            channel.send(GLOBAL_KIND, "server", "clients", t, weights)
            gradients = [task.gradient(weights) for task in self.tasks()]
            for client, gradient in zip(self.clients, gradients, strict=True):
                own = {**gradient, **changed} if client.number == 0 else gradient
                channel.send(GRADIENT_KIND, client.name, "server", t, own)
            weights = {n: w - 0.5 * sum(g[n] for g in gradients) / CLIENTS for n, w in weights.items()}
        return channel.transcript

    def uploaded(self, lr, decay=0.0):
        channel = Channel()
        channel.send(GLOBAL_KIND, "server", "clients", 0, self.weights)
        for client, task in zip(self.clients, self.tasks(), strict=True):
            own = task.trained(self.weights, steps=1, optimiser="sgd", lr=lr, weight_decay=decay)
            channel.send(UPDATE_KIND, client.name, "server", 0, own)
        return channel.transcript

    def corrected(self, rounds, lr, decay):
        """A run of SCAFFOLD whose clients take one step a round."""
        target = Scaffold(
            clients=CLIENTS,
            rounds=rounds,
            local_epochs=1,
            lr=lr,
            weight_decay=decay,
            dropout=0,
            hidden=8,
            publish=(),
        )
        return target(self.data, Defense(), np.random.SeedSequence(0), lambda message: True)

    def judged(self, attack, transcript, recipe=RECIPE, secrets=None, **knowledge):
        secrets = secrets or self.secrets
        given, _ = secrets.grant(self.data, adversary(recipe=recipe), np.random.SeedSequence(3))
        knows = replace(given.knowledge, **knowledge)
        scores = attack(given.renamed(transcript.seen_by("server")), knows, np.random.SeedSequence(4))
        return judge(scores, given, secrets)


@pytest.fixture(scope="module")
def clients():
    return Clients()


def only(client):
    operator = gcn_operator(client.edges, len(client.nodes)).to_dense()
    share = client.train.float() / client.train.sum()
    return operator, share


def test_gradient_is_autograds(clients):
    for client, task in zip(clients.clients, clients.tasks(), strict=True):
        operator, share = only(client)
        one_hot = torch.nn.functional.one_hot(client.y, CLASSES).float()
        projected = client.x @ clients.weights["w1"]
        rows, b1, w2, b2 = gradient_parts(operator, projected, clients.weights, one_hot, share)
        found, expected = {"w1": client.x.t() @ rows, "b1": b1, "w2": w2, "b2": b2}, task.gradient(clients.weights)
        for name in expected:
            torch.testing.assert_close(found[name], expected[name], atol=1e-6, rtol=1e-4)


def test_planted_links_are_found_in_an_honest_gradient(clients):
    found = auc_finding([clients.judged(GradientMatching(), clients.sent())])
    assert found.low > 0.7


def test_planted_links_are_found_with_few_labels():
    few = Clients(seed=2, labelled=0.2)
    assert auc_finding([few.judged(GradientMatching(), few.sent())]).low > 0.6


def test_planted_links_are_found_in_one_gradient_step(clients):
    by_gradient = clients.judged(GradientMatching(steps=80), clients.sent())
    attack = GradientMatching(sgd_rate=0.1, steps=80)
    decaying = RECIPE.model_copy(update={"weight_decay": 0.5})
    for transcript, recipe in (
        (clients.uploaded(0.1), RECIPE.model_copy(update={"weight_decay": 0.0})),
        (clients.uploaded(0.1, decay=0.5), decaying),
    ):
        by_step = clients.judged(attack, transcript, recipe)
        assert abs(auc_finding([by_step]).estimate - auc_finding([by_gradient]).estimate) < 0.03


def test_further_rounds_are_matched_together(clients):
    transcript = clients.sent(rounds=3)
    one, three = (clients.judged(GradientMatching(rounds=r, steps=30), transcript).score for r in (1, 3))
    np.testing.assert_array_equal(one, clients.judged(GradientMatching(steps=30), clients.sent()).score)
    assert not np.array_equal(one, three)


def uncorrected(transcript, lr, decay):
    """The gradients of SCAFFOLD's clients: their steps without the decay and without c - c_i."""
    channel, by_kind = Channel(), {(m.kind, m.sender, m.round): m.tensors for m in transcript.messages}
    for (kind, sender, t), own in by_kind.items():
        if kind == GLOBAL_KIND:
            channel.send(GLOBAL_KIND, "server", "clients", t, own)
        if kind == UPDATE_KIND:
            common, mean = by_kind[GLOBAL_KIND, "server", t], by_kind[GLOBAL_CONTROL_KIND, "server", t]
            before = by_kind.get((CONTROL_KIND, sender, t - 1), dict.fromkeys(own, 0.0))
            step = {name: (common[name] - own[name]) / lr - mean[name] + before[name] for name in own}
            gradient = {name: step[name] - decay * common[name] for name in own}
            channel.send(GRADIENT_KIND, sender, "server", t, gradient)
    return channel.transcript


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_the_gradients_behind_corrected_steps_are_matched(clients, decay):
    """From the second round on a client of SCAFFOLD does not move along its gradient."""
    run = clients.corrected(rounds=3, lr=0.5, decay=decay)
    links, recipe = run.secrets["edge-presence"], RECIPE.model_copy(update={"weight_decay": decay})
    truly = clients.judged(
        GradientMatching(rounds=3, steps=40), uncorrected(run.transcript, 0.5, decay), recipe, links
    )
    found = clients.judged(GradientMatching(rounds=3, steps=40, sgd_rate=0.5), run.transcript, recipe, links)
    np.testing.assert_allclose(found.score, truly.score, atol=0.05)


def test_null_gradients_of_other_links_are_chance():
    """Ten pairs of worlds with the same nodes and other links; mean AUC within 3.3 of its standard deviations."""
    areas, variances = [], []
    for seed in range(10):
        ours, theirs = Clients(seed), Clients(seed)
        drawn = np.random.default_rng(1000 + seed)
        theirs_edges = np.triu(drawn.random((NODES, NODES)) < 0.04, 1)
        theirs.data.edge_index = torch.from_numpy(np.stack(np.nonzero(theirs_edges | theirs_edges.T)))
        owner = torch.empty(NODES, dtype=torch.long)
        for client in ours.clients:
            owner[client.nodes] = client.number
        theirs.clients = clients_of(theirs.data, Partition(owner, CLIENTS, "same", torch.empty((2, 0)).long()))
        judged = ours.judged(GradientMatching(steps=40), theirs.sent())
        areas.append(auc_finding([judged]).estimate)
        links, others = judged.truth.sum(), (~judged.truth).sum()
        variances.append((links + others + 1) / (12 * links * others))
    assert abs(np.mean(areas) - 0.5) < 3.3 * np.sqrt(np.mean(variances) / len(areas))


def test_null_blind_baseline_reads_features_alone(clients):
    given, _ = clients.secrets.grant(clients.data, adversary(), np.random.SeedSequence(3))
    blind = judge(GradientMatching().blind(given.knowledge, np.random.SeedSequence(0)), given, clients.secrets)
    found = auc_finding([blind])
    assert found.low < 0.5 < found.high


def test_labelled_nodes_are_found_too(clients):
    client, task = clients.clients[0], clients.tasks()[0]
    seen = Seen(clients.weights, task.gradient(clients.weights))
    found = matched(client.x, client.y, [seen], 0.04, GradientMatchingSettings())
    assert found.labelled.sum() == pytest.approx(1, abs=1e-5)
    assert found.labelled[client.train].mean() > 2 * found.labelled[~client.train].mean()


def test_nodes_of_unknown_class_have_no_share(clients):
    client, task = clients.clients[0], clients.tasks()[0]
    labels = client.y.clone()
    labels[:10] = -1
    seen = Seen(clients.weights, task.gradient(clients.weights))
    found = matched(client.x, labels, [seen], 0.04, GradientMatchingSettings(steps=20))
    assert (found.labelled[:10] == 0).all()


def test_entries_are_symmetric_and_at_most_one(clients):
    client, task = clients.clients[0], clients.tasks()[0]
    seen = Seen(clients.weights, task.gradient(clients.weights))
    found = matched(client.x, client.y, [seen], 0.04, GradientMatchingSettings(steps=50))
    torch.testing.assert_close(found.log_entries, found.log_entries.t(), atol=1e-5, rtol=0)
    assert (found.log_entries <= 0).all()


def test_search_ends_early_once_it_is_enough_or_stalls(clients):
    client, task = clients.clients[0], clients.tasks()[0]
    seen = Seen(clients.weights, task.gradient(clients.weights))
    assert matched(client.x, client.y, [seen], 0.04, GradientMatchingSettings(enough=100)).steps == 1
    nothing = Seen(clients.weights, {name: torch.zeros_like(w) for name, w in clients.weights.items()})
    stalled = matched(client.x, client.y, [nothing], 0.04, GradientMatchingSettings(lr=1e-9, steps=200))
    assert 50 < stalled.steps < 60
    assert torch.isfinite(stalled.log_entries).all()


def test_more_nodes_than_features_are_no_error():
    narrow = Clients(seed=1)
    narrow.data.x = narrow.data.x[:, :20]
    narrow.clients = [replace(c, x=c.x[:, :20]) for c in narrow.clients]
    narrow.weights = initial_weights(RECIPE, 20, CLASSES, np.random.SeedSequence(1))
    assert np.isfinite(narrow.judged(GradientMatching(steps=50), narrow.sent()).score).all()


def test_the_same_twice(clients):
    one, again = (clients.judged(GradientMatching(steps=30), clients.sent()).score for _ in range(2))
    np.testing.assert_array_equal(one, again)


def test_truth_does_not_reach_the_scores(clients):
    others = replace(clients.secrets, truth=np.random.default_rng(0).permutation(clients.secrets.truth))
    attack = GradientMatching(steps=30)
    counts = {"links": None}
    given, _ = clients.secrets.grant(clients.data, adversary(), np.random.SeedSequence(3))
    counts["links"] = given.knowledge.links  # the numbers of edges stay as they are
    ours, theirs = (clients.judged(attack, clients.sent(), secrets=s, **counts) for s in (clients.secrets, others))
    np.testing.assert_array_equal(ours.score, theirs.score)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"w1": torch.zeros(3, 8)}, "expected 'w1'"),
        ({"b1": torch.full((8,), float("nan"))}, "'b1' is not finite"),
        ({"r1": torch.zeros(1)}, "expected a GCN's"),
    ],
)
def test_a_broken_gradient_is_refused(clients, changed, says):
    with pytest.raises(InputError, match=says):
        clients.judged(GradientMatching(), clients.sent(**changed))


def test_it_says_why_it_does_not_apply(clients, monkeypatch):
    with pytest.raises(InputError, match="set sgd_rate"):
        clients.judged(GradientMatching(), clients.uploaded(0.1))
    with pytest.raises(InputError, match="the model is a sage"):
        clients.judged(GradientMatching(), clients.sent(), TrainingConfig(architecture="sage"))
    with pytest.raises(InputError, match="none is known"):
        clients.judged(GradientMatching(), clients.sent(), labels=torch.full((NODES,), -1))
    monkeypatch.setattr("gaudit.attacks.links.gradient_matching.LARGEST", 50)
    with pytest.raises(InputError, match=r"a client holds 60 nodes, .* at most 50"):
        clients.judged(GradientMatching(), clients.sent())


def test_a_client_that_sent_nothing_is_named(clients):
    transcript = clients.sent()
    transcript.messages = [m for m in transcript.messages if m.sender != "client:1"]
    with pytest.raises(InputError, match="no 'gradient' of client:1"):
        clients.judged(GradientMatching(steps=1), transcript)
