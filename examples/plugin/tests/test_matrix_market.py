"""Matrices are read as networks, and what is none is refused."""

import numpy as np
import pytest
from gaudit_example.matrix_market import read_mtx

from gaudit import read_network
from gaudit.plugin import InputError

SYMMETRIC = "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 4\n2 1\n3 1\n4 3\n4 4\n"
GENERAL = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 0.5\n2 1 0.5\n2 3 2\n"


def written(tmp_path, text):
    path = tmp_path / "network.mtx"
    path.write_text(text)
    return path


def test_a_symmetric_matrix_is_a_network(tmp_path):
    read = read_network(written(tmp_path, SYMMETRIC))
    assert read.ids == ("1", "2", "3", "4")
    assert read.network.edges.tolist() == [[0, 0, 2], [1, 2, 3]]
    assert read.network.weights is None
    assert read.dropped.loops == 1


def test_numbers_are_weights_and_a_lone_direction_is_refused(tmp_path):
    rows = read_mtx(written(tmp_path, GENERAL))
    np.testing.assert_array_equal(sorted(rows.weights), [0.5, 0.5, 2])
    with pytest.raises(InputError, match="directed: 1 of 2 edges lack their reverse, for example 2 -> 3"):
        read_network(tmp_path / "network.mtx")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no Matrix Market file"),
        ("%%MatrixMarket matrix array real general\n1 1\n1\n", "expected a square sparse one"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "of complex: expected a square"),
        ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n", "2 x 3 of real: expected a square"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 0.5\n", "damaged Matrix Market file"),
        ("%%MatrixMarket matrix coordinate real general\n9 9 9999999999\n1 2 1\n", "too large"),
    ],
)
def test_what_is_no_network_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_mtx(written(tmp_path, text))
