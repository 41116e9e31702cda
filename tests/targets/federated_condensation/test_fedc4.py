"""FedC4 on a graph of 60 nodes: who tells whom what, what is rebuilt, and that it is worth something."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.channel import StoppedError
from gaudit.targets.condensation.condensed import CondensedGraph
from gaudit.targets.federated_condensation.collaboration import Rebuilder, Statistics, cluster_of, selected
from gaudit.targets.federated_condensation.fedc4 import FedC4, _Collaborator, _links_kept
from gaudit.targets.models.propagation import dense_gcn_operator
from support.sixty_nodes import sixty_nodes

CONDENSING = {"ratio": 0.25, "rounds": 10, "hidden": 8}
TINY = {"clients": 3, "hidden": 8, "rounds": 3, "local_epochs": 2, "partition": "metis"}
CLIENTS = ("client:0", "client:1", "client:2")


def ran(seed=0, defense="none", data=None, condensing=None, **changes):
    settings = {**TINY, "condensing": {**CONDENSING, **(condensing or {})}, **changes}
    data = sixty_nodes() if data is None else data
    return FedC4(**settings)(data, find("defenses", defense)(), np.random.SeedSequence(seed), lambda _: True)


def of_kind(run, kind):
    return [m for m in run.transcript.messages if m.kind == kind]


def pairs(messages):
    return {(m.sender, m.receiver) for m in messages}


def test_condensed_nodes_go_from_client_to_client_and_the_server_sees_weights_alone():
    run = ran(broadcast="full")
    everybody = {(a, b) for a in CLIENTS for b in CLIENTS if a != b}
    for kind in ("embedding-statistics", "node-embeddings", "condensed-rows"):
        assert pairs(of_kind(run, kind)) == everybody
    seen = {m.kind for m in run.transcript.seen_by("server").messages}
    assert seen == {"update", "global-model", "model", "posteriors-full", "labelled-count"}
    assert {m.kind for m in run.transcript.messages} <= set(FedC4.sends)


def test_full_broadcast_sends_everything_to_all_and_rows_once():
    run = ran(broadcast="full")
    assert len(of_kind(run, "embedding-statistics")) == len(of_kind(run, "node-embeddings")) == 3 * 6
    rows = of_kind(run, "condensed-rows")
    assert len(rows) == 6
    assert {m.round for m in rows} == {0}
    for message in of_kind(run, "node-embeddings"):
        (own,) = [m for m in rows if (m.sender, m.receiver) == (message.sender, message.receiver)]
        assert torch.equal(message.tensors["nodes"], own.tensors["nodes"])


def test_embeddings_are_those_of_the_common_weights_and_statistics_theirs():
    run = ran(broadcast="full", condensing={"structure_steps": 0})
    for message in of_kind(run, "embedding-statistics"):
        (told,) = [
            m.tensors["embeddings"]
            for m in of_kind(run, "node-embeddings")
            if (m.round, m.sender, m.receiver) == (message.round, message.sender, message.receiver)
        ]
        assert torch.allclose(message.tensors["norms"], told.norm(dim=1), atol=1e-6)
        assert torch.allclose(message.tensors["prototype"], told.mean(0), atol=1e-6)


def test_only_nodes_like_the_others_mean_are_sent():
    tau = 0.5
    run = ran(tau=tau, delta=1e9)
    for message in of_kind(run, "node-embeddings"):
        (told,) = [
            m
            for m in of_kind(run, "embedding-statistics")
            if (m.round, m.sender, m.receiver) == (message.round, message.receiver, message.sender)
        ]
        likeness = F.cosine_similarity(message.tensors["embeddings"], told.tensors["prototype"][None])
        assert bool((likeness > tau).all())
        assert len(likeness)


def test_who_is_alone_in_its_cluster_is_told_nothing_and_trains_on():
    run = ran(delta=0.0)
    assert {m.round for m in of_kind(run, "embedding-statistics")} == {0}
    assert not of_kind(run, "node-embeddings")
    assert sum("alone in its cluster from round 0 on" in note for note in run.notes) == 3
    assert 0 <= run.utility.test <= 1


def test_a_client_of_one_condensed_node_takes_part():
    """It has no links to move: all its rounds move features."""
    data = sixty_nodes()
    data.y[data.train_mask.nonzero().flatten()] = 0
    run = ran(data=data, split="dataset", clients=1, condensing={"ratio": 0.02})
    assert run.notes[-1] == "1 to 1 condensed nodes for each client"


def test_links_to_nodes_that_stay_are_kept():
    """What is rebuilt when one node comes and one goes starts from the links among the others."""
    draw = torch.Generator().manual_seed(0)
    x = torch.rand(4, 3, generator=draw)
    party = _Collaborator(CondensedGraph(x[:2], torch.zeros(2).long(), torch.zeros(2, 2)), set())
    party.rebuilder, party.among = Rebuilder(x, 150.0, 250.0), [(1, 0), (2, 5)]
    party.rebuilder.links = torch.arange(16.0).view(4, 4)
    kept = _links_kept(party, [(2, 5), (2, 6)], 2)
    old = party.rebuilder.links
    assert torch.equal(kept[:3, :3], old[[0, 1, 3]][:, [0, 1, 3]])
    assert not kept[3].any()
    assert torch.equal(_links_kept(party, [], 2), old[:2, :2])


def test_one_client_needs_no_others():
    run = ran(clients=1, broadcast="full")
    assert not of_kind(run, "embedding-statistics")
    assert not any("alone" in note for note in run.notes)


def test_a_client_of_one_class_takes_part():
    data = sixty_nodes()
    data.y[:] = torch.arange(60) % 3
    data.y[data.train_mask.nonzero().flatten()] = 0
    run = ran(data=data, split="dataset", clients=1)
    assert np.isfinite(run.utility.test)


def test_what_a_defense_of_the_loss_does_not_reach_is_said():
    assert any("condensing alone" in note for note in ran(defense="adversarial-regularisation").notes)
    assert not any("condensing alone" in note for note in ran().notes)


def test_it_is_the_same_with_the_same_seed():
    one, same, other = (ran(seed) for seed in (0, 0, 1))
    last = [of_kind(run, "model")[-1].tensors["w1"] for run in (one, same, other)]
    assert torch.equal(last[0], last[1])
    assert not torch.equal(last[0], last[2])


@pytest.mark.dear
def test_models_trained_on_it_are_better_than_guessing():
    run = ran(rounds=60, local_epochs=5, lr=0.05, dropout=0.0, condensing={"rounds": 400})
    assert run.utility.test > 0.5


def test_rows_that_it_starts_from_are_told_apart():
    run = ran(condensing={"init": "real", "rounds": 1, "lr_features": 1e-12})
    secrets, data = run.secrets["label-membership"], sixty_nodes()
    copied = set(secrets.subjects[secrets.groups["members copied at first"] & secrets.truth].tolist())
    assert copied
    for message in of_kind(run, "condensed-rows"):
        for row in message.tensors["x"]:
            same = ((data.x - row).abs().max(1).values < 1e-6).nonzero().flatten().tolist()
            assert set(same) <= copied
            assert same
    assert not ran().secrets["label-membership"].groups


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"condensing": {"ratio": 0.02}}, "client:0: a condensed graph of 0 nodes leaves 2 of 2 classes empty"),
        ({"condensing": {"ratio": 1.5}}, "condensing.ratio"),
        ({"architecture": "gat"}, "architecture"),
        ({"condensing": {"lr_features": 1e30, "structure_steps": 0, "rounds": 60}}, "client:0: condensing stops"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(changes, message):
    with pytest.raises(InputError, match=message):
        ran(**changes)


def test_without_rebuilding_own_links_stay_and_received_nodes_have_none():
    """The ablation -GR: what is trained on is the condensed graph, with lone nodes beside it."""
    run = ran(rebuild=False, broadcast="full")
    told, last = run.figures, ran(rebuild=False, delta=0.0).figures
    assert last["density, rebuilt"] == pytest.approx(last["density, condensed"])
    assert told["density, condensed"] == pytest.approx(last["density, condensed"])
    assert 0 < told["density, rebuilt"] < told["density, condensed"]
    assert told["homophily, rebuilt"] == pytest.approx(told["homophily, condensed"])


def test_every_node_of_the_cluster_is_sent_without_node_selection():
    """The ablation -NS."""
    run, everything = ran(tau=-1.0, delta=1e9), ran(broadcast="full")
    for kind in ("condensed-rows", "node-embeddings"):
        for one, other in zip(of_kind(run, kind), of_kind(everything, kind), strict=True):
            assert torch.equal(one.tensors["nodes"], other.tensors["nodes"])


def test_more_steps_for_each_model_condense_further():
    """GCond's schedule: outer steps along the training of each model."""

    def rows(**condensing):
        run = ran(rounds=1, broadcast="full", condensing={"rounds": 3, **condensing})
        return torch.cat([m.tensors["x"] for m in of_kind(run, "condensed-rows")])

    one, between, still = rows(), rows(outer=3, inner=2), rows(outer=3)
    assert torch.equal(rows(outer=1, inner=2), one)  # there is no step to train the model before
    assert not torch.equal(between, one)
    assert not torch.equal(between, still)


