"""Signatures of attributes and degrees in each relation, counted by sets of triples."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.defenses.attributes import relations
from gaudit.defenses.attributes.clusters import clustered, coordinates, united
from gaudit.defenses.attributes.k_attributed_degree import KAttributedDegree
from gaudit.defenses.attributes.relations import balanced
from gaudit.errors import InputError
from gaudit.graphs.arcs import network_of_arcs
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import network_of_data
from gaudit.graphs.tables.column import Column
from gaudit.graphs.tables.node_table import NodeTable
from gaudit.targets.publishing.people import table_of_data

SEED = np.random.SeedSequence(0)
AGE, JOB = Column("age", tuple("01234567"), np.arange(8.0)), Column("job", tuple("abc"))


def people(nodes, seed, kinds=2, share=0.1, directed=True):
    rng = np.random.default_rng(seed)
    one, other, kind = np.nonzero(rng.random((nodes, nodes, kinds)) < share)
    keep = one < other
    one, other, kind = one[keep], other[keep], kind[keep]
    ways = rng.integers(1, 4, len(one)) if directed else None
    table = NodeTable.of_values(
        (AGE, JOB), np.column_stack([rng.integers(8, size=nodes), rng.integers(3, size=nodes)])
    )
    return replace(Network.from_edges(nodes, one, other, types=kind, directions=ways), people=table)


def arcs(network):
    """Tail, relation and head of each arc, or of both ways of an edge without direction."""
    kinds = [0] * network.size if network.types is None else network.types.tolist()
    ways = [3] * network.size if network.directions is None else network.directions.tolist()
    found = set()
    for one, other, kind, way in zip(*network.edges.tolist(), kinds, ways, strict=True):
        found |= {(one, kind, other)} if way & 1 else set()
        found |= {(other, kind, one)} if way & 2 else set()
    return found


def signatures(network):
    out, into = Counter(), Counter()
    for tail, kind, head in arcs(network):
        assert tail != head
        out[tail, kind] += 1
        into[head, kind] += 1
    kinds = sorted({kind for _, kind, _ in arcs(network)})
    told = [frozenset()] * network.nodes if network.people is None else [
        tuple(frozenset(v for low, high in runs for v in range(low, high + 1)) for runs in row)
        for row in network.people.runs.tolist()
    ]  # fmt: skip
    return [(told[n], *((out[n, k], into[n, k]) for k in kinds)) for n in range(network.nodes)]


@given(seed=st.integers(0, 10_000), k=st.integers(1, 6), directed=st.booleans(), kinds=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_signatures_occur_k_times_and_no_arc_is_lost(seed, k, directed, kinds):
    before, made = people(23, seed, kinds, directed=directed), KAttributedDegree(k=k)
    after = made.on_graph(before, SEED)
    assert min(Counter(signatures(after)).values()) >= k
    assert arcs(before) <= arcs(after)
    own = before.people.values.tolist()
    assert all(
        v in told
        for row, (cells, *_) in zip(own, signatures(after), strict=True)
        for v, told in zip(row, cells, strict=True)
    )
    assert made.verify(before, after).holds
    if k > 1:
        assert not made.verify(before, before).holds
    assert (after.directions is None) == (not directed)


def test_a_relation_that_is_even_stays_as_it_is():
    ring = network_of_arcs(20, np.stack([np.arange(20), (np.arange(20) + 1) % 20]))
    other = people(20, 3, kinds=1)
    both = Network.from_edges(
        20, *np.hstack([ring.edges, other.edges]), types=np.repeat([0, 1], [ring.size, other.size]),
        directions=np.concatenate([ring.directions, other.directions]),
    )  # fmt: skip
    after = KAttributedDegree(k=4).on_graph(replace(both, people=other.people), SEED)
    assert {arc for arc in arcs(after) if arc[1] == 0} == {arc for arc in arcs(both) if arc[1] == 0}
    assert len(arcs(after)) > len(arcs(both))


def test_a_check_sees_a_lost_arc_and_a_value_that_is_missing():
    before = people(24, 5)
    made = KAttributedDegree(k=4)
    after = made.on_graph(before, SEED)
    first = replace(after.only(np.arange(after.size) > 0), people=after.people)
    lost = replace(after, people=replace(after.people, runs=(after.people.runs + 1) % 8))
    back = replace(after, directions=3 - after.directions % 3)
    assert not any(made.verify(before, wrong).holds for wrong in (first, lost, back))


@given(seed=st.integers(0, 10_000), sides=st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_degrees_rise_as_seldom_as_they_can(seed, sides):
    rng = np.random.default_rng(seed)
    size = rng.integers(2, 4, size=4)
    degrees = [rng.integers(5, size=(int(n), sides)) for n in size]
    if sides == 2:  # of a network: as many arcs lead out as in
        apart = sum(int(d[:, 0].sum() - d[:, 1].sum()) for d in degrees)
        degrees[0][0, int(apart > 0)] += abs(apart)
    else:
        degrees[0][0, 0] += sum(int(d.sum()) for d in degrees) % 2
    common = np.array([d.max(0) for d in degrees])
    found = balanced(common, size)
    assert (found >= common).all()

    def fits(rows):
        sums = (rows * size[:, None]).sum(0)
        return sums[0] == sums[1] if sides == 2 else sums[0] % 2 == 0

    assert fits(found)
    steps = int((found - common).sum())
    if steps <= 3:  # no fewer steps will do
        for fewer in product(range(steps), repeat=common.size):
            if sum(fewer) < steps:
                assert not fits(common + np.array(fewer).reshape(common.shape))


@pytest.mark.parametrize("k", [1, 2, 5, 7])
def test_clusters_have_k_to_twice_as_many_people_and_equals_stay_together(k):
    rng = np.random.default_rng(0)
    group = clustered(rng.random((43, 3)), k)
    sizes = np.bincount(group)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    alike = np.repeat(np.eye(4), k, axis=0)[rng.permutation(4 * k)]
    assert all(len(np.unique(alike[clustered(alike, k) == g], axis=0)) == 1 for g in range(4))


def test_distances_are_what_uniting_two_people_loses():
    table = NodeTable.of_values((AGE, JOB), np.array([[0, 0], [7, 1], [3, 0]]))
    out, into = np.array([[2, 0], [5, 1], [2, 0]]), np.array([[0, 0], [0, 4], [0, 0]])
    points = coordinates(table, [out, into], 0.5, 0.25)
    attributes = (7 / 7 + 1 / 3) / 2  # all ages, and one job added of three
    degrees = 0.25 * (3 + 1) / 2 / 3 + 0.75 * 4 / 2 / 3
    assert np.abs(points[0] - points[1]).sum() == pytest.approx(0.5 * attributes + 0.5 * degrees)
    assert np.abs(points[0] - points[2]).sum() == pytest.approx(0.5 * (3 / 7) / 2)


def test_names_are_united_and_numbers_told_as_a_range():
    values = np.array([[1, 0], [5, 2], [2, 2], [4, 1]])
    runs = united((AGE, JOB), values, np.array([0, 0, 1, 1]))
    assert AGE.text(runs[0, 0].tolist()) == "[1, 5]"
    assert JOB.text(runs[0, 1].tolist()) == "a|c"
    assert JOB.text(runs[2, 1].tolist()) == "b|c"
    assert (runs[0] == runs[1]).all()


def test_with_a_hierarchy_what_it_has_is_told():
    tens = Column("age", tuple(map(str, range(11, 19))), np.arange(11.0, 19), (("[10, 20)",) * 8,))
    town = Column("town", ("Oslo", "Rome", "Bonn"), None, (("north", "south", "south"),))
    runs = united((tens, town), np.array([[0, 1], [5, 2], [2, 0], [2, 0]]), np.array([0, 0, 1, 1]))
    assert [tens.text(one.tolist()) for one in runs[:, 0]] == ["[10, 20)", "[10, 20)", "13", "13"]
    assert [town.text(one.tolist()) for one in runs[:, 1]] == ["south", "south", "Oslo", "Oslo"]


def test_what_is_not_found_is_refused_in_one_line_and_never_published_unequal(monkeypatch):
    with pytest.raises(InputError, match="only 10 nodes"):
        KAttributedDegree(k=11).on_graph(people(10, 0), SEED)
    monkeypatch.setattr(relations, "_with_edges", lambda *given: None)  # no edge finds a place
    with pytest.raises(InputError, match="relation 0: no network found"):
        KAttributedDegree(k=3).on_graph(people(20, 0), SEED)


@pytest.mark.parametrize("directed", [True, False])
def test_dense_networks_are_made_equal_or_refused(directed):
    made = []
    for seed in range(12):
        before = people(9, seed, kinds=1, share=0.7, directed=directed)
        with suppress(InputError):
            after = KAttributedDegree(k=4).on_graph(before, SEED)
            made.append(min(Counter(signatures(after)).values()))
            assert arcs(before) <= arcs(after)
    assert len(made) >= 3
    assert min(made) >= 4


def test_cora_with_classes_and_two_relations(gaudit_data):
    data = load_dataset("Cora", gaudit_data)
    plain = network_of_data(data)
    kinds = np.arange(plain.size) % 2
    before = replace(
        plain, types=kinds, directions=1 + np.arange(plain.size) % 3, people=table_of_data(data, ("label",), ())
    )
    made = KAttributedDegree(k=5)
    after = made.on_graph(before, SEED)
    assert min(Counter(signatures(after)).values()) >= 5
    assert arcs(before) <= arcs(after)
