"""What `gaudit anonymize` did, as one HTML page for whoever decides on the release: it loads nothing, runs nothing.

Everything that comes from outside is escaped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...graphs.measures.at_risk import COLUMNS, AtRisk
from ...graphs.measures.utility import MEASURES, Kept, overall
from ...graphs.network import Verified
from ...mechanisms.guarantee import Guarantee
from ..text.kept_text import kept_cells, kept_note
from ..text.table import Table
from .page_templates import templates

CHECKED = "What was checked on the result holds"
PROMISED = "What the mechanism promises"
NOTHING = "Nothing is promised"


@dataclass(frozen=True)
class AnonymisedPage:
    """What a reader of the page learns.

    Attributes:
        source: name of the file that was read.
        destination: name of the file that was written.
        facts: short lines about both, with what each is called.
        told: what the result tells.
        untold: what the source told and the result does not.
        remarks: what else a reader must know, in sentences.
        changed: what the defense changed, in words.
        defense: its name.
        verified: the guarantee as it was checked on the result, where there is one.
        promise: the differential privacy that holds by design, where there is some.
        scope: which graph a guarantee speaks of, or nothing.
        risk: who is alone before and after.
        people: how many there are.
        kept: what is kept of the structure; empty where it was not measured.
    """

    source: str
    destination: str
    facts: tuple[tuple[str, str], ...]
    told: tuple[str, ...]
    untold: tuple[str, ...]
    remarks: tuple[str, ...]
    changed: str
    defense: str
    verified: Verified | None
    promise: Guarantee | None
    scope: str
    risk: AtRisk
    people: int
    kept: tuple[Kept, ...]


def anonymised_page(page: AnonymisedPage) -> str:
    """The page; the same content gives the same bytes."""
    return (
        templates()
        .get_template("anonymised.html.jinja")
        .render(
            page=page,
            short=in_short(page),
            guarantees=guarantees(page),
            risk=risk_table(page.risk, page.people),
            utility=utility_table(page.kept) if page.kept else None,
        )
    )


def guarantees(page: AnonymisedPage) -> list[tuple[str, list[str]]]:
    """What holds of the result: a title, and sentences, for each kind of guarantee; one that says so for none."""
    found = []
    if page.verified is not None:
        first = f"{page.verified.guarantee[:1].upper()}{page.verified.guarantee[1:]} ({page.verified.detail})."
        found.append((CHECKED, [first, page.verified.knowledge, page.verified.note, page.scope]))
    if page.promise is not None:
        found.append((PROMISED, [page.promise.sentence(), page.scope]))
    if not found:
        found.append((NOTHING, [f"{page.defense} changes the graph and promises nothing."]))
    return [(title, [sentence for sentence in sentences if sentence]) for title, sentences in found]


def in_short(page: AnonymisedPage) -> str:
    """By what most people are still alone in the result, in a sentence."""
    alone = {name: page.risk.alone(name)[1] for name in page.risk.after}
    by = max(alone, key=lambda name: alone[name])
    if not alone[by]:
        return f"Nobody of {page.people:,} people is the only one in the result with what is asked about below."
    told = f"{alone[by]:,} of {page.people:,} people ({100 * alone[by] / page.people:.1f} %)"
    return f"{told} are still the only ones in the result by {COLUMNS[by]}."


def risk_table(risk: AtRisk, people: int) -> Table:
    """How many people are alone by what somebody may know, before and after."""
    rows = []
    for name in risk.before:
        before, after = risk.alone(name)
        rows.append((f"by {COLUMNS[name]}", _share(before, people), _share(after, people)))
    return Table(
        f"People who are the only ones with what somebody may know of them, of {people:,}",
        ("known of a person", "alone in the original", "alone in the result"),
        tuple(rows),
        (1, 2),
        "Somebody who is alone is found by whoever knows this of the network that is published. Somebody who knows "
        "it of the original is misled where edges changed, but not always.",
    )


def utility_table(kept: Sequence[Kept]) -> Table:
    """What is kept of the structure, measure by measure."""
    meaning = {measure.name: measure.definition for measure in MEASURES}
    return Table(
        f"What is kept of the structure: {100 * overall(kept):.1f} % on average",
        ("measure", "before", "after", "kept %", "what it is"),
        tuple((one.name, *kept_cells(one), meaning[one.name]) for one in kept),
        (1, 2, 3),
        f"100 % is as in the original, and 0 % is lost. {kept_note(kept)}".rstrip(),
    )


def _share(count: int, people: int) -> str:
    return f"{count:,} ({100 * count / max(people, 1):.1f} %)"
