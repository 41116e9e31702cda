"""Who is alone by what somebody may know, against a count by hand; and the list for the owner."""

import csv
import stat
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.errors import InputError
from gaudit.graphs.measures.at_risk import at_risk, write_at_risk
from gaudit.graphs.network import Network
from gaudit.graphs.tables.column import Column
from gaudit.graphs.tables.node_table import NodeTable
from support.random_networks import network_of_share, uneven_network

PEOPLE, ADDED = 7, 2


def known_by_hand(network: Network) -> dict[str, list[object]]:
    """What is known of each node, written out."""
    near: list[set[int]] = [set() for _ in range(network.nodes)]
    marks: list[list[object]] = [[] for _ in range(network.nodes)]
    for place, (one, other) in enumerate(network.edges.T.tolist()):
        mark = tuple(float(a[place]) for a in (network.weights, network.types) if a is not None)
        for end, far in ((one, other), (other, one)):
            near[end].add(far)
            marks[end].append(mark)
    told = network.weights is not None or network.types is not None
    return {
        "degree": [len(own) for own in near],
        "edges": [tuple(sorted(own)) if told else len(n) for own, n in zip(marks, near, strict=True)],
        "neighbours": [tuple(sorted(len(near[far]) for far in own)) for own in near],
    }


def marked(network: Network, weighted: bool, typed: bool, rng: np.random.Generator) -> Network:
    weights = rng.integers(1, 3, network.size) / 10
    types = rng.integers(0, 2, network.size)
    return replace(network, weights=weights if weighted else None, types=types if typed else None)


@given(st.integers(0, 10**6), *[st.booleans()] * 4)
def test_sizes_are_those_counted_by_hand(seed, weighted, typed, weights_told, types_told):
    rng = np.random.default_rng(seed)
    before = marked(network_of_share(PEOPLE, rng.random(), seed), weighted, typed, rng)
    after = marked(network_of_share(PEOPLE + ADDED, rng.random(), seed + 1), weights_told, types_told, rng)
    found = at_risk(before, after)
    told = any((weighted, typed, weights_told, types_told))
    assert list(found.before) == list(found.after) == ["degree", *(["edges"] if told else []), "neighbours"]
    alone = set()
    for network, sizes in ((before, found.before), (after, found.after)):
        for name, known in known_by_hand(network).items():
            if name in sizes:
                times = Counter(known)
                assert sizes[name].tolist() == [times[own] for own in known[:PEOPLE]]
                alone |= {person for person in range(PEOPLE) if times[known[person]] == 1}
    assert found.listed.tolist() == sorted(alone)


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_attributes_with_degrees_by_snapshot_are_counted_by_hand(seed, directed, attributes):
    rng = np.random.default_rng(seed)
    drawn = marked(network_of_share(PEOPLE, 0.5, seed), False, True, rng)
    before = replace(drawn, directions=rng.integers(1, 4, drawn.size)) if directed else drawn
    told = NodeTable.of_values((Column("job", ("a", "b")),), rng.integers(2, size=(PEOPLE, 1)))
    before = replace(before, people=told if attributes else None)
    found = at_risk(before, before)
    assert ("snapshots" in found.before) == attributes
    if attributes:
        links = [Counter() for _ in range(PEOPLE)]
        for place, (one, other) in enumerate(before.edges.T.tolist()):
            way = before.directions[place] if directed else 1
            for tail, head, there in ((one, other, way & 1), (other, one, way & 2)):
                if there:
                    links[tail][before.types[place], "out"] += 1
                    links[head][before.types[place], "in" if directed else "out"] += 1
        own = [(told.values[p, 0], frozenset(links[p].items())) for p in range(PEOPLE)]
        assert found.before["snapshots"].tolist() == [own.count(one) for one in own]


def test_people_of_a_group_are_alike_where_groups_and_counts_are_told():
    before = uneven_network(6, 20, 0)
    nothing = np.empty((2, 0), dtype=np.int64)
    groups, counts = np.array([0, 0, 1, 1, 1, 2]), np.array([[0, 1, 0, 3]])
    found = at_risk(before, Network(6, nothing, groups=groups, counts=counts))
    assert found.after["neighbours"].tolist() == [2, 2, 3, 3, 3, 1]
    assert found.alone("degree")[1] == 1


def test_the_list_has_the_owners_ids_and_only_the_owner_reads_it(tmp_path):
    star = Network.from_edges(5, [0, 0, 0, 0], [1, 2, 3, 4])
    path = Network.from_edges(5, [0, 1, 2, 3], [1, 2, 3, 4])
    place = tmp_path / "risk.csv"
    write_at_risk(place, ['=1+1"', "b", "c", "d", "e"], at_risk(star, path))
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with place.open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows == [
        ["id", "degree_before", "degree_after", "neighbours_before", "neighbours_after"],
        ['=1+1"', "1", "2", "1", "2"],  # the middle of the star
        ["c", "4", "3", "4", "1"],  # the middle of the path
    ]
    with pytest.raises(InputError, match="is there already"):
        write_at_risk(place, ["b"], at_risk(star, path))
    with pytest.raises(InputError, match=r"ends in \.csv"):
        write_at_risk(tmp_path / "risk.txt", ["b"], at_risk(star, path))
    assert [file.name for file in tmp_path.iterdir()] == ["risk.csv"]
