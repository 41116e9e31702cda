"""Changes of the first layer are linear in rows, whatever carried them, and say what was taken by decay."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.attacks.ownership.first_layer import changes_of, lost_to_decay, side_by_side, summed_changes
from gaudit.attacks.ownership.row_codes import row_codes
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.defense import Defense
from gaudit.targets.messages import CLASS_GRADIENTS_KIND, GLOBAL_KIND, GRADIENT_SUM_KIND, UPDATE_KIND
from gaudit.targets.models.propagation import gcn_operator
from gaudit.targets.models.training_config import TrainingConfig

WORDS = 150


def read(transcript, client="client:0", words=WORDS):
    return changes_of(transcript.seen_by("server"), client, words)


def errors_of(client, first, steps, lr):
    """The sum over plain steps of the loss's derivative by X W1, [n, h]: what a code should be, step by step."""
    operator = gcn_operator(client.edges, len(client.nodes)).to_dense()
    weights, total = {name: weight.clone() for name, weight in first.items()}, 0.0
    for _ in range(steps):
        free = {name: weight.requires_grad_() for name, weight in weights.items()}
        read = (client.x @ free["w1"]).detach().requires_grad_()
        hidden = torch.relu(operator @ read + free["b1"])
        F.cross_entropy(operator @ (hidden @ free["w2"]) + free["b2"], client.y).backward()
        total = total + read.grad
        by = {"w1": client.x.t() @ read.grad} | {name: free[name].grad for name in ("b1", "w2", "b2")}
        weights = {name: (free[name] - lr * by[name]).detach() for name in weights}
    return total


@pytest.mark.parametrize("steps", [1, 3])
def test_codes_are_what_the_loss_said_of_each_node(federation, steps):
    transcript = federation.uploads(steps=steps, lr=0.5)
    client, first = federation.clients[0], transcript.messages[0].tensors
    codes = row_codes(client.x, side_by_side(read(transcript)), 1e-9)
    torch.testing.assert_close(codes.float(), -0.5 * errors_of(client, first, steps, 0.5), atol=1e-5, rtol=1e-3)


def test_both_weights_of_a_sage_that_read_rows_are_there(federation):
    sage = TrainingConfig(architecture="sage", hidden=8, epochs=1, dropout=0)
    change = side_by_side(read(federation.uploads(recipe=sage)))
    assert change.shape == (WORDS, 16)
    left = change - row_fit(federation.clients[0].x, change)
    assert float(left.norm()) < 1e-5 * float(change.norm())


def row_fit(x, change):
    basis = torch.linalg.svd(x.double().t(), full_matrices=False).U
    return basis @ (basis.t() @ change)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_plain_steps_stay_in_the_span_of_rows_and_adams_do_not(federation, optimiser):
    change = side_by_side(read(federation.uploads(steps=5, optimiser=optimiser, lr=0.1)))
    outside = change - row_fit(federation.clients[0].x, change)
    share = float(outside.norm() / change.norm())
    assert share < 1e-5 if optimiser == "sgd" else share > 0.1


def test_decay_is_read_off(federation):
    told = read(federation.uploads(rounds=12, steps=4, lr=0.2, weight_decay=1e-2))
    by, since = (torch.cat([getattr(change, name) for change in told], 1) for name in ("by", "since"))
    assert lost_to_decay(by, since) == pytest.approx(1 - (1 - 0.2e-2) ** 4, rel=1e-3)
    without = side_by_side(told)
    outside = without - row_fit(federation.clients[0].x, without)
    assert float(outside.norm()) < 1e-4 * float(without.norm())


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_no_decay_is_seen_where_there_is_none(federation, optimiser):
    told = read(federation.uploads(rounds=12, steps=4, optimiser=optimiser, lr=0.2))
    by, since = (torch.cat([getattr(change, name) for change in told], 1) for name in ("by", "since"))
    assert abs(lost_to_decay(by, since)) < 1e-6


def test_control_variates_are_read_instead_of_corrected_updates():
    """SCAFFOLD's updates lie in the span of everybody's rows, its variates in that of the client's own."""
    data = load_dataset("citations")
    settings = {"rounds": 3, "clients": 4, "hidden": 8, "local_epochs": 2, "partition": "dirichlet"}
    run = find("targets", "scaffold")(**settings)(data, Defense(), np.random.SeedSequence(0), lambda m: True)
    holders, words = run.secrets["edge-presence"].holders, data.num_features
    told = side_by_side(read(run.transcript, words=words))
    assert told.shape == (words, 3 * 8)
    outside = told - row_fit(data.x[torch.from_numpy(holders == 0)], told)
    assert float(outside.norm()) < 1e-4 * float(told.norm())


