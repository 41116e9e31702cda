"""What a Flower app's server sees is recorded as it is: the same messages and numbers as gaudit's own run."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv, SAGEConv

import gaudit
from gaudit import InputError
from gaudit.audit.running.trial import run_trial
from gaudit.targets.recording import about_recording, read_recording
from support.fake_flower import Grid, message
from support.flower_world import CLIENTS, ROUNDS, UPLOADS, Net, World, live_plan, recorded_plan
from support.same_attacks import same_attacked
from support.sixty_nodes import sixty_nodes

NODES = {2**63 + 7: 2, 5: 1, 2**40: 0}
"""The partition of each node; nodes answer in the order of their ids."""
SEEN = {"global-model", "update"}


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """The training as gaudit runs it, and its record."""
    folder = tmp_path_factory.mktemp("live") / "run"
    return run_trial(live_plan(folder), sixty_nodes()), folder


def clients_of(world, tell=True):
    """Clients that train as gaudit's do, and say what partition they have."""

    def client(node, number):
        def answer(got):
            trains = got.metadata.message_type == "train"
            arrays = {name: array.numpy() for name, array in got.content.array_records["arrays"].items()}
            told = {"partition-id": number} if tell else {}
            return message(
                got.metadata.message_type,
                node,
                world.trained(number, arrays) if trains else None,
                metrics=told,
                reply_to=got,
            )

        return answer

    return Grid({node: client(node, number) for node, number in NODES.items()})


def federated(grid, world):
    """What a ServerApp does: rounds, and an evaluation of the last model."""
    arrays = world.start()
    for t in range(1, ROUNDS + 1):
        config = {"server-round": t}
        replies = grid.send_and_receive([message("train", node, arrays, config) for node in grid.get_node_ids()])
        by_partition = {r.content.metric_records["metrics"]["partition-id"]: r for r in replies}
        sent = [by_partition[n].content.array_records["arrays"] for n in range(CLIENTS)]
        arrays = world.mean([{name: array.numpy() for name, array in one.items()} for one in sent])
    grid.send_and_receive([message("evaluate", node, arrays, config) for node in grid.get_node_ids()])


def same_messages(one, other):
    """Two recordings of the same messages, to the bit."""
    ours, theirs = (
        [m for m in read_recording(folder).transcript.messages if m.kind in SEEN] for folder in (one, other)
    )
    assert len(ours) == ROUNDS * (1 + CLIENTS) + 1
    for a, b in zip(ours, theirs, strict=True):
        assert (a.kind, a.sender, a.receiver, a.round) == (b.kind, b.sender, b.receiver, b.round)
        assert a.tensors.keys() == b.tensors.keys()
        assert all(torch.equal(a.tensors[name], b.tensors[name]) for name in a.tensors)


def check_equal(folder, live):
    result, own = live
    same_messages(folder, own)
    again = run_trial(recorded_plan(folder), sixty_nodes())
    assert len(again.attacked) == len(UPLOADS)
    same_attacked(result, again)


def test_a_recorded_grid_sees_what_gaudit_sends_and_every_upload_attack_scores_it_alike(world, live, tmp_path):
    grid = gaudit.flower.record(clients_of(world), tmp_path / "run", names=world.names, **world.known)
    assert grid.run == "the run"  # all else is the grid's
    federated(grid, world)
    check_equal(tmp_path / "run", live)
    parties = about_recording(tmp_path / "run").parties
    assert {name: party.id for name, party in parties.items()} == {f"client:{n}": str(i) for i, n in NODES.items()}


def test_messages_that_are_pushed_and_pulled_are_recorded_alike(world, live, tmp_path):
    class Slow:
        """A server that pushes, and pulls one reply at a time."""

        def __init__(self, grid):
            self.grid, self.get_node_ids = grid, grid.get_node_ids

        def send_and_receive(self, messages):
            ids = self.grid.push_messages(messages)
            return [reply for one in sorted(ids) for reply in self.grid.pull_messages([one])]

    grid = gaudit.flower.record(clients_of(world), tmp_path / "run", names=world.names, **world.known)
    federated(Slow(grid), world)
    ours, theirs = (read_recording(folder).transcript for folder in (tmp_path / "run", live[1]))
    assert {(m.kind, m.sender, m.round) for m in ours.messages} == {
        (m.kind, m.sender, m.round) for m in theirs.messages if m.kind in SEEN
    }
    by_sender = {(m.sender, m.round): m for m in theirs.messages if m.kind == "update"}
    for m in ours.messages:
        if m.kind == "update":
            assert all(torch.equal(w, by_sender[m.sender, m.round].tensors[name]) for name, w in m.tensors.items())


