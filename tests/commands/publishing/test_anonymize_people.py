"""`gaudit anonymize` with a table of people: what is written, read by plain dictionaries and sets."""

import csv
import random
from collections import Counter

import pandas as pd
import pytest

from support.told_people import classes, degrees, equal_distance, ordered_distance, table

CITIES = {"Hull": "north", "York": "north", "Bath": "south", "Truro": "south"}
COLUMNS = ("age", "city", "born")


@pytest.fixture
def places(tmp_path):
    """A network of 150 people and a table of them."""
    rng = random.Random(3)
    pairs = {tuple(sorted(rng.sample(range(150), 2))) for _ in range(500)}
    (tmp_path / "g.txt").write_text("".join(f"p{a} p{b}\n" for a, b in sorted(pairs)))
    ids = sorted({f"p{node}" for pair in pairs for node in pair})
    rng.shuffle(ids)
    lines = ["id;age;city;born;illness;salary;note"]
    for name in ids:
        born = f"{rng.randint(1940, 1999)}-0{rng.randint(1, 9)}-11"
        ill = rng.choice(["flu", "cold", "gout", "none"])
        city = rng.choice(sorted(CITIES))
        lines.append(f"{name};{rng.randint(18, 90)};{city};{born};{ill};{rng.randint(3, 8)}000;private")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "city.csv").write_text("".join(f"{city};{part};*\n" for city, part in CITIES.items()))
    return tmp_path


def asked(places, sensitive="illness", defense="k-attributes:k=5"):
    return (
        *("anonymize", places / "g.txt", "--people", places / "people.csv", "--attributes", ",".join(COLUMNS)),
        *("--sensitive", sensitive, "--hierarchy", f"city={places / 'city.csv'}", "--hierarchy", "born=date"),
        *("--write-people", places / "told.csv", "-o", places / "out.txt", "--no-utility", "--defense", defense),
    )


def original(places):
    rows = [line.split(";") for line in (places / "people.csv").read_text().splitlines()]
    return {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[1:]}


def may_be(told: str, own: str, column: str) -> bool:
    if column == "age" and told.startswith("["):
        low, high = told.strip("[]").split(", ")
        return int(low) <= int(own) <= int(high)
    if column == "city":
        return told in (own, CITIES[own], "*")
    return told in (own, "*") or own.startswith(told.removesuffix("0s"))


@pytest.mark.parametrize("defense", ["k-attributes:k=5", "k-attributes-full-domain:k=5"])
def test_what_is_written_is_k_anonymous_and_true(gaudit, places, defense):
    result = gaudit(*asked(places, defense=defense))
    assert result.exit_code == 0, result.output
    told, own = table(places / "told.csv"), original(places)
    assert set(told) == set(own)
    assert list(told["p1"]) == ["id", *COLUMNS, "illness"]
    found = classes(told, COLUMNS, degrees(places / "out.txt"))
    assert min(map(len, found.values())) >= 5
    for name, row in told.items():
        assert row["illness"] == own[name]["illness"]
        assert all(may_be(row[column], own[name][column], column) for column in COLUMNS)
    assert "'note' of nodes" in result.output
    assert "private" not in (places / "told.csv").read_text()


@pytest.mark.parametrize("sensitive", ["illness", "salary"])
def test_diversity_and_closeness_of_what_is_written(gaudit, places, sensitive):
    settings = ("--set", "l_diversity=2", "--set", "t_closeness=0.3")
    result = gaudit(*asked(places, sensitive), *settings)
    assert result.exit_code == 0, result.output
    told = table(places / "told.csv")
    whole = [row[sensitive] for row in told.values()]
    for ids in classes(told, COLUMNS, degrees(places / "out.txt")).values():
        own = [told[name][sensitive] for name in ids]
        assert 2 * max(Counter(own).values()) <= len(own)
        apart = ordered_distance(own, whole) if sensitive == "salary" else equal_distance(own, whole)
        assert apart <= 0.3 + 1e-9


