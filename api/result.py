"""What comes back from an audit of something of the user's own."""

import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..audit.checks.policy import Policy, PolicyFile
from ..audit.checks.policy_checks import checked
from ..audit.results.audit_result import AttackFinding, Audit
from ..audit.statistics.finding import Finding
from ..errors import InputError
from ..output_files import check_outputs, whole, write
from ..targets.messages import QUERY_NAMES

if TYPE_CHECKING:
    import pandas as pd

LIMITS = {"auc": "auc", "tpr_at_10": "tpr@fpr=0.1", "tpr_at_1": "tpr@fpr=0.01", "tpr_at_0_1": "tpr@fpr=0.001"}
"""Limits of `Result.assert_below`: the AUC, and true-positive rates at 10, 1 and 0.1 % false positives."""


@dataclass(frozen=True, eq=False)
class Result:
    """An audit's results: numbers with their intervals, a table, a report, a ledger, and a check.

    Attributes:
        audit: everything that was measured.
    """

    audit: Audit
    _ledger: Path = field(repr=False)
    _folder: "TemporaryDirectory[str] | None" = field(default=None, repr=False)

    @property
    def valid(self) -> bool:
        """Whether every control of the audit held; if not, no number in it means anything."""
        return self.audit.valid

    @property
    def auc(self) -> dict[str, Finding]:
        """How well each attack tells members from non-members: 0.5 is chance, 1 is everybody."""
        return {name: place.attack.auc for name, place in self._places().items()}

    @property
    def plain_auc(self) -> dict[str, Finding]:
        """The same with everybody compared with everybody, as a script does that knows nothing of the graph.

        ``auc`` compares within classes where membership follows them, since a class is public
        (docs/leaks/membership.md).
        """
        return {name: place.attack.plain_auc for name, place in self._places().items()}

    @property
    def tpr(self) -> dict[str, Finding]:
        """The share of members that each attack finds where it wrongly names 1 % of the others.

        An attack is left out where there are too few non-members to tell.
        """
        every = {name: {f.metric: f for f in place.attack.tpr} for name, place in self._places().items()}
        found = {name: rates.get(LIMITS["tpr_at_1"]) for name, rates in every.items()}
        return {name: rate for name, rate in found.items() if rate is not None and rate.estimate is not None}

    @property
    def refused(self) -> dict[str, str]:
        """Attacks that do not apply, with the reason."""
        return {name: why for s in self.audit.sections for o in s.outcomes for name, why in o.refused.items()}

    @property
    def summary(self) -> str:
        """What was found, in plain sentences; of an invalid audit why it is that."""
        from ..reports.text.answers import answers, invalidity, warnings

        wrong = invalidity(self.audit)
        if wrong:
            return f"This audit is invalid, and its numbers mean nothing: {'; '.join(wrong)}."
        said = [text for _, text in answers(self.audit)] or warnings(self.audit)
        return " ".join([*said, *(f"{name} was not run: {why}." for name, why in self.refused.items())])

    def table(self) -> "pd.DataFrame":
        """One row for each attack: AUC, rate and level, with intervals."""
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def report(self, path: str | Path) -> Path:
        """Writes the report for a data owner, an HTML page that needs no network; returns where.

        Raises:
            InputError: it cannot be written.
        """
        from ..reports.formats.html import as_html

        return self._written(Path(path), as_html(self.audit))

    def save(self, path: str | Path) -> Path:
        """Writes the ledger, which `gaudit report`, `gaudit check` and `gaudit.read_audit` read; returns where.

        It holds for every person a score and the truth: only its owner may read it.

        Raises:
            InputError: it cannot be written.
        """
        place = Path(path)
        if place.resolve() == self._ledger.resolve():
            return place
        check_outputs([place], [self._ledger])
        with whole(place, private=True, kind="ledger") as part:
            shutil.copyfile(self._ledger, part)
        return place

    def assert_below(self, strict: bool = True, **limits: float) -> None:
        """Raises an AssertionError unless every attack is shown to stay below some limits.

        Args:
            strict: whether an interval that lies on both sides of a limit fails. With False only what is shown to
                be above it does.
            limits: ``auc``, and ``tpr_at_10``, ``tpr_at_1``, ``tpr_at_0_1``: the share of members found where 10, 1
                or 0.1 % of the others are wrongly named.

        Raises:
            AssertionError: in one line for each limit that does not hold.
            InputError: there is no such limit.
        """
        unknown = sorted(set(limits) - set(LIMITS))
        if unknown or not limits:
            asked = f"'{unknown[0]}'" if unknown else "none"
            raise InputError(f"assert_below was asked for {asked}: its limits are {', '.join(LIMITS)}")
        wrong = [] if self.audit.findings() else ["no attack applied: " + "; ".join(self._reasons())]
        wrong += [line for name, value in limits.items() for line in self._over(LIMITS[name], value, strict)]
        if wrong:
            raise AssertionError("\n".join(wrong))

    def _over(self, metric: str, limit: float, strict: bool) -> Iterator[str]:
        """What does not keep to a limit, a line each."""
        told = {
            name: place
            for name, place in self._places().items()
            if metric == "auc" or metric in {f.metric for f in place.attack.tpr}
        }
        if not told:
            yield f"{metric} is not measured: it needs more non-members"
            return
        content = {"check": [self._check(name, place, metric, limit) for name, place in told.items()]}
        policy = PolicyFile(Policy.of(content, "assert_below"), Path("assert_below"), (1,) * len(told))
        for result in checked(self.audit, policy, None).results:
            decision = result.decision
            if decision.status in ("pass", "not applicable") or (decision.status == "inconclusive" and not strict):
                continue
            yield f"{result.check.name}: {decision.why}"

    @staticmethod
    def _check(name: str, place: AttackFinding, metric: str, limit: float) -> dict[str, Any]:
        plan, budget = place.attack.plan, float(limit)
        if not math.isfinite(budget):
            raise InputError(f"a limit is a number, not {limit!r}")
        selected = {"attack": plan.name, "observer": plan.observer, "neighbours": plan.neighbours}
        return {"name": name, **selected, "defense": place.outcome.label, "metric": metric, "budget": budget}

    def _reasons(self) -> list[str]:
        return [f"{name}: {why}" for name, why in self.refused.items()]

    def _places(self) -> Mapping[str, AttackFinding]:
        """Every attack by its name, and how it asked where it asked in several ways."""
        found: dict[str, AttackFinding] = {}
        for place in self.audit.findings():
            plan = place.attack.plan
            query = QUERY_NAMES.get(plan.neighbours, plan.neighbours)
            name = plan.name if plan.name not in found else f"{plan.name}, {query}"
            found[name if name not in found else f"{name}, {plan.observer}"] = place
        return found

    def _rows(self) -> Iterator[dict[str, Any]]:
        rates = self.tpr
        for name, place in self._places().items():
            auc, rate = place.attack.auc, rates.get(name)
            yield {
                "attack": name,
                "auc": auc.estimate,
                "auc_low": auc.low,
                "auc_high": auc.high,
                "plain_auc": place.attack.plain_auc.estimate,
                "tpr_at_1": None if rate is None else rate.estimate,
                "tpr_at_1_low": None if rate is None else rate.low,
                "tpr_at_1_high": None if rate is None else rate.high,
                "blind_auc": place.attack.blind.estimate,
                "level": None if place.verdict is None else str(place.verdict.level),
            }

    def _written(self, path: Path, text: str) -> Path:
        check_outputs([path], [self._ledger])
        write(path, text)
        return path

    def __str__(self) -> str:
        return self.summary

    def _repr_html_(self) -> str:
        from ..reports.formats.cards import cards

        return f"{cards(self.audit)}{self.table().to_html(index=False, float_format='{:.3f}'.format)}"
