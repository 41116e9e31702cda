"""What docs/how-to/bring-your-own.md prints works: its code runs, and so do its commands."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import gaudit
from gaudit.commands.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "bring-your-own.md").read_text(encoding="utf-8")
SERVICE = "http://127.0.0.1:8765/predict"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.dear
def test_every_way_in_works_as_it_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks("python"))
    assert code.count(SERVICE.split(":")[2].partition("/")[0]) == 2
    names = {"__name__": "__main__"}
    # a port that is free, in the place of the one that the page names
    code = code.replace('("127.0.0.1", 8765)', '("127.0.0.1", 0)')
    code = code.replace(f'"{SERVICE}"', 'f"http://127.0.0.1:{server.server_address[1]}/predict"')
    exec(compile(code, "bring-your-own.md", "exec"), names)
    url = f"http://127.0.0.1:{names['server'].server_address[1]}/predict"
    commands = [line.replace(SERVICE, url) for block in blocks("sh") for line in block.splitlines()]
    ways = {"score", "release", "published", "anonymize", "attack"}
    assert {shlex.split(command)[1] for command in commands} == ways
    for command in commands:  # the service is gone by now: what it answered is kept
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.output)
        assert "Traceback" not in result.output
    assert "nothing was asked" in result.stdout.replace("\n", " ")
    assert "<html" in (tmp_path / "network.html").read_text(encoding="utf-8")


def test_every_way_in_is_in_the_table():
    table = PAGE.partition("\n## ")[0]
    for name in ("audit", "score", "release", "published", "recorded"):
        assert name in gaudit.__all__
        assert f"`gaudit.{name}(" in table


def test_formats_are_those_that_are_read():
    from gaudit.graphs.files.name_map import COLUMNS
    from gaudit.targets.external.released_file import NAMES

    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    told = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert set(COLUMNS) <= told
    assert {"x", "y", "adjacency", "edge_index"} <= told & set(NAMES)
