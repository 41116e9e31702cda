"""Some hundred broken files of all formats: each is read or refused in one line, soon, and in little memory."""

import random
from collections import Counter
from pathlib import Path

import pytest
from fuzz_readers import case, fuzz, outcome

from gaudit.errors import InputError


@pytest.mark.dear
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="what a process takes is read in /proc")
def test_broken_files_are_read_or_refused():
    found = fuzz(340, seed=1, workers=1, keep=None)
    assert len(found) == 340
    assert [told for told in found if told["what"] not in ("read", "refused")] == []
    assert min(Counter(told["what"] for told in found).values()) > 20
    assert len({told["name"] for told in found}) > 12
    assert max(told["bytes"] for told in found) < 2 << 30


def test_the_same_number_is_the_same_file(tmp_path):
    for name in ("a.txt", "b.json"):
        (tmp_path / name).write_text('{"a": [1, 2, {"b": "c"}]}\n' * 3 if name == "a.txt" else '{"a": [1, 2, 3]}')
    valid = sorted(tmp_path.iterdir())
    contents = [path.read_bytes() for path in valid]
    made = [case(number, 0, valid, contents) for number in range(40)]
    assert made == [case(number, 0, valid, contents) for number in range(40)]
    assert made != [case(number, 1, valid, contents) for number in range(40)]
    assert len({content for _, content in made}) > 20


def refuse(path: Path) -> None:
    raise InputError(f"{path}: no")


def fail(path: Path) -> None:
    raise IndexError(random.random())


@pytest.mark.parametrize(("read", "what"), [(refuse, "refused"), (fail, "traceback"), (Path.exists, "read")])
def test_outcomes_are_told_apart(tmp_path, read, what):
    assert outcome(read, tmp_path)[0] == what
