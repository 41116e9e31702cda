"""CFL: the parts are the best of all divisions, planted groups are found, and without a division it is fedavg."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.graphs.checks import check_graph
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.federated.clustering import (
    DivisionSettings,
    changes_of,
    cosine_similarities,
    is_torn,
    parts_least_alike,
)
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.games.ownership import parts_of
from gaudit.targets.personal_federation.cfl import CFL, divided

SMALL = {"clients": 4, "hidden": 8, "rounds": 8, "local_epochs": 3, "split": "60/20/20"}
ALWAYS = {"thresholds": "absolute", "stands_still": 100.0, "moves_apart": 1e-9, "divides_after": 5}
NEVER = {"thresholds": "absolute", "stands_still": 1e-12, "divides_after": 5}
GROUPED = {"clients": 6, "rounds": 25, "local_epochs": 5, "dropout": 0.0}


def ran(target, data: Data | None = None, seed: int = 0, defense: Defense | None = None):
    given = load_dataset("karate") if data is None else data
    return target(given, defense or Defense(), np.random.SeedSequence(seed), lambda message: True)


def by_round(run, kind: str) -> dict[tuple[int, str], dict[str, torch.Tensor]]:
    """Tensors by round and by who sent them, or by who got them where the server did."""
    sent = [m for m in run.transcript.messages if m.kind == kind]
    return {(m.round, m.receiver if m.sender == "server" else m.sender): dict(m.tensors) for m in sent}


def largest_across(similarities: np.ndarray, one: list[int], other: list[int]) -> float:
    return max(similarities[i, j] for i in one for j in other)


def all_divisions(clients: int) -> list[tuple[list[int], list[int]]]:
    everyone = range(clients)
    sides = [side for n in range(1, clients) for side in combinations(everyone, n) if 0 in side]
    return [(list(side), [k for k in everyone if k not in side]) for side in sides]


@pytest.mark.parametrize("clients", [2, 3, 5, 7])
@pytest.mark.parametrize("seed", range(5))
def test_no_division_has_a_smaller_largest_cosine_across(clients, seed):
    moves = torch.from_numpy(np.random.default_rng(seed).normal(size=(clients, 6)))
    similar = cosine_similarities(moves)
    one, other = parts_least_alike(similar)
    assert (one, other) in all_divisions(clients)
    least = min(largest_across(similar, *parts) for parts in all_divisions(clients))
    assert largest_across(similar, one, other) == least


def test_clients_that_are_all_alike_are_still_two_parts():
    one, other = parts_least_alike(np.full((4, 4), 2.0))
    assert sorted(one + other) == [0, 1, 2, 3]
    assert one
    assert other


def test_gamma_forbids_parts_that_are_less_apart():
    """At 90 degrees c is 0, and sqrt((1 - c) / 2) the root of a half."""
    moves = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    bound = math.sqrt(0.5)
    assert divided(moves, bound - 1e-9) == ([0, 1], [2, 3])
    assert divided(moves, bound + 1e-9) == ([0, 1, 2, 3],)


def test_the_mean_that_stands_still_is_the_weighted_one():
    """Three clients go one step ahead and one goes back, which leaves half a step; none if it counts thrice."""
    moves = torch.tensor([[1.0], [1.0], [1.0], [-1.0]], dtype=torch.float64)
    assert not is_torn(moves, 0.4, 0.5)
    assert not is_torn(moves, 0.4, 0.5, [0.25] * 4)
    assert is_torn(moves, 0.4, 0.5, [1 / 6, 1 / 6, 1 / 6, 1 / 2])


def grouped(seed: int) -> tuple[Data, np.ndarray]:
    """Six clusters of 80 nodes without an edge between; in three of them each topic bears the next one's label."""
    rng, blocks, size, topics = np.random.default_rng(seed), 6, 80, 4
    block = np.arange(blocks * size) // size
    topic = rng.permuted(np.tile(np.arange(topics), (blocks, size // topics)), axis=1).ravel()
    chance = np.where(topic[:, None] == topic, 0.2, 0.02) * (block[:, None] == block)
    row, col = np.triu(rng.random(chance.shape) < chance, 1).nonzero()
    shifted = rng.permutation(np.arange(blocks) % 2)[block]
    drawn = torch.from_numpy(rng.permutation(len(block)) % 5)
    data = Data(
        x=torch.from_numpy(rng.normal(size=(len(block), 16))).float() + 2 * F.one_hot(torch.from_numpy(topic), 16),
        y=torch.from_numpy((topic + shifted) % topics),
        edge_index=torch.from_numpy(np.stack([np.r_[row, col], np.r_[col, row]])),
        **{"train_mask": drawn < 3, "val_mask": drawn == 3, "test_mask": drawn == 4},
    )
    return check_graph(data, "grouped"), shifted


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_clients_whose_labels_contradict_are_divided_and_better_off(seed):
    data, shifted = grouped(seed)
    divides = ran(CFL(**GROUPED, divides_after=10), data, seed)
    plain = ran(FedAvg(**GROUPED, optimiser="sgd", lr=0.5), data, seed)
    assert divides.figures == {"clusters": 2.0}
    game = divides.secrets["node-ownership"]
    node, holder = parts_of(game.subjects[game.truth])
    group = [set(shifted[node[holder == client]]) for client in range(6)]
    assert all(len(found) == 1 for found in group)
    (held,) = [m.tensors["cluster"].tolist() for m in divides.transcript.messages if m.kind == "clusters"]
    assert len({(cluster, *found) for cluster, found in zip(held, group, strict=True)}) == 2
    assert divides.utilities[0].test > plain.utilities[0].test + 0.15


def test_without_a_division_it_is_federated_averaging():
    ours = ran(CFL(**SMALL, **NEVER, aggregation="weighted"))
    plain = ran(FedAvg(**SMALL, optimiser="sgd", lr=0.5, aggregation="weighted"))
    for kind in ("update", "global-model"):
        sent, expected = by_round(ours, kind), by_round(plain, kind)
        assert sent.keys() == expected.keys()
        for key, weights in expected.items():
            assert all(torch.equal(sent[key][name], weight) for name, weight in weights.items())
    assert ours.figures == {"clusters": 1.0}
    assert "no cluster was divided in 8 rounds" in ours.notes[-1]


def test_after_a_division_each_client_gets_its_clusters_weighted_mean_and_answers_with_it():
    run = ran(CFL(**SMALL, **ALWAYS, aggregation="weighted"))
    models, uploads, held = (by_round(run, kind) for kind in ("global-model", "update", "clusters"))
    (number,) = [tensors["cluster"].tolist() for tensors in held.values()]
    assert [key[0] for key in held] == [5]
    assert len(set(number)) == 2
    changes = changes_of([uploads[5, f"client:{k}"] for k in range(4)], [models[5, "clients"]] * 4)
    one, other = parts_least_alike(cosine_similarities(changes))
    assert {k for k in range(4) if number[k] == number[one[0]]} == set(one)
    counts = [float(by_round(run, "labelled-count")[-1, f"client:{k}"]["count"]) for k in range(4)]
    assert len(set(counts)) > 1
    for part in (one, other):
        shares = torch.tensor([counts[k] for k in part]) / sum(counts[k] for k in part)
        for t, client in [(t, client) for t in (6, 7, 8) for client in part]:
            for name, weight in models[t, f"client:{client}"].items():
                sent = torch.stack([uploads[t - 1, f"client:{k}"][name] for k in part])
                torch.testing.assert_close(weight, torch.tensordot(shares, sent, 1))
    assert not any("no cluster" in note for note in run.notes)


def test_a_cluster_stands_still_by_the_mean_that_the_server_takes():
    """Between the norms of the weighted mean and of the plain one, only the first of them says when to divide."""
    alone = ran(CFL(**SMALL, **NEVER, aggregation="weighted"))
    models, uploads = by_round(alone, "global-model"), by_round(alone, "update")
    changes = changes_of([uploads[5, f"client:{k}"] for k in range(4)], [models[5, "clients"]] * 4)
    after = changes_of([models[6, "clients"]], [models[5, "clients"]])
    weighted, plain = float(after.norm()), float(changes.mean(0).norm())
    assert abs(weighted - plain) > 1e-3 * plain
    between = ALWAYS | {"stands_still": (weighted + plain) / 2}
    run = ran(CFL(**SMALL | {"rounds": 6}, **between, aggregation="weighted"))
    assert run.figures == {"clusters": 2.0 if weighted < plain else 1.0}


def test_nobody_is_divided_before_its_round():
    assert ran(CFL(**SMALL | {"rounds": 5}, **ALWAYS)).figures == {"clusters": 1.0}
    assert ran(CFL(**SMALL | {"rounds": 6}, **ALWAYS)).figures == {"clusters": 2.0}


def test_a_gamma_that_nothing_reaches_keeps_all_together():
    assert ran(CFL(**SMALL, **ALWAYS, gamma=0.999)).figures == {"clusters": 1.0}


def test_the_same_seed_gives_the_same_run():
    first, again, other = (ran(CFL(**SMALL, **ALWAYS), seed=seed) for seed in (3, 3, 4))
    for one, two in zip(first.transcript.messages, again.transcript.messages, strict=True):
        assert (one.kind, one.sender, one.receiver, one.round) == (two.kind, two.sender, two.receiver, two.round)
        assert all(torch.equal(tensor, two.tensors[name]) for name, tensor in one.tensors.items())
    weights = [by_round(run, "update")[0, "client:0"]["w1"] for run in (first, other)]
    assert not torch.equal(*weights)


def test_clients_hear_nothing_of_others_clusters():
    run = ran(CFL(**SMALL, **ALWAYS))
    for k in range(4):
        seen = [m for m in run.transcript.seen_by(f"client:{k}").messages if m.round > 5]
        assert {m.receiver for m in seen if m.kind == "global-model"} == {f"client:{k}"}
    assert "clusters" in {m.kind for m in run.transcript.seen_by("server").messages}
    assert all("clusters" not in {m.kind for m in run.transcript.seen_by(f"client:{k}").messages} for k in range(4))


def test_a_secure_sum_and_a_common_model_are_refused():
    with pytest.raises(InputError, match="secure sum"):
        ran(CFL(**SMALL), defense=find("defenses", "sealed-uploads")())
    with pytest.raises(InputError, match="publish"):
        CFL(publish=("model",))


def test_no_cluster_is_divided_while_norms_are_still_measured():
    with pytest.raises(ValueError, match="divides_after"):
        DivisionSettings(divides_after=4)
