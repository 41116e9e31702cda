"""Whether a person is in a release: whom the game asks about, what it grants, and who is left out."""

import numpy as np
import pytest

from gaudit.attacks.existence.existence_refinement import ExistenceRefinement
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import data_of
from gaudit.targets.defense import Defense
from gaudit.targets.game import Adversary
from gaudit.targets.games.existence import existence
from gaudit.targets.published import network_of
from gaudit.targets.publishing.publish import Publish
from support.random_networks import random_network, uneven_network

PEOPLE = 80


@pytest.fixture(name="known", scope="module")
def with_some_who_have_no_links():
    drawn = random_network(PEOPLE - 5, 200, 0)
    return Network(PEOPLE, drawn.edges)


def present(share: float = 0.6) -> np.ndarray:
    return np.random.default_rng(1).random(PEOPLE) < share


def test_everybody_with_a_link_is_in_question(known):
    game = existence(known, present(), 48)
    linked = {int(node) for edge in known.edges.T for node in edge}
    assert set(game.subjects.tolist()) == linked
    assert {node for node, member in zip(game.subjects.tolist(), game.truth, strict=True) if member} == {
        node for node in linked if present()[node]
    }


@pytest.mark.parametrize("seed", [0, 1])
def test_ids_are_new_and_lead_back_and_facts_do_not_depend_on_the_truth(known, seed):
    game, other = existence(known, present(), 48), existence(known, ~present(), 48)
    adversary, root = Adversary(ExistenceRefinement()), np.random.SeedSequence(seed)
    given, left = game.grant(None, adversary, root)
    assert not np.array_equal(given.ids, np.arange(PEOPLE))
    assert set(given.subject_ids(given.knowledge.subjects.numpy())) == set(game.subjects)
    assert left(game) is game
    facts = given.knowledge.background.facts
    of_other = other.grant(None, adversary, root)[0].knowledge.background.facts
    assert all(np.array_equal(value, of_other[name]) for name, value in facts.items())
    degree = np.round(np.expm1(facts["profiles"][:, 0])).astype(int)
    assert degree.tolist() == [int((known.edges == one).sum()) for one in given.ids.tolist()]


def test_what_the_adversarys_own_network_tells_is_the_baseline(known):
    game = existence(known, present(), 48)
    (column,) = game.public_columns(None, np.random.SeedSequence(0)).values()
    counted = [int((known.edges == one).sum()) for one in sorted(game.subjects.tolist())]
    assert np.allclose(np.expm1(column[:, 0]), counted)


@pytest.mark.parametrize(("share", "says"), [(0, "in the release"), (1, "not in the release")])
def test_both_sorts_of_people_are_needed(known, share, says):
    with pytest.raises(InputError, match=f"0 people with links, of whom the adversary knows, are {says}"):
        existence(known, present(share), 48)


def test_the_release_has_the_people_who_are_in_it_and_all_their_links():
    network = uneven_network(100, 400, 3)
    target = Publish(absent=0.3, measures=("degree-distribution",))
    assert target.plays == {"existence"}
    run = target.run(data_of(network), Defense(), np.random.SeedSequence(5), lambda message: True)
    (game,) = run.secrets.values()
    (message,) = run.transcript.seen_by("public").messages
    published = network_of(message)
    there = np.ones(100, dtype=bool)
    there[game.subjects] = game.truth
    within = [(a, b) for a, b in network.edges.T.tolist() if there[a] and there[b]]
    assert published.nodes == 70
    assert published.size == len(within)
    degrees = np.bincount(np.array(within).ravel(), minlength=100)[there]
    assert sorted(published.degrees.tolist()) == sorted(degrees.tolist())


def test_existence_is_asked_alone():
    with pytest.raises(InputError, match="leave out windows and attribute"):
        Publish(absent=0.2, windows=2, attribute="city")
    assert "existence" not in Publish().plays


@pytest.mark.parametrize("seed", range(5))
def test_a_part_of_a_network_keeps_the_edges_among_its_nodes(seed):
    rng = np.random.default_rng(seed)
    network, keep = random_network(20, 60, seed), rng.random(20) < 0.5
    part, kept = network.among(keep), np.flatnonzero(keep).tolist()
    assert part.nodes == len(kept)
    assert {(kept[a], kept[b]) for a, b in part.edges.T.tolist()} == {
        (a, b) for a, b in network.edges.T.tolist() if a in kept and b in kept
    }
