"""Whether an audit attacked anything at all: one that did not says nothing, and must not pass for a good one."""

from .audit_result import Audit


def nothing_attacked(audit: Audit) -> str | None:
    """Why nothing was measured, in a sentence, where every attack that reads something was refused; else None.

    An attack that reads no message is a baseline: where it alone applied, nothing that is let out was looked at.
    """
    if audit.missing or audit.failures or any(place.verdict is not None for place in audit.findings()):
        return None
    reasons = dict.fromkeys(
        f"{name} on {section.title}: {why}"
        for section in audit.sections
        for outcome in section.outcomes
        for name, why in outcome.refused.items()
    )
    if not reasons:
        return None
    help_ = "name an attack that applies ('gaudit list attacks' has them), or none: then gaudit chooses"
    return f"no attack applied, so nothing was measured: {'; '.join(reasons)}; {help_}"