@pytest.mark.parametrize(("alpha", "left"), [(0.0, 1e-5), (0.1, 0.02)])
def test_what_others_added_to_updates_of_feddc_is_taken_off(alpha, left):
    """Without a drift nothing of others is left. They have a seventh or more of what is uploaded in round 1."""
    data = load_dataset("citations")
    settings = {"rounds": 4, "clients": 4, "hidden": 8, "local_epochs": 3, "partition": "dirichlet", "alpha": alpha}
    run = find("targets", "feddc")(**settings)(data, Defense(), np.random.SeedSequence(0), lambda m: True)
    holders, words = run.secrets["edge-presence"].holders, data.num_features
    own = data.x[torch.from_numpy(holders == 0)]
    sent, common = (
        [m.tensors["w1"].double() for m in run.transcript.messages if (m.kind, m.sender) == head]
        for head in (("update", "client:0"), ("global-model", "server"))
    )
    told = read(run.transcript, words=words)
    assert [change.round for change in told] == [0, 1, 2, 3]
    for change in told:
        assert float((change.by - row_fit(own, change.by)).norm()) < left * float(change.by.norm())
    moved = sent[1] - common[1]
    assert float((moved - row_fit(own, moved)).norm()) > 0.15 * float(moved.norm())
    as_sent = changes_of(run.transcript.seen_by("server"), "client:0", words, as_sent=True)
    assert [change.round for change in as_sent] == [r for r in range(4) for _ in range(2 if alpha else 1)]
    assert any(torch.equal(change.by, moved) for change in as_sent)


def test_class_gradients_stand_side_by_side():
    channel, cell = Channel(), torch.ones(5, 2)
    sent = {"0/w1": cell, "2/w1": 2 * cell, "2/b1": torch.ones(2)}
    channel.send(CLASS_GRADIENTS_KIND, "client:0", "server", 0, sent)
    (found,) = read(channel.transcript, words=5)
    assert torch.equal(found.by, torch.cat([cell, 2 * cell], 1).double())


def test_an_update_is_a_change_of_what_its_own_client_received():
    """Where each client has weights of its own, those of another are no beginning."""
    channel = Channel()
    for k in range(2):
        channel.send(GLOBAL_KIND, "server", f"client:{k}", 0, {"w1": torch.full((5, 2), float(k))})
    channel.send(UPDATE_KIND, "client:0", "server", 0, {"w1": torch.full((5, 2), 3.0)})
    (found,) = read(channel.transcript, words=5)
    assert torch.equal(found.by, torch.full((5, 2), 3.0).double())


def sent(*messages):
    channel = Channel()
    for kind, tensor in messages:
        ends = ("server", "clients") if kind == GLOBAL_KIND else ("client:0", "server")
        channel.send(kind, *ends, 0, {"w1": tensor})
    return channel.transcript


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([(UPDATE_KIND, torch.ones(5, 2))], "round 0 cannot be read: the common weights"),
        ([(GLOBAL_KIND, torch.ones(5, 3)), (UPDATE_KIND, torch.ones(5, 2))], "other weights than the common"),
        ([(GLOBAL_KIND, torch.ones(5, 2)), (UPDATE_KIND, torch.full((5, 2), torch.nan))], "not finite"),
        ([(GLOBAL_KIND, torch.ones(4, 2)), (UPDATE_KIND, torch.ones(4, 2))], "nothing of a layer that reads 5"),
    ],
)
def test_what_cannot_be_read_is_refused(messages, fault):
    with pytest.raises(InputError, match=fault):
        read(sent(*messages), words=5)


@pytest.mark.parametrize("observer", ["server", "client:1"])
def test_the_step_of_common_weights_is_the_mean_of_sealed_changes(federation, observer):
    hidden, clear = federation.averages(rounds=3, steps=2, optimiser="adam", lr=0.01)
    found = summed_changes(hidden.seen_by(observer), WORDS)
    each = [read(clear, f"client:{number}") for number in range(3)]
    assert len(found) == 3
    for round_, change in enumerate(found):
        mean = sum(told[round_].by for told in each) / 3
        torch.testing.assert_close(change.by, mean, atol=1e-6, rtol=1e-3)
        still = (torch.stack([told[round_].by for told in each]) == 0).all(0)
        assert still.any()
        assert bool((change.by[still] == 0).all())


def test_a_secure_sum_of_gradients_is_read_as_it_is():
    channel = Channel()
    channel.hold(GRADIENT_SUM_KIND, "server", 0, {"w1": torch.ones(5, 2), "b1": torch.ones(2)})
    (found,) = summed_changes(channel.transcript.seen_by("server"), 5)
    assert torch.equal(found.by, torch.ones(5, 2).double())


def test_one_common_model_is_no_step():
    with pytest.raises(InputError, match="no sums of uploads and no two rounds of common weights"):
        summed_changes(sent((GLOBAL_KIND, torch.ones(5, 2))).seen_by("server"), 5)
