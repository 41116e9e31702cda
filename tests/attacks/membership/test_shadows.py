"""Who trains which shadow model on whom."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given as drawn_from
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaudit.attacks.membership.shadow_models import best_setting, cut_in_rounds, reference_model, shadow_models
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.targets.games.membership import LabelMembership, NodeKnowledge
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import Query, TrainingTask

NODES, POOL = 60, 40
RECIPE = TrainingConfig(hidden=8, epochs=5, dropout=0.5)


def knowledge(seed: int = 0, **changes: object) -> NodeKnowledge:
    """40 nodes in question, 20 of them members; 20 nodes of its own, of which 5 are no one's."""
    rng = np.random.default_rng(0)
    once = np.unique(np.sort(rng.integers(0, NODES, (2, 120)), axis=0), axis=1)
    once = torch.from_numpy(once[:, once[0] != once[1]])
    edges = torch.cat([once, once.flip(0)], 1)
    inside = (edges >= POOL).all(0)
    made = NodeKnowledge(
        x=torch.from_numpy(rng.random((NODES, 12)).astype(np.float32)),
        edges=edges,
        neighbours="true",
        labels=torch.from_numpy(rng.integers(0, 3, NODES)),
        subjects=torch.arange(POOL),
        shadow=torch.arange(POOL, NODES),
        shadow_edges=edges[:, inside],
        members=POOL // 2,
        classes=3,
        game=LabelMembership.name,
        recipe=RECIPE,
        auditor=True,
        population=torch.arange(NODES - 5, NODES),
        all_edges=edges,
        seed=np.random.SeedSequence(seed),
    )
    return replace(made, **changes)


@st.composite
def cuts(draw):
    nodes = draw(st.integers(6, 150))
    size = draw(st.integers(1, nodes - 1))
    pool = np.sort(np.random.default_rng(draw(st.integers(0, 99))).choice(1000, nodes, replace=False))
    masks, rounds = cut_in_rounds(pool, size, draw(st.integers(1, 40)), np.random.default_rng(0))
    return pool, size, masks, np.array(rounds)


@drawn_from(cuts())
def test_every_node_is_in_equally_often_in_every_round(cut):
    pool, _, masks, rounds = cut
    inside = np.stack([np.isin(pool, mask) for mask in masks])
    for round_ in np.unique(rounds):
        counts = inside[rounds == round_].sum(0)
        assert counts.min() == counts.max() >= 1
        assert (~inside[rounds == round_]).sum(0).min() >= 1


@drawn_from(cuts())
def test_masks_are_nodes_of_the_pool_and_about_as_many_as_members(cut):
    """Within a tenth of the members' number, or of the others' if these are fewer; and a node for each part."""
    pool, size, masks, rounds = cut
    fewer, parts = min(size, len(pool) - size), int((rounds == 0).sum())
    for mask in masks:
        assert set(mask) <= set(pool)
        assert len(set(mask)) == len(mask)
        assert 1 <= len(mask) < len(pool)
        if fewer >= len(pool) / 60:  # more parts than that are not made
            assert abs(len(mask) - size) <= fewer / 10 + round(parts * size / len(pool))