def test_a_model_that_not_everybody_gets_goes_to_those_who_get_it(world, tmp_path):
    grid = gaudit.flower.record(clients_of(world), tmp_path / "run", names=world.names)
    chosen = sorted(NODES)[:2]
    grid.send_and_receive([message("train", node, world.start(), {"server-round": 1}) for node in chosen])
    found = read_recording(tmp_path / "run").transcript
    assert [(m.kind, m.sender, m.receiver) for m in found.messages] == [
        *(("global-model", "server", f"client:{n}") for n in (0, 1)),
        *(("update", f"client:{n}", "server") for n in (0, 1)),
    ]
    assert sorted(NODES[node] for node in chosen) == [0, 1]


def test_each_gets_its_own_model_where_they_differ(world, tmp_path):
    grid = gaudit.flower.record(clients_of(world), tmp_path / "run", names=world.names)
    start = world.start()
    own = {node: {name: w + NODES[node] for name, w in start.items()} for node in NODES}
    grid.send_and_receive([message("train", node, own[node]) for node in NODES])
    for m in read_recording(tmp_path / "run").transcript.messages[:CLIENTS]:
        node = next(node for node, n in NODES.items() if m.receiver == f"client:{n}")
        assert m.receiver != "clients"
        assert torch.equal(m.tensors["w1"], world.names(own[node])["w1"])


def test_who_does_not_say_which_partition_it_has_is_refused(world, tmp_path):
    grid = gaudit.flower.record(clients_of(world, tell=False), tmp_path / "run", names=world.names)
    with pytest.raises(InputError, match="tell_partition") as caught:
        grid.send_and_receive([message("train", node, world.start()) for node in NODES])
    assert "\n" not in str(caught.value)


def answering(number, arrays):
    """A client that says what it is told to."""
    return lambda node: lambda got: message("train", node, arrays, metrics={"partition-id": number}, reply_to=got)


@pytest.mark.parametrize(
    ("numbers", "match"),
    [((1, 1), "both say that they have partition 1"), ((-1, 0), "says its partition-id is -1")],
)
def test_partitions_that_cannot_be_are_refused(world, tmp_path, numbers, match):
    clients = {node: answering(n, world.start())(node) for node, n in zip((3, 4), numbers, strict=True)}
    grid = gaudit.flower.record(Grid(clients), tmp_path / "run", names=world.names)
    with pytest.raises(InputError, match=match):
        grid.send_and_receive([message("train", node, world.start()) for node in (3, 4)])


def test_a_node_whose_partition_changes_is_refused(world, tmp_path):
    clients = Grid({3: answering(0, world.start())(3)})
    grid = gaudit.flower.record(clients, tmp_path / "run", names=world.names)
    grid.send_and_receive([message("train", 3, world.start())])
    clients.clients[3] = answering(1, world.start())(3)
    with pytest.raises(InputError, match="said 0 before"):
        grid.send_and_receive([message("train", 3, world.start())])


def test_a_client_that_fails_is_left_out_and_the_others_are_recorded(world, tmp_path):
    whole = clients_of(world)
    failing = sorted(NODES)[0]
    answer = whole.clients[failing]

    def fails(got):
        reply = answer(got)
        reply._content = None
        return reply

    whole.clients[failing] = fails
    grid = gaudit.flower.record(whole, tmp_path / "run", names=world.names)
    replies = grid.send_and_receive([message("train", node, world.start()) for node in NODES])
    assert len(replies) == CLIENTS
    found = [m.sender for m in read_recording(tmp_path / "run").transcript.messages if m.kind == "update"]
    assert found == sorted(f"client:{n}" for node, n in NODES.items() if node != failing)


def test_names_of_pyg_models_are_gaudits_and_weights_are_turned():
    net = Net(5, 4, 3)
    found = gaudit.names(net)(net.state_dict())
    assert {name: tuple(w.shape) for name, w in found.items()} == {
        "w1": (5, 4),
        "b1": (4,),
        "w2": (4, 3),
        "b2": (3,),
    }
    assert torch.equal(found["w1"], net.conv1.lin.weight.t())
    sage = nn.ModuleList([SAGEConv(5, 4), SAGEConv(4, 3)])
    found = gaudit.names(sage)(sage.state_dict())
    assert torch.equal(found["r2"], sage[1].lin_r.weight.t())
    assert torch.equal(found["w1"], sage[0].lin_l.weight.t())
    mlp = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    assert torch.equal(gaudit.names(mlp)(mlp.state_dict())["b2"], mlp[2].bias)


