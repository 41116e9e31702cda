"""Every registered game has its words, and grants nothing that follows from its truth."""

import pytest

from gaudit.audit.conformance.named import ours
from gaudit.audit.conformance.other_rules import RULES


@pytest.mark.parametrize("name", ours("games"))
@pytest.mark.parametrize("rule", RULES["games"], ids=lambda rule: rule.name)
def test_game_keeps_the_rule(rule, name):
    assert rule.check(name).error == 0