@drawn_from(st.integers(3, 75), st.integers(1, 40))
def test_with_half_of_the_pool_a_round_is_a_mask_and_its_complement(half, count):
    pool = np.arange(2 * half)
    masks, rounds = cut_in_rounds(pool, half, count, np.random.default_rng(1))
    assert rounds == [k // 2 for k in range(len(masks))]
    for one, other in zip(masks[::2], masks[1::2], strict=True):
        assert len(one) == len(other) == half
        np.testing.assert_array_equal(np.union1d(one, other), pool)


@drawn_from(st.integers(6, 150), st.data(), st.integers(1, 40))
def test_as_many_as_asked_in_whole_rounds_and_two_rounds_at_least(nodes, data, count):
    size = data.draw(st.integers(1, nodes - 1))
    masks, rounds = cut_in_rounds(np.arange(nodes), size, count, np.random.default_rng(2))
    of_a_round = np.bincount(rounds)
    assert len(set(of_a_round)) == 1
    assert len(masks) >= count
    assert len(of_a_round) >= 2  # what is tuned on a model that plays the target needs another round
    assert len(masks) - of_a_round[0] < count or len(of_a_round) == 2  # and no round is for nothing


def test_leaving_out_one_model_leaks_by_the_count_and_its_whole_round_does_not():
    """Known error: every node is IN S/2 times, so what is left of S - 1 models tells who was IN in the one."""
    masks, rounds = cut_in_rounds(np.arange(100), 50, 8, np.random.default_rng(3))
    inside, rounds = np.stack([np.isin(np.arange(100), mask) for mask in masks]), np.array(rounds)
    for k in range(8):
        one = np.arange(8) != k
        assert auc(inside[k], -inside[one].sum(0)) == 1.0
        assert auc(inside[k], inside[rounds != rounds[k]].sum(0)) == 0.5


def test_best_setting_leaves_out_the_round_of_the_model_that_plays_the_target():
    masks, rounds = cut_in_rounds(np.arange(90), 30, 9, np.random.default_rng(4))  # three models a round
    inside, rounds = np.stack([np.isin(np.arange(90), mask) for mask in masks]), np.array(rounds)
    values = np.arange(9.0)[:, None] + np.zeros(90)  # a model is known by its value
    seen = []

    def score(target, references, theirs, setting):
        seen.append((int(target[0]), references[:, 0].astype(int).tolist()))
        np.testing.assert_array_equal(theirs, inside[references[:, 0].astype(int)])
        return target * 0.0

    best_setting(values, inside, rounds, score, (0.0,), targets=9)
    assert [played for played, _ in seen] == list(range(9))
    for played, references in seen:
        assert references == [k for k in range(9) if k // 3 != played // 3]


def test_best_setting_is_the_one_that_finds_the_members():
    rng = np.random.default_rng(5)
    masks, rounds = cut_in_rounds(np.arange(200), 100, 8, rng)
    inside, rounds = np.stack([np.isin(np.arange(200), mask) for mask in masks]), np.array(rounds)
    values = inside + rng.standard_normal(inside.shape)
    for best in (0.0, 0.5, 1.0):

        def score(target, references, theirs, setting, best=best):
            wrong = abs(setting - best)
            return (1 - wrong) * target + wrong * (np.arange(200) % 7)

        assert best_setting(values, inside, rounds, score, (0.0, 0.5, 1.0)) == best


def test_attacks_with_the_same_knowledge_share_models_and_others_do_not():
    known = knowledge()
    pool = shadow_models(known, RECIPE, 4, offline=False)
    assert shadow_models(known, RECIPE.model_copy(), 4, offline=False) is pool
    others = [
        shadow_models(known, RECIPE, 6, offline=False),
        shadow_models(known, RECIPE, 4, offline=True),
        shadow_models(known, RECIPE.model_copy(update={"epochs": 6}), 4, offline=False),
        shadow_models(replace(known), RECIPE, 4, offline=False),
    ]
    assert all(other is not pool for other in others)


@pytest.mark.parametrize("game", ["label-membership", "node-presence"])
@pytest.mark.parametrize("count", [4, 7])
def test_a_reference_alone_is_what_it_is_among_all(game, count):
    known = knowledge(game=game)
    alone = reference_model(known, RECIPE, count, offline=False)
    assert reference_model(known, RECIPE, count, offline=False) is alone
    among = shadow_models(known, RECIPE, count, offline=False)
    assert len(alone.weights["w1"]) == 1
    assert len(among.weights["w1"]) >= count + 1
    np.testing.assert_array_equal(alone.reference_members, among.reference_members)
    for apart in (False, True):
        query = Query(known.subjects, known.edges, apart=apart)
        assert torch.equal(alone.ask_reference(query), among.ask_reference(query))
    assert reference_model(known, RECIPE, count, offline=False) is among  # nothing is trained twice


def test_models_asked_one_by_one_say_the_same():
    pool = shadow_models(knowledge(), RECIPE, 4, offline=False)
    query = Query(torch.arange(NODES), pool.task.data.edge_index)
    assert torch.equal(torch.stack(list(pool.each(query))), pool.ask(query))


def test_shared_models_are_gone_with_the_knowledge():
    known = knowledge()
    kept = weakref.ref(shadow_models(known, RECIPE, 4, offline=False))
    assert kept() is not None
    del known
    gc.collect()
    assert kept() is None


def test_the_same_coins_give_the_same_models():
    one, same, other = (shadow_models(knowledge(seed), RECIPE, 4, offline=False) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.inside, same.inside)
    assert all(torch.equal(one.weights[name], same.weights[name]) for name in one.weights)
    assert not np.array_equal(one.inside, other.inside)


@pytest.mark.parametrize("game", ["label-membership", "node-presence"])
def test_a_label_reaches_the_models_alone_that_trained_on_it(game):
    known, node = knowledge(game=game), 7
    labels = known.labels.clone()
    labels[node] = (labels[node] + 1) % 3
    one, other = (shadow_models(k, RECIPE, 6, offline=False) for k in (known, replace(known, labels=labels)))
    same = (one.weights["w2"] == other.weights["w2"])[:-1].flatten(1).all(1).numpy()
    np.testing.assert_array_equal(same, ~one.inside[:, node])


@pytest.mark.parametrize("game", ["label-membership", "node-presence"])
def test_a_nodes_features_reach_other_models_in_the_transductive_game_alone(game):
    known = knowledge(game=game)
    node = int(known.all_edges[0].bincount(minlength=NODES)[:POOL].argmax())
    x = known.x.clone()
    x[node] += 1
    one, other = (shadow_models(k, RECIPE, 6, offline=False) for k in (known, replace(known, x=x)))
    same = (one.weights["w2"] == other.weights["w2"])[:-1].flatten(1).all(1).numpy()
    expected = ~one.inside[:, node] if game == "node-presence" else np.zeros(6, dtype=bool)
    np.testing.assert_array_equal(same, expected)


def test_online_models_train_on_nodes_in_question_and_offline_ones_on_nodes_of_their_own():
    known = knowledge()
    online, offline = (shadow_models(known, RECIPE, 4, offline) for offline in (False, True))
    assert online.inside[:, :POOL].sum(1).tolist() == [20] * 4
    assert not online.inside[:, POOL:].any()
    assert not offline.inside[:, :POOL].any()
    assert not offline.inside[:, NODES - 5 :].any()  # the population is no one's
    assert (offline.inside.sum(1) >= 7).all()  # of 15, a mask and its complement
    assert len(online.inside) == len(offline.inside) == 4


def test_the_stranger_is_another_draw_of_the_same_size():
    pool = shadow_models(knowledge(), RECIPE, 4, offline=False)
    members = pool.reference_members
    assert int(members.sum()) == POOL // 2
    assert not members[POOL:].any()
    assert not any(np.array_equal(members, row) for row in pool.inside)


@pytest.mark.parametrize("who", ["shadows", "stranger"])
def test_apart_leaves_out_edges_to_non_members_of_the_model_that_is_asked(who):
    known = knowledge()
    pool = shadow_models(known, RECIPE, 4, offline=False)
    apart = Query(known.subjects, known.edges, apart=True)
    told = pool.ask(apart) if who == "shadows" else pool.ask_reference(apart)
    part = slice(None, -1) if who == "shadows" else slice(-1, None)
    rows, weights = pool.task.members[part], {name: weight[part] for name, weight in pool.weights.items()}
    for k, members in enumerate(rows):
        left = known.edges[:, members[known.edges[0]] == members[known.edges[1]]]
        task = TrainingTask(Data(x=known.x, edge_index=left, y=known.labels), members[None], RECIPE, 3)
        one = {name: w[k : k + 1] for name, w in weights.items()}
        (expected,) = ask_models(task, [Query(known.subjects, left)], one)
        torch.testing.assert_close(told[k : k + 1], expected)


def test_models_that_do_not_fit_into_memory_are_refused():
    with pytest.raises(InputError, match=r"5 shadow models of width .* take .* GiB") as error:
        shadow_models(knowledge(), TrainingConfig(hidden=10**8), 4, offline=False)
    assert "\n" not in str(error.value)
