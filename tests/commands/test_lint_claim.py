"""`gaudit lint-claim`: exit codes, one line about what is wrong with a file, and what is printed."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from gaudit.commands.lint_claim import lint_claim_command
from support.claim_statements import RIGHT, changed


@pytest.fixture
def lint_claim():
    return lambda *arguments: CliRunner().invoke(lint_claim_command, [str(argument) for argument in arguments])


@pytest.fixture
def written(tmp_path):
    def write(stated, name="claim.json"):
        path = tmp_path / name
        path.write_text(stated if isinstance(stated, str) else json.dumps(stated))
        return path

    return write


def test_example_is_printed_and_has_no_remark(lint_claim, written):
    example = lint_claim("--example")
    assert example.exit_code == 0
    result = lint_claim(written(example.stdout, "claim.toml"))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith("no rule objects; that proves neither the facts nor the code")


def test_claim_that_holds_ends_with_0(lint_claim, written):
    result = lint_claim(written(RIGHT["edge_response"]()))
    assert result.exit_code == 0, result.output
    assert "no rule objects" in result.stdout


def test_wrong_claim_ends_with_1_and_says_why(lint_claim, written):
    path = written(changed(RIGHT["mlp"](), training__layers=2, claim__title="[bold]a GCN[/bold] with Opacus"))
    result = lint_claim(path)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    lines = result.stdout.splitlines()
    assert lines[0] == "[bold]a GCN[/bold] with Opacus"  # as it is written, whatever it looks like
    assert lines[1].startswith("wrong message-passing, [[training]] mlp: 2 message-passing layers")
    assert "Daigavane" in lines[2]
    assert "does not follow from these facts" in lines[-1]


def test_doubt_alone_ends_with_0(lint_claim, written):
    result = lint_claim(written(changed(RIGHT["degrees"](), noise__seed=None)))
    assert result.exit_code == 0, result.output
    assert "doubt missing-facts, [[noise]] degrees: cannot be judged" in result.stdout
    assert "1 in doubt" in result.stdout.splitlines()[-1]


def test_json_has_claim_and_remarks_and_the_same_bytes_again(lint_claim, written):
    path = written(changed(RIGHT["gap"](), bound=[{"what": "degree", "source": "data"}]))
    one, two = (lint_claim(path, "--format", "json") for _ in range(2))
    assert one.exit_code == two.exit_code == 1
    assert one.stdout == two.stdout
    content = json.loads(one.stdout)
    assert (content["claim"]["unit"], content["claim"]["epsilon"], content["wrong"]) == ("node", 5.1, True)
    (remark,) = content["remarks"]
    assert (remark["rule"], remark["severity"], remark["where"]) == (
        "bound-from-the-data",
        "wrong",
        "[[bound]] degree",
    )
    assert set(remark) == {"rule", "severity", "where", "says", "do", "source"}


def test_json_of_a_claim_that_holds_has_no_remarks(lint_claim, written):
    result = lint_claim(written(RIGHT["laplace"]()), "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["remarks"] == []


REFUSED = {
    "no file": ([], "no file is given"),
    "missing file": (["none.toml"], "cannot read the statement none.toml"),
    "bad key": (["bad.toml"], "did you mean 'claim.epsilon'"),
    "epsilon of 0": (["zero.toml"], "claim.epsilon"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_request_is_refused_in_one_line(lint_claim, case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    claim = '[claim]\nunit = "edge"\nadjacency = "replace"\n'
    noise = '[[noise]]\nname = "a"\nmechanism = "other"\n'
    Path("bad.toml").write_text(f"{claim}epsilonn = 1\nepsilon = 1\n{noise}")
    Path("zero.toml").write_text(f"{claim}epsilon = 0\n{noise}")
    arguments, says = REFUSED[case]
    for shape in ("console", "json"):
        result = lint_claim(*arguments, "--format", shape)
        assert result.exit_code == 2, (result.exception, result.output)
        (line,) = result.stderr.splitlines()
        assert line.startswith("gaudit: error: ")
        assert says in line
        assert result.stdout == ""


def test_command_loads_nothing_heavy_until_it_needs_it(written):
    """A claim of plain noise is judged without torch, and help without numpy."""
    path = written(RIGHT["laplace"]())
    code = (
        "import sys\n"
        "from gaudit.commands.lint_claim import lint_claim_command as command\n"
        "assert not {'torch', 'numpy', 'scipy', 'opacus', 'rich.console'} & set(sys.modules)\n"
        "try:\n    command(sys.argv[1:])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "assert not {'torch', 'opacus'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


PAGE = Path(__file__).parents[2] / "docs" / "claims" / "lint-claim-statements.md"
STATED = {
    tomllib.loads(block)["noise"][0]["mechanism"]: block
    for block in re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
}
# mechanism, what the page says is a mistake in it, and the words of the remark
MISTAKES = [
    ("discrete-gaussian", {"claim__epsilon": 4.378}, "continuous noise"),
    ("discrete-laplace", {"claim__epsilon": 0.5}, "add up"),
    ("discrete-laplace", {"claim__unit": "edge"}, "in every snapshot"),
    ("k-ary-response", {"noise__truthful": 0.7311}, "formula for two answers"),
    ("laplace", {"claim__epsilon": 0.1}, "rate x epsilon"),
    ("laplace", {"noise__sampling": "none"}, "all units are used"),
    (
        "laplace",
        {"noise__sampling": "without-replacement", "noise__sensitivity_for": "add/remove"},
        "drawn in place",
    ),
    ("laplace", {"claim__adjacency": "replace", "noise__sensitivity_for": "replace"}, "whether it was drawn"),
    ("propose-test-release", {"noise__test_scale": 0}, "no noise"),
    ("propose-test-release", {"claim__epsilon": 0.5}, "its test"),
    ("propose-test-release", {"claim__delta": 0.0}, "nothing with delta 0"),
    ("propose-test-release", {"noise__threshold": 12}, "by mistake"),
    ("smooth-sensitivity", {"noise__law": "laplace"}, "nothing with delta 0"),
    ("smooth-sensitivity", {"noise__law": "gaussian"}, "nothing with delta 0"),
    ("smooth-sensitivity", {"noise__calibrated_to": "local"}, "of these data"),
    ("smooth-sensitivity", {"noise__beta": 2}, "keeps epsilon 2"),
    ("sparse-vector", {"noise__query_scale": 0}, "queries have no noise"),
    ("sparse-vector", {"noise__threshold_scale": 0}, "the threshold has no noise"),
    ("sparse-vector", {"noise__query_scale": 10 / 3}, "however many"),
    ("sparse-vector", {"noise__positives": "unlimited"}, "never stops"),
    ("sparse-vector", {"noise__answers": "tested value"}, "gives away"),
    ("permute-and-flip", {"noise__scale": 1}, "factor of two"),
    ("other", {"claim__unit": "edge-history", "claim__told": "edge-history"}, "together basic 4, claimed is 1"),
]


def test_the_page_has_a_statement_for_each_mechanism():
    assert set(STATED) == {mechanism for mechanism, _, _ in MISTAKES}


@pytest.mark.parametrize("mechanism", STATED)
def test_statements_of_the_page_hold(mechanism, lint_claim, written):
    result = lint_claim(written(STATED[mechanism], "claim.toml"))
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    assert "no rule objects" in line


@pytest.mark.parametrize(("mechanism", "facts", "says"), MISTAKES)
def test_mistakes_of_the_page_are_found(mechanism, facts, says, lint_claim, written):
    result = lint_claim(written(changed(tomllib.loads(STATED[mechanism]), **facts)))
    assert result.exit_code == 1, result.output
    assert says in result.stdout
