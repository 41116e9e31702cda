"""What cannot be audited is refused in one line before anything is run, and nothing is written."""

import numpy as np
import pytest
from click.testing import CliRunner

import gaudit
from gaudit.commands.main import main
from support.sixty_nodes import sixty_nodes

SCORES = "id,member,score\n" + "\n".join(f"{i},{i % 2},{i}" for i in range(40))
AFTER, MAP = "b a\nc b\n", "original,published\nx,a\ny,b\nz,c\n"
FILES = {
    "scores.csv": SCORES,
    "before.txt": "x y\ny z\n",
    "after.txt": AFTER,
    "lacks.csv": MAP.replace("z,c\n", ""),
    "twice.csv": MAP + "z,a\n",
    "unknown.csv": MAP + "w,d\n",
    "other.csv": "one,two\nx,a\n",
}
PUBLISHED = ("published", "after.txt", "--original", "before.txt", "--same")
RELEASE = ("--original", "graph.npz")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    gaudit.write_graph(sixty_nodes(), "graph.npz")
    np.savez("wide.npz", x=np.ones((4, 99)))
    np.savez("rows.npz", x=np.ones((4, sixty_nodes().num_features)))
    (tmp_path / "junk.npz").write_text("junk")


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("score", "scores.csv", "--game", "edge-presence"), "is about pairs"),
        (("score", "scores.csv", "--stratum", "class"), "the column 'class' is missing"),
        (("score", "scores.csv", "--below", "auc=nan"), "a limit is a number"),
        (("release", "wide.npz", *RELEASE), "99 features"),
        (("release", "junk.npz", *RELEASE), "junk.npz"),
        ((*PUBLISHED, "lacks.csv"), "z"),
        ((*PUBLISHED, "twice.csv"), "again"),
        ((*PUBLISHED, "unknown.csv"), "w"),
        ((*PUBLISHED, "other.csv"), "the column 'original' is missing"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, command, says):
    before = {file.name for file in tmp_path.iterdir()}
    done = run(*command, "--ledger", "audit.db", "--report", "report.html")
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("gaudit: error: ")
    assert says in line
    assert {file.name for file in tmp_path.iterdir()} == before


@pytest.mark.dear
def test_a_release_that_no_attack_can_read_is_no_good_result():
    done = run("release", "rows.npz", *RELEASE, "--attack", "mia")
    assert done.exit_code == 4, done.output
    assert "no attack applied, so nothing was measured: mia" in done.stderr
