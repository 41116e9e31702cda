"""Condensing without edges: no message knows one, answers do, and who is hurt by it is told."""

import numpy as np
import pytest
import torch

from gaudit.audit.claims.claim_check import check_claim
from gaudit.audit.claims.edge_claims import PropagatedRows
from gaudit.audit.conformance.cheap_settings import cheap
from gaudit.audit.conformance.fingerprint import fingerprint
from gaudit.audit.conformance.named import ours
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.audit.statistics.metrics import auc
from gaudit.defenses.training.edge_free import EdgeFree, similar_pairs
from gaudit.registry import find
from gaudit.targets.messages import ANSWERS, Carries, Carrying
from support.sixty_nodes import sixty_nodes

CONDENSED = Carrying.any_of(Carries.CONDENSED)
CONDENSING = [
    name
    for name in ours("targets")
    if CONDENSED.among(find("targets", name).sends) and find("targets", name).asks_for_labels
]
SEED = np.random.SeedSequence(5)


def made(target, **settings):
    """A target with cheap settings, whose clients and split do not follow from edges."""
    fields = find("targets", target).Settings.model_fields
    apart = {"partition": "dirichlet", "beta": 100.0, "split": "dataset", "clients": 2, **settings}
    known = {name: value for name, value in apart.items() if name in fields}
    return find("targets", target)(**{**cheap(find("targets", target).Settings), **known})


def graphs():
    """The graph of sixty nodes, and it with other edges: one less, one more, one alone, all of them elsewhere."""
    data, rng = sixty_nodes(), np.random.default_rng(0)
    drawn = rng.integers(0, 60, size=(2, 150))
    drawn = torch.from_numpy(drawn[:, drawn[0] != drawn[1]])
    row, col = data.edge_index
    first = ((row == row[0]) & (col == col[0])) | ((row == col[0]) & (col == row[0]))
    more = torch.tensor([[0, 59], [59, 0]])
    others = (
        data.edge_index[:, ~first],
        torch.cat([data.edge_index, more], 1),
        data.edge_index[:, first],
        torch.cat([drawn, drawn.flip(0)], 1).unique(dim=1),
    )
    found = [data]
    for edges in others:
        found.append(data.clone())
        found[-1].edge_index = edges
    return found


def sent(target, data, defense, answers=True):
    run = target(data, defense, SEED, lambda message: True)
    return [fingerprint(m) for m in run.transcript.messages if answers or not ANSWERS.covers(m.kind)]


def starts(target):
    """Each way to begin that a target has."""
    fields = find("targets", target).Settings.model_fields
    return [{"init": "noise"}, {"init": "real"}] if "init" in fields else [{}]


def test_all_condensations_are_tested():
    known = {"fedgc", "fedgm", "fedc4", "gcond", "doscond", "sfgc", "random", "herding", "k-center", "coarsening"}
    assert known <= set(CONDENSING)


@pytest.mark.parametrize("target", CONDENSING)
def test_guarantee_no_message_knows_an_edge(target):
    """Whatever the edges, every message is the same to the last bit; answers too where they are asked without."""
    data, *others = graphs()
    for start in starts(target):
        own = made(target, answer_with="defended", **start)
        for similar in (0, 5) if target == "gcond" else (5,):
            before = sent(own, data, EdgeFree(similar=similar))
            assert before
            assert all(sent(own, other, EdgeFree(similar=similar)) == before for other in others)


@pytest.mark.parametrize("target", CONDENSING)
def test_the_guarantees_test_can_fail(target):
    """Undefended, other edges are seen in what is sent, but of coresets that are drawn blindly and not linked."""
    data, *others = graphs()
    own = made(target, answer_with="defended")
    before = sent(own, data, find("defenses", "none")())
    assert any(sent(own, other, find("defenses", "none")()) != before for other in others)


def test_links_that_stand_in_for_edges_are_those_of_a_double_loop():
    """By the cosine of words that weigh the more the fewer rows have them; who shares no word is not linked."""
    rng = np.random.default_rng(3)
    x = (rng.random((12, 20)) < 0.3).astype(float)
    x[4] = 0.0
    weighted = x * (np.log(13 / (1 + (x > 0).sum(0))) + 1)
    found = set()
    for v in range(12):
        norms = np.linalg.norm(weighted[v]) * np.linalg.norm(weighted, axis=1)
        alike = np.divide(weighted @ weighted[v], norms, out=np.zeros(12), where=norms > 0)
        others = sorted((u for u in range(12) if u != v and alike[u] > 0), key=lambda u, alike=alike: -alike[u])
        found |= {(v, u) for u in others[:3]} | {(u, v) for u in others[:3]}
    assert {(v, u) for v, u in similar_pairs(torch.from_numpy(x), 3).t().tolist()} == found
    assert found
    assert not any(4 in pair for pair in found)


@pytest.mark.parametrize(("rows", "neighbours", "links"), [(1, 5, 0), (3, 5, 6), (3, 0, 0)])
def test_fewer_rows_than_neighbours(rows, neighbours, links):
    assert similar_pairs(torch.ones(rows, 2), neighbours).shape == (2, links)


