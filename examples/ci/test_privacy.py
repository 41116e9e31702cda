"""The same checks as tests: `pytest` fails where `gaudit check` does."""

from gaudit.audit.checks.pytest_plugin import Gaudit


def test_no_patient_is_more_exposed_than_was_accepted(gaudit: Gaudit) -> None:
    """Compared with the baseline, seed by seed."""
    gaudit.assert_no_regression("who was trained on")


def test_exposure_is_within_budget(gaudit: Gaudit) -> None:
    """Whatever was accepted."""
    gaudit.assert_within_budget("who was trained on")
