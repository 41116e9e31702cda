"""What stands at the top of a report: a verdict for each question, and what was audited, by what, when."""

from collections.abc import Iterator
from dataclasses import dataclass

from ...audit.results.assemble import named
from ...audit.results.audit_result import AttackFinding, Audit, Section
from ...audit.statistics.severity import Level
from .answers import answers, question, strength
from .effects import cheapest, effects
from .sentences import cost_phrase

COUNTED = ("nodes", "edges", "classes")
UNDATED = "not given (gaudit report --date today)"


@dataclass(frozen=True)
class Overall:
    """The answer to one question over all pipelines and graphs: the worst, never a mean.

    Attributes:
        question: what was asked of each person.
        level: what is given away now.
        decision: what that means for whoever wants to release it, in a sentence.
        after: what the recommended defense leaves and costs, in a sentence; empty where nothing is to mend.
        basis: which attack on which pipeline that rests on.
    """

    question: str
    level: Level
    decision: str
    after: str
    basis: str

    @property
    def text(self) -> str:
        """All of it, where no typeface tells its parts apart."""
        level = f"{str(self.level).capitalize()}."
        return " ".join(filter(None, (self.question, level, self.decision, self.after, self.basis)))


DECISIONS = {
    Level.NOT_FOUND: "The attacks that were tried found nothing that speaks against a release.",
    Level.NOT_ATTRIBUTABLE: "What is public tells most of this already: the release adds little to it.",
    Level.INCONCLUSIVE: "Do not decide on this audit: whether anything is given away is open.",
    Level.UNSIZED: "Do not release it as it is: it gives people away, and how many cannot be measured.",
    Level.LOW: "Release it as it is only if a small leak is acceptable.",
}
"""What a level means for a release; all others are too much."""
TOO_MUCH = "Do not release it as it is."


def overall(audit: Audit) -> list[Overall]:
    """A line for each question; none where the audit is invalid."""
    found: dict[str, list[AttackFinding]] = {}
    for place, _ in answers(audit):
        found.setdefault(place.attack.game, []).append(place)
    return [_overall(game, places, audit) for game, places in found.items()]


def _overall(game: str, places: list[AttackFinding], audit: Audit) -> Overall:
    worst = max(places, key=strength)
    assert worst.verdict is not None
    level = worst.verdict.level
    basis = f"{named(worst.attack)} against {worst.section.title}, without a defense"
    if len(places) > 1:
        basis += f"; the worst of {len(places)} pipelines and graphs"
    after = _after(worst, audit) if level.severity else ""
    return Overall(question(game), level, DECISIONS.get(level, TOO_MUCH), after, f"{basis}.")


def _after(place: AttackFinding, audit: Audit) -> str:
    """What the cheapest defense that is shown to help leaves to the strongest attack on it."""
    found = effects(place.section, place.attack.plan.identity)
    better = found.recommended()
    if not better:
        return "No defense that was tried is shown to help." if found.tried else "No defense was tried."
    best = cheapest(better)
    left = [
        p
        for p in audit.findings()
        if p.section is place.section and p.outcome.label == best.label and p.attack.game == place.attack.game
    ]
    worst = max((p for p in left if p.verdict is not None), key=strength)
    assert worst.verdict is not None
    by = "" if worst.attack.plan.name == place.attack.plan.name else f" ({named(worst.attack)})"
    return f"With {best.label} the level is {worst.verdict.level}{by}{cost_phrase(best.outcome.cost)}."


def facts(audit: Audit) -> Iterator[tuple[str, str]]:
    """What was audited, by what, when: titles with values."""
    yield "Date of this report", audit.date or UNDATED
    for dataset, section in {section.dataset: section for section in audit.sections}.items():
        yield f"Graph {dataset}", sized(section)
    yield "gaudit", audit.versions.get("gaudit", "version unknown")


def sized(section: Section) -> str:
    """A graph's size: ``2 708 nodes, 5 278 edges, 7 classes``."""
    counts = (f"{section.size[name]:,} {name}".replace(",", " ") for name in COUNTED if name in section.size)
    return ", ".join(counts) or "size not recorded"
