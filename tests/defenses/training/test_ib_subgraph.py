"""IB-subgraphs: what is left of a client, which nodes are kept, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.defenses.training import sub_gib
from gaudit.defenses.training.ib_subgraph import IBSubgraph, highest
from gaudit.defenses.training.random_subgraph import RandomSubgraph
from gaudit.defenses.training.sub_gib import node_scores
from gaudit.defenses.training.sub_gib_settings import SubGIBSettings
from gaudit.errors import InputError
from gaudit.randomness import branch
from gaudit.targets.games.links import remaining
from gaudit.targets.party import Client

SMALL = {"hidden": 8, "epochs": 10, "lr": 0.01}


def kept_of(client: Client, seed: int = 0, **settings) -> Client:
    defense = IBSubgraph(**{**SMALL, **settings})
    return defense.on_data(client, None, np.random.SeedSequence(seed), lambda kind, tensors: None)


def scored(monkeypatch, scores) -> None:
    """Makes the node scores known ones."""
    given = torch.as_tensor(scores, dtype=torch.float64)
    monkeypatch.setattr(sub_gib, "node_scores", lambda client, settings, seed: given)


@pytest.mark.parametrize("smoothness", ["sum", "mean", "normalised"])
@pytest.mark.parametrize("rho", [0.3, 0.5, 0.7])
def test_guarantee_no_more_nodes_than_rho_and_nothing_of_the_dropped_is_trained_on(federation, rho, smoothness):
    for client in federation.clients:
        after = kept_of(client, rho=rho, smoothness=smoothness)
        before = set(map(tuple, client.edges.T.tolist()))
        edges = set(map(tuple, after.edges.T.tolist()))
        linked = {u for u, _ in edges}
        assert 2 <= len(linked) <= int(rho * len(client.nodes))
        assert edges == {(u, v) for u, v in before if u in linked and v in linked}
        assert set(after.train.nonzero().flatten().tolist()) <= linked
        assert set(after.used.nonzero().flatten().tolist()) <= linked
        assert set(after.cut[0].tolist()) <= linked
        assert torch.equal(after.train, client.train & remaining(after))
        for name in ("nodes", "x", "y", "y_train", "val", "test"):
            assert torch.equal(getattr(after, name), getattr(client, name))


def test_guarantee_it_claims_none():
    """An information bound without a finite number is nothing to check an output against."""
    assert IBSubgraph.guarantee is None


def test_the_nodes_of_highest_score_are_kept(federation, monkeypatch):
    client = federation.clients[0]
    n = len(client.nodes)
    scores = np.random.default_rng(0).random(n)
    scored(monkeypatch, scores)
    top = np.argsort(-scores)[: int(0.6 * n)]
    inside = torch.isin(client.edges, torch.from_numpy(top)).all(0)
    assert torch.equal(kept_of(client, rho=0.6).edges, client.edges[:, inside])


def test_scores_are_those_of_sub_gib(federation):
    client = federation.clients[1]
    seed = np.random.SeedSequence(4)
    scores = node_scores(client, SubGIBSettings(**SMALL), branch(seed, "sub-gib"))
    left = remaining(kept_of(client, 4, rho=0.5))
    lowest_kept, below = scores[left].min(), scores.sort(descending=True).values[len(scores) // 2]
    assert lowest_kept > below


def test_ties_are_broken_by_lot_and_not_by_place():
    """Six of twelve equal nodes: each is as likely kept as any other (400 draws, five standard errors)."""
    times = np.zeros(12)
    for seed in range(400):
        times[highest(np.ones(12), 6, np.random.default_rng(seed))] += 1
    assert np.abs(times - 200).max() < 5 * 10
    again = [sorted(highest(np.ones(12), 6, np.random.default_rng(7)).tolist()) for _ in range(2)]
    assert again[0] == again[1]


def test_a_tie_never_beats_a_higher_score():
    scores = np.array([0.2, 0.9, 0.5, 0.5, 0.5, 0.7])
    for seed in range(20):
        kept = set(highest(scores, 3, np.random.default_rng(seed)).tolist())
        assert {1, 5} < kept
        assert kept - {1, 5} <= {2, 3, 4}


def test_the_majority_rule_keeps_in_not_below_out_whatever_rho_is(federation, monkeypatch):
    client = federation.clients[0]
    n = len(client.nodes)
    scored(monkeypatch, (torch.arange(n) % 4 > 0).double() / 2)
    inside = (client.edges % 4 > 0).all(0)
    for rho in (0.1, 0.9):
        assert torch.equal(kept_of(client, rho=rho, keep="hcw").edges, client.edges[:, inside])


@pytest.mark.parametrize("kept", [0, 1])
def test_a_majority_rule_that_keeps_nobody_is_refused(federation, monkeypatch, kept):
    client = federation.clients[1]
    n = len(client.nodes)
    scored(monkeypatch, (torch.arange(n) < kept).double())
    message = f"client:1 keeps {kept} of {n} nodes with IN >= OUT, and an edge needs 2: set keep to 'top-k'"
    with pytest.raises(InputError, match=message):
        kept_of(client, keep="hcw")


def test_the_seed_decides(federation):
    client = federation.clients[0]
    one, again, other = (kept_of(client, seed) for seed in (0, 0, 1))
    assert torch.equal(one.edges, again.edges)
    assert torch.equal(one.train, again.train)
    assert not torch.equal(remaining(one), remaining(other))


def test_trivial_alternative_keeps_as_many_nodes_by_the_same_rules(federation, monkeypatch):
    """With the nodes that the lot drew on top the two defenses do the same."""
    client, seed = federation.clients[0], np.random.SeedSequence(5)
    random = RandomSubgraph(rho=0.4).on_data(client, None, seed, lambda kind, tensors: None)
    n = len(client.nodes)
    drawn = np.random.default_rng(seed).permutation(n)[: int(0.4 * n)]
    scored(monkeypatch, np.isin(np.arange(n), drawn))
    ours = kept_of(client, 5, rho=0.4)
    assert torch.equal(ours.edges, random.edges)
    assert torch.equal(ours.train, random.train)
    assert torch.equal(ours.cut, random.cut)
    assert IBSubgraph.alternative == RandomSubgraph.name
    assert IBSubgraph.sweep == RandomSubgraph.sweep
    assert IBSubgraph().settings.rho == RandomSubgraph().settings.rho


def test_trivial_all_nodes_kept_drops_singletons_alone(federation):
    client = federation.clients[0]
    after = kept_of(client, rho=1.0)
    linked = torch.bincount(client.edges[0], minlength=len(client.nodes)) > 0
    assert torch.equal(after.edges, client.edges)
    assert torch.equal(after.train, client.train & linked)


def test_presets():
    assert IBSubgraph.preset("paper") == {}
    IBSubgraph(**IBSubgraph.preset("quick"))
    s = IBSubgraph().settings
    assert (s.beta, s.gamma, s.rho, s.epochs, s.hidden, s.lr, s.keep) == (0.2, 0.5, 0.5, 150, 512, 1e-3, "top-k")


def test_a_client_with_nothing_to_select_from_is_refused(federation):
    client = federation.clients[0]
    alone = replace(client, edges=torch.empty((2, 0), dtype=torch.long))
    for keep in ("top-k", "hcw"):
        with pytest.raises(InputError, match=r"client:0 has no edge between its .* nodes"):
            kept_of(alone, keep=keep)
    with pytest.raises(InputError, match=r"rho 0\.01 leaves 0 of the"):
        kept_of(client, rho=0.01)


def test_a_subgraph_without_labels_is_refused(federation, monkeypatch):
    client = federation.clients[0]
    scored(monkeypatch, (~client.train).double())
    rest = float((~client.train).float().mean())
    with pytest.raises(InputError, match=r"none of the .* labelled nodes of client:0 is left in its subgraph"):
        kept_of(client, rho=rest - 0.02)


@pytest.mark.parametrize(("setting", "value"), [("rho", 0), ("keep", "top"), ("gamma", -1), ("hiden", 8)])
def test_settings_are_checked(setting, value):
    with pytest.raises(InputError, match=setting):
        IBSubgraph(**{setting: value})
