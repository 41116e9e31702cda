"""What stands at the top of a report: a verdict for each question, and what was audited, by what, when."""

from collections.abc import Iterator
from dataclasses import dataclass

from ...audit.results.assemble import named
from ...audit.results.audit_result import AttackFinding, Audit, Section
from ...audit.statistics.severity import Level
from .answers import answers, question, strength

COUNTED = ("nodes", "edges", "classes")
UNDATED = "not given (gaudit report --date today)"


@dataclass(frozen=True)
class Overall:
    """The answer to one question over all pipelines and graphs: the worst, never a mean."""

    question: str
    level: Level
    basis: str


def overall(audit: Audit) -> list[Overall]:
    """A line for each question; none where the audit is invalid."""
    found: dict[str, list[AttackFinding]] = {}
    for place, _ in answers(audit):
        found.setdefault(place.attack.game, []).append(place)
    return [_overall(game, places) for game, places in found.items()]


def _overall(game: str, places: list[AttackFinding]) -> Overall:
    worst = max(places, key=strength)
    assert worst.verdict is not None
    basis = f"{named(worst.attack)} against {worst.section.title}, without a defense"
    if len(places) > 1:
        basis += f"; the worst of {len(places)} pipelines and graphs"
    return Overall(question(game), worst.verdict.level, f"{basis}.")


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
