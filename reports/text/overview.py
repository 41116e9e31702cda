"""What stands at the top of a report: a verdict for each question, and what was audited, by what, when."""

from collections.abc import Iterator
from dataclasses import dataclass

from ...audit.results.assemble import named
from ...audit.results.audit_result import AttackFinding, Audit, Section
from ...audit.statistics.severity import Level
from .accusations import accusing_clause, naming
from .answers import answers, granted, outright, question, strength
from .check_tables import promised_in_short
from .comparison import left_and_now, none_tried
from .effects import Effects, Tried, effects
from .sentences import actor, cost_phrase

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
        attacker: who that is, with all that was granted.
        promised: what is promised without a defense, and with the recommended one.
        basis: which attack on which pipeline that rests on.
    """

    question: str
    level: Level
    decision: str
    after: str
    attacker: str
    promised: str
    basis: str

    @property
    def text(self) -> str:
        """The verdict, where no typeface tells its parts apart."""
        level = f"{str(self.level).capitalize()}."
        return " ".join(filter(None, (self.question, level, self.decision, self.after)))

    @property
    def details(self) -> tuple[tuple[str, str], ...]:
        """What the verdict rests on: titles with values."""
        return ("Rests on", self.basis), ("The attacker", self.attacker), ("What is promised", self.promised)


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
    found = effects(worst.section, worst.attack.plan.identity)
    best = found.advised() if level.severity else None
    after = " ".join((_after(found, best, worst.section), *_harming(found))) if level.severity else ""
    attacker = f"{actor(worst.attack, worst.section.release_phrase)}. {granted(worst)}"
    return Overall(question(game), level, _decision(worst), after, attacker, _promises(worst, best), f"{basis}.")


def _decision(place: AttackFinding) -> str:
    """What to do with the release as it is; where people are named outright, how many."""
    assert place.verdict is not None
    level, found = place.verdict.level, place.attack.accusations
    if not level.severity or found is None or not outright(place.attack):
        return DECISIONS.get(level, TOO_MUCH)
    return f"{TOO_MUCH[:-1]}: {accusing_clause(place.attack)}."


def _after(found: Effects, best: Tried | None, section: Section) -> str:
    """What the recommended defense leaves to the strongest of all attacks on it, accusations included."""
    if best is None:
        return "No defense that was tried is shown to help." if found.any_defense else none_tried(section)
    after, now = left_and_now(best, found)
    level = f"the level stays {now}" if after == now else f"the level is {after}"
    accusing = found.strongest[best.label].attack
    accused = f" {named(accusing)} still {naming(accusing)}." if outright(accusing) else ""
    verdict = found.strongest[best.label].verdict
    is_open = verdict is not None and verdict.level is Level.INCONCLUSIVE
    still = " Whether any leak is left is then open." if is_open else ""
    return f"With {best.label} {level}{cost_phrase(best.outcome.cost)}.{accused}{still}"


def _harming(found: Effects) -> Iterator[str]:
    """Defenses that raise what some attack on the question tells."""
    labels = list(dict.fromkeys((*(t.label for t in found.harmful()), *found.raised)))
    if labels:
        these = "These defenses are" if len(labels) > 1 else "This defense is"
        yield f"{these} shown to do harm: {'; '.join(labels)}."


def _promises(place: AttackFinding, best: Tried | None) -> str:
    said = f"Without a defense: {promised_in_short(place.outcome)}."
    return said if best is None else f"{said} With {best.label}: {promised_in_short(best.outcome)}."


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
