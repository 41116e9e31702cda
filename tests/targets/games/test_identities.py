"""Pairs of persons and published nodes, and which of them are asked about."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.graphs.pair_codes import ends
from gaudit.targets.games.identities import identities, identity_codes, identity_pairs


@given(st.integers(1, 50), st.integers(1, 50), st.data())
def test_codes_and_pairs_are_inverse_and_distinct(people, nodes, data):
    person = data.draw(st.integers(0, people - 1))
    node = data.draw(st.integers(0, nodes - 1))
    coded = identity_codes(np.array([person]), np.array([node]), people, nodes)
    back = identity_pairs(coded, people, nodes)
    assert (back[0][0], back[1][0]) == (person, node)
    low, high = ends(coded, people + nodes)
    assert low[0] < people <= high[0] < people + nodes  # pairs that share a person or a node share an end


def test_every_person_is_asked_about_once_truly():
    image = np.random.default_rng(0).permutation(40)[:30]
    secrets = identities(image, 40, np.random.SeedSequence(0))
    person, node = identity_pairs(secrets.subjects, 30, 40)
    assert np.array_equal(np.sort(person[secrets.truth]), np.arange(30))
    assert np.array_equal(secrets.image[:30], image)
    assert np.array_equal(np.sort(secrets.image), np.arange(40))
    assert np.array_equal(node[secrets.truth], person[secrets.truth])
    assert (node[~secrets.truth] != person[~secrets.truth]).all()


def test_another_release_asks_about_the_same_subjects():
    """Whatever the published names, which are drawn anew; six published nodes stand for nobody."""
    one, other = (
        identities(np.random.default_rng(k).permutation(26)[:20], 26, np.random.SeedSequence(k)) for k in (1, 2)
    )
    assert not np.array_equal(one.image, other.image)
    assert np.array_equal(np.sort(one.subjects), np.sort(other.subjects))
    assert np.array_equal(np.sort(one.subjects[one.truth]), np.sort(other.subjects[other.truth]))


def test_a_part_of_the_people_leaves_everybodys_nodes_their_names():
    image = np.random.default_rng(3).permutation(26)[:20]
    some = identities(image, 26, np.random.SeedSequence(0), persons=np.array([3, 7]))
    every = identities(image, 26, np.random.SeedSequence(0))
    assert len(some.subjects) == 2 * 26
    assert set(some.subjects) <= set(every.subjects)


def test_small_networks_have_all_pairs_in_question():
    secrets = identities(np.arange(20), 25, np.random.SeedSequence(0))
    assert len(secrets.subjects) == len(np.unique(secrets.subjects)) == 20 * 25
    assert secrets.sampling_weight == 1


def test_a_sample_is_uniform_over_other_nodes_and_stands_for_all():
    image = np.random.default_rng(1).permutation(300)
    secrets = identities(image, 300, np.random.SeedSequence(2), others=20_000)
    person, node = identity_pairs(secrets.subjects[~secrets.truth], 300, 300)
    assert secrets.sampling_weight * len(person) == pytest.approx(300 * 299)
    for drawn in (person, node):  # chi-square with 299 degrees of freedom: 400 is exceeded with probability 9e-5
        counts = np.bincount(drawn, minlength=300)
        assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 400
