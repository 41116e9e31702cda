"""Which classes clients have labels of, by hand and in small federations."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from gaudit.attacks.ownership.class_shares import ClassShares
from gaudit.audit.conformance.small_graphs import sixty_nodes
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.defense import Defense
from gaudit.targets.games.class_presence import ClassKnowledge
from support.adversaries import adversary

SEED = np.random.SeedSequence(0)
FEDERATION = {"clients": 3, "hidden": 16, "rounds": 5, "local_epochs": 2, "lr": 0.05}


def knowledge(clients: int = 2, classes: int = 3) -> ClassKnowledge:
    return ClassKnowledge(
        subjects=torch.arange(clients * classes),
        members=1,
        classes=classes,
        game="class-presence",
        shares=torch.tensor([0.5, 0.3, 0.2]),
    )


def scores(channel: Channel, **settings) -> list[list[float]]:
    view = channel.transcript.seen_by("server")
    return ClassShares(**settings)(view, knowledge(), SEED).score.reshape(2, 3).tolist()


def test_shares_are_read_as_they_are():
    channel = Channel()
    for k, told in enumerate(([0.7, 0.3, 0.0], [0.0, 0.5, 0.5])):
        channel.send("class-reliability", f"client:{k}", "server", -1, {"shares": torch.tensor(told)})
    assert scores(channel) == [pytest.approx([0.7, 0.3, 0.0]), pytest.approx([0.0, 0.5, 0.5])]


def test_of_moments_the_first_is_read_in_all_rounds():
    channel = Channel()
    for round_ in range(2):
        for k in range(2):
            raw = torch.tensor([[0.2 + round_, 0.8 - k, 0.0], [9.0, 9.0, 9.0]])
            content = {"raw": raw, "central": torch.zeros(2, 3), "confidence": torch.tensor(1.0)}
            channel.send("label-moments", f"client:{k}", "server", round_, content)
    assert scores(channel) == [pytest.approx([0.7, 0.8, 0.0]), pytest.approx([0.7, -0.2, 0.0], abs=1e-6)]


def test_of_answers_about_a_random_graph_what_differs_between_clients():
    channel = Channel()
    for k, told in enumerate(([1.0, 5.0, 2.0], [3.0, 5.0, 0.0])):
        channel.send("functional-embedding", f"client:{k}", "server", 0, {"mean": torch.tensor(told)})
    assert scores(channel) == [[-1.0, 0.0, 1.0], [1.0, 0.0, -1.0]]


def test_of_updates_the_largest_rise():
    channel = Channel()
    channel.send("global-model", "server", "clients", 0, {"w2": torch.ones(2, 3)})
    for k in range(2):
        change = torch.tensor([[0.1, -0.4, -0.2], [-0.1, 0.2 + k, -0.3]])
        channel.send("update", f"client:{k}", "server", 0, {"w2": 1 + change})
    assert scores(channel)[0] == pytest.approx([0.25, 0.5, -0.5])
    assert scores(channel)[1] == pytest.approx([0.1 / 1.2, 1.0, -0.2 / 1.2])


def test_of_several_models_in_one_update_the_largest_rise_in_any_or_the_sum_of_their_biases():
    channel = Channel()
    first, second = torch.tensor([[0.1, -0.4, -0.2]]), torch.tensor([[-0.2, -0.1, -0.3], [0.0, 0.2, -0.5]])
    biases = torch.tensor([0.3, 0.1, -0.2]), torch.tensor([-0.2, 0.3, -0.4])
    models = {"0/w2": first, "0/b2": biases[0], "1/w2": second, "1/b2": biases[1]}
    begun = {name: torch.full_like(tensor, 0.5) for name, tensor in models.items()}
    channel.send("component-models", "server", "clients", 0, begun)
    for k in range(2):
        moved = {name: begun[name] + tensor for name, tensor in models.items()}
        channel.send("component-updates", f"client:{k}", "server", 0, moved)
    assert scores(channel)[0] == pytest.approx([0.2, 0.4, -0.4])
    assert scores(channel, read="bias")[0] == pytest.approx([1 / 6, 4 / 6, -1.0], rel=1e-5)


def test_a_model_among_several_without_its_beginning_is_refused():
    channel = Channel()
    channel.send("component-models", "server", "clients", 0, {"0/w2": torch.zeros(1, 3)})
    for k in range(2):
        moved = {"0/w2": torch.ones(1, 3), "1/w2": torch.ones(1, 3)}
        channel.send("component-updates", f"client:{k}", "server", 0, moved)
    with pytest.raises(InputError, match="has no '1/w2' for 3 classes"):
        scores(channel)


def test_an_update_is_told_from_what_its_own_client_received():
    channel = Channel()
    for k in range(2):
        channel.send("global-model", "server", f"client:{k}", 0, {"w2": torch.full((1, 3), float(k))})
    for k in range(2):
        channel.send("update", f"client:{k}", "server", 0, {"w2": k + torch.tensor([[1.0, -1.0, 0.5]])})
    assert scores(channel) == [[1.0, -1.0, 0.5], [1.0, -1.0, 0.5]]


def test_hidden_embeddings_are_left_for_updates():
    channel = Channel()
    channel.send("global-model", "server", "clients", 0, {"w2": torch.zeros(1, 3)})
    for k in range(2):
        channel.send("functional-embedding", f"client:{k}", "server", 0, {"mean": torch.zeros(16)})
        channel.send("update", f"client:{k}", "server", 0, {"w2": torch.tensor([[1.0, 0.0, -1.0]])})
    assert scores(channel) == [[1.0, 0.0, -1.0]] * 2
    with pytest.raises(InputError, match="number for each of 3 classes"):
        scores(channel, read="function")


@pytest.mark.parametrize("bad", [torch.zeros(2), torch.full((3,), float("nan"))])
def test_misshapen_messages_are_refused(bad):
    channel = Channel()
    for k in range(2):
        channel.send("class-reliability", f"client:{k}", "server", -1, {"shares": bad})
    with pytest.raises(InputError, match="class-reliability"):
        scores(channel)


def test_a_client_that_said_nothing_is_named():
    channel = Channel()
    channel.send("class-reliability", "client:0", "server", -1, {"shares": torch.ones(3)})
    with pytest.raises(InputError, match="client:1 sent no message"):
        scores(channel)


def test_blind_it_says_how_common_a_class_is():
    found = ClassShares().blind(knowledge(), SEED).score
    assert found.tolist() == pytest.approx([0.5, 0.3, 0.2] * 2)


@pytest.mark.parametrize(
    ("target", "read", "least"), [("fedtad", "shares", 1.0), ("fedgta", "updates", 0.7), ("fedem", "updates", 0.7)]
)
def test_a_federation_tells_the_server(target, read, least):
    data = sixty_nodes()
    data.x = data.x.abs()
    made = find("targets", target)(**FEDERATION)
    run = made(data, Defense(), SEED, lambda message: True)
    game = run.secrets["class-presence"]
    given, _ = game.grant(data, adversary(), SEED)
    found = ClassShares(read=read)(run.transcript.seen_by("server"), given.knowledge, SEED)
    assert roc_auc_score(game.truth, found.score) >= least
