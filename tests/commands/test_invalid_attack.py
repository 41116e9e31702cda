"""An attack that fails a control of the audit gives no verdict."""

import json
import sys

from gaudit.reports.text.sentences import INVALID

GUESS = """
import torch
from gaudit.attacks.membership.loss import Loss


class Guess(Loss):
    \"\"\"Throws coins.\"\"\"

    name = "guess"

    def score(self, view, knowledge):
        return torch.rand(len(knowledge.subjects), dtype=torch.double)
"""


def test_an_attack_that_finds_no_planted_leak_makes_the_audit_invalid(graph, gaudit, tmp_path, monkeypatch):
    (tmp_path / "coins_thrown.py").write_text(GUESS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    out = tmp_path / "out.json"
    words = ["attack", "--target", "classifier", "--attack", "coins_thrown:Guess", "--graph", graph]
    words += ["--only", "--set", "split=dataset", "--set", "recipe.epochs=5", "--json", str(out)]
    result = gaudit(*words)
    sys.modules.pop("coins_thrown", None)
    assert result.exit_code == 4, result.output
    assert "FAILED planted leak: coins_thrown:Guess by public" in result.output
    assert INVALID in result.output
    written = json.loads(out.read_text())
    assert written["valid"] is False
    assert written["summary"] == INVALID
    assert [c["passed"] for c in written["controls"] if c["name"] == "planted leak"] == [False]