def test_first_features_may_be_as_wide_as_those_of_the_released_code():
    narrow, wide = (ran(broadcast="full", condensing={"noise_deviation": sd, "rounds": 1}) for sd in (0.01, 1.0))
    rows = [torch.cat([m.tensors["x"] for m in of_kind(run, "condensed-rows")]).std() for run in (narrow, wide)]
    assert float(rows[0]) < 0.05
    assert float(rows[1]) == pytest.approx(1, abs=0.1)


# the parts


def test_a_cluster_is_who_has_like_norms():
    known = {n: Statistics(torch.full((5,), value), torch.zeros(2)) for n, value in enumerate((0.0, 1.0, 2.0, 9.0))}
    spread = float(torch.tensor([0.0, 1.0, 2.0, 9.0]).std(correction=0))
    assert cluster_of(0, known, 1.01 / spread) == {0, 1}
    assert cluster_of(1, known, 1.01 / spread) == {0, 1, 2}
    assert cluster_of(3, known, 1.01 / spread) == {3}
    assert cluster_of(0, known, 0.99 / spread) == {0}


@given(st.integers(0, 10**6), st.floats(0.1, 100), st.floats(-50, 50))
def test_clusters_do_not_depend_on_the_scale_of_norms(seed, scale, shift):
    draw = torch.Generator().manual_seed(seed)
    norms = [torch.rand(6, generator=draw, dtype=torch.double) + n % 2 for n in range(4)]
    one = {n: Statistics(value, torch.zeros(1)) for n, value in enumerate(norms)}
    other = {n: Statistics(scale * value + shift, torch.zeros(1)) for n, value in enumerate(norms)}
    assert cluster_of(0, one, 0.7) == cluster_of(0, other, 0.7)


