"""`gaudit anonymize` with people in snapshots: what is written, read by plain dictionaries and sets."""

import csv
import random
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

PEOPLE, WINDOWS = 60, 3


@pytest.fixture
def places(tmp_path):
    """Messages of 60 people over 300 days, and a table of what they are and have."""
    rng = random.Random(5)
    lines = [f"{a},{b},{rng.randrange(300)}" for a, b in (rng.sample(range(PEOPLE), 2) for _ in range(200))]
    ring = [f"{a},{(a + 1) % PEOPLE},{5 * a}" for a in range(PEOPLE)]
    (tmp_path / "g.csv").write_text("\n".join(["source,target,time", *lines, *ring]) + "\n")
    rows = [f"{a},{rng.choice('ab')},{rng.choice('xyz')}" for a in range(PEOPLE)]
    (tmp_path / "people.csv").write_text("\n".join(["id,job,ill", *rows]) + "\n")
    return tmp_path


def asked(places, defense):
    return (
        *("anonymize", places / "g.csv", "--windows", WINDOWS, "--people", places / "people.csv"),
        *("--attributes", "job", "--sensitive", "ill", "--write-people", places / "told.csv", "--no-utility"),
        *("--at-risk", places / "risk.csv", "--defense", defense, "-o", places / "out.csv"),
    )


def table(place):
    with place.open(newline="") as file:
        return list(csv.DictReader(file))


def alike(places, first, last):
    """People by what is told of them and their degrees in some windows."""
    times = defaultdict(Counter)
    for line in (places / "out.csv").read_text().splitlines():
        if not line.startswith("#"):
            one, other, window = line.split(",")
            times[one][window] += 1
            times[other][window] += 1
    names = [f"window-{k + 1}" for k in range(first, last)]
    found = defaultdict(list)
    for row in table(places / "told.csv"):
        found[row["job"], tuple(times[row["id"]][name] for name in names)].append(row["ill"])
    assert sum(map(len, found.values())) == PEOPLE
    return found.values()


@pytest.mark.parametrize("defense", ["k-ad-windows:k=5,window=3", "k-l-sequential:k=5,l_diversity=2"])
def test_people_are_alike_in_all_windows_and_the_list_of_who_is_at_risk_agrees(gaudit, places, defense):
    result = gaudit(*asked(places, defense))
    assert result.exit_code == 0, result.output
    assert "Verified on the output" in result.output
    classes = alike(places, 0, WINDOWS)
    assert min(map(len, classes)) >= 5
    if defense.startswith("k-l"):
        assert all(max(Counter(ill).values()) <= len(ill) / 2 for ill in classes)
    risk = table(places / "risk.csv")
    assert min(int(row["edges_after"]) for row in risk) >= 5
    assert min(int(row["edges_before"]) for row in risk) == 1
    sizes = sorted(len(own) for own in classes)
    listed = sorted(int(row["snapshots_after"]) for row in risk)
    assert set(listed) <= set(sizes)
    assert min(int(row["snapshots_before"]) for row in risk) == 1
    assert min(listed) >= 5


def test_windows_of_two_are_covered_by_themselves(gaudit, places):
    assert gaudit(*asked(places, "k-ad-windows:k=5,window=2")).exit_code == 0
    assert min(len(own) for first in range(WINDOWS - 1) for own in alike(places, first, first + 2)) >= 5


TYPED = "source,target,type\n"


def with_types(places, rows, head=""):
    """A file of typed edges among all people; the rest of the command is that of windows."""
    ring = [f"{a},{(a + 1) % PEOPLE},{kind}" for kind in rows for a in range(PEOPLE)]
    (places / "typed.csv").write_text(head + TYPED + "\n".join(ring) + "\n")
    return ["anonymize", places / "typed.csv", *asked(places, "k-ad-windows:k=5,window=2")[4:]]


def test_snapshots_in_no_order_are_refused(gaudit, places):
    result = gaudit(*with_types(places, ["2024", "2026", "2025"]))
    assert result.exit_code == 2
    assert "their order is open: they first come as 2024 2026 2025" in result.output
    assert not (places / "out.csv").exists()


@pytest.mark.parametrize(("names", "head"), [(["t9", "t10"], ""), (["feb", "jan"], "#@type jan\n#@type feb\n")])
def test_snapshots_in_order_or_declared_are_taken(gaudit, places, names, head):
    result = gaudit(*with_types(places, names, head))
    assert result.exit_code == 0, result.output


def test_types_that_are_no_snapshots_of_so_many_relations_are_refused(gaudit, places):
    words = [*with_types(places, ["1a", "1b", "2b"]), "--set", "relations=2"]
    result = gaudit(*words)
    assert result.exit_code == 2
    assert "3 types of edges are no snapshots of 2 relations each" in result.output
    result = gaudit(*asked(places, "k-ad-windows:k=5"), "--set", "relations=3")
    assert result.exit_code == 2
    assert "with windows of time there is one" in result.output


def test_edges_without_snapshots_are_refused(gaudit, places):
    words = asked(places, "k-ad-windows:k=5")
    result = gaudit("anonymize", places / "g.csv", *words[4:])
    assert result.exit_code == 2
    assert "needs snapshots: name a column 'type' in the file, or cut --windows" in result.output


def test_no_table_of_people_is_left_behind_where_the_network_is_refused(gaudit, places):
    ids = ["source", *map(str, range(1, PEOPLE))]
    rows = [f"{one} {other} {kind}" for kind in (1, 2) for one, other in pairwise(ids)]
    (places / "h.txt").write_text("from to type\n" + "\n".join(rows) + "\n")
    (places / "hp.csv").write_text("id,job\n" + "\n".join(f"{name},a" for name in ids) + "\n")
    result = gaudit(
        *("anonymize", places / "h.txt", "--defense", "k-ad-windows:k=2", "--people", places / "hp.csv"),
        *("--attributes", "job", "--write-people", places / "po.csv", "-o", places / "o.txt"),
    )
    assert result.exit_code == 2, result.output
    assert not (places / "po.csv").exists()
    assert not (places / "o.txt").exists()
