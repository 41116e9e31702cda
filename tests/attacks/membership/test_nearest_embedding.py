"""Membership by likeness to embeddings that clients tell each other."""

import numpy as np
import pytest
import torch

from gaudit.attacks.membership.nearest_embedding import NearestEmbedding
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.federated_condensation.collaboration import Statistics
from gaudit.targets.messages import EMBEDDINGS_KIND, GLOBAL_KIND, STATISTICS_KIND
from gaudit.targets.models.propagation import gcn_operator

EVERY = [{"compare": "nodes"}, {"compare": "nodes", "differences": True}, {"compare": "norms"}]
MEANS = [{"compare": "prototypes"}, {"compare": "prototypes", "differences": True}]


def told(world, nodes, rounds=2, hidden=64, seed=0, senders=1):
    """What clients tell client:0 of the embeddings of some nodes under weights that change from round to round."""
    draw, channel = torch.Generator().manual_seed(seed), Channel()
    rows = (gcn_operator(world.data.edge_index, world.data.num_nodes) @ world.data.x)[nodes]
    for round_ in range(rounds):
        w1, b1 = torch.randn(rows.shape[1], hidden, generator=draw), torch.randn(hidden, generator=draw)
        channel.send(GLOBAL_KIND, "server", "clients", round_, {"w1": w1, "b1": b1})
        for number, part in enumerate(rows.chunk(senders), 1):
            embeddings = part @ w1 + b1
            content = {"nodes": torch.arange(len(part)), "embeddings": embeddings}
            channel.send(EMBEDDINGS_KIND, f"client:{number}", "client:0", round_, content)
            statistics = Statistics.of(embeddings).tensors()
            channel.send(STATISTICS_KIND, f"client:{number}", "client:0", round_, statistics)
    return channel.transcript


def judged(world, transcript, **settings):
    return world.judged(NearestEmbedding(**settings), transcript, "client:0")


@pytest.mark.parametrize("settings", EVERY)
def test_planted_embeddings_of_members_are_found(world, settings):
    found = auc_finding([judged(world, told(world, world.members), **settings)])
    assert found.estimate > 0.97  # two nodes with like neighbourhoods are alike


@pytest.mark.parametrize("settings", MEANS)
def test_planted_means_of_single_members_are_found(world, settings):
    """A client whose mean is that of one node tells that node."""
    found = auc_finding([judged(world, told(world, world.members, senders=50), **settings)])
    assert found.estimate > 0.97  # two nodes with like neighbourhoods are alike


@pytest.mark.parametrize("settings", [*EVERY, *MEANS])
def test_null_embeddings_of_other_nodes_are_chance(make_world, at_chance, settings):
    worlds = [make_world(seed) for seed in range(40)]
    at_chance([judged(w, told(w, w.strangers, seed=n), **settings) for n, w in enumerate(worlds)])


def test_null_scrambled_truth_is_chance(world, at_chance):
    found = judged(world, told(world, world.members))
    at_chance([found.scrambled(np.random.default_rng(seed)) for seed in range(40)])


def test_null_blind_baseline_is_chance(make_world, at_chance):
    at_chance([make_world(seed).judged_blind(NearestEmbedding(), seed=seed) for seed in range(40)])


def test_what_the_observer_sent_itself_tells_it_nothing(world):
    transcript = told(world, world.members)
    with pytest.raises(InputError, match="no others' embeddings"):
        world.judged(NearestEmbedding(), transcript, "client:1")


def test_differences_need_two_rounds(world):
    with pytest.raises(InputError, match="two rounds"):
        judged(world, told(world, world.members, rounds=1), differences=True)


def test_norms_have_no_differences():
    with pytest.raises(InputError, match="nodes or prototypes"):
        NearestEmbedding(compare="norms", differences=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"nodes": torch.arange(2), "embeddings": torch.full((2, 64), torch.nan)}, "finite"),
        ({"nodes": torch.arange(3), "embeddings": torch.zeros(2, 64)}, r"nodes \[k\]"),
        ({"embeddings": torch.zeros(2, 64)}, r"nodes \[k\]"),
    ],
)
def test_misshapen_messages_are_named(world, content, message):
    transcript = told(world, world.members, rounds=1)
    channel = Channel(transcript)
    channel.send(EMBEDDINGS_KIND, "client:3", "client:0", 0, content)
    with pytest.raises(InputError, match=message):
        judged(world, transcript)


def test_a_model_of_other_features_is_refused(world):
    channel = Channel()
    channel.send(GLOBAL_KIND, "server", "clients", 0, {"w1": torch.zeros(7, 4), "b1": torch.zeros(4)})
    content = {"nodes": torch.arange(2), "embeddings": torch.zeros(2, 4)}
    channel.send(EMBEDDINGS_KIND, "client:1", "client:0", 0, content)
    with pytest.raises(InputError, match="reads 7 features"):
        judged(world, channel.transcript)


def test_a_joint_observer_does_not_compare_with_what_its_members_sent(world):
    transcript = told(world, world.members)
    with pytest.raises(InputError, match="no others' embeddings"):
        world.judged(NearestEmbedding(), transcript, "client:0+client:1")


def refused(world, change, **settings):
    """What is said of a transcript whose messages were changed by who wrote the file."""
    channel = Channel()
    for message in told(world, world.members).messages:
        tensors = change(message.kind, message.round, dict(message.tensors))
        channel.send(message.kind, message.sender, message.receiver, message.round, tensors)
    with pytest.raises(InputError) as caught:
        judged(world, channel.transcript, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("lost", ["w1", "b1"])
def test_weights_without_a_first_layer_are_refused_in_one_line(world, lost):
    def change(kind, round_, tensors):
        return {n: v for n, v in tensors.items() if kind != GLOBAL_KIND or n != lost}

    assert "first layer" in refused(world, change)


def test_weights_that_do_not_fit_each_other_are_refused_in_one_line(world):
    def change(kind, round_, tensors):
        return {**tensors, "b1": tensors["b1"][:3]} if kind == GLOBAL_KIND else tensors

    assert "first layer" in refused(world, change)


@pytest.mark.parametrize("settings", [EVERY[0], MEANS[0]])
def test_embeddings_of_another_width_are_refused_in_one_line(world, settings):
    def change(kind, round_, tensors):
        if kind == GLOBAL_KIND:
            return {"w1": tensors["w1"][:, :5], "b1": tensors["b1"][:5]}
        return tensors

    assert "length 64, the model's 5" in refused(world, change, **settings)


def test_widths_that_change_between_rounds_have_no_differences(world):
    def change(kind, round_, tensors):
        if round_ == 0:
            return tensors
        if kind == GLOBAL_KIND:
            return {"w1": tensors["w1"][:, :5], "b1": tensors["b1"][:5]}
        if kind == EMBEDDINGS_KIND:
            return {**tensors, "embeddings": tensors["embeddings"][:, :5]}
        return tensors

    assert "changes its width" in refused(world, change, compare="nodes", differences=True)


@pytest.mark.parametrize("content", [("norms", "norms"), ("prototype", "prototypes")])
def test_statistics_of_nothing_are_refused_in_one_line(world, content):
    name, compare = content

    def change(kind, round_, tensors):
        return {**tensors, name: tensors[name][:0]} if kind == STATISTICS_KIND else tensors

    assert name in refused(world, change, compare=compare)


def test_embeddings_of_no_nodes_tell_nothing(world):
    def change(kind, round_, tensors):
        return {n: v[:0] for n, v in tensors.items()} if kind == EMBEDDINGS_KIND else tensors

    assert "sees no others' embeddings" in refused(world, change)
