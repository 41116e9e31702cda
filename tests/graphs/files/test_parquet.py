"""Networks as Parquet tables: the same as the text with the same rows, and one clear line for what is none."""

import builtins

import numpy as np
import pandas as pd
import pytest

from gaudit.errors import InputError
from gaudit.graphs.files.network_file import read_network

TABLES = {
    "numbers": {"source": [10, 2, 3], "target": [2, 3, 10], "weight": [1.5, 2.0, 4.0]},
    "words": {"from": ["ann", "bob"], "to": ["bob", "cy"], "type": ["friend", "boss"]},
    "times": {"time": pd.to_datetime(["2004-04-15", "2004-05-01"]), "source": [0, 1], "target": [1, 2]},
    "other columns": {"source": [0, 1], "note": ["x", "y"], "target": [1, 2], "weight": [1, 2]},
    "ids like names of columns": {"source": ["source", "a"], "target": ["target", "b"]},
}


@pytest.fixture
def written(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: Parquet is an extra")

    def write(columns):
        pd.DataFrame(columns).to_parquet(tmp_path / "graph.parquet")
        return tmp_path / "graph.parquet"

    return write


@pytest.mark.parametrize("name", [name for name in TABLES if name != "ids like names of columns"])
def test_it_is_the_network_of_the_same_text(written, tmp_path, name):
    path = written(TABLES[name])
    pd.DataFrame(TABLES[name]).to_csv(tmp_path / "graph.csv", index=False)
    found, wanted = (read_network(file, "told") for file in (path, tmp_path / "graph.csv"))
    assert (found.ids, found.type_names) == (wanted.ids, wanted.type_names)
    assert found.network.digest == wanted.network.digest


def test_names_of_columns_are_no_nodes(written):
    found = read_network(written(TABLES["ids like names of columns"]))
    assert found.ids == ("source", "target", "a", "b")
    assert np.array_equal(found.network.edges, [[0, 2], [1, 3]])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1], "b": [2]}, "2 columns .* expected the columns source and target"),
        ({"source": ["a", None], "target": ["b", "c"]}, "row 2 has nothing in the column 'source'"),
        ({"source": [0.0, np.nan], "target": [1.0, 2.0]}, "row 2 has nothing"),
        ({"source": [0], "target": [1], "weight": [np.inf]}, "finite"),
        ({"source": [0], "target": [1], "weight": ["much"]}, "expected numbers"),
        ({"source": ["a\tb"], "target": ["c"]}, "id .* is with"),
        ({"source": [0], "target": [0]}, "holds no edges"),
        ({"source": [], "target": []}, "no rows"),
    ],
)
def test_what_is_no_network_is_refused(written, columns, message):
    path = written(columns)
    with pytest.raises(InputError, match=message) as refused:
        read_network(path)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def test_damaged_files_are_refused(tmp_path, written):
    path = written(TABLES["numbers"])
    whole = path.read_bytes()
    for kept in (0, 4, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:kept])
        with pytest.raises(InputError, match="Parquet"):
            read_network(path)


def test_a_small_file_of_many_rows_is_refused_before_it_is_read(written, monkeypatch):
    """A million equal rows take a few kilobytes: what they unpack to is told by the file's end."""
    path = written({"source": np.zeros(10**6, dtype=int), "target": np.ones(10**6, dtype=int)})
    assert path.stat().st_size < 20_000
    monkeypatch.setenv("GAUDIT_MEMORY", "0.1")
    with pytest.raises(InputError, match="too large: reading it may take"):
        read_network(path)


def test_without_pyarrow_it_says_what_to_install(tmp_path, monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **named):
        if name.split(".")[0] in ("pyarrow", "fastparquet"):
            raise ImportError(name)
        return real(name, *args, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    (tmp_path / "graph.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="Parquet needs pyarrow: pip install"):
        read_network(tmp_path / "graph.parquet")
