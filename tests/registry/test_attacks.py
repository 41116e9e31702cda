"""Every registered attack finds what is planted, nothing where nothing leaks, from what it is given alone."""

import pytest

from gaudit.audit.conformance.attack_rules import RULES
from gaudit.audit.conformance.named import ours


@pytest.mark.dear
@pytest.mark.parametrize("name", ours("attacks"))
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_attack_keeps_the_rule(rule, name):
    assert rule.check(name).error <= 0.01
