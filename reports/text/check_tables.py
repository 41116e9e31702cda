"""Tables of promises beside measurements, and of the checks of an audit itself."""

from ...audit.results.assemble import named
from ...audit.results.audit_result import Audit, AuditControl, Section
from ...audit.results.outcome import DefenseOutcome
from .table import Table

PRIVACY = "differential privacy"
"""In the sentence of every such promise (`Guarantee.sentence`)."""
IN_FULL = "see below the table"
LONGEST_IN_A_ROW = 60
CHECKS = {
    "null": "with the truth permuted, nothing is found",
    "planted leak": "a leak that was put in on purpose is found",
    "shadow accuracy": "the models that an attacker trains for practice are about as good as the real one",
    "blind baseline": "what the public graph alone tells is known",
}
"""What each control of an audit says."""


def promised_in_short(outcome: DefenseOutcome) -> str:
    """What a defense promises in a few words."""
    promise = outcome.promise
    if promise is None:
        of_target = [note for note in outcome.notes if PRIVACY in note]  # a private training's own
        return outcome.guarantee or "; ".join(of_target) or "nothing that can be checked"
    delta = f", delta {promise.delta:g}" if promise.delta else ""
    return f"epsilon {float(promise.epsilon):.3g}{delta} for one {promise.unit}"


def claims_table(section: Section) -> Table:
    """What each defense promises, beside the epsilon that was exceeded."""
    columns = ("defense", "promises", "attack", "epsilon at least", "confidence", "how sure")
    measured = [
        (outcome, attack, attack.more["epsilon"])
        for outcome, row in zip(section.outcomes, section.verdicts, strict=True)
        for attack, judged in zip(outcome.attacks, row, strict=True)
        if judged is not None and "epsilon" in attack.more
    ]
    rows = tuple(
        (
            outcome.label,
            IN_FULL if _below(outcome) else promised_in_short(outcome),
            named(attack),
            "not measurable" if found.low is None else f"{found.low:.2f}",
            f"{100 * found.level:g} %",
            found.validity,
        )
        for outcome, attack, found in measured
    )
    methods = dict.fromkeys(found.method for _, _, found in measured if found.low is not None)
    full = dict.fromkeys(
        f"{o.defense} promises in full: {o.guarantee}."
        for o, _, _ in measured
        if o.promise is not None or _below(o)
    )
    how = [f"How it was measured: {'; '.join(methods)}."] if methods else []
    note = " ".join([*full, *how])
    return Table(f"Claimed and measured: {section.title}", columns, rows, (3, 4), note)


def _below(outcome: DefenseOutcome) -> bool:
    """Whether a promise is so long that it stands below the table once, and not in each row."""
    return outcome.promise is None and len(outcome.guarantee or "") > LONGEST_IN_A_ROW


def controls_table(audit: Audit) -> Table:
    """Each check, those that failed first."""
    rows = sorted(audit.controls, key=lambda control: control.passed)
    cells = tuple((c.name, c.about, _result(c), c.detail) for c in rows)
    return Table("Every check", ("check", "of", "result", "what was seen"), cells)


def checks_summary(audit: Audit) -> Table:
    """How many of each kind of check hold."""
    rows = []
    for name in dict.fromkeys(c.name for c in audit.controls):
        every = [c for c in audit.controls if c.name == name]
        counts = (sum(c.passed and c.tells for c in every), len(every), sum(not c.tells for c in every))
        rows.append((name, CHECKS.get(name, ""), *map(str, counts)))
    columns = ("check", "what must hold", "holds", "of", "cannot tell")
    return Table("Checks of the audit itself", columns, tuple(rows), (2, 3, 4))


def _result(control: AuditControl) -> str:
    if not control.tells:
        return "cannot tell"
    return "holds" if control.passed else "FAILED"


def failures_table(audit: Audit) -> Table:
    """Trials that could not be run."""
    rows = tuple((failure.trial, failure.reason) for failure in audit.failures)
    return Table("Trials that could not be run", ("trial", "reason"), rows)
