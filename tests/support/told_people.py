"""Written tables of people and networks, read by plain dictionaries and sets: no code of defenses."""

import csv
from collections import Counter, defaultdict
from itertools import accumulate


def table(path) -> dict[str, dict[str, str]]:
    """What is written of each person, by id."""
    with path.open(encoding="utf-8") as stream:
        return {row["id"]: row for row in csv.DictReader(stream)}


def degrees(path) -> Counter:
    """Neighbours of each id in an edge list of two columns."""
    near = defaultdict(set)
    with path.open(encoding="utf-8") as stream:
        for row in csv.reader(line for line in stream if line.strip() and not line.startswith("#")):
            one, other = row if len(row) == 2 else row[0].split()
            assert one != other
            near[one].add(other)
            near[other].add(one)
    return Counter({name: len(others) for name, others in near.items()})


def classes(rows: dict[str, dict[str, str]], names, degree=None) -> dict[tuple, list[str]]:
    """Ids by what is told of them under some names, and by degree where that is given."""
    found = defaultdict(list)
    for name, row in rows.items():
        found[(*(row[n] for n in names), *(() if degree is None else (degree[name],)))].append(name)
    return dict(found)


def equal_distance(own, whole) -> float:
    """How much must move from one list of values to the other where all distances are 1, per value."""
    one, other = Counter(own), Counter(whole)
    return sum(max(0.0, one[v] / len(own) - other[v] / len(whole)) for v in one)


def ordered_distance(own, whole) -> float:
    """The same where values are numbers and ranks tell distances: work of a transport from left to right."""
    values = sorted(set(whole))
    left = [own.count(v) / len(own) - whole.count(v) / len(whole) for v in values]
    return sum(map(abs, accumulate(left))) / (len(values) - 1)
