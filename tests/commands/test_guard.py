"""Whatever goes wrong in a command ends with one short line that is safe to show, and a documented exit code."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from gaudit.commands.terminal import TRACEBACK, UNFORESEEN, GuardedGroup
from support.forged import forge
from support.ledgers import write_ledger

HOSTILE = "good\u202eevil\u2066\u200b\x1b[31m\r\nsecond line"
UNSEEN = set("\u202e\u2066\u200b\x1b\r\x00\x7f")
FAILURES = {
    "recursion": RecursionError("too deep"),
    "memory": MemoryError(),
    "overflow": OverflowError("too large"),
    "SQLite": sqlite3.DatabaseError("malformed"),
    "text": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
    "long, on several lines": KeyError("\n".join(["x" * 1000, HOSTILE] * 30)),
}


def failing(error: Exception) -> GuardedGroup:
    group = GuardedGroup()

    @group.command()
    def run() -> None:
        raise error

    return group


@pytest.mark.parametrize("error", FAILURES.values(), ids=FAILURES.keys())
def test_what_nobody_foresaw_is_one_line(error):
    result = CliRunner().invoke(failing(error), ["run"])
    assert result.exit_code == UNFORESEEN
    (line,) = result.stderr.splitlines()
    assert line.isprintable()
    assert len(line) < 600
    assert type(error).__name__ in line
    assert TRACEBACK in line


def test_the_traceback_is_there_for_who_asks(monkeypatch):
    monkeypatch.setenv(TRACEBACK, "1")
    result = CliRunner().invoke(failing(FAILURES["overflow"]), ["run"])
    assert result.exception is FAILURES["overflow"]


@pytest.mark.parametrize(
    ("error", "code"), [(click.UsageError("no"), 2), (click.exceptions.Exit(3), 3), (SystemExit(4), 4)]
)
def test_what_ends_a_command_on_purpose_passes(error, code):
    assert CliRunner().invoke(failing(error), ["run"]).exit_code == code


@pytest.mark.parametrize("shape", ["(True, 4)", "(-4, 4)", "(30, 10**30)", "(1.0,)"])
def test_an_impossible_shape_is_refused(gaudit, arrays, tmp_path, shape):
    path = tmp_path / "a.npz"
    np.savez(path, **arrays)
    old = f"({arrays['x'].shape[0]}, {arrays['x'].shape[1]})"
    raw = path.read_bytes()
    place = raw.index(b"'shape': " + old.encode())
    new = f"'shape': {shape}, }}".encode()
    end = raw.index(b"\n", place)
    path.write_bytes(raw[:place] + new.ljust(end - place) + raw[end:])
    for command in (
        ("attack", "--target", "fedgc", "--attack", "mia", "--graph", path),
        ("anonymize", path, "--defense", "random-switch", "-o", tmp_path / "out.txt"),
    ):
        result = gaudit(*command)
        assert result.exit_code == 2, result.output
        assert len(result.stderr.split("\n")) <= 3  # a terminal's progress leaves an empty line
        assert "a.npz: " in result.stderr


ODD_ROWS = {"a reason of bytes": ("reason", b"\xff\x00why"), "endless seconds": ("seconds", float("inf"))}


@pytest.mark.parametrize(("column", "value"), ODD_ROWS.values(), ids=ODD_ROWS.keys())
@pytest.mark.parametrize("form", ["json", "html", "markdown", "csv"])
def test_rows_of_other_types_are_told(gaudit, tmp_path, column, value, form):
    path = tmp_path / "audit.db"
    write_ledger(path, 1.5)
    also = ", result = NULL" if column == "reason" else ""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE trials SET {column} = ?{also} WHERE key = 'planted'", (value,))
    result = gaudit("report", path, "--format", form)
    if column == "seconds":
        assert result.exit_code == 2
        assert "damaged" in result.stderr
    assert result.exit_code in (0, 2)
    assert result.stderr.count("\n") <= 1


@pytest.mark.parametrize("form", ["json", "html", "markdown", "csv"])
def test_text_from_a_ledger_turns_no_line_round(gaudit, tmp_path, form):
    path = tmp_path / "audit.db"
    write_ledger(path, 1.5)
    inside = json.dumps(HOSTILE)[1:-1]
    forge(path, lambda text: text.replace('"simulated"', f'"{inside}"').replace('"citations"', f'"{inside}"'))
    (tmp_path / "gaudit.toml").write_text(
        f'[[check]]\nname = "{inside}"\nattack = "loss"\nbudget = 0.9\n'.replace("\\r\\n", " ").replace(
            "\\u001b", ""
        )
    )
    written = gaudit("report", path, "--format", form)
    assert written.exit_code == 0, written.output
    assert UNSEEN.isdisjoint(written.stdout)
    assert "good" in written.stdout
    outputs = [part for name in ("junit", "sarif", "summary") for part in (f"--{name}", tmp_path / f"a.{name}")]
    held = gaudit("check", path, "--policy", tmp_path / "gaudit.toml", *outputs)
    assert held.exit_code in (0, 1), held.output
    for text in (held.stdout, *(Path(file).read_text() for file in outputs[1::2])):
        assert UNSEEN.isdisjoint(text)
        assert "good" in text


def test_errors_quote_little(gaudit, tmp_path):
    endless = "x" * 20_000
    plan = tmp_path / "plan.toml"
    plan.write_text(f'datasets = ["{endless}"]\n[[target]]\nname = "{HOSTILE[:20]}"\n[[attack]]\nname = "loss"\n')
    for command in (
        ("audit", plan),
        ("attack", "--target", endless, "--attack", "mia"),
        ("attack", "--target", "fedgc", "--attack", "mia", "--set", f"hidden={json.dumps([endless] * 3)}"),
        ("attack", "--target", "fedgc", "--attack", "mia", "--set", f"hidden={'[' * 900}{']' * 900}"),
        ("report", tmp_path / "absent.db", "--format", HOSTILE),
    ):
        result = gaudit(*command)
        assert result.exit_code == 2
        (line,) = filter(None, result.stderr.split("\n"))
        assert line.isprintable()
        assert "x" * 121 not in line
        assert len(line) < 1600


def test_names_in_a_transcript_are_no_markup(inspected, graph, recorded_file, tmp_path):
    """A name that a terminal would read as markup is shown as it is."""
    raw = recorded_file.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + size].replace(b"condensed-graph", b"[red][/x]-graph")
    path = tmp_path / "run.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + raw[8 + size :])
    result = inspected(graph, "--transcript", path)
    assert result.exit_code == 0, result.output
    assert "[red][/x]-graph" in result.stdout
