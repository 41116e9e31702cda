"""Levels for everybody: what is told of one person is told of all, and who may be left out."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gaudit.defenses.attributes.k_attributes import KAttributes
from gaudit.defenses.attributes.k_attributes_full_domain import KAttributesFullDomain
from gaudit.errors import InputError
from support.attributed_people import degrees, people, signatures, told

SEED = np.random.SeedSequence(0)
DEFENSES = [KAttributes, KAttributesFullDomain]


def test_each_attribute_is_told_at_one_level():
    for seed in range(4):
        before = people(80, seed)
        runs = KAttributesFullDomain(k=8).on_graph(before, SEED).people.runs[:, :, 0]
        for place, column in enumerate(before.people.columns):
            own = before.people.values[:, place]
            levels = [
                level for level in range(len(column.blocks)) if (column.blocks[level, own] == runs[:, place]).all()
            ]
            assert levels


def test_one_rare_person_makes_an_attribute_coarse_for_everybody():
    before = people(40, 0)
    values = np.array([[node % 2, node % 2] for node in range(40)])
    values[0] = [10, 3]
    rare = replace(before, people=replace(before.people, runs=np.stack([values, values], axis=2)[:, :, None]))
    levels, classes = (d(k=5, degrees=False).on_graph(rare, SEED) for d in (KAttributesFullDomain, KAttributes))
    assert (levels.people.losses()[1:] > 0).any(1).all()
    assert (classes.people.losses() == 0).all(1).sum() >= 10


def test_mondrian_tells_less_coarsely_than_levels_for_everybody():
    lost = []
    for seed in range(5):
        before = people(80, seed)
        afters = [defense(k=5, degrees=False).on_graph(before, SEED) for defense in DEFENSES]
        lost.append([after.people.losses().mean() for after in afters])
    assert all(one < other for one, other in lost)


def test_suppressed_people_are_none_or_k_and_keep_their_edges():
    before = people(60, 3)
    alike = np.array(
        [[n % 3, n % 2] if n < 53 else [4 + n - 53, 3] for n in range(60)]
    )  # 7 are alone with their age
    runs = np.stack([alike, alike], axis=2)[:, :, None]
    before = replace(before, people=replace(before.people, runs=runs))
    few, none = KAttributesFullDomain(k=6, suppress=0.2, degrees=False), KAttributesFullDomain(k=6, degrees=False)
    after, beside = few.on_graph(before, SEED), none.on_graph(before, SEED)
    left = np.flatnonzero(after.people.sensitive[:, 0] < 0)
    assert left.tolist() == list(range(53, 60))
    assert {told(after)[node] for node in left} == {("[20, 31]", "*")}
    assert degrees(after) == degrees(before)
    assert (beside.people.sensitive >= 0).all()
    assert after.people.losses().mean() < beside.people.losses().mean()
    assert few.verify(before, after).holds


def test_where_not_even_the_coarsest_levels_do_it_is_said():
    before = people(40, 2)
    whole = before.people.sensitive.copy()
    whole[:] = 0
    whole[:20, 0] = np.arange(20) % 4
    with pytest.raises(InputError, match="choose a smaller l"):
        KAttributesFullDomain(k=3, l_diversity=3).on_graph(
            replace(before, people=replace(before.people, sensitive=whole)), SEED
        )


def test_within_levels_people_of_like_degree_form_the_classes():
    before = people(90, 4, share=0.05)
    after = KAttributesFullDomain(k=5).on_graph(before, SEED)
    assert min(Counter(signatures(after)).values()) >= 5
    assert len(set(signatures(after))) > len(set(told(after)))
