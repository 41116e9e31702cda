"""Federated averaging of whole graphs: plain training by one client, the round that answers, what stays at home."""

import numpy as np
import pytest
import torch

from gaudit.attacks.ownership.class_shares import ClassShares
from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.graphs.collection import by_graph
from gaudit.randomness import branch
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.graph_federation.chosen_round import ChosenRound
from gaudit.targets.graph_federation.graph_clients import graph_clients
from gaudit.targets.messages import GLOBAL_KIND, GRADIENT_KIND, MODEL_KIND, UPDATE_KIND, VALIDATED_KIND
from gaudit.targets.models.graph_models import asker, trainer
from gaudit.targets.models.training_task import Query, TrainingTask

SMALL = {"clients": 3, "hidden": 8, "rounds": 6, "lr": 0.01, "features": "given"}
DATA = forty_graphs()


def ran(name="graph-fedavg", **settings):
    made = find("targets", name)(**(SMALL | settings))
    return made(DATA, Defense(), np.random.SeedSequence(0), lambda message: True)


def test_one_client_with_all_graphs_trains_as_graph_classifier_does():
    one = {"clients": 1, "dropout": 0.0, "answers": "last", "rounds": 15}
    done = ran(**one)
    sent = done.transcript.messages
    first = next(m for m in sent if m.kind == GLOBAL_KIND).tensors
    (game,) = (g for name, g in done.secrets.items() if name == "graph-membership")
    members = torch.zeros(len(by_graph(DATA, "y")), dtype=torch.bool)
    members[torch.from_numpy(game.subjects[game.truth])] = True
    data = DATA.clone()
    data.y = by_graph(DATA, "y")
    recipe = find("targets", "graph-fedavg")(**(SMALL | one)).settings.recipe(15)
    task = TrainingTask(data=data, members=members[None], classes=2, recipe=recipe)
    train = trainer(task, [Query(torch.arange(len(members)), data.edge_index)])
    _, _, plain = train(0, dict(first), np.random.SeedSequence(1))
    told = next(m for m in sent if m.kind == MODEL_KIND).tensors
    assert set(told) == set(plain)
    for name, weight in plain.items():
        torch.testing.assert_close(told[name], weight, atol=1e-5, rtol=1e-4)
        assert not torch.equal(told[name], first[name])


def test_the_round_that_answers_has_most_validation_graphs_right_and_is_the_last_of_such():
    done = ran(rounds=12)
    counts = np.zeros(13)
    for message in done.transcript.messages:
        if message.kind == VALIDATED_KIND:
            counts[message.round] += float(message.tensors["count"])
    best = int(np.flatnonzero(counts == counts.max())[-1])
    assert f"weights of round {best} of 12" in done.notes[1]
    clients = graph_clients(DATA, 3, "random", 1.0, (0.5, 0.4), np.random.SeedSequence(0))
    assert done.utility.validation == pytest.approx(counts.max() / sum(int(c.val.sum()) for c in clients))
    handed = next(m for m in done.transcript.messages if m.kind == GLOBAL_KIND and m.round == best).tensors
    told = next(m for m in done.transcript.messages if m.kind == MODEL_KIND).tensors
    assert all(torch.equal(handed[name], weight) for name, weight in told.items())


def test_test_graphs_have_no_say():
    """Other labels of graphs that are tested on change nothing that is sent."""
    done = ran()
    (game,) = (g for name, g in done.secrets.items() if name == "graph-membership")
    tested = torch.from_numpy(game.subjects[~game.truth])
    other, labels = DATA.clone(), by_graph(DATA, "y").clone()
    labels[tested] = 1 - labels[tested]
    other.y = labels if len(DATA.y) == len(labels) else labels[DATA.graph_of]
    made = find("targets", "graph-fedavg")(**SMALL)
    again = made(other, Defense(), np.random.SeedSequence(0), lambda message: True)
    assert again.notes == done.notes
    one, two = (next(m for m in r.transcript.messages if m.kind == MODEL_KIND).tensors for r in (done, again))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert again.utility.test == pytest.approx(1 - done.utility.test)


def test_of_equally_good_rounds_the_last_is_kept():
    chosen = ChosenRound()
    for round_, right in enumerate((3, 5, 4, 5, 2)):
        chosen.consider({"w": torch.tensor(float(round_))}, right, round_)
    assert (chosen.round, chosen.right, float(chosen.model["w"])) == (3, 5, 3.0)


def test_who_trains_alone_sends_nothing_but_answers():
    kinds = {m.kind for m in ran(shared="nothing").transcript.messages}
    assert kinds == {"posteriors-full"}