def test_a_table_in_parquet_is_the_same_as_text(gaudit, places):
    """Numbers with gaps, dates and words, of which one column has empty cells."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: Parquet is an extra")
    text = (places / "people.csv").read_text().replace(";3000;", ";;")
    (places / "people.csv").write_text(text)
    words = asked(places, "illness,salary")
    assert gaudit(*words, "--seed", 1).exit_code == 0
    wanted = (places / "told.csv").read_text()
    frame = pd.read_csv(places / "people.csv", sep=";", parse_dates=["born"])
    assert frame["salary"].dtype == float
    frame.to_parquet(places / "people.parquet")
    words = [places / "people.parquet" if word == places / "people.csv" else word for word in words]
    result = gaudit(*words, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert (places / "told.csv").read_text() == wanted


def test_a_parquet_file_that_is_none_is_refused(gaudit, places):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: Parquet is an extra")
    (places / "people.parquet").write_bytes(b"PAR1 and no more")
    words = [places / "people.parquet" if word == places / "people.csv" else word for word in asked(places)]
    result = gaudit(*words)
    assert result.exit_code == 2
    assert "no Parquet file that can be read" in result.stderr


@pytest.mark.parametrize("several", ["given-others", "each"])
def test_several_sensitive_columns_are_told_and_diverse(gaudit, places, several):
    """In each class, and in each part of it that shares the other column, which somebody may know."""
    settings = ("--set", "l_diversity=2", "--set", "diversity=distinct", "--set", f"several={several}")
    result = gaudit(*asked(places, "illness,salary"), *settings)
    assert result.exit_code == 0, result.output
    told, own = table(places / "told.csv"), original(places)
    assert list(told["p1"]) == ["id", *COLUMNS, "illness", "salary"]
    assert all(told[name][column] == own[name][column] for name in own for column in ("illness", "salary"))
    for ids in classes(told, COLUMNS, degrees(places / "out.txt")).values():
        for column, other in (("illness", "salary"), ("salary", "illness")):
            known = {told[name][other] for name in ids} if several == "given-others" else {None}
            for value in known:
                part = {told[name][column] for name in ids if value in (None, told[name][other])}
                assert len(part) >= 2
    assert "who share their other sensitive values" in result.output or several == "each"


def test_an_empty_sensitive_cell_is_no_value_and_that_is_said(gaudit, places):
    """A class of one illness and empty cells tells the illness: two values are found without the empty ones."""
    text = (places / "people.csv").read_text().replace(";none;", ";;").replace(";gout;", ";;")
    (places / "people.csv").write_text(text)
    settings = ("--set", "l_diversity=2", "--set", "diversity=distinct")
    result = gaudit(*asked(places), *settings)
    assert result.exit_code == 0, result.output
    told, own = table(places / "told.csv"), original(places)
    empty = [name for name in own if not own[name]["illness"]]
    assert f"'illness' is empty for {len(empty)} people" in result.output
    assert {told[name]["illness"] for name in empty} == {"*"}
    for ids in classes(told, COLUMNS, degrees(places / "out.txt")).values():
        found = {told[name]["illness"] for name in ids} - {"*"}
        assert found in (set(), {"flu", "cold"})


def test_a_value_with_a_bar_is_quoted_and_that_is_said(gaudit, places):
    text = (places / "people.csv").read_text().replace(";Hull;", ";Hull|York;")
    (places / "people.csv").write_text(text)
    words = [*asked(places, defense="k-ad:k=5")]
    del words[words.index("--hierarchy") : words.index("--hierarchy") + 2]
    result = gaudit(*words)
    assert result.exit_code == 0, result.output
    assert "Values of 'city' have '|' in them" in result.output
    told, own = table(places / "told.csv"), original(places)
    for name, row in told.items():
        (found,) = csv.reader([row["city"]], delimiter="|")
        assert own[name]["city"] in found
        assert set(found) <= {"Hull|York", "York", "Bath", "Truro"}


def test_renamed_people_stand_in_the_order_of_their_numbers(gaudit, places):
    result = gaudit(*asked(places), "--rename", "--write-map", places / "who.csv", "--at-risk", places / "risk.csv")
    assert result.exit_code == 0, result.output
    told, own = table(places / "told.csv"), original(places)
    assert list(told) == [str(number) for number in range(len(own))]
    who = dict(line.replace('"', "").split(",") for line in (places / "who.csv").read_text().splitlines()[1:])
    assert all(told[who[name]]["illness"] == own[name]["illness"] for name in own)
    assert all(may_be(told[who[name]][c], own[name][c], c) for name in own for c in COLUMNS)
    assert min(map(len, classes(told, COLUMNS, degrees(places / "out.txt")).values())) >= 5
    assert f"Alone by their attributes and how many neighbours they have: {len(own)} of" in result.output


def test_another_defense_leaves_attributes_as_they_are_and_says_so(gaudit, places):
    result = gaudit(*asked(places, defense="k-degree:k=5"))
    assert result.exit_code == 0, result.output
    told, own = table(places / "told.csv"), original(places)
    assert all(told[name]["age"] == own[name]["age"] for name in own)
    assert "Attributes of people are published too" in result.output


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"--sensitive": "age"}, "cannot be what is protected"),
        ({"--attributes": "age,id"}, "has the ids of nodes"),
        ({"--attributes": "age,town"}, "no column is called 'town'"),
        ({"--attributes": "age,age"}, "is named twice"),
        ({"--hierarchy": "note=prefix"}, "no published attribute"),
        ({"--hierarchy": "age"}, "expected COLUMN=HOW"),
        ({"--hierarchy": "age=halves"}, "expected interval:WIDTH"),
        ({"--write-people": "told.txt"}, "ends in .csv"),
        ({"--write-people": None}, "--write-people"),
        ({"--people": None}, "--people FILE.csv"),
        ({"--defense": "tmf"}, "publishes no attributes of people"),
        ({"--defense": "k-attributes:k=500"}, "choose k of at most"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(gaudit, places, changed, words):
    first, *options = (part for part in asked(places)[1:] if part != "--no-utility")
    pairs = dict(zip(options[::2], options[1::2], strict=True))
    pairs = {name: value for name, value in (pairs | changed).items() if value is not None}
    result = gaudit("anonymize", first, *(part for pair in pairs.items() for part in pair))
    assert result.exit_code == 2
    assert words in result.output
    assert not (places / "out.txt").exists()
    assert not (places / "told.csv").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id;age\np1;3;4\n", "row 2 has 3 cells"),
        ("id;age\n", "a row for each person"),
        ("id\np1\n", "1 columns"),
        ("id;age;age\np1;3;4\n", "two columns are called"),
        ("id;age\np1;3\np1;4\n", "two rows have the id"),
        ("id;age\np1;3\n", "no row for"),
        ("id;age\np1;3\u202e\n", "not seen"),
    ],
)
def test_tables_that_are_wrong_are_refused_in_one_line(gaudit, places, text, words):
    (places / "people.csv").write_text(text)
    result = gaudit(
        *("anonymize", places / "g.txt", "--people", places / "people.csv", "--attributes", "age"),
        *("--write-people", places / "told.csv", "-o", places / "out.txt", "--defense", "k-attributes:k=5"),
    )
    assert result.exit_code == 2
    assert words in result.output


def test_people_who_are_no_nodes_are_refused(gaudit, places):
    with (places / "people.csv").open("a") as stream:
        stream.write("stranger;30;Hull;1980-01-01;flu;3000;x\n")
    result = gaudit(*asked(places))
    assert result.exit_code == 2
    assert "1 people are no nodes of the network, such as 'stranger'" in result.output
