"""Columns, hierarchies by rule and what is written of ranges."""

import csv

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.graphs.tables.column import Column
from gaudit.graphs.tables.levels import built_in, column_of, places
from gaudit.graphs.tables.node_table import NodeTable


def test_numbers_are_ordered_and_told_as_ranges():
    cells = ["10", "9", "9.0", "-2.5"]
    column = column_of("age", cells)
    assert column.numbers.tolist() == [-2.5, 9, 10]
    assert places(column, cells).tolist() == [2, 1, 1, 0]
    assert column.text([(0, 1)]) == "[-2.5, 9]"
    assert column.text([(2, 2)]) == "10"
    assert column.widths(np.array([0, 1]), np.array([2, 2])).tolist() == [1, pytest.approx(1 / 12.5)]


def test_long_codes_that_numbers_cannot_tell_apart_are_names():
    cells = ["900719925474099267", "900719925474099268", "5"]
    column = column_of("code", cells)
    assert column.numbers is None
    assert [column.values[place] for place in places(column, cells)] == cells
    assert column_of("code", ["nan", "5"]).numbers is None


def test_a_hierarchy_puts_together_what_is_told_together():
    tree = {
        "flu": ("lung", "body"),
        "gout": ("joint", "body"),
        "asthma": ("lung", "body"),
        "worry": ("mind", "soul"),
    }
    column = column_of("ill", ["flu", "worry"], tree)
    at = {value: place for place, value in enumerate(column.values)}
    low, high = sorted((at["flu"], at["asthma"]))
    assert column.told(low, high) == (low, high)
    assert column.text([(low, high)]) == "lung"
    whole = column.told(np.array(min(at["flu"], at["gout"])), np.array(max(at["flu"], at["gout"])))
    assert column.text([tuple(map(int, whole))]) == "body"
    assert column.text([(0, 3)]) == "*"
    assert column.text([(at["flu"], at["flu"]), (at["worry"], at["worry"]), (1, 0)]) == "flu|worry"
    parts = column.parts(0, 3)
    assert len(parts) == 2  # body and soul
    assert len(column.parts(*sorted((at["flu"], at["asthma"])))) == 2  # the two of the lung


def test_rules_for_intervals_dates_and_codes():
    cells = ["3", "17", "25", "61"]
    found = built_in("interval:10", "age", cells)
    assert found["17"] == ("[10, 20)", "[0, 20)", "[0, 40)", "[0, 80)")
    assert column_of("age", cells, found).values == ("3", "17", "25", "61")
    across = built_in("interval:1", "x", ["-1.5", "2"])
    assert across["-1.5"][0] == "[-2, -1)"
    assert len(across["2"]) <= 3
    assert built_in("date", "born", ["1984-02-29"])["1984-02-29"] == ("1984-02", "1984", "1980s")
    codes = built_in("prefix", "zip", ["13053", "130"])
    assert codes["13053"] == ("1305*", "130**", "13***", "1****")
    assert codes["130"] == ("130*", "130**", "13***", "1****")


@pytest.mark.parametrize(
    ("how", "cells", "words"),
    [
        ("interval:0", ["1"], "no number above 0"),
        ("interval:10", ["1", "x"], "'x' is no number"),
        ("date", ["1984-02-30"], "is no date as"),
        ("halves", ["1"], "expected interval:WIDTH, date, prefix"),
    ],
)
def test_rules_that_do_not_fit_are_refused(how, cells, words):
    with pytest.raises(InputError, match=words):
        built_in(how, "age", cells)


def test_hierarchies_that_are_none_are_refused():
    with pytest.raises(InputError, match="no row for the value 'c'"):
        column_of("x", ["c"], {"a": ("*",)})
    with pytest.raises(InputError, match="as many levels"):
        column_of("x", ["a"], {"a": ("*",), "b": ("n", "*")})
    with pytest.raises(InputError, match="leads to different coarser levels"):
        column_of("x", ["a"], {"a": ("n", "k"), "b": ("n", "m")})
    with pytest.raises(InputError, match="1 empty cells"):
        column_of("x", ["1", ""])
    assert column_of("x", ["", "b"]).values == ("", "b")


def test_values_told_together_read_as_these_values_alone():
    """``a|b`` beside ``a`` and ``b``: parsed back as a list that is apart by bars and quoted by double quotes."""
    values = ("a", "a|b", "b", '"c')
    column = Column("x", values)
    assert column.quotes
    assert not Column("y", ("a", 'b"')).quotes
    for rows in ([[0, 0], [2, 2]], [[1, 1]], [[0, 0], [1, 1]], [[1, 1], [2, 2], [3, 3]]):
        (found,) = csv.reader([column.text(rows)], delimiter="|")
        assert found == [values[low] for low, _ in rows]


def test_levels_halve_numbers_and_losses_are_penalties():
    column = Column("a", tuple("0123456"), np.array([0, 1, 2, 3, 4, 5, 10.0]))
    assert column.blocks[1, 5].tolist() == [4, 5]
    assert column.blocks[-1, 3].tolist() == [0, 6]
    names = Column("b", tuple("xyz"))
    runs = np.array([[[[0, 5], [1, 0]], [[0, 0], [2, 2]]], [[[6, 6], [1, 0]], [[0, 2], [1, 0]]]])
    table = NodeTable(runs, columns=(column, names))
    assert table.losses().tolist() == [[0.5, 0.5], [0, 1]]
    assert table.fitting(np.array([[3, 2], [6, 1], [3, 1]])).tolist() == [
        [True, False],
        [False, True],
        [False, False],
    ]
    with pytest.raises(ValueError, match="one of several"):
        _ = table.values
    back = table.renamed(np.array([1, 0]))
    assert back.runs[0].tolist() == runs[1].tolist()
