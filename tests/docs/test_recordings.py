"""What docs/how-to/recordings.md prints works: its code runs, and so do its commands."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from gaudit.commands.main import main
from gaudit.targets.recording import read_recording

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "recordings.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_loop_is_recorded_and_audited(folder):
    loop, _ = blocks("python")
    exec(compile(loop, "recordings.md", "exec"), {"__name__": "recordings"})
    found = read_recording("run")
    assert {m.kind for m in found.transcript.messages} == {"global-model", "update"}
    assert found.about.recipe.hidden == 8
    commands = [line for line in PAGE.splitlines() if line.startswith("gaudit ")]
    assert len(commands) == 2
    for command in commands:
        result = CliRunner().invoke(
            main, [*shlex.split(command)[1:], *(["--workers", "1"] * ("record" in command))]
        )
        assert result.exit_code == 0, result.output
    assert "recorded" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_writer_needs_no_gaudit(folder):
    _, writer = blocks("python")
    assert "gaudit" not in re.findall(r"^(?:import|from) (\w+)", writer, re.MULTILINE)
    exec(compile(writer, "recordings.md", "exec"), {})
    (message,) = read_recording("mine").transcript.messages
    assert message.tensors["w1"].shape == (34, 8)
