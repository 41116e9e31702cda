"""An audit on a terminal says what the other outputs say."""

from io import StringIO

import pytest
from rich.console import Console

from gaudit.audit.results.outcomes import ONE_SIDED
from gaudit.audit.statistics.severity import Scale
from gaudit.reports.console.audit_console import print_audit
from gaudit.reports.text.answers import rate_at
from support import audits


def printed(audit) -> str:
    text = StringIO()
    print_audit(Console(file=text, width=250), audit, verbose=True)
    return text.getvalue()


@pytest.mark.parametrize("fpr", [0.01, 0.02])
def test_rates_have_the_interval_of_the_other_columns_and_outputs(fpr):
    audit = audits.simulated({("none", None): (1.0, 0.8)}, members=200, others=2000, severity=Scale(fpr=fpr))
    attack = audit.findings()[0].attack
    rate = rate_at(attack, fpr)
    assert rate.level == attack.auc.level
    assert attack.decisive.level == ONE_SIDED
    assert f"TPR at {100 * fpr:g} % FPR" in printed(audit)
    assert rate.text(3) in printed(audit)
    assert attack.decisive.text(3) not in printed(audit)


def test_the_legend_says_that_a_high_auc_may_have_no_level():
    audit = audits.simulated({("none", None): (2.0, 0.8)}, others=60)
    assert "leak found, size not measurable" in " ".join(printed(audit).split())
    assert "too few non-members for that rate" in " ".join(printed(audit).split())
