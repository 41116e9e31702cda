"""Classes of people by attributes and degree, counted by dictionaries and sets; textbook tables."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from gaudit.defenses.attributes.k_attributes import KAttributes
from gaudit.defenses.attributes.k_attributes_full_domain import KAttributesFullDomain
from gaudit.defenses.attributes.requirement import diversity, earth_mover
from gaudit.defenses.degrees.k_degree import KDegree
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import network_of_data
from gaudit.graphs.tables.levels import built_in, column_of, places
from gaudit.graphs.tables.node_table import NodeTable
from gaudit.targets.publishing.people import table_of_data
from support.attributed_people import degrees, people, signatures, told

SEED = np.random.SeedSequence(0)


def groups(keys):
    found = {}
    for node, key in enumerate(keys):
        found.setdefault(key, []).append(node)
    return list(found.values())


def is_true(before, after):
    """Whether each person's own value is within what is told of it, by the texts alone."""
    column = {"north": ["N0", "N2"], "south": ["S1", "S3"], "*": ["N0", "N2", "S1", "S3"]}
    for (age, city), (told_age, told_city) in zip(told(before), told(after), strict=True):
        low, high = told_age.strip("[]").split(", ") if "," in told_age else (told_age, told_age)
        if not int(low) <= int(age) <= int(high) or city not in column.get(told_city, [told_city]):
            return False
    return True


DEFENSES = [KAttributes, KAttributesFullDomain]


@pytest.mark.parametrize("defense", DEFENSES)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 9), joint=st.booleans())
@settings(max_examples=25, deadline=None)
def test_classes_have_k_people_and_nothing_untrue_is_told(defense, seed, k, joint):
    before = people(24, seed)
    made = defense(k=k, degrees=joint)
    after = made.on_graph(before, SEED)
    assert min(Counter(signatures(after, joint)).values()) >= k
    assert is_true(before, after)
    assert (after.people.sensitive == before.people.sensitive).all()
    assert made.verify(before, after).holds
    if not joint:
        assert (after.edges == before.edges).all()


@pytest.mark.parametrize("defense", DEFENSES)
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("how", ["share", "distinct", "entropy"])
def test_sensitive_values_of_a_class_are_diverse_by_a_second_formula(defense, joint, how):
    for seed in range(4):
        before = people(60, seed)
        made = defense(k=4, l_diversity=3, diversity=how, degrees=joint)
        after = made.on_graph(before, SEED)
        for rows in groups(signatures(after, joint)):
            counts = Counter(after.people.sensitive[rows, 0].tolist())
            assert len(rows) >= 4
            assert len(counts) >= 3
            if how == "share":
                assert 3 * max(counts.values()) <= len(rows)
            if how == "entropy":
                n = len(rows)  # log n - (1/n) sum c log c
                assert math.log(n) - sum(c * math.log(c) for c in counts.values()) / n >= math.log(3) - 1e-9


@pytest.mark.parametrize("defense", DEFENSES)
@pytest.mark.parametrize("several", ["given-others", "each"])
@pytest.mark.parametrize("how", ["share", "distinct"])
def test_each_of_several_sensitive_columns_is_diverse(defense, several, how):
    """Whoever knows a person's other sensitive values finds two values of each column; counted by dictionaries."""
    held = set()
    for seed in range(4):
        before = two_secrets(people(120, seed), seed)
        made = defense(k=4, l_diversity=2, diversity=how, several=several, t_closeness=0.6)
        after = made.on_graph(before, SEED)
        assert made.verify(before, after).holds
        assert not made.verify(before, replace(after, people=before.people)).holds
        rows = after.people.sensitive.tolist()
        alike = groups(signatures(after))
        held.add(all(two_values(rows, own, True, how) for own in alike))
        assert all(two_values(rows, own, several == "given-others", how) for own in alike)
    if several == "given-others":
        assert held == {True}
    elif defense is KAttributes:
        assert False in held


def test_columns_that_tell_each_other_are_refused_unless_each_is_looked_at_by_itself():
    before = people(40, 0, secrets=2)
    before = replace(before, people=replace(before.people, sensitive=np.repeat(before.people.sensitive, 2, axis=1)))
    with pytest.raises(InputError, match="or several=each"):
        KAttributes(k=4, l_diversity=2, diversity="distinct").on_graph(before, SEED)
    made = KAttributes(k=4, l_diversity=2, diversity="distinct", several="each")
    assert made.verify(before, made.on_graph(before, SEED)).holds