def test_selected_nodes_are_those_above_the_cosine():
    embeddings = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 0.0]])
    assert selected(embeddings, torch.tensor([2.0, 0.0]), 0.5).tolist() == [True, True, False, False]


def loss(z, x, embeddings, alpha, beta, scale="as-they-are"):
    rows = F.normalize(x, dim=1) if scale == "unit" else x
    likeness = F.cosine_similarity(embeddings[:, None], embeddings[None], dim=2)
    return alpha * (rows - z @ rows).square().sum() + beta * z.abs().sum() + ((1 - likeness) * z).sum()


@pytest.mark.parametrize("scale", ["unit", "as-they-are"])
def test_rebuilt_links_minimise_the_loss_among_symmetric_links_without_loops(scale):
    """No small step within what is allowed is better."""
    draw = torch.Generator().manual_seed(0)
    x, embeddings = torch.rand(7, 4, generator=draw), torch.randn(7, 3, generator=draw)
    z = Rebuilder(x, 150.0, 250.0, scale=scale).links_for(embeddings, 20_000)
    assert torch.equal(z, z.t())
    assert not z.diagonal().any()
    assert float(z.min()) >= 0
    assert float(z.max()) <= 1
    assert bool(z.any())
    least = float(loss(z, x, embeddings, 150.0, 250.0, scale))
    for _ in range(300):
        step = 1e-3 * torch.randn(7, 7, generator=draw)
        other = (z + step + step.t()).clamp(0, 1).fill_diagonal_(0)
        assert float(loss(other, x, embeddings, 150.0, 250.0, scale)) >= least - 1e-3


@pytest.mark.parametrize(("scale", "alpha", "beta"), [("as-they-are", 150.0, 250.0), ("unit", 3.0, 1.0)])
def test_rebuilt_links_are_those_of_a_search_through_all(scale, alpha, beta):
    """Of three nodes with three links, on a grid of 21 x 21 x 21 weights."""
    x = torch.tensor([[1.2, 0.9], [1.0, 1.1], [0.3, 1.6]])
    embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    found = Rebuilder(x, alpha, beta, scale=scale).links_for(embeddings, 5_000)
    grid, tried = torch.linspace(0, 1, 21), {}
    for a in grid:
        for b in grid:
            for c in grid:
                z = torch.stack([torch.zeros(3), torch.stack([a, c * 0, c]), torch.stack([b, c, c * 0])])
                z[0, 1], z[0, 2] = a, b
                tried[float(a), float(b), float(c)] = float(loss(z, x, embeddings, alpha, beta, scale))
    best = min(tried, key=tried.__getitem__)
    assert max(best) > 0
    assert float(loss(found, x, embeddings, alpha, beta, scale)) <= tried[best] + 1e-4 * abs(tried[best])
    assert [float(found[i, j]) for i, j in ((0, 1), (0, 2), (1, 2))] == pytest.approx(best, abs=0.05)


def test_the_weights_of_the_released_code_leave_no_links():
    """Theirs are 1 and 500: a link is worth it where the product of two rows is above 250 only."""
    x = 2 * torch.rand(6, 8, generator=torch.Generator().manual_seed(0))
    assert not Rebuilder(x, 1.0, 500.0).links_for(x, 200).any()
    assert Rebuilder(x, 150.0, 250.0).links_for(x, 200).any()


def test_nodes_that_are_alike_are_linked_and_others_are_not():
    x = torch.tensor([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0], [0.01, 1.0]])
    z = Rebuilder(x, 150.0, 250.0, scale="unit").links_for(x, 200)
    assert z[0, 1] > 0
    assert z[2, 3] > 0
    assert not z[:2, 2:].any()
    assert dense_gcn_operator(z).isfinite().all()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"condensing": {"lr_features": 1e38, "rounds": 3}}, "not finite|loss is"),
        ({"lr": 1e12, "rounds": 30}, "training diverges.*lower lr"),
    ],
)
def test_numbers_that_are_not_finite_stop_the_run_and_keep_what_was_sent(changes, says):
    with pytest.raises(StoppedError, match=says) as caught:
        ran(**changes)
    assert "\n" not in str(caught.value)
    assert caught.value.transcript.tallies
