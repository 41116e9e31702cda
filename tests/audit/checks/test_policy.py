"""Policy files: what is read, and what is refused in one clear line."""

import re

import pytest

from gaudit.audit.checks.policy import Policy
from gaudit.errors import InputError

CHECK = '[[check]]\nname = "a"\nattack = "loss"\nbudget = 0.6\n'


@pytest.fixture
def read(tmp_path):
    """``read(text)``: a policy file with this text."""

    def reads(text: str):
        path = tmp_path / "gaudit.toml"
        path.write_text(text)
        return Policy.read(path)

    return reads


def test_defaults_and_places(read, tmp_path):
    file = read(
        f'[gate]\nledger = "a.db"\n\n{CHECK}\n# more\n  [[ check ]]\nname = "b"\nattack = "lira"\nmargin = 0.02\n'
    )
    assert (file.policy.gate.alpha, file.policy.gate.strict) == (0.05, False)
    assert file.lines == (4, 10)
    assert file.beside("a.db") == tmp_path / "a.db"
    assert file.policy.needs_baseline
    assert file.policy.check[0].metric == "auc"


def test_lines_that_cannot_be_told_are_the_first(read):
    assert read('check = [{name = "a", attack = "loss", budget = 0.6}]').lines == (1,)
    assert read(f'{CHECK}dataset = """\n[[check]]\n"""\n').lines == (1,)


def test_a_false_positive_rate_has_one_spelling(read):
    assert read(CHECK + 'metric = "tpr@fpr=0.010"').policy.check[0].metric == "tpr@fpr=0.01"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nothing would be checked"),
        ("[gate]\nalpah = 0.1\n" + CHECK, "did you mean 'gate.alpha'?"),
        ("[gate]\nalpha = 0.7\n" + CHECK, "gate.alpha"),
        (CHECK + "margn = 0.1", "did you mean 'check.0.margin'?"),
        ("[severities]\n" + CHECK, "did you mean 'severity'?"),
        ("[severity]\nhgih = 4\n" + CHECK, "did you mean 'severity.high'?"),
        ('[[check]]\nname = "a"\nattack = "lss"\nbudget = 0.9', "did you mean 'loss'?"),
        (CHECK + 'target = "clasifier"', "did you mean 'classifier'?"),
        ('[[check]]\nname = "a"\nattack = "loss"', "checked: give a 'margin', a 'budget', or both"),
        (CHECK + "margin = 0", "margin"),
        (CHECK + "margin = nan", "margin"),
        (CHECK + 'max = "low"', "'max' goes with"),
        (CHECK + 'metric = "level"', "goes with 'max'"),
        ('[[check]]\nname = "a"\nattack = "loss"\nmetric = "level"\nmax = "severe"', "max"),
        ('[[check]]\nname = "a"\nattack = "loss"\nmetric = "epsilon"\nmargin = 1', "no 'margin'"),
        (CHECK + 'metric = "tpr@fpr=1%"', "as in tpr@fpr=0.01"),
        (CHECK + CHECK, "two checks are called 'a'"),
        (CHECK + 'neighbours = "all"', "neighbours"),
        (CHECK + 'metric = "tpr@fpr=2"', "lies between 0 and 1"),
        ("[[check]\n", "is not TOML"),
        ('[[check]]\nattack = "loss"', "name"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(read, text, said):
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        read(text)
    assert "\n" not in str(caught.value)


NUMBER = '[[check]]\nname = "a"\nattack = "loss"\nmetric = "{}"\n{} = {}\n'


@pytest.mark.parametrize(
    ("metric", "key", "value", "said"),
    [
        ("auc", "budget", "9", "auc is at most 1, so a budget of 9 can never be exceeded"),
        ("auc", "budget", "1.0", "can never be exceeded"),
        ("auc", "budget", "0.3", "guessing reaches 0.5"),
        ("auc", "budget", '"0.6"', "setting 'check.0.budget'"),
        ("auc", "budget", "true", "setting 'check.0.budget'"),
        ("auc", "budget", "inf", "setting 'check.0.budget'"),
        ("auc", "margin", '"0.02"', "setting 'check.0.margin'"),
        ("auc", "margin", "2", "auc is at most 1 and cannot rise by 2"),
        ("tpr@fpr=0.01", "budget", "5", "can never be exceeded"),
        ("degree-matched auc", "budget", "60", "can never be exceeded"),
        ("re-identified", "budget", "12", "can never be exceeded"),
    ],
)
def test_a_number_that_no_measurement_can_exceed_or_keep_is_refused(read, metric, key, value, said):
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        read(NUMBER.format(metric, key, value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("metric", "value"), [("epsilon", "9"), ("auc", "0.5"), ("tpr@fpr=0.01", "0"), ("bits", "12")]
)
def test_a_number_within_what_a_metric_can_be_is_taken(read, metric, value):
    assert read(NUMBER.format(metric, "budget", value)).policy.check[0].budget == float(value)


def test_a_target_of_the_users_own_needs_no_registry(read):
    assert read(CHECK + 'target = "pipeline:Mine"').policy.check[0].target == "pipeline:Mine"


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot read the policy"):
        Policy.read(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read the policy"):
        Policy.read(tmp_path / "binary.toml")
    with pytest.raises(InputError, match="cannot read the policy"):
        Policy.read(tmp_path)
