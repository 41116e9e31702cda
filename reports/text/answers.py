"""What an audit answers, for a data owner: in people, not in metrics.

A *person* is a node of the graph, whatever it stands for.
"""

from ...audit.results.assemble import PLANTED
from ...audit.results.audit_result import AttackFinding, Audit, Section
from ...audit.results.outcome import AttackOutcome
from ...audit.statistics.finding import Finding
from ...audit.statistics.severity import Level, Scale
from .accusations import accusing
from .sentences import actor
from .words import words

BASES = (100, 1000, 10_000, 100_000, 1_000_000)
FAR = 3.0  # times guessing: from here on a rate is far enough from it to be told in the same numbers


def question(game: str) -> str:
    """What is asked of each person."""
    return words(game).question


def answers(audit: Audit) -> list[tuple[AttackFinding, str]]:
    """For each section and question the strongest finding on the undefended pipeline, in a sentence.

    An invalid audit answers nothing.
    """
    if not audit.valid:
        return []
    found = []
    for section in audit.sections:
        places = [p for p in audit.findings() if p.section is section and p.outcome.reference]
        for game in dict.fromkeys(p.attack.game for p in places):
            judged = [p for p in places if p.attack.game == game and p.verdict is not None]
            if judged:
                strongest = max(judged, key=strength)
                found.append((strongest, answer(strongest, audit.plan.severity, _different(judged))))
    return found


def granted(place: AttackFinding) -> str:
    """What an attacker knew before anything was let out, as it was granted, in a sentence."""
    knowledge = place.attack.knowledge
    return f"This attacker {knowledge}." if knowledge else "What this attacker knows beforehand is not stated."


def _different(places: list[AttackFinding]) -> int:
    """How many attacks these are; two that rank people alike are one."""
    names = {p.attack.plan.name for p in places}
    alike = sum(p.attack.plan.facts.ranks_as in names for p in places)
    return len(places) - alike


def strength(place: AttackFinding) -> tuple[int, bool, float, float, float]:
    """By what a finding with a verdict is the strongest.

    What is open is worse than what is shown to be small; of that the one that may be largest is told.
    """
    judged = place.verdict
    assert judged is not None
    small = judged.level is Level.NOT_FOUND
    size = judged.high if small else judged.low
    return judged.level.severity, not small, size or 0.0, outright(place.attack), place.attack.auc.estimate or 0.0


def outright(attack: AttackOutcome) -> float:
    """The share of members whom an attack accuses beyond its false accusations; 0 where more are false, or none."""
    found = attack.accusations
    if found is None or not sum(found.members):
        return 0.0
    return max(0.0, (sum(found.named) - sum(found.false)) / sum(found.members))


def answer(place: AttackFinding, scale: Scale, of: int = 1) -> str:
    """One finding in people: how many are named, at how many false accusations, and by whom."""
    judged, attack = place.verdict, place.attack
    assert judged is not None
    somebody = actor(attack, place.section.release_phrase)
    by = f" The attacker is {somebody[0].lower()}{somebody[1:]}."
    by += f" This is the strongest of {of} attacks." if of > 1 else ""
    ranked, flagged = _above_chance(attack), (judged.low or 0.0) > 1
    if judged.level in (Level.NOT_FOUND, Level.INCONCLUSIVE) and not (ranked or flagged):
        return f"{_not_shown(judged.level, attack, scale)}{by}"
    text = _names(attack, scale)
    if judged.level is Level.INCONCLUSIVE and not ranked:
        text += " Whether the public graph explains that cannot be told."
    if judged.level is Level.NOT_ATTRIBUTABLE:
        text += (
            " But the public graph alone tells most of that. So this is no evidence that the release gives it away."
        )
    return " ".join(filter(None, (text + by, accusing(attack))))


def _above_chance(attack: AttackOutcome) -> bool:
    return attack.auc.low is not None and attack.auc.low > 0.5


def _names(attack: AttackOutcome, scale: Scale) -> str:
    rate, told = rate_at(attack, scale.fpr), words(attack.game)
    if rate is None or rate.estimate is None:
        said = (
            f"Shown one of {told.members} and one {told.other}, the attack {attack.plan.name} picks the right one "
            f"in {people(attack.auc.estimate, 100)} of 100 cases{between(attack.auc, 100)}. Guessing gets 50."
        )
        if attack.accusations is not None:  # whom it names is told with these
            return said
        few = f"cannot be told from so few {told.others}"
        return f"{said} How many it would name at few false accusations {few}."
    base = base_for(rate.estimate, scale.fpr)
    guessing = people(scale.fpr, base)
    return (
        f"The attack {attack.plan.name} names about {people(rate.estimate, base)} in {base} of "
        f"{told.members}{between(rate, base)}, while it wrongly accuses {guessing} in {base} {told.others}. "
        f"Guessing would name {guessing} in {base}."
    )