def test_gradients_of_one_batch_are_those_of_plain_steps():
    """With one plain step of one batch an update is the common weights less lr times what is uploaded otherwise."""
    plain = {"rounds": 2, "optimiser": "sgd", "dropout": 0.0, "weight_decay": 0.0, "answers": "last"}
    both = {how: ran(upload=how, **plain).transcript.messages for how in ("weights", "gradients")}
    models = {how: next(m for m in sent if m.kind == MODEL_KIND).tensors for how, sent in both.items()}
    for name, weight in models["weights"].items():
        torch.testing.assert_close(models["gradients"][name], weight, atol=1e-6, rtol=1e-5)
    assert UPDATE_KIND not in {m.kind for m in both["gradients"]}
    first = next(m for m in both["weights"] if m.kind == GLOBAL_KIND).tensors
    sent = [m.tensors for m in both["gradients"] if m.kind == GRADIENT_KIND][:3]
    moved = [m.tensors for m in both["weights"] if m.kind == UPDATE_KIND][:3]
    for gradient, update in zip(sent, moved, strict=True):
        torch.testing.assert_close(first["w"] - 0.01 * gradient["w"], update["w"], atol=1e-6, rtol=1e-5)


def test_gradients_are_of_batch_after_batch():
    sent = ran(upload="gradients", batch=3, rounds=4, clients=2).transcript.messages
    own = [m.tensors["b"] for m in sent if m.kind == GRADIENT_KIND and m.sender == "client:0"]
    assert len(own) == 4
    assert all(not torch.equal(one, own[0]) for one in own[1:])


def test_gradients_are_of_the_whole_model_and_asked_about_where_they_are_sent():
    made = find("targets", "graph-fedavg")
    assert "neighbourhood-presence" in made(upload="gradients").plays
    assert "neighbourhood-presence" not in made().plays
    assert "neighbourhood-presence" in ran(upload="gradients", batch=2).secrets
    with pytest.raises(InputError, match="leave shared=all"):
        made(upload="gradients", shared="convolutions")
    with pytest.raises(InputError, match="asked_radius is 2 at most"):
        made(upload="gradients", layers=2, asked_radius=3)


@pytest.mark.parametrize("how", ["random", "dirichlet", "size"])
def test_every_graph_has_one_owner_and_one_use(how):
    clients = graph_clients(DATA, 3, how, 2.0, (0.5, 0.3), np.random.SeedSequence(1))
    uses = torch.stack([getattr(c, use) for c in clients for use in ("train", "val", "test")])
    assert (uses.sum(0) == 1).all()
    assert (uses.sum(1) > 0).all()


def test_a_heads_bias_tells_shares_of_classes_in_closed_form():
    """After one plain step it moved by lr times (the client's share of a class less the mean answer)."""
    done = ran(clients=2, partition="dirichlet", rounds=1, optimiser="sgd", dropout=0.0, weight_decay=0.0)
    sent = done.transcript.messages
    first = next(m for m in sent if m.kind == GLOBAL_KIND).tensors
    made = find("targets", "graph-fedavg")(**SMALL)
    data = DATA.clone()
    data.y = by_graph(DATA, "y")
    everyone = torch.ones(1, len(data.y), dtype=torch.bool)
    task = TrainingTask(data=data, members=everyone, classes=2, recipe=made.settings.recipe(1))
    every = Query(torch.arange(len(data.y)), data.edge_index)
    (logits,) = asker(task, [every])(0, dict(first))
    seed = branch(np.random.SeedSequence(0), "clients")
    clients = graph_clients(DATA, 2, "dirichlet", 1.0, (0.5, 0.4), seed)
    for client, message in zip(clients, (m for m in sent if m.kind == UPDATE_KIND), strict=True):
        moved = (message.tensors["b"] - first["b"]) / 0.01
        share = client.class_counts() / client.class_counts().sum()
        torch.testing.assert_close(moved + logits.softmax(1)[client.train].mean(0), share, atol=1e-4, rtol=0)
        view = done.transcript.seen_by("server")
        told = ClassShares(read="bias")._table(view, [0, 1], 2)
        torch.testing.assert_close(told[client.number], (moved / moved.abs().max()).double(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("observer", ["public", "server", "client:2"])
@pytest.mark.parametrize("name", ["graph-fedavg", "gcfl", "fedstar"])
def test_an_audit_reads_what_everybody_sees_in_the_end(name, observer):
    """Whatever round answers, nothing that was sent later is lost."""
    plan = AttackPlan("loss", {}, observer)
    done = run_trial(TrialPlan(name, {**SMALL, "rounds": 12}, "none", {}, (plan,), 0, 0), DATA)
    assert not done.refused
    assert len(done.attacked) == 1
