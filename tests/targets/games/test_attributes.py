"""Hidden attributes as a game: what adversaries are granted, and what they are not."""

import numpy as np
import pytest
import torch
from scipy.stats import hypergeom
from torch_geometric.data import Data

from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.games.attributes import Attribute, hidden_attribute
from support.adversaries import adversary

SEED = np.random.SeedSequence(3)


@pytest.fixture(scope="module")
def data() -> Data:
    """Coins, of which the first is one of a one-hot code of three, and a graph at random."""
    rng = np.random.default_rng(0)
    planted = load_dataset("planted-attributes")
    codes = np.eye(3)[rng.integers(0, 3, planted.num_nodes)]
    planted.x = torch.from_numpy(np.hstack([codes, planted.x.numpy()])).float()
    return planted


def granted(game, data, neighbours="true", seed=SEED):
    given, left = game.grant(data, adversary(neighbours), seed)
    assert left(game) is game
    return given


@pytest.mark.parametrize("asked", ["0", "label:1"])
def test_everybody_is_known_or_in_question(data, asked):
    game = hidden_attribute(data, asked, 0.3, SEED)
    has = data.y.numpy() == 1 if asked == "label:1" else data.x[:, 0].numpy() == 1
    assert sorted([*game.known, *game.subjects]) == list(range(300))
    assert len(game.known) == 90
    assert game.truth.tolist() == has[game.subjects].tolist()
    assert game.told.tolist() == has[game.known].tolist()


@pytest.mark.parametrize("seed", [1, 2])
def test_ids_are_new_and_lead_back(data, seed):
    game = hidden_attribute(data, "0", 0.5, SEED)
    given = granted(game, data, seed=np.random.SeedSequence(seed))
    knowledge = given.knowledge
    assert not np.array_equal(given.ids, np.arange(300))
    assert np.array_equal(np.sort(given.subject_ids(knowledge.subjects.numpy())), game.subjects)
    told = dict(zip(given.ids[knowledge.known].tolist(), knowledge.told.tolist(), strict=True))
    assert told == dict(zip(game.known.tolist(), game.told.tolist(), strict=True))
    ours = {frozenset(pair) for pair in data.edge_index.T.tolist()}
    assert {frozenset(given.ids[pair].tolist()) for pair in knowledge.edges.T.numpy()} == ours


def test_hidden_columns_are_known_of_those_who_are_known_alone(data):
    given = granted(hidden_attribute(data, "0", 0.5, SEED), data)
    knowledge, own = given.knowledge, data.x[torch.from_numpy(given.ids)]
    known = set(knowledge.known.tolist())
    assert knowledge.columns.tolist() == [0, 1, 2]
    for person in range(300):
        assert torch.equal(knowledge.x[person, 3:], own[person, 3:])
        assert torch.equal(knowledge.x[person, :3], own[person, :3] if person in known else torch.zeros(3))
    assert torch.equal(knowledge.labels, data.y[torch.from_numpy(given.ids)])
    assert knowledge.others.shape == (300, 8 + 2)


def test_hidden_classes_are_known_of_those_who_are_known_alone(data):
    given = granted(hidden_attribute(data, "label:1", 0.5, SEED), data)
    knowledge, own = given.knowledge, data.y[torch.from_numpy(given.ids)]
    known = set(knowledge.known.tolist())
    assert knowledge.labels.tolist() == [int(own[k]) if k in known else -1 for k in range(300)]
    assert torch.equal(knowledge.others, data.x[torch.from_numpy(given.ids)])


def test_links_are_known_as_far_as_one_asks_with_them(data):
    game = hidden_attribute(data, "0", 0.5, SEED)
    assert granted(game, data).knowledge.edges.shape == data.edge_index.shape
    assert granted(game, data, "none").knowledge.edges.shape == (2, 0)
    apart = hidden_attribute(data, "0", 0.5, SEED, linked=False)
    assert granted(apart, data).knowledge.edges.shape == (2, 0)
    assert "and no link" in granted(apart, data).knowledge.sentence()


def test_rows_that_stand_for_a_value_are_means_of_known_people(data):
    game = hidden_attribute(data, "1", 0.5, SEED)
    without, having = granted(game, data).knowledge.representatives
    rows = [data.x[person, :3] for person in game.known if data.x[person, 1] == 0]
    torch.testing.assert_close(without, torch.stack(rows).mean(0))
    assert having.tolist() == [0, 1, 0]
    torch.testing.assert_close(game.submitted(data.x), torch.stack([without, having]))


@pytest.mark.parametrize("seed", range(5))
def test_an_attribute_that_somebody_drew_with_the_same_seed_does_not_say_who_is_known(data, seed):
    """Error rate 1e-6 each: the known with the value are a hypergeometric number."""
    drawn = np.random.default_rng(seed).permutation(300)
    other = data.clone()
    other.x = torch.from_numpy(np.column_stack([drawn < 150, data.x[:, 5:].numpy()])).float()
    game = hidden_attribute(other, "0", 0.5, np.random.SeedSequence(seed))
    low, high = hypergeom.interval(1 - 1e-6, 300, 150, 150)
    assert low <= game.told.sum() <= high


def test_what_is_public_is_told_person_by_person(data):
    game = hidden_attribute(data, "0", 0.5, SEED)
    (columns,) = game.public_columns(data, SEED).values()
    assert np.array_equal(columns[:, :8], data.x[np.sort(game.subjects)][:, 3:])
    assert set(game.attributes(data)) == {"degree", "class"}
    assert set(hidden_attribute(data, "label:0", 0.5, SEED).attributes(data)) == {"degree"}
    assert {len(labels) for labels in game.groupings(data).values()} == {len(game.subjects)}


def test_too_few_people_with_the_value_are_refused(data):
    other = data.clone()
    other.x = torch.cat([other.x, (torch.arange(300) < 15).float()[:, None]], 1)
    with pytest.raises(InputError, match="15 of 300 people have the value"):
        hidden_attribute(other, "11", 0.5, SEED)
    with pytest.raises(InputError, match="neither features nor classes"):
        hidden_attribute(load_dataset("planted-network"), "0", 0.5, SEED)


def test_found_by_name():
    assert find("games", "attribute") is Attribute
    assert Attribute.words.question.endswith("?")


@pytest.mark.parametrize(
    ("target", "attack", "told"),
    [
        ("publish", "attribute-neighbours", "--set attribute=COLUMN or label:K"),
        ("classifier", "attribute-rows", "--set game=attribute"),
        ("publish", "link-marks", "--set mark=weight, or with --set mark=type:K"),
    ],
)
def test_where_nobody_asked_for_it_the_refusal_says_how(target, attack, told):
    settings = {"measures": ("degree-distribution",)} if target == "publish" else {"recipe": {"epochs": 1}}
    plan = TrialPlan(target, settings, "none", {}, (AttackPlan(attack, {}, "public"),), 0, 0)
    (reason,) = run_trial(plan, load_dataset("patients")).refused.values()
    assert told in reason