def two_secrets(before, seed):
    """The same people with a second sensitive column."""
    (secret,), own = before.people.secrets, before.people.sensitive
    more = np.random.default_rng(seed).integers(secret.size, size=own.shape)
    table = replace(before.people, secrets=(secret, secret), sensitive=np.hstack([own, more]))
    return replace(before, people=table)


def two_values(rows, members, known, how):
    """Whether each column has two values in a class, or in each part of it that shares the other column."""
    for place in (0, 1):
        parts = {}
        for person in members:
            parts.setdefault(rows[person][1 - place] if known else None, []).append(rows[person][place])
        for own in parts.values():
            most = max(Counter(own).values())
            if len(set(own)) < 2 or (how == "share" and 2 * most > len(own)):
                return False
    return True


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("defense", DEFENSES)
def test_sensitive_values_of_a_class_are_close_by_a_second_formula(defense, ordered):
    for seed in range(4):
        before = people(80, seed)
        (secret,) = before.people.secrets
        if ordered:
            secret = replace(secret, numbers=np.arange(secret.size, dtype=float))
            before = replace(before, people=replace(before.people, secrets=(secret,)))
        after = defense(k=3, t_closeness=0.25).on_graph(before, SEED)
        whole = before.people.sensitive[:, 0]
        for rows in groups(signatures(after)):
            own = after.people.sensitive[rows, 0]
            if ordered:
                apart = wasserstein_distance(own, whole) / (secret.size - 1)
            else:
                apart = sum(max(0.0, (own == v).mean() - (whole == v).mean()) for v in range(secret.size))
            assert apart <= 0.25 + 1e-9


def test_attributes_and_degrees_made_anonymous_apart_are_not_anonymous_together():
    before = people(120, 0, share=0.05)
    k, apart = 5, KAttributes(k=5, degrees=False)
    attributes = apart.on_graph(before, SEED)
    both = KDegree(k=k).on_graph(attributes, SEED)
    assert min(Counter(told(both)).values()) >= k
    assert min(Counter(degrees(both)).values()) >= k
    assert min(Counter(signatures(both)).values()) == 1
    assert apart.verify(before, both).holds
    assert KDegree(k=k).verify(attributes, both).holds
    joint = KAttributes(k=k)
    assert not joint.verify(before, both).holds
    assert min(Counter(signatures(joint.on_graph(before, SEED))).values()) >= k


def test_a_check_sees_what_is_untrue_and_what_is_missing():
    before = people(40, 1)
    made = KAttributes(k=4)
    after = made.on_graph(before, SEED)
    table = after.people
    other = replace(table, sensitive=(table.sensitive + 1) % 4)
    swapped = table.runs.copy()
    ages = swapped[:, 0, 0]
    swapped[:, 0, 0] = np.where(ages == ages.min(), ages.max(), ages)
    for wrong in (other, replace(table, runs=swapped), replace(table, sensitive=None), before.people):
        assert not made.verify(before, replace(after, people=wrong)).holds
    assert not made.verify(before, replace(after, people=None)).holds


