"""The command line never writes over a file that it reads, nor one result over another."""

import os
from pathlib import Path

import pytest

ALIASES = {
    "itself": lambda file, alias: None,
    "symbolic link": lambda file, alias: alias.symlink_to(file),
    "hard link": os.link,
}
EDGES = "a b\nb c\nc a\n"
PLAN = 'datasets = ["net.csv"]\n[[target]]\nname = "publish"\n[[attack]]\nname = "refinement"\n'
POLICY = (
    '[gate]\nledger = "audit.db"\nplan = "plan.toml"\n[[check]]\nname = "members"\nattack = "loss"\nmargin = 0.03\n'
)
FILES = {
    "net.csv": EDGES,
    "plan.toml": PLAN,
    "gaudit.toml": POLICY,
    "audit.db": "kept",
    ".gaudit-baseline.json": "{}",
}
COMMANDS = {
    "report": ("audit.db", ["report", "audit.db", "-o", "OUT"]),
    "report, records": ("audit.db", ["report", "audit.db", "--records", "OUT"]),
    "anonymize": ("net.csv", ["anonymize", "net.csv", "--defense", "random-switch", "-o", "OUT"]),
    "attack": (
        "net.csv",
        ["attack", "--target", "publish", "--attack", "all", "--graph", "net.csv", "--json", "OUT"],
    ),
    "attack, recorded": (
        "audit.db",
        ["attack", "--target", "fedgc", "--attack", "nearest", "--transcript", "audit.db", "--per-node", "OUT"],
    ),
    "audit, plan": ("plan.toml", ["audit", "plan.toml", "--ledger", "OUT"]),
    "audit, graph": ("net.csv", ["audit", "plan.toml", "--ledger", "OUT"]),
    "check, policy": ("gaudit.toml", ["check", "--junit", "OUT"]),
    "check, ledger": ("audit.db", ["check", "--sarif", "OUT"]),
    "check, baseline": (".gaudit-baseline.json", ["check", "--summary", "OUT"]),
    "check, plan": ("plan.toml", ["check", "--summary", "OUT"]),
    "baseline, ledger": ("audit.db", ["baseline", "update", "audit.db", "--baseline", "OUT", "--reason", "first"]),
    "baseline, policy": ("gaudit.toml", ["baseline", "update", "--baseline", "OUT", "--reason", "first"]),
}
PAIRS = {
    "attack": [
        "attack",
        "--target",
        "publish",
        "--attack",
        "all",
        "--graph",
        "net.csv",
        "--json",
        "A",
        "--per-node",
        "B",
    ],
    "attack, folder": ["attack", "--target", "fedgc", "--attack", "mia", "--json", "A", "--save-transcripts", "B"],
    "report": ["report", "audit.db", "-o", "A", "--records", "B"],
    "check": ["check", "--junit", "A", "--summary", "B"],
}


@pytest.fixture(name="folder")
def working_folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def assert_refused_and_untouched(result, *says):
    assert result.exit_code == 2, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.strip()]
    assert line.startswith("gaudit: error: cannot write ")
    for word in says:
        assert word in line
    assert {name: Path(name).read_text() for name in FILES} == FILES


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_output_replaces_an_input(gaudit, folder, command, alias):
    source, words = COMMANDS[command]
    out = source if alias == "itself" else "alias.csv"
    ALIASES[alias](folder / source, folder / out)
    result = gaudit(*[out if word == "OUT" else word for word in words])
    assert_refused_and_untouched(result, f"cannot write {out}: ", "this command reads it", "another file name")


@pytest.mark.parametrize("other", ["out", "./out", "link"])
@pytest.mark.parametrize("command", PAIRS)
def test_no_output_replaces_another(gaudit, folder, command, other):
    Path("link").symlink_to("out")  # which does not exist yet
    result = gaudit(*[{"A": "out", "B": other}.get(word, word) for word in PAIRS[command]])
    assert_refused_and_untouched(result, "give each output a file name of its own")
    assert not Path("out").exists()


def test_a_report_of_an_unknown_ending_is_refused_before_the_ledger_is_read(gaudit, folder):
    """It was written as HTML. The ledger here is none, which is found out later."""
    result = gaudit("report", "audit.db", "-o", "report.docx")
    assert result.exit_code == 2
    assert result.stderr == (
        "gaudit: error: report.docx: no report format has the ending .docx: choose one of csv, html, json, md, "
        "timings, or name one with --format\n"
    )
    assert "ending" not in gaudit("report", "audit.db", "-o", "report").stderr
