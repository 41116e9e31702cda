"""What a reader must know to read a report, the same in every report: limits and the meaning of words."""

from collections.abc import Iterator

from ...audit.results.audit_result import Audit, Section
from .answers import question

APART = (
    "Edges kept apart: which edges a question leaves out depends on who is a member, so a part of these AUCs may "
    "be the question's, not the model's. Read them as an upper bound."
)

GLOSSARY = (
    (
        "member, non-member",
        "A member is a person whose data the pipeline learned from. A non-member is a person of the same kind "
        "whose data it did not learn from. A person is one node of the graph, whatever it stands for. Where links "
        "or identities are in question, a member is a linked pair, or a person's own node.",
    ),
    (
        "release",
        "What leaves the pipeline and can be seen by the attacker: a model, answers, a condensed graph, updates. "
        "Whoever sees only what is published is called an outsider.",
    ),
    (
        "false accusations",
        "The share of non-members whom an attacker takes for members (false-positive rate). An attacker who "
        "accuses everybody finds every member and knows nothing, so members named always stand beside it.",
    ),
    (
        "AUC",
        "Shown one member and one non-member, how often the attacker picks the right one: 0.5 is guessing, 1 is "
        "always.",
    ),
    (
        "interval (95 %)",
        "The range that the true value lies in for 95 of 100 such audits. A wide one means too few people or runs.",
    ),
    (
        "epsilon",
        "What differential privacy promises: the smaller, the less any one person changes what is released. A "
        "measured lower bound says that the promise cannot be smaller than this.",
    ),
    (
        "without the release",
        "The same attack on public data alone. Where it does as well, the release did not give away what it knows.",
    ),
    (
        "trivial alternative",
        "A change without any idea behind it that costs as much accuracy as a defense. A defense should do better.",
    ),
)
"""At most eight."""

LIMITS = (
    "Finding nothing does not prove anonymity. It says that these attackers, with this knowledge, failed on these "
    "data.",
    "A stronger attack may exist: with more knowledge, more computing, better models of the pipeline, or an idea "
    "that nobody has published yet. What is measured is a lower bound on what is given away.",
    "Numbers are averages over people. Single people can be far more exposed than the average; see risk by group.",
    "Persons are counted one by one. What is said about households, groups of neighbours or whole organisations is "
    "not covered, nor are secrets other than those asked about.",
    "Intervals treat people as independent of each other. Neighbours in a graph are not quite.",
    "Where many attacks or settings are compared, the strongest is strongest partly by luck.",
    "The results hold for this pipeline with these settings on these data. After a change, audit again.",
)


def limits(audit: Audit) -> Iterator[str]:
    """What this audit in particular did not test, then what no audit can."""
    games = dict.fromkeys(question(p.attack.game) for p in audit.findings())
    if games:
        yield f"Tested was only: {' '.join(games)} Every other question is open."
    if any(untested(section) for section in audit.sections):
        yield "Attacks and defenses that have no place in a pipeline were not tested: see the findings."
    yield from LIMITS


def remarks(section: Section) -> list[str]:
    """What a reader of a section's numbers must know, each with the defenses that it is about."""
    said: dict[str, list[str]] = {}
    for outcome in section.outcomes:
        for note in outcome.notes:
            said.setdefault(note, []).append(outcome.label)
    everywhere = len(section.outcomes)
    found = [note if len(w) == everywhere else f"{note} ({'; '.join(w)})" for note, w in said.items()]
    apart = any(a.plan.neighbours == "apart" for o in section.outcomes for a in o.attacks)
    return [*found, APART] if apart else found


def untested(section: Section) -> list[str]:
    """Defenses and attacks that have no place in a section, with the reason."""
    attacks: dict[str, list[str]] = {}
    for outcome in section.outcomes:
        for name, why in outcome.refused.items():
            attacks.setdefault(f"{name}: {why}", []).append(outcome.label)
    everywhere = len(section.outcomes)
    return [
        *(f"{name}: {why}" for name, why in section.refused.items()),
        *(what if len(w) == everywhere else f"{what} ({'; '.join(w)})" for what, w in attacks.items()),
    ]
