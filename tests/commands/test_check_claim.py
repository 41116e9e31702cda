"""`gaudit check-claim`: exit codes, one line about what is wrong, and a file that is whole or not there."""

import json

import pytest

OWN = '''
from gaudit.mechanisms.exact_noise import discrete_laplace
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.mechanisms.mechanism import Mechanism


class Counted(Mechanism):
    """A count with noise."""

    name = "counted"
    differ_in = "node"

    @property
    def guarantee(self):
        return Guarantee("node", "add/remove", "central", self.settings.epsilon)

    def inputs(self):
        return 10, 11

    def release(self, data, rng):
        return data + int(discrete_laplace(1, 1, rng)[0])

    def score(self, released):
        return float(released)


class ForEdges(Counted):
    """Promises something of edges, and differs in nodes."""

    name = "for-edges"

    @property
    def guarantee(self):
        return Guarantee("edge", "add/remove", "central", self.settings.epsilon)


class Nothing:
    """No mechanism."""
'''


@pytest.fixture
def check_claim(gaudit):
    return lambda *arguments: gaudit("check-claim", *arguments)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The name of a module in the current folder; another one in each test, since modules are kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(OWN)
    return module


def refused(result, *says):
    """Exit code 2 and one line."""
    assert result.exit_code == 2, (result.exception, result.output)
    (line,) = [line for line in result.stderr.splitlines() if line.strip()]
    assert line.startswith("gaudit: error: ")
    assert all(word in line for word in says), line


def test_kept_claim_ends_with_0(check_claim):
    result = check_claim("edge-randomised-response", "--epsilon", 2, "--runs", 200)
    assert result.exit_code == 0, result.output
    assert "not refuted" in result.stdout
    assert "differ in one edge" in result.stdout


def test_broken_claim_ends_with_1(check_claim):
    asked = ("edge-randomised-response", "--epsilon", 4, "--claimed", 1, "--runs", 500)
    result = check_claim(*asked)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    last = result.stdout.rstrip().splitlines()[-1]
    assert "refuted: epsilon is above" in last
    assert "claimed is 1" in last
    assert check_claim(*asked[:3], "--claimed", 4.5, "--runs", 2000).exit_code == 0


REQUESTS = {
    "mechanism": (["degree-sequense"], ["mechanism", "did you mean 'degree-sequence'"]),
    "setting": (["ldp", "--set", "epsilonn=1"], ["setting", "did you mean 'epsilon'"]),
    "setting of another": (["ldp", "--set", "delta=0.1"], ["delta", "'ldp'"]),
    "setting without a value": (["ldp", "--set", "epsilon"], ["KEY=VALUE"]),
    "epsilon of 0": (["ldp", "--epsilon", "0"], ["epsilon", "greater than 0"]),
    "epsilon below 0": (["ldp", "--set", "epsilon=-1"], ["epsilon", "-1"]),
    "epsilon that is no number": (["ldp", "--epsilon", "nan"], ["epsilon", "nan"]),
    "epsilon beyond all noise": (["gaussian-uploads", "--epsilon", "1e13"], ["epsilon", "1e+13"]),
    "claim below 0": (["ldp", "--claimed", "-1"], ["epsilon is -1.0"]),
    "delta of 0": (["gaussian-uploads", "--set", "delta=0"], ["delta", "greater than 0"]),
    "delta of 1": (["gaussian-uploads", "--set", "delta=1"], ["delta", "less than 1"]),
    "level": (["gaussian-uploads", "--level", "99"], ["confidence", "99"]),
    "seed": (["ldp", "--seed", "-1"], ["seed", "-1"]),
    "runs": (["ldp", "--runs", "10"], ["10 runs"]),
    "too few runs": (["ldp", "--epsilon", "5", "--runs", "2000"], ["4.88", "5 is claimed", "more than 2,"]),
    "too few in a search": (["ldp", "--epsilon", "6", "--runs", "2000", "--search"], ["5.57", "6 is claimed"]),
    "epsilon for too many runs": (["ldp", "--epsilon", "14"], ["epsilon of 14", "runs"]),
    "module": (["no_such_module:Own"], ["cannot import", "no_such_module"]),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_bad_request_is_refused_in_one_line_and_leaves_no_file(check_claim, case, tmp_path):
    arguments, says = REQUESTS[case]
    refused(check_claim(*arguments, "--json", tmp_path / "out.json"), *says)
    assert not list(tmp_path.iterdir())


def test_file_that_cannot_be_written_is_refused_at_once(check_claim, tmp_path):
    refused(check_claim("ldp", "--json", tmp_path / "none" / "out.json"), "out.json", "does not exist")
    refused(check_claim("ldp", "--json", tmp_path), "folder")


def test_refused_request_leaves_an_old_file_as_it_was(check_claim, tmp_path):
    path = tmp_path / "out.json"
    path.write_text("old")
    refused(check_claim("ldp", "--runs", 10, "--json", path))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_json_has_claim_bound_and_verdict_and_the_same_bytes_again(check_claim, tmp_path):
    paths = [tmp_path / name for name in ("one.json", "two.json")]
    for path in paths:
        result = check_claim("gaussian-uploads", "--epsilon", 4, "--runs", 400, "--json", path)
        assert result.exit_code == 0, result.output
    assert paths[0].read_bytes() == paths[1].read_bytes()
    content = json.loads(paths[0].read_text())
    assert (content["claim"]["unit"], content["claim"]["epsilon"]) == ("client", 4.0)
    assert 0 < content["measured"]["low"] <= 4.0
    assert content["refuted"] is False
    assert sorted(tmp_path.iterdir()) == paths


def test_json_is_written_of_a_refuted_claim_too(check_claim, tmp_path):
    path = tmp_path / "out.json"
    asked = ("edge-randomised-response", "--epsilon", 6, "--claimed", 1, "--runs", 200, "--json", path)
    assert check_claim(*asked).exit_code == 1
    assert json.loads(path.read_text())["refuted"] is True


def test_mechanism_of_ones_own_is_checked(check_claim, own):
    assert check_claim(f"{own}:Counted", "--epsilon", 1, "--runs", 1000).exit_code == 0
    result = check_claim(f"{own}:Counted", "--epsilon", 0.1, "--runs", 1000)  # its noise is always that for 1
    assert result.exit_code == 1, result.output
    assert "counted: refuted" in result.stdout


def test_own_class_that_cannot_be_checked_is_refused(check_claim, own):
    refused(check_claim(f"{own}:ForEdges"), "one edge", "one node")
    refused(check_claim(f"{own}:Nothing"), "derive it from gaudit.mechanisms.mechanism.Mechanism")
    refused(check_claim(f"{own}:Missing"), "no class")
