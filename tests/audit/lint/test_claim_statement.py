"""A statement from a file: what is read, and one line about what cannot be."""

import json
import tomllib

import pytest

from gaudit.audit.lint.claim_example import EXAMPLE, example_text
from gaudit.audit.lint.claim_statement import Bound, Claim, Inference, Noise, Selection, Statement, Training
from gaudit.errors import InputError
from support.claim_statements import RIGHT


def read(tmp_path, text, name="claim.toml"):
    path = tmp_path / name
    path.write_text(text)
    return Statement.read(path)


def test_example_is_read_as_it_is_written(tmp_path):
    assert read(tmp_path, example_text()) == EXAMPLE


def test_example_names_every_fact_that_can_be_stated():
    text = example_text()
    for part in (Claim, Noise, Training, Bound, Selection, Inference):
        for name, field in part.model_fields.items():
            assert field.description
            assert any(line.removeprefix("# ").startswith(f"{name} =") for line in text.splitlines()), name
    tomllib.loads(text)


@pytest.mark.parametrize("name", RIGHT)
def test_json_says_the_same_as_a_table(tmp_path, name):
    assert read(tmp_path, json.dumps(RIGHT[name]()), "claim.json") == Statement.checked("it", RIGHT[name]())


CLAIM = '[claim]\nunit = "edge"\nadjacency = "add/remove"\nepsilon = 1\n'
NOISE = '[[noise]]\nname = "a"\nmechanism = "laplace"\n'
BAD = {
    "no TOML": ("[claim", "not TOML"),
    "no claim": (NOISE, "'claim'"),
    "nothing released": (CLAIM, "nothing is released"),
    "epsilon of 0": (CLAIM.replace("epsilon = 1", "epsilon = 0") + NOISE, "claim.epsilon"),
    "epsilon below 0": (CLAIM.replace("epsilon = 1", "epsilon = -1") + NOISE, "claim.epsilon"),
    "epsilon that is no number": (CLAIM.replace("epsilon = 1", "epsilon = nan") + NOISE, "claim.epsilon"),
    "infinite epsilon": (CLAIM.replace("epsilon = 1", "epsilon = inf") + NOISE, "claim.epsilon"),
    "delta of 1": (CLAIM + "delta = 1\n" + NOISE, "claim.delta"),
    "unknown unit": (CLAIM.replace('"edge"', '"person"') + NOISE, "claim.unit"),
    "unknown fact": (CLAIM + NOISE + "scael = 1\n", "did you mean 'noise.0.scale'"),
    "unknown section": (CLAIM + NOISE + "[trainig]\n", "did you mean 'training'"),
    "unknown mechanism": (CLAIM + NOISE.replace("laplace", "laplacian"), "noise.0.mechanism"),
    "scale of 0": (CLAIM + NOISE + "scale = 0\n", "noise.0.scale"),
    "one name twice": (CLAIM + NOISE + NOISE, "two releases are called 'a'"),
    "a bound of no release": (
        CLAIM + NOISE + '[[bound]]\nwhat = "degree"\nsource = "released"\nrelease = "b"\n',
        "no release is called 'b'",
    ),
    "half an answer": (
        CLAIM + NOISE.replace("laplace", "randomised-response") + "sensitivity = 0.5\n",
        "of statement {file}: sensitivity counts the answers that one unit changes: expected a whole number",
    ),
    "two answers of five": (
        CLAIM + NOISE.replace("laplace", "randomised-response") + "choices = 5\n",
        "say mechanism = 'k-ary-response'",
    ),
    "answers that are false more often": (
        CLAIM + NOISE.replace("laplace", "randomised-response") + "truthful = 0.3\n",
        "truthful is below 0.5",
    ),
    "a sample for a choice": (
        CLAIM + NOISE.replace("laplace", "exponential") + 'sampling = "poisson"\n',
        "discrete-gaussian noise, and this is exponential",
    ),
    "no answers above": (CLAIM + NOISE.replace("laplace", "sparse-vector") + "positives = 0\n", "positives is 0"),
    "no list": (CLAIM + NOISE.replace("[[noise]]", "[noise]"), "noise"),
    "a key with a line break": (CLAIM + NOISE + '"two\\nlines" = 1\n', "two lines"),
    "too large": ("#" * 2**21, "larger than 1 MiB"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_file_is_refused_in_one_line_that_names_it(tmp_path, case):
    text, says = BAD[case]
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)
    assert "claim.toml" in str(error.value)
    assert says.format(file=tmp_path / "claim.toml") in str(error.value)


def test_bad_json_is_refused(tmp_path):
    for text, says in (("{", "not JSON"), ("[1]", "expected a table"), ("[" * 100_000, "not JSON")):
        with pytest.raises(InputError, match=says):
            read(tmp_path, text, "claim.json")


def test_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        Statement.read(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read"):
        Statement.read(tmp_path / "binary.toml")
    with pytest.raises(InputError, match="cannot read"):
        Statement.read(tmp_path)