def test_answers_with_edges_are_outside_of_the_promise_and_that_is_said():
    """FedC4 publishes answers on the clients' own edges: all else is the same, these are not."""
    data, other = graphs()[0], graphs()[-1]
    own = made("fedc4")
    assert sent(own, data, EdgeFree(), answers=False) == sent(own, other, EdgeFree(), answers=False)
    assert sent(own, data, EdgeFree()) != sent(own, other, EdgeFree())
    notes = own(data, EdgeFree(), SEED, lambda message: True).notes
    assert any("whatever it promises is not about them" in note for note in notes)


@pytest.mark.parametrize("across", [False, True])
def test_clients_exchange_features_only_where_answers_may_use_each_others_edges(across):
    run = made("fedgc", hops=2)(sixty_nodes(), EdgeFree(across=across), SEED, lambda message: True)
    kinds = [message.kind for message in run.transcript.messages]
    assert ("neighbour-sums" in kinds) == across
    if across:  # after all that the promise is about
        assert kinds.index("neighbour-ids") > max(i for i, kind in enumerate(kinds) if kind == "condensed-graph")


def neighbours_tell(match):
    """200 nodes of two classes with weak features, each linked to 6 of its own class, or to 12 of any."""
    rng = np.random.default_rng(1)
    data = sixty_nodes()
    y = np.arange(200) % 2
    x = 0.3 * (2 * y - 1)[:, None] + rng.normal(size=(200, 8))
    pools = [np.flatnonzero(y == y[v]) if match else np.arange(200) for v in range(200)]
    ends = [(v, u) for v in range(200) for u in rng.choice(pools[v], 6 if match else 12) if u != v]
    edges = torch.tensor(ends).t()
    data.x, data.y = torch.from_numpy(x).float(), torch.from_numpy(y)
    data.edge_index = torch.cat([edges, edges.flip(0)], 1).unique(dim=1)
    part = rng.integers(0, 3, 200)
    data.train_mask, data.val_mask, data.test_mask = (torch.from_numpy(part == k) for k in range(3))
    data.num_nodes = 200
    return data


@pytest.mark.parametrize("match", [True, False])
def test_asked_with_edges_that_help_and_with_edges_that_mislead(match):
    """Neighbours of the own class mend what features leave open; those of any class ruin it, and a note warns."""
    target = find("targets", "random")(ratio=0.2, test={"hidden": 16, "epochs": 60, "models": 2})
    data = neighbours_tell(match)
    run = target(data, EdgeFree(similar=0), SEED, lambda message: True)
    data.edge_index = data.edge_index[:, :0]
    without = target(data, EdgeFree(similar=0), SEED, lambda message: True)
    difference = run.utility.test - without.utility.test
    warned = any("ask them without edges" in note for note in run.notes)
    assert (difference > 0.05, warned) == (match, not match)
    assert run.utility.validation == without.utility.validation  # what chooses knows no edge
    assert not without.notes[-1].startswith("asked with edges")


def test_promise_is_0_for_edges():
    promise = EdgeFree().promise()
    assert (promise.unit, promise.adjacency, promise.epsilon, promise.delta) == ("edge", "add/remove", 0, 0)
    assert {"features", "labels"} <= set(promise.public)


def test_the_claim_is_not_refuted_and_another_is():
    """Of two nodes whose propagated rows are read: with the defense nobody tells, without it everybody does."""

    class Kept(PropagatedRows):
        defense = find("defenses", "none")()

    assert not check_claim(PropagatedRows(), 300, 0, level=0.999).refuted
    assert check_claim(Kept(), 300, 0, level=0.999).refuted


def noise_and_edges(seed=0):
    """240 nodes whose features and labels are coins, in cliques of six: only what reads edges can tell them."""
    rng, data = np.random.default_rng(seed), sixty_nodes()
    cliques = np.arange(240) // 6
    pairs = np.nonzero((cliques[:, None] == cliques[None]) & ~np.eye(240, dtype=bool))
    data.x, data.y = torch.from_numpy(rng.normal(size=(240, 30))).float(), torch.from_numpy(rng.integers(0, 3, 240))
    data.edge_index, data.num_nodes = torch.from_numpy(np.stack(pairs)), 240
    part = rng.permutation(np.arange(240) % 3)
    data.train_mask, data.val_mask, data.test_mask = (torch.from_numpy(part == k) for k in range(3))
    return data


@pytest.mark.parametrize(("defense", "found"), [("none", True), ("edge-free", False)])
def test_links_are_found_in_what_is_sent_and_answered_and_not_without_edges(defense, found):
    """FedC4, whose answers read what was condensed from: those of linked nodes are alike, or are not."""
    settings = {
        "clients": 1,
        "partition": "dirichlet",
        "split": "dataset",
        "rounds": 5,
        "answer_with": "defended",
        "condensing": {"ratio": 0.2, "rounds": 2},
    }
    attacks = (AttackPlan("link-posterior", {}, "public"),)
    judged = [
        run_trial(TrialPlan("fedc4", settings, defense, {}, attacks, seed=3, index=0), noise_and_edges(seed))
        .attacked[0]
        .judged
        for seed in range(3)
    ]
    areas = [auc(one.truth, one.score) for one in judged]
    assert (min(areas) > 0.7) == found
    if not found:
        assert abs(np.mean(areas) - 0.5) < 0.05
