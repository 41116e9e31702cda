"""Columns read part by part, against lists: the same cells, whatever is a number and wherever a part ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.graphs.files import cells
from gaudit.graphs.files.cells import Cells, coded, ends_in, table_of
from gaudit.graphs.files.network_file import read_network, write_network

NUMBERS = st.integers(-(2**63), 2**63 - 1).map(str) | st.integers(-3, 3).map(str)
ODD = st.sampled_from(["007", "+5", "-0", "5", "", "٣", "1_0", "9" * 19, "-", "a", " 5", "b\t", "1.0", str(2**63)])
COLUMN = st.lists(NUMBERS, min_size=1) | st.lists(ODD | NUMBERS, min_size=1)


def texts(column):
    return np.array(column, dtype=object)


@given(COLUMN, st.integers(1, 4))
def test_a_column_has_the_cells_of_its_parts(column, part):
    found = Cells.of(coded(texts(column[start : start + part])) for start in range(0, len(column), part))
    wanted = [cell.strip(" \t") for cell in column]
    assert [found.names[code] for code in found.codes] == wanted
    assert found.names == list(dict.fromkeys(wanted))
    whole = all(cell in (str(number) for number in range(-3, 4)) for cell in column)
    assert not whole or found.numbers is not None
    if found.numbers is not None:
        assert [str(number) for number in found.numbers] == found.names
    assert [found.under("x").names[code] for code in found.under("x").codes] == ["x", *wanted]


@given(st.lists(st.tuples(ODD | NUMBERS, NUMBERS), min_size=1))
def test_ends_stand_as_they_first_appear_row_by_row(rows):
    one, other, names = ends_in(*(Cells.of([coded(texts(column))]) for column in zip(*rows, strict=True)))
    wanted = [cell.strip(" \t") for row in rows for cell in row]
    assert [names[place] for pair in zip(one, other, strict=True) for place in pair] == wanted
    assert names == list(dict.fromkeys(wanted))


@pytest.mark.parametrize("part", [1, 2, 1000])
def test_where_a_part_ends_makes_no_difference(monkeypatch, tmp_path, part):
    """Ids that are numbers in some parts, a type called as its column; read, written and read again."""
    path = tmp_path / "graph.csv"
    path.write_text(
        "source,target,type,weight,time\n1,2,type,1,2004-04-15\n2,03,b,2.5,2004-04-16\n4,1,b,7,2004-04-17\n5,4,type,0,"
        "2004-05-01\n"
    )
    wanted = read_network(path)
    monkeypatch.setattr(cells, "PART", part)
    monkeypatch.setattr("gaudit.graphs.files.edge_list.PART", part)
    found = read_network(path)
    assert found.ids == wanted.ids == ("1", "2", "03", "4", "5")
    assert found.type_names == wanted.type_names == ("type", "b")
    assert found.network.digest == wanted.network.digest
    write_network(found.network, tmp_path / "again.csv.gz", found.ids, found.type_names)
    again = read_network(tmp_path / "again.csv.gz")
    assert (again.ids, again.type_names, again.network.digest) == (
        found.ids,
        found.type_names,
        wanted.network.digest,
    )


def test_rows_of_different_widths_are_no_table(monkeypatch):
    monkeypatch.setattr(cells, "PART", 2)
    with pytest.raises(ValueError, match="different widths"):
        table_of(b"1,2\n3,4\n5,6\n7\n", ",", 2)
    with pytest.raises(ValueError, match="different widths"):
        table_of(b"1,2\n3,4\n5,6\n7,8,9\n", ",", 2)
