"""FedGC on a graph of 60 nodes: what is sent is what the paper says, and nothing depends on what it must not."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.errors import InputError
from gaudit.randomness import branch
from gaudit.registry import find
from gaudit.targets.condensation.condensed import CondensedGraph
from gaudit.targets.condensation.gradient_distance import allocate_labels
from gaudit.targets.federated_condensation.fedgc import FedGC
from gaudit.targets.partition import partition
from support.sixty_nodes import sixty_nodes

CLIENTS = [f"client:{n}" for n in range(3)]
PHASE = {"hidden": 8, "epochs": 10, "models": 2, "tune_epochs": 5}
TINY = {"clients": 3, "partition": "metis", "ratio": 0.15, "hidden": 8, "rounds": 4, "self_training_rounds": 6}
TINY |= {"structure_steps": 1, "feature_steps": 1, "checkpoints": (1, 4), "test": PHASE}
DEFENSES = ("none", "ib", "pseudo-labels", "adversarial-regularisation", "ldp")


@pytest.fixture(scope="module")
def graph():
    return sixty_nodes()


@pytest.fixture(scope="module")
def owner(graph):
    """The client of each node in runs with seed 0."""
    return partition(graph, "metis", 3, branch(np.random.SeedSequence(0), "partition")).owner


def ran(data, seed=0, defense="none", **changes):
    target = FedGC(**(TINY | changes))
    return target.run(data, find("defenses", defense)(), np.random.SeedSequence(seed), lambda _: True)


def content(run):
    """Every header and every byte that was kept."""
    return [
        (m.kind, m.sender, m.receiver, m.round, {name: t.numpy().tobytes() for name, t in m.tensors.items()})
        for m in run.transcript.messages
    ]


def released(run):
    return [
        CondensedGraph.from_tensors(m.tensors) for m in run.transcript.seen_by("public").of_kind("condensed-graph")
    ]


def counts(run):
    sent = run.transcript.seen_by("server").of_kind("class-counts")
    assert [m.sender for m in sent] == CLIENTS
    return torch.stack([m.tensors["counts"] for m in sent])


def aggregated(run, round_):
    """FedGC Eq. 3 from what the server sees: n_j(c) / n(c) g_{j,c}, by class and weight."""
    total, n = {}, counts(run)
    for message in run.transcript.seen_by("server").of_kind("class-gradients"):
        if message.round == round_:
            for key, value in message.tensors.items():
                label = int(key.split("/")[0])
                share = n[CLIENTS.index(message.sender), label] / n[:, label].sum()
                total[key] = total.get(key, 0) + share * value
    return total


def undivided_gradients(data, backbone, theta, label):
    """Autograd on the whole graph as one dense matrix."""
    theta = {name: weight.clone().requires_grad_() for name, weight in theta.items()}
    adjacency = torch.eye(60)
    adjacency[data.edge_index[0], data.edge_index[1]] = 1
    scale = adjacency.sum(1).rsqrt()
    operator = scale[:, None] * adjacency * scale
    if backbone == "sgc":
        logits = operator @ operator @ data.x @ theta["w"] + theta["b"]
    else:
        hidden = torch.relu(operator @ data.x @ theta["w1"] + theta["b1"])
        logits = operator @ hidden @ theta["w2"] + theta["b2"]
    of_class = data.train_mask & (data.y == label)
    loss = F.cross_entropy(logits[of_class], data.y[of_class])
    return dict(zip(theta, torch.autograd.grad(loss, list(theta.values())), strict=True))


@pytest.mark.parametrize(("backbone", "method"), [("gcn", "metis"), ("sgc", "metis"), ("gcn", "dirichlet")])
def test_weighted_class_gradients_are_those_of_the_undivided_graph(graph, backbone, method):
    run = ran(graph, backbone=backbone, partition=method)
    for model in run.transcript.seen_by("server").of_kind("matching-model"):
        found = aggregated(run, model.round)
        for label in range(3):
            for name, expected in undivided_gradients(graph, backbone, model.tensors, label).items():
                assert torch.allclose(found[f"{label}/{name}"], expected, atol=1e-5)


def test_fewer_hops_lose_edges(graph):
    for hops in (0, 1):
        run = ran(graph, hops=hops)
        theta = run.transcript.seen_by("server").last("matching-model")
        expected = undivided_gradients(graph, "gcn", theta.tensors, 0)["w1"]
        assert not torch.allclose(aggregated(run, theta.round)["0/w1"], expected, atol=1e-3)
        assert bool(run.transcript.seen_by("server").of_kind("neighbour-ids")) is (hops > 0)


def test_counts_are_exact_and_released_labels_follow_them(graph, owner):
    run = ran(graph, ratio=0.2)
    gradients = run.transcript.seen_by("server").of_kind("class-gradients")
    for number, row in enumerate(counts(run)):
        assert row.tolist() == graph.y[graph.train_mask & (owner == number)].bincount(minlength=3).tolist()
        own = [{int(key[0]) for key in m.tensors} for m in gradients if m.sender == CLIENTS[number]]
        assert own == [set(row.nonzero().flatten().tolist())] * 4  # gradients of absent classes are not sent
    assert counts(run).sum(0).tolist() == [6, 4, 2]
    for release in released(run):
        assert torch.equal(release.y, allocate_labels(torch.tensor([6, 4, 2]), 12))


def test_releases_come_at_the_checkpoints_and_are_public(graph):
    run = ran(graph, checkpoints=(1, 2, 4), threshold=0.3)
    sent = run.transcript.seen_by("public").messages
    assert [(m.kind, m.sender, m.receiver, m.round) for m in sent] == [
        ("condensed-graph", "server", "public", round_) for round_ in (1, 2, 4)
    ]
    assert [u.round for u in run.utilities] == [1, 2, 4]
    for release in released(run):
        links = release.adjacency
        assert bool(((links == 0) | ((links > 0.3) & (links <= 1))).all())
    first, second, last = (release.x for release in released(run))
    assert not torch.equal(first, second)  # round 0 moves the structure, rounds 1 and 3 the features
    assert not torch.equal(second, last)


def test_first_features_are_noise_or_labelled_rows_with_their_labels(graph):
    # the first round moves the structure only
    noise, real = (released(ran(graph, init=init, ratio=0.2))[0] for init in ("noise", "real"))
    assert float(torch.cdist(noise.x, graph.x).min()) > 0.1
    for label in range(3):
        own = graph.x[graph.train_mask & (graph.y == label)].tolist()
        rows = real.x[real.y == label].tolist()
        assert all(row in own for row in rows)
        assert len({tuple(row) for row in rows}) == min(len(rows), len(own))


def test_the_server_hands_one_first_encoder_to_all_and_only_for_the_bottleneck(graph):
    """Algorithm 1, line 4."""
    run = ran(graph, defense="ib")
    (sent,) = run.transcript.seen_by("client:1").of_kind("first-encoder")
    assert (sent.sender, sent.receiver, sent.round) == ("server", "clients", -1)
    d = graph.num_features
    assert {name: tuple(w.shape) for name, w in sent.tensors.items()} == {"w1": (d, d), "w2": (d, 2 * d)}
    assert not ran(graph, defense="pseudo-labels").transcript.seen_by("client:1").of_kind("first-encoder")
    own = find("defenses", "ib")(first_weights="own")
    alone = FedGC(**TINY).run(graph, own, np.random.SeedSequence(0), lambda _: True)
    assert not alone.transcript.seen_by("client:1").of_kind("first-encoder")

    def apart(run):
        one, other = (run.transcript.seen_by(name).last("ib-encoder").tensors["w1"] for name in CLIENTS[:2])
        return float((one - other).abs().mean())

    assert apart(run) < 0.7 * apart(alone)


def test_accuracy_is_told_apart_by_who_was_in_self_training(graph):
    """The two groups' accuracies, weighted by their sizes, are the whole."""
    run = ran(graph, defense="ib")
    groups = run.secrets["label-membership"].groups
    inside = run.figures["test accuracy, nodes in self-training"]
    outside = run.figures["test accuracy, nodes not in self-training"]
    subjects = run.secrets["label-membership"].subjects
    test = graph.test_mask.numpy()[subjects]
    n_in, n_out = (
        int((test & groups[f"non-members {name}"]).sum()) for name in ("in self-training", "not in self-training")
    )
    assert n_in + n_out == int(graph.test_mask.sum())
    assert (inside * n_in + outside * n_out) / (n_in + n_out) == pytest.approx(run.utility.test, abs=1e-6)
    assert ran(graph).figures == {}


