"""What was accepted: `.gaudit-baseline.json`, committed beside the code. Only `gaudit baseline update` rewrites it.

It holds numbers per seed and no time, its keys are sorted and its floats have six digits, so that two of them
differ by what was measured and by nothing else.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...errors import InputError, quoted
from ...untrusted import JSON_MEMORY, check_memory, json_of, read_text
from ..results.audit_result import AttackFinding, Audit
from .policy import features

SCHEMA = 1
DIGITS = 6
LARGEST_BASELINE = 2**26
NAME = ".gaudit-baseline.json"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Accepted(_Strict):
    """One finding as it was accepted.

    Attributes:
        where: target, dataset, defense, attack and so on, for people; the key tells findings apart.
        level: what it amounted to.
        members: subjects that are members, of all seeds.
        non_members: and that are none.
        by_seed: metrics by the seed's index and by name.
        reason: why these numbers were accepted.
    """

    where: dict[str, str | float | None]
    level: str
    members: int = Field(ge=0)
    non_members: int = Field(ge=0)
    by_seed: dict[int, dict[str, float]]
    reason: str

    def same_numbers(self, other: "Accepted") -> bool:
        """Whether nothing measured differs."""
        return self.by_seed == other.by_seed


class Baseline(_Strict):
    """A baseline file.

    Attributes:
        fingerprint: of the audit that it was made from (`Audit.fingerprint`); another plan is another baseline.
        gaudit: the version that measured.
        findings: by `key_of`.
        history: the reasons of all updates, the latest last.
    """

    fingerprint: str
    gaudit: str
    findings: dict[str, Accepted]
    history: tuple[str, ...]

    @classmethod
    def of(cls, audit: Audit, reason: str, before: "Baseline | None" = None) -> "Baseline":
        """What an audit found, accepted for a reason; findings that have not changed keep the one they had."""
        findings = {}
        for place in audit.findings():
            key, found = key_of(place), _accepted(place, reason)
            old = None if before is None else before.findings.get(key)
            kept = old is not None and old.same_numbers(found)
            findings[key] = found.model_copy(update={"reason": old.reason}) if kept and old else found
        history = (*(() if before is None else before.history), reason)
        return cls(
            fingerprint=audit.fingerprint,
            gaudit=audit.versions.get("gaudit", "unknown"),
            findings=findings,
            history=history,
        )

    @classmethod
    def read(cls, path: Path) -> "Baseline":
        """From a file, which is left as it is whatever is in it.

        Raises:
            InputError: it cannot be read, is broken, or comes from a newer gaudit.
        """
        content = _content(path)
        schema = content.pop("schema", None)
        if isinstance(schema, int) and schema > SCHEMA:
            raise InputError(
                f"baseline {path} was written by a newer gaudit (schema {schema}, this one reads {SCHEMA}): "
                "install that version"
            )
        if schema != SCHEMA:
            raise InputError(f"baseline {path} is broken: 'schema' must be {SCHEMA}, not {quoted(schema)}")
        try:
            return cls(**content)
        except (ValidationError, TypeError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
            place = ".".join(str(part) for part in first["loc"])
            raise InputError(
                f"baseline {path} is broken at '{place}': {first['msg']}; restore it from version control"
            ) from error

    def text(self) -> str:
        """The file's content."""
        content = {"schema": SCHEMA, **self.model_dump(mode="json")}
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def state(self, place: AttackFinding) -> str:
        """``new``, ``unchanged`` or ``updated``: how a finding stands to what was accepted."""
        old = self.findings.get(key_of(place))
        if old is None:
            return "new"
        return "unchanged" if old.same_numbers(_accepted(place, "")) else "updated"


def key_of(place: AttackFinding) -> str:
    """What tells a finding from all others of an audit, readable, and the same in each run of the plan."""
    attack = place.attack
    settings = [place.section.target_settings, place.outcome.settings, attack.plan.settings]
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:8]
    parts = [f"{value}" for name, value in features(place).items() if name != "strength"]
    return " | ".join([*parts, digest])


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """As a baseline holds them; whoever compares with one must round too."""
    return {name: round(float(value), DIGITS) for name, value in values.items()}


def _accepted(place: AttackFinding, reason: str) -> Accepted:
    auc = place.attack.auc
    return Accepted(
        where=features(place),
        level="none" if place.verdict is None else str(place.verdict.level),
        members=auc.members,
        non_members=auc.non_members,
        by_seed={index: rounded(values) for index, values in sorted(place.attack.by_seed.items())},
        reason=reason,
    )


def _content(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InputError(
            f"there is no baseline {path}: make one with gaudit baseline update --reason '...' and commit it"
        )
    text = read_text(path, "baseline", LARGEST_BASELINE)
    check_memory(f"baseline {path}", JSON_MEMORY * len(text))
    try:
        content = json_of(text)
    except ValueError as error:
        raise InputError(f"baseline {path} is broken: {error}; restore it from version control") from error
    if not isinstance(content, dict):
        raise InputError(f"baseline {path} is broken: it holds no table; restore it from version control")
    return content
