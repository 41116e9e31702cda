"""Every registered target sends what it says through the channel alone, and asks what attacks can answer."""

import pytest

from gaudit.audit.conformance.named import ours
from gaudit.audit.conformance.target_rules import RULES


@pytest.mark.parametrize("name", ours("targets"))
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_target_keeps_the_rule(rule, name):
    assert rule.check(name).error <= 0.01