def test_it_is_told_how_many_guessed_labels_are_right(graph):
    """Of a model that does not move it is known: the one that the server drew."""
    still = FedGC(**TINY | {"self_training_lr": 1e-9})
    run = still.run(graph, find("defenses", "ib")(epochs=1), np.random.SeedSequence(0), lambda _: True)
    drawn = run.transcript.seen_by("client:0").of_kind("self-training-model")[0].tensors
    adjacency = torch.eye(graph.num_nodes)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = adjacency[graph.edge_index[1], graph.edge_index[0]] = 1.0
    degree = adjacency.sum(1).rsqrt()
    spread = degree[:, None] * adjacency * degree
    hidden = torch.relu(spread @ graph.x @ drawn["w1"] + drawn["b1"])
    guessed = (spread @ hidden @ drawn["w2"] + drawn["b2"]).argmax(1)
    right = float((guessed == graph.y)[graph.test_mask].float().mean())
    assert run.figures["test nodes whose guessed label is right"] == pytest.approx(right, abs=1e-6)
    assert 0 < right < 1


def test_first_weights_by_fan_in_are_wider_where_few_come_in(graph):
    widths = {}
    for by in ("fan-out", "fan-in"):
        theta = ran(graph, first_weights=by).transcript.seen_by("server").of_kind("matching-model")[0].tensors
        widths[by] = {name: float(weight.abs().max()) for name, weight in theta.items()}
    d, h, c = graph.num_features, 8, 3
    assert widths["fan-out"]["w1"] <= h**-0.5
    assert widths["fan-in"]["w1"] <= d**-0.5
    assert h**-0.5 >= widths["fan-in"]["w2"] > 0.7 * h**-0.5
    assert c**-0.5 >= widths["fan-out"]["w2"] > 0.7 * c**-0.5
    assert widths["fan-in"]["b1"] <= d**-0.5


