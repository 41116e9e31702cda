"""What a linter has to say about a claim, and which facts it misses."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

from ...settings import Settings
from .claim_statement import Bound, Release, Statement, Training

Severity = Literal["wrong", "doubt", "note"]
"""Wrong: the promise does not follow from these facts. Doubt: it may not hold, or cannot be judged."""

ROUNDING = 0.005
"""Numbers in claims are rounded, to three digits or so: what is off by less than half a percent is not wrong."""


@dataclass(frozen=True)
class Remark:
    """One thing about a claim.

    Attributes:
        rule: the name of the rule.
        severity: how bad it is.
        where: the part of the statement.
        says: what is the matter, in a sentence.
        do: what to do about it.
        source: who showed it, and where.
    """

    rule: str
    severity: Severity
    where: str
    says: str
    do: str
    source: str


@dataclass(frozen=True)
class Lint:
    """A statement, and all that the rules say of it.

    Attributes:
        statement: the claim with its facts.
        remarks: the worst first.
    """

    statement: Statement
    remarks: tuple[Remark, ...]

    @property
    def wrong(self) -> bool:
        """Whether the promise does not follow."""
        return any(remark.severity == "wrong" for remark in self.remarks)

    def sentence(self) -> str:
        """The verdict in words."""
        claim = self.statement.claim
        promise = f"epsilon {claim.epsilon:g}, delta {claim.delta:g} for one {claim.unit}"
        counts = {kind: sum(r.severity == kind for r in self.remarks) for kind in ("wrong", "doubt", "note")}
        if counts["wrong"]:
            return (
                f"{promise}: does not follow from these facts ({counts['wrong']} wrong, {counts['doubt']} in doubt)"
            )
        if counts["doubt"]:
            return f"{promise}: nothing is wrong as stated, {counts['doubt']} in doubt"
        return f"{promise}: no rule objects; that proves neither the facts nor the code"

    def json(self) -> str:
        """All of it, the same bytes for the same statement."""
        found = {"remarks": [asdict(remark) for remark in self.remarks], "wrong": self.wrong}
        claim = self.statement.claim.model_dump(mode="json")
        return json.dumps({"claim": claim, **found, "sentence": self.sentence()}, indent=2) + "\n"


def where(part: Release | Bound) -> str:
    """Part of a statement as it is written in its file."""
    if isinstance(part, Bound):
        return f"[[bound]] {part.what}"
    return f"[[{'training' if isinstance(part, Training) else 'noise'}]] {part.name}"


def lacking(part: Settings, *names: str) -> list[str]:
    """Those of some facts that a part does not state."""
    return [name for name in names if getattr(part, name) is None]