def test_the_inpatient_microdata_of_l_diversity():
    # Machanavajjhala et al. 2007, Figures 1 and 2: four people in each class, and the third has cancer alone
    zips = [
        "13053",
        "13068",
        "13068",
        "13053",
        "14853",
        "14853",
        "14850",
        "14850",
        "13053",
        "13053",
        "13068",
        "13068",
    ]
    ages = ["28", "29", "21", "23", "50", "55", "47", "49", "31", "37", "36", "35"]
    ill = ["heart", "heart", "viral", "viral", "cancer", "heart", "viral", "viral", *["cancer"] * 4]
    classes = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    counts = [np.array(list(Counter(ill[i] for i in rows).values())) for rows in classes]
    assert [diversity(c, "distinct") for c in counts] == [2, 3, 1]
    assert [diversity(c, "share") for c in counts] == [2, 2, 1]
    columns = (column_of("zip", zips, built_in("prefix", "zip", zips)), column_of("age", ages))
    secret = column_of("ill", ill)
    rows = np.column_stack([places(c, cells) for c, cells in zip(columns, (zips, ages), strict=True)])
    table = NodeTable.of_values(columns, rows, (secret,), places(secret, ill)[:, None])
    before = Network(12, np.empty((2, 0), dtype=np.int64), people=table)
    anonymous = KAttributes(k=4, degrees=False).on_graph(before, SEED)
    diverse = KAttributes(k=4, l_diversity=2, degrees=False).on_graph(before, SEED)
    assert sorted(map(sorted, groups(told(anonymous)))) == classes  # the published 4-anonymous table
    assert told(anonymous)[0] == ("130**", "[21, 29]")
    assert told(anonymous)[4] == ("1485*", "[47, 55]")
    assert all(2 * max(Counter(ill[i] for i in rows).values()) <= len(rows) for rows in groups(told(diverse)))
    with pytest.raises(InputError, match=r"all people together count 2\.4 sensitive values"):
        KAttributes(k=4, l_diversity=3, degrees=False).on_graph(before, SEED)


def test_the_salaries_of_t_closeness():
    # Li et al. 2007, section 4: Q = {3k, ..., 11k}, P1 = {3k, 4k, 5k}, P2 = {6k, 8k, 11k}: 0.375 and 0.167
    whole = np.full(9, 1 / 9)
    low, spread = np.zeros(9), np.zeros(9)
    low[:3] = spread[[3, 5, 8]] = 1 / 3
    assert earth_mover(low, whole, True) == pytest.approx(0.375)
    assert earth_mover(spread, whole, True) == pytest.approx(1 / 6)
    assert earth_mover(low, whole, False) == pytest.approx(2 / 3)


def test_what_cannot_be_done_is_said():
    before = people(20, 0)
    for made, words in [
        (KAttributes(k=21), "only 20 nodes"),
        (KAttributes(k=10, l_diversity=10), "choose a smaller l"),
        (KAttributesFullDomain(k=10, l_diversity=10), "choose a smaller l"),
    ]:
        with pytest.raises(InputError, match=words):
            made.on_graph(before, SEED)
    untold = replace(before, people=replace(before.people, sensitive=None, secrets=()))
    with pytest.raises(InputError, match="name it"):
        KAttributes(k=2, l_diversity=2).on_graph(untold, SEED)
    with pytest.raises(InputError, match="raise k"):
        KAttributes(k=2, l_diversity=3)


def alone(keys):
    times = Counter(keys)
    return sum(times[key] == 1 for key in keys) / len(keys)


@pytest.fixture(scope="module")
def tolokers(gaudit_data):
    """The network of Tolokers with its ten columns, and the class as what is sensitive."""
    data = load_dataset("Tolokers", gaudit_data)
    names = tuple(str(column) for column in range(data.num_features))
    return data, replace(network_of_data(data), people=table_of_data(data, names, ("label",)))


def test_tolokers_keep_it_with_ten_real_columns(tolokers):
    data, before = tolokers
    after = KAttributes(k=10).on_graph(before, SEED)
    assert min(Counter(signatures(after)).values()) >= 10
    own, low, high = data.x.double().numpy(), after.people.runs[..., 0, 0], after.people.runs[..., 0, 1]
    for place in range(data.num_features):
        values = np.array(sorted(set(own[:, place].tolist())))
        assert (values[low[:, place]] <= own[:, place]).all()
        assert (own[:, place] <= values[high[:, place]]).all()
    assert after.people.losses().mean() < 0.06


@pytest.mark.dear
def test_tolokers_are_named_where_both_are_kept_apart(tolokers):
    _, before = tolokers
    attributes = KAttributes(k=10, degrees=False).on_graph(before, SEED)
    both = KDegree(k=10).on_graph(attributes, SEED)
    assert min(Counter(told(both)).values()) >= 10
    assert min(Counter(degrees(both)).values()) >= 10
    assert alone(told(before)) == pytest.approx(0.511, abs=5e-4)
    assert alone(degrees(before)) == pytest.approx(0.022, abs=5e-4)
    assert alone(signatures(before)) == pytest.approx(0.747, abs=5e-4)
    assert 0.6 < alone(signatures(both)) < 0.75