def test_a_pyg_model_under_gaudits_names_computes_what_gaudits_does():
    from gaudit.targets.models.model_ensemble import ask_models
    from gaudit.targets.models.training_config import TrainingConfig
    from gaudit.targets.models.training_task import Query, TrainingTask

    data = sixty_nodes()
    for architecture, layer in (("gcn", GCNConv), ("sage", SAGEConv)):
        torch.manual_seed(0)
        net = nn.ModuleList([layer(data.num_features, 8), layer(8, 3)])
        expected = net[1](net[0](data.x, data.edge_index).relu(), data.edge_index)
        weights = {name: w[None] for name, w in gaudit.names(net)(net.state_dict()).items()}
        recipe = TrainingConfig(architecture=architecture, hidden=8)
        task = TrainingTask(data, torch.ones(1, 60, dtype=torch.bool), recipe, 3)
        (logits,) = ask_models(task, [Query(torch.arange(60), data.edge_index)], weights, device="cpu")
        assert torch.allclose(logits[0], expected, atol=1e-5)


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm, self.conv2 = GCNConv(5, 4), nn.BatchNorm1d(4), GCNConv(4, 3)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (Normed(), "norm.bias, norm.num_batches_tracked, norm.running_mean"),
        (nn.ModuleList([GCNConv(5, 4), GCNConv(4, 4), GCNConv(4, 3)]), "two layers of one kind"),
        (nn.ModuleList([GCNConv(5, 4), SAGEConv(4, 3)]), "two layers of one kind"),
        (nn.ModuleList([GCNConv(5, 4, improved=True), GCNConv(4, 3)]), "improved=True"),
        (nn.ModuleList([SAGEConv(5, 4, aggr="max"), SAGEConv(4, 3)]), "aggr=max"),
        (nn.ModuleList([GCNConv(5, 4, bias=False), GCNConv(4, 3)]), "lacks 0.bias"),
        (nn.ModuleList([GCNConv(4, 3), GCNConv(5, 4)]), "do not follow each other"),
        (nn.BatchNorm1d(3), "the model has none"),
    ],
)
def test_weights_without_a_name_are_listed_in_one_line(model, match):
    with pytest.raises(InputError, match=match) as caught:
        gaudit.names(model)
    assert "\n" not in str(caught.value)


def test_a_state_with_other_weights_is_refused():
    net = Net(5, 4, 3)
    state = net.state_dict()
    with pytest.raises(InputError, match="has no names for these weights of the model: extra"):
        gaudit.names(net)({**state, "extra": state["conv1.bias"]})
    del state["conv1.bias"]
    with pytest.raises(InputError, match=r"misses these weights of the model: conv1\.bias"):
        gaudit.names(net)(state)


@pytest.mark.skipif(
    importlib.util.find_spec("flwr") is None,
    reason="Flower is not installed: pip install -c constraints-flower.txt '.[flower]', apart from '.[ray]'",
)
def test_a_real_simulation_with_supernodes_is_recorded_as_gaudit_runs_it(live, world, tmp_path):
    tests = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": str(tests), "OMP_NUM_THREADS": "1", "FLWR_TELEMETRY_ENABLED": "0"}
    command = [sys.executable, "-m", "support.flower_app", str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    check_equal(tmp_path / "run", live)
    parties = about_recording(tmp_path / "run").parties
    assert sorted(parties) == [f"client:{n}" for n in range(CLIENTS)]
    server = {(m.sender, m.round): m for m in read_recording(tmp_path / "run").transcript.messages}
    for n in range(CLIENTS):  # what a client saw is its part of that
        seen = read_recording(tmp_path / "seen" / f"client-{n}").transcript.messages
        assert [(m.kind, m.round) for m in seen if m.sender != "server"] == [("update", t) for t in range(ROUNDS)]
        for m in seen:
            assert all(torch.equal(w, server[m.sender, m.round].tensors[name]) for name, w in m.tensors.items())


def test_the_world_learns_something_in_each_round(world):
    """Else equal transcripts would prove nothing."""
    start = world.start()
    sent = [world.trained(n, start) for n in range(CLIENTS)]
    assert all(not np.array_equal(one["conv1.lin.weight"], start["conv1.lin.weight"]) for one in sent)
    assert not np.array_equal(sent[0]["conv1.lin.weight"], sent[1]["conv1.lin.weight"])