@pytest.mark.parametrize("defense", ["none", "ib", "ldp"])
def test_the_seed_decides_everything(graph, defense):
    run, again, other = ran(graph, 1, defense), ran(graph, 1, defense), ran(graph, 2, defense)
    assert content(run) == content(again)
    assert (run.utilities, run.chosen) == (again.utilities, again.chosen)
    assert content(run) != content(other)


@pytest.mark.parametrize("held_out", [0.0, 0.5])
def test_secrets_are_train_nodes_against_test_nodes(graph, held_out):
    secrets = ran(graph, defense="ib", held_out=held_out).secrets["label-membership"]
    assert secrets.subjects[secrets.truth].tolist() == graph.train_mask.nonzero().flatten().tolist()
    assert secrets.subjects[~secrets.truth].tolist() == graph.test_mask.nonzero().flatten().tolist()
    took_part, sat_out = (secrets.groups[f"non-members {where} self-training"] for where in ("in", "not in"))
    assert (took_part & sat_out)[secrets.truth].all()
    assert (took_part[~secrets.truth] ^ sat_out[~secrets.truth]).all()
    assert 0 < sat_out[~secrets.truth].mean() < 1 if held_out else not sat_out[~secrets.truth].any()


def test_without_self_training_there_are_no_groups_and_labels_are_the_own_ones(graph):
    without = ran(graph, defense="ib", self_training=False)
    own = find("defenses", "ib")(labels="own")
    labels_own = FedGC(**TINY).run(graph, own, np.random.SeedSequence(0), lambda _: True)
    assert without.secrets["label-membership"].groups == {}
    assert content(without) == content(labels_own)
    assert content(without) != content(ran(graph, defense="ib"))
    assert ran(graph).transcript.seen_by("server").of_kind("self-training-model") == ()


def test_aggregation_matters_with_several_clients_only(graph):
    for clients, same in ((3, False), (1, True)):
        weighted, uniform = (ran(graph, clients=clients, aggregation=how) for how in ("weighted", "uniform"))
        assert (content(weighted) == content(uniform)) is same


