"""What columns of edge lists are taken for, separators, and ids as people write them."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.errors import InputError
from gaudit.graphs.events import Events
from gaudit.graphs.files.network_file import read_network, write_network
from gaudit.graphs.network import Network

EPOCH = 1_082_040_961


def read(tmp_path, content, name="g.csv"):
    path = tmp_path / name
    path.write_bytes(content.encode())
    return read_network(path)


TIMES = {
    "seconds": "a b 1082040961\nb c 1085000000\n",
    "seconds with decimals": "a b 1082040961.0\nb c 1085000000.5\n",
    "microseconds": "a b 1082040961000000\nb c 1085000000000000\n",
    "nanoseconds": "a b 1082040961000000000\nb c 1085000000000000000\n",
    "milliseconds": "a b 1082040961000\nb c 1085000000000\n",
    "days": "a b 2004-04-15\nb c 2004-05-19\n",
    "days and hours": "a\tb\t2004-04-15T14:56:01Z\nb\tc\t2004-05-19 20:53:20\n",
    "small numbers of a known name": "source target timestamp\na b 1\nb c 2\n",
    "behind a rating": "a b 4 1082040961\nb c 2 1085000000\n",
    "before a rating": "source,target,time,weight\na,b,1082040961,4\nb,c,1085000000,2\n",
}


@pytest.mark.parametrize("case", TIMES)
def test_times_are_neither_weights_nor_types_and_said(tmp_path, case):
    found = read(tmp_path, TIMES[case], "g.csv" if "," in TIMES[case] else "g.txt")
    rated = "rating" in case
    assert found.network.types is None
    assert (found.network.weights.tolist() if rated else found.network.weights) == ([4, 2] if rated else None)
    assert "read as times of edges, which windows alone use" in found.dropped.sentence
    if "0" in TIMES[case] and "-" not in TIMES[case]:
        assert "(2004-04-15 to 2004-05-19)" in found.dropped.sentence


def test_numbers_that_are_no_times_are_weights_and_a_name_decides(tmp_path):
    assert read(tmp_path, f"a,b,3\nb,c,{EPOCH}\n").network.weights.tolist() == [3, EPOCH]
    named = read(tmp_path, f"source,target,weight\na,b,{EPOCH}\nb,c,{EPOCH + 1}\n")
    assert named.network.weights.tolist() == [EPOCH, EPOCH + 1]
    assert "time" not in named.dropped.sentence
    assert named.network.events is None


def test_each_row_of_an_edge_is_an_event_in_either_direction(tmp_path):
    table = f"a b {EPOCH + 9}\nb c {EPOCH + 3}\nb a {EPOCH}\na a {EPOCH + 1}\na b {EPOCH + 9}\n"
    found = read(tmp_path, table, "g.txt")
    assert found.network.edges.tolist() == [[0, 1], [1, 2]]
    assert found.network.events.edge.tolist() == [0, 0, 0, 1]
    assert (found.network.events.time - EPOCH).tolist() == [0, 9, 9, 3]
    assert "rows that repeat an edge at some time: 1" in found.dropped.sentence
    assert found.network.plain().events is None


DATES = {
    "days": ("2004-04-15", "2004-04-17", 2 * 86_400),
    "zones": ("2004-04-15T14:00:00+02:00", "2004-04-15 12:00:01", 1),
    "parts of seconds": ("2004-04-15T12:00:00Z", "2004-04-15T12:00:00.25Z", 250_000),
    "decimals": ("0.5", "2", 1_500_000),
    "before and after": ("-3", "4", 7),
}


@pytest.mark.parametrize("case", DATES)
def test_times_keep_their_distance(tmp_path, case):
    first, second, apart = DATES[case]
    events = read(tmp_path, f"source,target,time\na,b,{second}\nb,c,{first}\n").network.events
    assert events.time[0] - events.time[1] == apart


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("source target time\n# begun\na b 3\nb c soon\n", "line 4: time 'soon': expected a number, or a date"),
        ("source target time\na b 3\nb c 9000000000000000000\n", "line 3: time '9000000000000000000': too large"),
        ("source target time\na b 0.5\nb c 9e18\n", "line 3: time '9e18': too large: times with decimals"),
        ("source target date\na b 2004-04-15\nb c 2004-06-31\n", "line 3: time '2004-06-31'"),
        ("source target time\na b 2004-04-15\nb c 12\n", "line 3: time '12'"),
        ("source target time\na b 1.5\nb c inf\n", "line 3: time 'inf'"),
        ("source,target,weight,time\na,b,1,3\nb,c,1,\n", "line 3: time ''"),
        ("source,target,time,date\na,b,1,3\nb,c,1,4\n", "'time' and column 'date' both look like times"),
    ],
)
def test_a_time_that_cannot_be_read_is_named_with_its_line(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, content, "g.csv" if "," in content else "g.txt")


def test_an_empty_column_of_times_is_none(tmp_path):
    assert read(tmp_path, "source,target,weight,time\na,b,1,\nb,c,1,\n").network.events is None


def test_small_numbers_are_times_where_somebody_says_so(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("1 2 0\n2 3 7\n1 2 4\n")
    assert read_network(path).network.weights.tolist() == [0, 7]
    found = read_network(path, timed=True).network
    assert found.weights is None
    assert found.events.time.tolist() == [0, 4, 7]


@pytest.mark.parametrize("ending", [".txt", ".csv.gz", ".npz"])
@pytest.mark.parametrize("more", [False, True])
def test_times_are_read_as_they_were_written(tmp_path, ending, more):
    events = Events.of(np.array([1, 0, 1, 2]), np.array([5, -3, 2, 2]))
    extra = (np.array([1.5, 2, 2]), np.array([1, 0, 1])) if more else (None, None)
    network = Network.from_edges(4, [0, 2, 1], [1, 0, 3], *extra, events=events)
    path = tmp_path / f"g{ending}"
    write_network(network, path, type_names=("one", "two") if more else ())
    found = read_network(path).network
    assert found.digest == network.digest
    assert found.events.time.tolist() == [-3, 2, 5, 2]


def test_what_would_lose_times_is_not_written(tmp_path):
    some = Events.of(np.array([0]), np.array([5]))
    with pytest.raises(InputError, match="some edges have times and others none"):
        write_network(Network.from_edges(3, [0, 1], [1, 2], events=some), tmp_path / "g.txt")
    with pytest.raises(InputError, match="could not hold times"):
        write_network(Network.from_edges(2, [0], [1], events=some), tmp_path / "g.graphml")


def test_a_table_of_gephi_is_read_by_its_names(tmp_path):
    table = "Source;Target;Type;Id;Label;timeset;Weight\nann;bob;Undirected;0;;;1,5\nbob;carl;Undirected;1;x;;2,0\n"
    found = read(tmp_path, f"\ufeff{table}")
    assert found.ids == ("ann", "bob", "carl")
    assert found.network.weights.tolist() == [1.5, 2]
    assert "column 'Id' not read; column 'Label' not read" in found.dropped.sentence
    with pytest.raises(InputError, match="directed: 2 of 2 edges lack their reverse"):
        read(tmp_path, table.replace("Undirected", "Directed"))


def test_columns_of_the_ends_may_stand_behind_others(tmp_path):
    found = read(tmp_path, "id,source,target,type\n7,a,b,friend\n8,b,c,foe\n")
    assert (found.ids, found.type_names) == (("a", "b", "c"), ("friend", "foe"))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("name", ["g.csv", "g.txt", "g.edges"])
def test_semicolons_and_decimal_commas(tmp_path, mark, name):
    found = read(tmp_path, f"{mark}1;2;0,5\n2;3;1,25\n", name)
    assert found.ids == ("1", "2", "3")
    assert found.network.weights.tolist() == [0.5, 1.25]
    assert read(tmp_path, f"{mark}source;target\nx;y\ny;z\n", name).ids == ("x", "y", "z")


NAMED_PEOPLE = {
    "commas": ("g.csv", 'John Smith,"Miller, Ann"\n"Miller, Ann","O""Neil; Pat"\n'),
    "semicolons": ("g.csv", 'John Smith;Miller, Ann\nMiller, Ann;"O""Neil; Pat"\n'),
    "blanks": ("g.txt", '"John Smith" "Miller, Ann"\n"Miller, Ann"  "O""Neil; Pat"\n'),
    "tabs": ("g.tsv", 'John Smith\tMiller, Ann\nMiller, Ann\t"O""Neil; Pat"\n'),
}


@pytest.mark.parametrize("case", NAMED_PEOPLE)
def test_names_with_blanks_and_separators(tmp_path, case):
    name, content = NAMED_PEOPLE[case]
    found = read(tmp_path, content, name)
    assert found.ids == ("John Smith", "Miller, Ann", 'O"Neil; Pat')
    assert found.network.edges.tolist() == [[0, 1], [1, 2]]


NAMES = st.text(st.sampled_from('ab ,;"#%1'), min_size=1, max_size=5).filter(lambda name: name == name.strip(" "))


@given(
    st.lists(NAMES, min_size=3, max_size=6, unique=True),
    st.sampled_from([".txt", ".csv", ".tsv", ".npz", ".graphml"]),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_any_name_is_read_as_it_was_written(tmp_path_factory, ids, ending, data):
    kinds = tuple(data.draw(st.lists(NAMES, min_size=2, max_size=2, unique=True)))
    weights = data.draw(
        st.sampled_from([None, np.array([2.0, 3.0]), np.array([0.5, float(EPOCH)]), np.array([EPOCH + 0.0] * 2)])
    )
    types = data.draw(st.sampled_from([None, np.array([0, 1])]))
    network = Network.from_edges(len(ids), [0, 1], [1, 2], weights, types)
    path = tmp_path_factory.getbasetemp() / f"names{ending}"
    write_network(network, path, ids, kinds if types is not None else ())
    found = read_network(path)
    assert found.ids == tuple(ids)
    assert found.network.edges.tolist() == network.edges.tolist()
    assert found.type_names == (kinds if types is not None else ())
    for name in ("weights", "types"):
        one, other = getattr(found.network, name), getattr(network, name)
        assert (one is None) == (other is None)
        assert one is None or one.tolist() == other.tolist()


def test_whole_weights_stay_whole_in_the_file(tmp_path):
    network = Network.from_edges(3, [0, 1], [1, 2], np.array([3.0, 40.0]))
    write_network(network, tmp_path / "g.txt.gz", ["a", "b", "c"])
    assert gzip.decompress((tmp_path / "g.txt.gz").read_bytes()) == b"a b 3\nb c 40\n"
    write_network(network, tmp_path / "g.graphml", ["a", "b", "c"])
    assert "3.0" not in (tmp_path / "g.graphml").read_text()


@pytest.mark.parametrize(
    ("content", "merged", "both"),
    [
        ("a b\nb a\nb c\n", 1, 1),
        ("a b\nb c\n", 0, 0),
        ("a b\nb a\n", 0, 1),
        ("# Directed graph (each pair once)\na b\nb c\n", 2, 0),
        ("# Undirected graph\na b\nb c\n", 0, 0),
    ],
)
def test_a_list_of_directed_edges_is_said_to_become_undirected(tmp_path, content, merged, both):
    found = read(tmp_path, content, "g.txt")
    assert (found.dropped.merged, found.dropped.both_ways) == (merged, both)
    assert ("directed edges made undirected" in found.dropped.sentence) == bool(merged)


def test_words_in_the_first_row_of_a_short_list_are_said_to_be_read_as_an_edge(tmp_path):
    found = read(tmp_path, "person friend\nann bob\nbob carl\n", "g.txt")
    assert "first row read as an edge, of person and friend" in found.dropped.sentence
    assert read(tmp_path, "source target\nann bob\nbob carl\n", "g.txt").network.nodes == 3
    assert "first row" not in read(tmp_path, "ann bob\nbob carl\n", "g.txt").dropped.sentence


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("source,target,weight,time\na,b,1,\nb,c,2,\n", "column 'time' not read"),
        ("a,b,2004-04-16\nb,c,2004-04-15\n", "which windows alone use (2004-04-15 to 2004-04-16)"),
    ],
)
def test_what_is_said_of_times_is_so(tmp_path, content, says):
    assert says in read(tmp_path, content, "g.csv").dropped.sentence


def test_a_number_among_dates_is_told_that_a_date_was_expected(tmp_path):
    with pytest.raises(InputError, match="line 2: third column '1082040961': expected a date, as in line 1"):
        read(tmp_path, "a,b,2004-04-15\nb,c,1082040961\nc,d,2004-04-16\n", "g.csv")
