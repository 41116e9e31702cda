"""Every registered defense keeps what it guarantees, and runs where its trivial alternative does."""

import pytest

from gaudit.audit.conformance.defense_rules import RULES
from gaudit.audit.conformance.named import ours


@pytest.mark.dear
@pytest.mark.parametrize("name", ours("defenses"))
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_defense_keeps_the_rule(rule, name):
    assert rule.check(name).error <= 0.01