def _not_shown(level: Level, attack: AttackOutcome, scale: Scale) -> str:
    told, found = words(attack.game), attack.decisive
    start = f"the attack {attack.plan.name} names {told.members} better than guessing does"
    if level is Level.NOT_FOUND and found is not None and found.high is not None:
        base = base_for(found.high, scale.fpr)
        most, guessing = people(found.high, base), people(scale.fpr, base)
        return (
            f"Nothing shows that {start}. It names at most {most} in {base} of them (95 % sure), while it wrongly "
            f"accuses {guessing} in {base} {told.others}. Guessing names {guessing} in {base}."
        )
    return f"It is open whether {start}. The data are too few to tell."


def rate_at(attack: AttackOutcome, fpr: float) -> Finding | None:
    """The true-positive rate at a false-positive rate, with a two-sided interval where there is one."""
    return next((f for f in attack.tpr if f.metric == f"tpr@fpr={fpr:g}"), attack.decisive)


def rate_of(finding: Finding) -> float:
    """The false-positive rate in the name of a rate (``tpr@fpr=0.01``)."""
    return float(finding.metric.partition("=")[2])


def base_for(share: float, fpr: float) -> int:
    """Out of how many people to speak: guessing is a whole number of them, and a rate near it can be told apart."""
    whole = (b for b in BASES if round(fpr * b) >= 1 and abs(fpr * b - round(fpr * b)) < 1e-6)
    base = next(whole, BASES[-1])
    return base if share >= FAR * fpr else min(10 * base, BASES[-1])


def between(finding: Finding, base: int) -> str:
    """An interval in people: `` (95 %: 6 to 9)``."""
    if finding.low is None or finding.high is None:
        return ""
    return f" ({100 * finding.level:.3g} %: {people(finding.low, base)} to {people(finding.high, base)})"


def size(attack: AttackOutcome, scale: Scale) -> str:
    """How many of the members are named, of as many for each attack, as a table cell."""
    rate = rate_at(attack, scale.fpr)
    if rate is None or rate.estimate is None:
        return "not measurable"
    base = base_for(0.0, scale.fpr)
    return f"{people(rate.estimate, base)}{between(rate, base)}"


def people(share: float | None, base: int) -> str:
    """A share as a number of people."""
    return f"{round((share or 0.0) * base):,}".replace(",", " ")


def warnings(audit: Audit) -> list[str]:
    """What must be known before anything else is read."""
    said = []
    if not audit.sections:
        why = "every trial failed" if audit.failures and not audit.missing else "no trial has a result yet"
        said.append(f"Nothing has been measured, since {why}. This report says nothing about privacy, good or bad.")
    if audit.missing:
        rest = ". What follows rests on the trials that have run, and may change" if audit.sections else ""
        said.append(f"{_trials(audit.missing)} not run yet{rest}.")
    if audit.failures:
        reasons = list(dict.fromkeys(failure.reason for failure in audit.failures))
        more = " The checks list every reason." if len(reasons) > 1 else ""
        said.append(f"{_trials(len(audit.failures), 'could')} not be run: {_sentence(reasons[0])}{more}")
    titles = {section.title for section in audit.sections}
    for title in dict.fromkeys(n.section for n in audit.not_run if n.section not in titles):
        if audit.sections:
            said.append(f"There is no answer on {title}: none of its trials has a result.")
    for section in audit.sections:
        said += _unanswered(section)
    if audit.sections and not any(control.name == PLANTED for control in audit.controls):
        said.append("No attack was tried on a planted leak: that they would find one has not been checked.")
    return said


def _unanswered(section: Section) -> list[str]:
    """What a section has no answer on: everything, or what single defenses leave."""
    control = [row for o, row in zip(section.outcomes, section.verdicts, strict=True) if o.reference]
    if not control:
        return [f"There is no answer on {section.title}: {UNDEFENDED}."]
    if not any(control[0]):
        return [f"There is no answer on {section.title}: no attack that reads what is released applies."]
    lacking = [one.label for one in section.not_run]
    if not lacking:
        return []
    which, have = ("defense", "has") if len(lacking) == 1 else ("defenses", "have")
    return [f"The {which} {', '.join(lacking)} {have} no result on {section.title}."]


UNDEFENDED = "the pipeline without a defense has no result"


def nothing_answered(audit: Audit) -> str:
    """Why there is no answer, in a sentence; for an audit that has none."""
    if not audit.valid:
        return "None: the audit is invalid."
    if audit.sections and not any(o.reference for section in audit.sections for o in section.outcomes):
        return f"None: {UNDEFENDED}."
    if audit.sections:
        return "None: no attack that reads what is released applies."
    return "None: nothing was measured."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _trials(count: int, verb: str = "") -> str:
    """How many, at the start of a sentence."""
    number = "One trial" if count == 1 else f"{count} trials"
    return f"{number} {verb or ('has' if count == 1 else 'have')}"


def invalidity(audit: Audit) -> list[str]:
    """Why an audit is invalid, a line for each control that failed."""
    return [f"{c.name} ({c.about}): {c.detail}" for c in audit.controls if not c.passed]
