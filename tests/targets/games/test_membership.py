"""What an adversary is granted, and how the referee puts the truth beside its guesses."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.attacks.attack import Scores
from gaudit.attacks.membership.shadow_mia import ShadowMIA
from gaudit.audit.games.referee import judge
from gaudit.errors import InputError
from gaudit.graphs.checks import check_graph
from gaudit.targets.game import Grant
from gaudit.targets.games.membership import SMALLEST_SHADOW, LabelMembership
from gaudit.targets.messages import CONDENSED_KIND
from gaudit.targets.transcript import Message, View
from support.adversaries import adversary

NODES, SIDE = 90, 15


def graph(nodes: int = NODES) -> Data:
    """A ring with chords; the feature of a node is its number."""
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    chords = np.stack([np.arange(nodes), (np.arange(nodes) * 7 + 3) % nodes])
    masks = {name: torch.arange(nodes) % 6 == i for i, name in enumerate(("train_mask", "test_mask", "val_mask"))}
    edges = torch.from_numpy(np.concatenate([ring, chords], axis=1))
    x = torch.arange(nodes).float()[:, None]
    return check_graph(Data(x=x, y=torch.arange(nodes) % 4, edge_index=edges, **masks), "ring")


def secrets_of(data: Data) -> LabelMembership:
    train, test = data.train_mask.numpy(), data.test_mask.numpy()
    subjects = np.flatnonzero(train | test)
    return LabelMembership(subjects=subjects, truth=train[subjects], groups={"even": subjects % 2 == 0})


def granted(neighbours="true", seed=0, data=None) -> Grant:
    data = graph() if data is None else data
    given, narrowed = secrets_of(data).grant(data, adversary(neighbours), np.random.SeedSequence(seed))
    told = secrets_of(data)
    assert narrowed(told) is told  # nobody in question is known beforehand
    return given


def seeing_everything() -> View:
    """A view with a release in it."""
    return View("public", (Message(CONDENSED_KIND, "server", "public", 1, {"x": torch.zeros(1, 1)}),))


def ours(given: Grant, theirs: torch.Tensor) -> np.ndarray:
    return given.subject_ids(theirs.numpy())


@pytest.mark.parametrize("seed", range(5))
def test_ids_map_back(seed):
    data, given = graph(), granted(seed=seed)
    known = given.knowledge
    everyone = ours(given, torch.arange(NODES))
    assert sorted(everyone) == list(range(NODES))
    np.testing.assert_array_equal(known.x[:, 0].numpy(), everyone)  # features are our numbers
    assert sorted(ours(given, known.subjects)) == list(secrets_of(data).subjects)
    edges = {tuple(pair) for pair in everyone[known.edges.numpy()].T.tolist()}
    assert edges == {tuple(pair) for pair in data.edge_index.T.tolist()}


def test_ids_differ_between_seeds_and_say_nothing_of_membership():
    one, other = granted(seed=0), granted(seed=1)
    assert not np.array_equal(one.ids, other.ids)
    truth = secrets_of(graph())
    subjects = ours(one, one.knowledge.subjects)
    members = np.isin(subjects, truth.subjects[truth.truth])
    assert bool((np.diff(one.knowledge.subjects.numpy()) > 0).all())
    assert 0 < members[:SIDE].sum() < SIDE  # not the members first


@pytest.mark.parametrize("seed", range(5))
def test_shadow_is_disjoint_from_subjects_and_alone_has_labels(seed):
    data, given = graph(), granted(seed=seed)
    known = given.knowledge
    shadow = ours(given, known.shadow)
    assert not set(shadow) & set(secrets_of(data).subjects)
    assert len(set(shadow)) == len(known.shadow) == len(known.subjects) == 2 * SIDE
    np.testing.assert_array_equal(known.labels[known.shadow].numpy(), data.y.numpy()[shadow])
    rest = torch.ones(NODES, dtype=torch.bool)
    rest[known.shadow] = False
    rest[known.population] = False
    assert bool((known.labels[rest] == -1).all())


def test_shadow_takes_what_there_is_when_that_is_less():
    data = graph()
    data.train_mask = torch.arange(NODES) < 40
    data.test_mask = (torch.arange(NODES) >= 40) & (torch.arange(NODES) < 65)
    known = granted(data=data).knowledge
    assert (len(known.shadow), len(known.subjects)) == (25, 65)


def test_shadow_edges_are_all_those_among_shadow_nodes():
    data, given = graph(), granted()
    known = given.knowledge
    shadow = set(ours(given, known.shadow).tolist())
    expected = {(u, v) for u, v in data.edge_index.T.tolist() if u in shadow and v in shadow}
    assert expected
    found = given.ids[known.shadow_edges.numpy()].T.tolist()
    assert len(found) == len(expected)
    assert {tuple(pair) for pair in found} == expected


def test_numbers_that_it_is_told():
    known = granted().knowledge
    assert (known.members, known.classes) == (SIDE, 4)
    assert str(2 * SIDE) in known.sentence()


def test_partial_is_a_random_half_of_the_edges_in_both_directions():
    full = granted("true").knowledge.edges.shape[1]
    drawn = []
    for seed in range(3):
        given = granted("partial", seed)
        pairs = [tuple(pair) for pair in given.ids[given.knowledge.edges.numpy()].T.tolist()]
        assert len(pairs) == len(set(pairs)) == 2 * (full // 2 // 2)
        assert {(v, u) for u, v in pairs} == set(pairs)
        assert set(pairs) <= {tuple(pair) for pair in graph().edge_index.T.tolist()}
        drawn.append(frozenset(pairs))
    assert len(set(drawn)) == 3


def test_none_is_no_edge_but_the_shadows_own():
    known = granted("none").knowledge
    assert known.edges.shape == (2, 0)
    assert known.shadow_edges.shape[1] > 0


def test_the_same_shadow_whatever_the_neighbours():
    shadows = [granted(n).knowledge.shadow for n in ("true", "partial", "none")]
    assert all(torch.equal(shadows[0], shadow) for shadow in shadows)


def test_truth_of_other_nodes_changes_nothing_that_is_granted():
    data, told = graph(), secrets_of(graph())
    flipped = LabelMembership(subjects=told.subjects, truth=~told.truth)
    one, other = (s.grant(data, adversary(), np.random.SeedSequence(0))[0] for s in (told, flipped))
    for name in ("x", "edges", "labels", "subjects", "shadow", "shadow_edges"):
        assert torch.equal(getattr(one.knowledge, name), getattr(other.knowledge, name))


@pytest.mark.parametrize("left", [0, SMALLEST_SHADOW - 1, SMALLEST_SHADOW])
def test_too_few_nodes_for_a_shadow_are_refused(left):
    data = graph()
    data.val_mask = torch.zeros(NODES, dtype=torch.bool)
    data.train_mask = torch.arange(NODES) < 30
    data.test_mask = (torch.arange(NODES) >= 30) & (torch.arange(NODES) < NODES - left)
    if left == SMALLEST_SHADOW:
        assert len(granted(data=data).knowledge.shadow) == left
        return
    reason = ShadowMIA().why_not(seeing_everything(), granted(data=data).knowledge)
    assert reason is not None
    assert f"only {left} nodes" in reason


@pytest.mark.parametrize("seed", range(3))
def test_population_is_its_own_and_apart_from_subjects(seed):
    data, given = graph(), granted(seed=seed)
    known = given.knowledge
    assert len(known.population) > 0
    assert not set(ours(given, known.population)) & set(secrets_of(data).subjects)
    np.testing.assert_array_equal(
        known.labels[known.population].numpy(), data.y.numpy()[ours(given, known.population)]
    )


def test_an_auditor_knows_the_labels_in_question_and_all_edges_but_not_who_is_a_member():
    data, told = graph(), secrets_of(graph())
    flipped = LabelMembership(subjects=told.subjects, truth=~told.truth)
    one, other = (
        s.grant(data, adversary("none", auditor=True), np.random.SeedSequence(0))[0].knowledge
        for s in (told, flipped)
    )
    assert bool((one.labels[one.subjects] >= 0).all())
    assert one.all_edges.shape == data.edge_index.shape
    assert one.edges.shape == (2, 0)
    for name in ("x", "edges", "labels", "subjects", "shadow", "population", "all_edges"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert "labels of all of these" in one.sentence()


def test_tables_are_renamed_and_their_order_says_nothing():
    given = granted()
    rows = torch.tensor([5, 3, 40])
    table = Message("posteriors-full", "server", "public", 1, {"nodes": rows, "posteriors": rows[:, None] / 60})
    (seen,) = given.renamed(View("public", (table,))).messages
    named = seen.tensors["nodes"]
    assert bool((named.diff() > 0).all())
    assert ours(given, named).tolist() == (60 * seen.tensors["posteriors"][:, 0]).round().long().tolist()
    for bad in (torch.tensor([NODES]), torch.tensor([-1])):
        with pytest.raises(InputError, match="names nodes that the graph does not have"):
            given.renamed(View("public", (replace(table, tensors={"nodes": bad}),)))
    with pytest.raises(InputError, match="one row for each of its 3 nodes"):
        given.renamed(View("public", (replace(table, tensors={"nodes": rows, "posteriors": torch.ones(2, 3)}),)))


@pytest.mark.parametrize("seed", range(10))
def test_judge_puts_the_truth_beside_the_right_node(seed):
    """Against a dictionary, with scores and secrets in any order."""
    rng = np.random.default_rng(seed)
    told = secrets_of(graph())
    order = rng.permutation(len(told.subjects))
    told = LabelMembership(
        subjects=told.subjects[order], truth=told.truth[order], groups={"even": told.groups["even"][order]}
    )
    given = granted(seed=seed)
    named = rng.permutation(given.knowledge.subjects.numpy())
    score = rng.random(len(named))
    judged = judge(Scores(named, score), given, told)
    by_node = {int(given.ids[n]): s for n, s in zip(named, score, strict=True)}
    truth = dict(zip(told.subjects.tolist(), told.truth.tolist(), strict=True))
    assert judged.subjects.tolist() == sorted(by_node)
    assert judged.score.tolist() == [by_node[n] for n in sorted(by_node)]
    assert judged.truth.tolist() == [truth[n] for n in sorted(by_node)]
    assert told.in_order(told.groups["even"]).tolist() == [n % 2 == 0 for n in sorted(by_node)]


def test_judge_refuses_scores_for_other_nodes():
    given, told = granted(), secrets_of(graph())
    named = given.knowledge.subjects.numpy()
    outsider = given.knowledge.shadow.numpy()[:1]
    for wrong in (named[1:], np.append(named[1:], outsider), np.append(named, named[:1])):
        with pytest.raises(ValueError, match="other subjects"):
            judge(Scores(wrong, np.zeros(len(wrong))), given, told)


def test_shared_coins_carry_no_ancestry():
    """From the plan's seed the members could be drawn again."""
    coins = granted(seed=7).knowledge.seed
    assert coins.spawn_key == ()
    assert coins.entropy != 7
    assert granted(seed=8).knowledge.seed.entropy != coins.entropy
