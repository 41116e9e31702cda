"""Readers of other packages: what they return is checked, and gaudit's own kinds of files stay its own."""

import sys

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.graphs.files.data_file import read_graph
from gaudit.graphs.files.network_file import check_destination, read_network
from gaudit.registry import registered

MODULE = '''
"""Readers, of which one is right."""

import numpy as np

from gaudit.plugin import InputError, Rows

ENDS = np.array([0, 1, 2, 3, 4, 5]), np.array([1, 2, 3, 4, 5, 0])


def ring(path):
    """A ring of six nodes, whatever the file says."""
    x, y = np.eye(6), np.arange(6) % 2
    return Rows(tuple("abcdef"), *ENDS, x=x, y=y)


def bare(path):
    """The same without features and classes."""
    return Rows(tuple("abcdef"), *ENDS)


def sure(path):
    """A reader for a kind of file that gaudit has."""
    raise AssertionError


def fails(path):
    """A reader that does not foresee what files hold."""
    return {}["missing\\nkey"]


def refuses(path):
    """A reader that knows what it wants."""
    raise InputError(f"{path}: not today")


def something(path):
    """No network."""
    return 7


def beyond(path):
    """Ends that are no nodes."""
    return Rows(("a", "b"), np.array([0]), np.array([2]))


def short(path):
    """Weights of other rows."""
    return Rows(("a", "b"), np.array([0]), np.array([1]), weights=np.array([1.0, 2.0]))


def endless(path):
    """A weight that is none."""
    return Rows(("a", "b"), np.array([0]), np.array([1]), weights=np.array([np.nan]))


def halves(path):
    """Ends between nodes."""
    return Rows(("a", "b"), np.array([0.5]), np.array([1.0]))


def twice(path):
    """One id for two nodes."""
    return Rows(("a", "a"), np.array([0]), np.array([1]))
'''
FUNCTIONS = ["ring", "bare", "fails", "refuses", "something", "beyond", "short", "endless", "halves", "twice"]


@pytest.fixture(autouse=True)
def readers(tmp_path, monkeypatch):
    """A package with readers is installed: each for files that end in its name."""
    module = f"readers_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(MODULE)
    metadata = tmp_path / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    points = [f"{name} = {module}:{name}" for name in FUNCTIONS] + [
        f"npz = {module}:sure",
        f"g.ring = {module}:bare",
    ]
    (metadata / "entry_points.txt").write_text("\n".join(["[gaudit.readers]", *points]))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    registered.cache_clear()
    yield
    registered.cache_clear()


def file(tmp_path, name):
    path = tmp_path / name
    path.write_text("anything")
    return path


def test_a_network_is_read_by_the_reader_of_its_ending(tmp_path):
    read = read_network(file(tmp_path, "some.RING"))
    assert read.ids == tuple("abcdef")
    assert read.network.edges.tolist() == [[0, 0, 1, 2, 3, 4], [1, 5, 2, 3, 4, 5]]
    np.testing.assert_array_equal(read.x, np.eye(6))


def test_the_longest_ending_decides(tmp_path):
    assert read_network(file(tmp_path, "some.ring")).x is not None
    assert read_network(file(tmp_path, "some.g.ring")).x is None


def test_a_graph_to_learn_from_is_read_too(tmp_path):
    data = read_graph(file(tmp_path, "some.ring"))
    assert data.num_nodes == 6
    assert data.edge_index.shape == (2, 12)
    assert data.y.tolist() == [0, 1] * 3


def test_a_graph_to_learn_from_needs_features(tmp_path):
    with pytest.raises(InputError, match=r"some\.bare: has no features, which a graph to learn from needs"):
        read_graph(file(tmp_path, "some.bare"))


def test_no_kind_of_file_that_gaudit_reads_is_taken_over(tmp_path):
    for read in (read_network, read_graph):
        with pytest.raises(InputError, match="truncated or not an npz archive"):
            read(file(tmp_path, "some.npz"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fails", r"the reader of \.fails files \(readers.* 1\.0\) failed: KeyError: "),
        ("refuses", "not today"),
        ("something", "returned a int, expected Rows"),
        ("beyond", r"returned ends that are not positions 0\.\.1"),
        ("halves", r"returned ends that are not positions 0\.\.1"),
        ("short", "returned 'weights' that is no array of 1 entries"),
        ("endless", "returned 'weights' that holds something else than finite numbers"),
        ("twice", "id 'a' is there twice"),
    ],
)
@pytest.mark.parametrize("read", [read_network, read_graph])
def test_what_is_no_network_is_refused_in_one_line_that_names_the_file(tmp_path, name, message, read):
    path = file(tmp_path, f"some.{name}")
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_ending_is_refused_with_all_that_are_known(tmp_path):
    for read in (read_network, read_graph):
        with pytest.raises(InputError, match=r"unknown kind of .* file: expected .*\.npz.*\.ring"):
            read(file(tmp_path, "some.unknown"))


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_network(tmp_path / "none.ring")


def test_nothing_is_written_as_a_kind_of_file_that_others_read(tmp_path):
    with pytest.raises(InputError, match="unknown kind of network file"):
        check_destination(tmp_path / "out.ring")