def test_bottleneck_keeps_rows_from_the_server_and_encoders_at_home(graph):
    plain, defended = ran(graph), ran(graph, defense="ib")
    assert defended.transcript.seen_by("server").of_kind("ib-encoder") == ()
    assert len(defended.transcript.seen_by("client:1").of_kind("ib-encoder")) == 1
    theta = defended.transcript.seen_by("server").last("matching-model")
    assert torch.equal(theta.tensors["w1"], plain.transcript.seen_by("server").last("matching-model").tensors["w1"])
    assert not torch.allclose(aggregated(plain, 3)["0/w1"], aggregated(defended, 3)["0/w1"], atol=1e-3)


def test_utility_is_measured_before_and_after_tuning_and_validation_selects(graph):
    tuned, untuned = ran(graph), ran(graph, test=PHASE | {"fine_tune": False})
    assert content(tuned) == content(untuned)
    assert [u.test_before_tuning for u in tuned.utilities] == [u.test for u in untuned.utilities]
    assert all(u.test == u.test_before_tuning for u in untuned.utilities)
    assert [u.test for u in tuned.utilities] != [u.test for u in untuned.utilities]
    for seed in range(4):
        run = ran(graph, seed, checkpoints=(1, 2, 3, 4), rounds=4)
        validation = [u.validation for u in run.utilities]
        assert run.chosen == validation.index(max(validation))


@pytest.mark.parametrize("defense", DEFENSES)
def test_labels_of_test_and_unlabelled_nodes_change_test_accuracies_only(graph, defense):
    run, unlabelled, changed = ran(graph, defense=defense), graph.clone(), graph.clone()
    rest = ~(graph.train_mask | graph.val_mask | graph.test_mask)
    unlabelled.y[rest] = (graph.y[rest] + 1) % 3
    other = ran(unlabelled, defense=defense)
    assert content(other) == content(run)
    assert other.utilities == run.utilities
    changed.y[graph.test_mask] = 0
    other = ran(changed, defense=defense)
    assert content(other) == content(run)
    assert [u.validation for u in other.utilities] == [u.validation for u in run.utilities]
    assert [u.test for u in other.utilities] != [u.test for u in run.utilities]


def test_clients_without_validation_or_test_nodes_take_part(graph, owner):
    data = graph.clone()
    data.val_mask[owner == 0] = False
    data.test_mask[owner == 1] = False
    for defense in DEFENSES:
        assert [u.round for u in ran(data, defense=defense).utilities] == [1, 4]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rouns": 3}, "did you mean 'rounds'"),
        ({"checkpoints": (5,)}, "checkpoints must lie between 1 and 4 rounds"),
        ({"ratio": 0.02}, "leaves 2 of 3 classes empty: raise the ratio"),
        ({"clients": 14}, "client:.* holds no labelled node .*: use fewer clients"),
        pytest.param({"test": {"epohcs": 3}}, "did you mean 'test.epochs'"),
        pytest.param({"device": "banana"}, "device"),
    ],
)
def test_unusable_settings_are_refused(graph, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        ran(graph, **changes)
    assert "\n" not in str(caught.value)


def test_rows_that_a_release_starts_from_are_told_apart(graph):
    secrets = ran(graph, init="real", lr_features=1e-12).secrets["label-membership"]
    copied = set(secrets.subjects[secrets.groups["members copied at first"] & secrets.truth].tolist())
    never = set(secrets.subjects[secrets.groups["members never copied"] & secrets.truth].tolist())
    assert copied
    assert copied | never == set(secrets.subjects[secrets.truth].tolist())
    assert not copied & never
    (*_, release) = released(ran(graph, init="real", lr_features=1e-12))
    near = {int((graph.x - row).abs().max(1).values.argmin()) for row in release.x}
    assert near == copied
    assert "members never copied" not in ran(graph).secrets["label-membership"].groups


@pytest.mark.parametrize("defense", ["ldp", "noise-instead"])
def test_a_defense_of_uploads_says_that_rows_to_start_from_pass_by_it(graph, defense):
    target = FedGC(**(TINY | {"init": "real"}))
    run = target(graph, find("defenses", defense)(), np.random.SeedSequence(0), lambda _: True)
    assert "initial-rows" in run.notes[-1]
