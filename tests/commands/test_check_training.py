"""`gaudit check-training`: exit codes, one line about what is wrong, and a result that can be written."""

import json

QUICK = ("--set", "steps=3", "--set", "hidden=4", "--canaries", "200", "--guesses", "100")


def test_an_honest_training_is_not_refuted(gaudit, tmp_path):
    done = gaudit("check-training", "dp-mlp", "--set", "epsilon=2", *QUICK, "--json", str(tmp_path / "found.json"))
    assert done.exit_code == 0, done.stderr
    assert "not refuted" in done.stdout
    assert json.loads((tmp_path / "found.json").read_text())["refuted"] is False


def test_a_target_without_a_promise_is_one_line(gaudit):
    done = gaudit("check-training", "gap-edp", *QUICK)
    assert done.exit_code == 2
    assert done.stderr.strip().count("\n") == 0
    assert "promises no differential privacy for nodes" in done.stderr
