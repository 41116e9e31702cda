"""Clients of one's own with and without a property: how they are drawn, what they learn, whom they hear."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from gaudit.attacks.ownership.property_shadows import PropertyShadows
from gaudit.attacks.ownership.shadow_clients import LocalSteps, Panel, shadow_clients, side_by_side
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.channel import Channel
from gaudit.targets.controls.planted_density import PlantedDensity
from gaudit.targets.controls.planted_property import PlantedProperty
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.games.group_density import DensityKnowledge
from gaudit.targets.games.group_property import PropertyKnowledge
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from support.adversaries import adversary

SEED = np.random.SeedSequence(0)
RECIPE = TrainingConfig(hidden=8, dropout=0, weight_decay=0)
CLASSES, CLIENTS = 3, 4


def knowledge(nodes: int = 240, seed: int = 0) -> PropertyKnowledge:
    """A ring of people whose features say their class, with noise; of every other one the label is known."""
    rng = np.random.default_rng(seed)
    y = torch.from_numpy(rng.integers(0, CLASSES, nodes))
    x = torch.eye(CLASSES)[y].repeat(1, 4) + torch.from_numpy(rng.normal(size=(nodes, 12))).float()
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    labels = y.clone()
    labels[::2] = -1
    return PropertyKnowledge(
        subjects=torch.arange(CLIENTS) * CLASSES + 1,
        members=2,
        classes=CLASSES,
        game="group-property",
        shares=torch.full((CLASSES,), 1 / CLASSES),
        x=x.float(),
        edges=torch.cat([ring, ring.flip(0)], 1),
        labels=labels,
        asked_shares=(0.1, 0.5),
        clients=CLIENTS,
        recipe=RECIPE,
    )


def attack(**settings) -> PropertyShadows:
    return PropertyShadows(**{"shadows": 40, "local_epochs": 1, "optimiser": "sgd", "lr": 0.5} | settings)


def federation(property_of: list[bool], seed: int, gradient: bool = False) -> Channel:
    """Clients with many labels of class 1 or few, of another draw of people, who take one step of their own."""
    told = knowledge(seed=seed)
    parts = shadow_clients(told, 2 * CLIENTS, np.random.SeedSequence(seed))
    channel, weights = Channel(), initial_weights(RECIPE, 12, CLASSES, np.random.SeedSequence(seed))
    channel.send("global-model", "server", "clients", 0, weights)
    few, many = parts[::2], parts[1::2]
    for number, has in enumerate(property_of):
        own = many[number] if has else few[number]
        gradients = LocalTask.of(own, Subgraph.of(RECIPE, own.x, own.edges)).gradient(weights)
        if gradient:
            channel.send("gradient", f"client:{number}", "server", 0, gradients)
        else:
            after = {name: weights[name] - 0.5 * gradients[name] for name in weights}
            channel.send("update", f"client:{number}", "server", 0, after)
    return channel


@pytest.mark.parametrize("gradient", [False, True])
def test_who_has_the_property_is_told_from_who_has_not(gradient):
    truth = [True, False, False, True]
    view = federation(truth, 5, gradient).transcript.seen_by("server")
    found = attack()(view, knowledge(), SEED).score
    assert found[truth].min() > found[[not one for one in truth]].max()


def test_lots_that_no_client_follows_are_not_told():
    """Nobody has the property; the AUC against lots drawn apart is one half, within four standard errors."""
    rng, aucs = np.random.default_rng(0), list[float]()
    for seed in range(24):
        view = federation([False] * CLIENTS, seed).transcript.seen_by("server")
        score = attack(shadows=16)(view, knowledge(), np.random.SeedSequence(seed)).score
        aucs.append(roc_auc_score(rng.permutation([True, True, False, False]), score))
    error = np.sqrt((2 + 2 + 1) / (12 * 2 * 2) / 24)  # of Mann and Whitney's statistic without ties
    assert abs(np.mean(aucs) - 0.5) <= 4 * error


def test_shadow_clients_have_the_shares_in_turn_and_labels_that_nobody_trains_on():
    told = knowledge()
    parts = shadow_clients(told, 20, SEED)
    assert len(parts) == 20
    for number, part in enumerate(parts):
        own = part.y[part.train]
        assert (own >= 0).all()
        assert float((own == 1).float().mean()) == pytest.approx(0.5 if number % 2 else 0.1, abs=0.06)
        assert torch.equal(part.x, told.x[part.nodes])


def test_too_few_labels_are_said():
    told = knowledge()
    told.labels[told.labels == 1] = -1
    with pytest.raises(InputError, match="0 parts have enough labels that nobody trains on"):
        shadow_clients(told, 8, SEED)


def test_a_client_that_is_not_heard_has_the_mean_of_the_others():
    channel = federation([True, False, True], 2)
    found = attack()(channel.transcript.seen_by("server"), knowledge(), SEED).score
    assert found[3] == pytest.approx(found[:3].mean())


def test_the_head_may_stay_at_home():
    channel, heard = federation([True, False, False, True], 5), Channel()
    for message in channel.transcript.messages:
        kept = {name: tensor for name, tensor in message.tensors.items() if name in ("w1", "b1")}
        heard.send(message.kind, message.sender, message.receiver, message.round, kept)
    found = attack(shadows=100)(heard.transcript.seen_by("server"), knowledge(), SEED).score
    assert np.isfinite(found).all()
    assert len(set(found.tolist())) == CLIENTS


@pytest.mark.parametrize(
    ("tensors", "match"),
    [
        ({"other": torch.ones(2)}, "no weights that were sent"),
        ({"w2": torch.ones(2, 2)}, "not shaped as the weights sent"),
        ({"w2": torch.full((8, 3), torch.nan)}, "not finite"),
    ],
)
def test_what_does_not_fit_is_refused(tensors, match):
    channel = Channel()
    channel.send("global-model", "server", "clients", 0, initial_weights(RECIPE, 12, CLASSES, SEED))
    for number in range(CLIENTS):
        channel.send("update", f"client:{number}", "server", 0, tensors)
    with pytest.raises(InputError, match=match):
        attack()(channel.transcript.seen_by("server"), knowledge(), SEED)


def test_several_models_in_one_update_are_refused():
    channel = Channel()
    several = {f"{j}/w2": torch.zeros(8, 3) for j in range(2)}
    channel.send("component-models", "server", "clients", 0, several)
    for number in range(CLIENTS):
        channel.send("component-updates", f"client:{number}", "server", 0, several)
    with pytest.raises(
        InputError, match="'component-updates' of client:0 holds '0/w2', which is no weight of one gcn"
    ):
        attack()(channel.transcript.seen_by("server"), knowledge(), SEED)


def test_peers_that_began_alike_share_a_judge_and_others_do_not():
    """Messages of what peers began with are made on the way: two of them may have one address."""
    channel = Channel()
    for number, start in enumerate((0, 1, 0)):
        weights = initial_weights(RECIPE, 12, CLASSES, np.random.SeedSequence(start))
        channel.send("global-model", "server", f"client:{number}", 0, weights)
        channel.send("update", f"client:{number}", "server", 0, {name: w + 0.1 for name, w in weights.items()})
    messages = channel.transcript.messages
    panel = Panel.of(knowledge(), 8, LocalSteps(1, "sgd", 0.5))
    told = [panel.judged(messages[place + 1], messages[place]) for place in (0, 2, 4)]
    assert len(panel.judges) == 2
    assert told[0] == told[2] != told[1]


def test_clients_that_read_other_features_are_refused():
    channel = Channel()
    weights = initial_weights(RECIPE, 15, CLASSES, SEED)
    channel.send("global-model", "server", "clients", 0, weights)
    for number in range(CLIENTS):
        channel.send("update", f"client:{number}", "server", 0, weights)
    with pytest.raises(InputError, match="clients read something else"):
        attack()(channel.transcript.seen_by("server"), knowledge(), SEED)


def test_a_row_does_not_say_how_far_the_steps_went():
    change = {"w": torch.tensor([[3.0, 4.0]]).double(), "b": torch.zeros(2).double()}
    assert side_by_side(change).tolist() == [0.6, 0.8, 0.0, 0.0]
    assert side_by_side({name: 7 * tensor for name, tensor in change.items()}) == pytest.approx([0.6, 0.8, 0, 0])


def test_it_finds_the_control():
    data = load_dataset("planted")
    run = PlantedProperty()(data, Defense(), SEED, lambda message: True)
    (game,) = run.secrets.values()
    given, _ = game.grant(data, adversary(own_data=True, recipe=run.recipe), SEED)
    score = PropertyShadows()(run.transcript.seen_by("server"), given.knowledge, SEED).score
    assert roc_auc_score(game.truth, score) == 1.0


def test_knowledge_holds_no_label_that_a_client_may_train_on():
    data = load_dataset("citations")
    target = FedAvg(clients=8, rounds=1, local_epochs=1, asked_class=0, partition="dirichlet", beta=1e4)
    run = target(data, Defense(), SEED, lambda message: True)
    (game,) = run.secrets.values()
    rich = game.grant(data, adversary(own_data=True), SEED)[0].knowledge
    assert (rich.labels[torch.from_numpy(game.trained)] == -1).all()
    left = np.setdiff1d(np.arange(data.num_nodes), game.trained)
    assert torch.equal(rich.labels[left], data.y[left])
    assert len(game.trained) == pytest.approx(0.6 * data.num_nodes, rel=0.02)
    poor = game.grant(data, adversary(), SEED)[0].knowledge
    assert not isinstance(poor, PropertyKnowledge)
    assert "not who holds which node" in rich.sentence()


def linked(nodes: int = 240, seed: int = 0) -> DensityKnowledge:
    """The same people in question for their links: everybody has four, the labels of half are known."""
    told = knowledge(nodes, seed)
    further = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 2) % nodes])
    return DensityKnowledge(
        subjects=torch.arange(CLIENTS),
        members=2,
        classes=CLASSES,
        game="group-density",
        x=told.x,
        edges=torch.cat([told.edges, further, further.flip(0)], 1),
        labels=told.labels,
        asked_shares=(0.2, 1.0),
        clients=CLIENTS,
        recipe=RECIPE,
    )


def test_shadow_clients_are_left_the_shares_of_links_in_turn():
    told = linked()
    whole = {tuple(pair) for pair in told.edges.t().tolist()}
    parts = shadow_clients(told, 12, SEED)
    for number, part in enumerate(parts):
        own = set(part.nodes.tolist())
        all_own = sum(a in own and b in own for a, b in whole) // 2
        assert {tuple(pair) for pair in part.nodes[part.edges].t().tolist()} <= whole
        assert part.edges.shape[1] // 2 == round((1.0 if number % 2 else 0.2) * all_own)
        assert torch.equal(part.train, part.y >= 0)


def test_who_was_left_many_links_is_told_from_who_was_left_few():
    truth, channel = [True, False, False, True], Channel()
    parts, weights = shadow_clients(linked(seed=5), 2 * CLIENTS, SEED), initial_weights(RECIPE, 12, CLASSES, SEED)
    channel.send("global-model", "server", "clients", 0, weights)
    for number, has in enumerate(truth):
        own = parts[2 * number + has]
        gradient = LocalTask.of(own, Subgraph.of(RECIPE, own.x, own.edges)).gradient(weights)
        channel.send("gradient", f"client:{number}", "server", 0, gradient)
    found = attack()(channel.transcript.seen_by("server"), linked(), SEED).score
    assert found[truth].min() > found[[not one for one in truth]].max()


def test_lots_of_links_that_no_client_follows_are_not_told():
    """Everybody was left as many; the AUC against lots drawn apart is one half, within four standard errors."""
    rng, aucs = np.random.default_rng(0), list[float]()
    for seed in range(24):
        parts, channel = shadow_clients(linked(seed=seed), 2 * CLIENTS, SEED), Channel()
        weights = initial_weights(RECIPE, 12, CLASSES, np.random.SeedSequence(seed))
        channel.send("global-model", "server", "clients", 0, weights)
        for number, own in enumerate(parts[1::2]):
            gradient = LocalTask.of(own, Subgraph.of(RECIPE, own.x, own.edges)).gradient(weights)
            channel.send("gradient", f"client:{number}", "server", 0, gradient)
        score = attack(shadows=16)(channel.transcript.seen_by("server"), linked(), SEED).score
        aucs.append(roc_auc_score(rng.permutation([True, True, False, False]), score))
    error = np.sqrt((2 + 2 + 1) / (12 * 2 * 2) / 24)  # of Mann and Whitney's statistic without ties
    assert abs(np.mean(aucs) - 0.5) <= 4 * error


def test_it_finds_the_control_of_links():
    data = load_dataset("citations")
    run = PlantedDensity()(data, Defense(), SEED, lambda message: True)
    (game,) = run.secrets.values()
    given, _ = game.grant(data, adversary(own_data=True, recipe=run.recipe), SEED)
    score = PropertyShadows()(run.transcript.seen_by("server"), given.knowledge, SEED).score
    assert roc_auc_score(game.truth, score) > 0.95
