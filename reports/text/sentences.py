"""Results in plain words."""

from collections.abc import Sequence

from ...audit.results.outcome import PLAIN_AUC, AttackOutcome, DefenseOutcome
from ...audit.results.verdict import crowded
from ...audit.statistics.finding import Finding
from ...audit.statistics.identity_metrics import NAMED
from ...audit.statistics.severity import Level
from .accusations import accusing, also_accusing
from .words import gain, words

ASKED_WITH = {
    "true": "all edges",
    "partial": "half of them",
    "none": "no edge",
    "apart": "edges kept apart",
}
"""Games in which an adversary asks a model about nodes, with edges or without."""
OWNERS = "owners named"
WHO = {"public": "An outsider", "server": "The server"}


def who(observer: str) -> str:
    """How a sentence calls an observer."""
    if observer in WHO:
        return WHO[observer]
    if observer.startswith("client:") and "+" not in observer:
        return f"Client {observer.partition(':')[2]}"
    return f"Whoever puts together what {observer.replace('+', ' and ')} see"


def actor(attack: AttackOutcome, release: str) -> str:
    """Who mounts an attack, with what it holds and what it must know beforehand."""
    if not attack.plan.facts.reads:
        return "Someone who sees no message at all"
    observer, knows = attack.plan.observer, beforehand(attack)
    if observer == "server" and attack.plan.facts.observer != "public":
        return f"{who(observer)} that reads what clients send it{knows}"
    if "+" in observer:
        return f"{who(observer)}{knows}"
    somebody = "Someone" if observer == "public" and knows else who(observer)
    return (
        f"{somebody} who holds {release}{' and what it is sent' if observer.startswith('client:') else ''}{knows}"
    )


def attacker(attack: AttackOutcome) -> str:
    """Who mounts an attack, without what it holds; whoever was granted more than an outsider has is no outsider."""
    if not attack.plan.facts.reads:
        return "Someone who sees no message at all"
    if attack.plan.observer == "public":
        knows = beforehand(attack)
        return f"Someone who{knows.removeprefix(' and')}" if knows else who("public")
    return who(attack.plan.observer)


def held(attack: AttackOutcome, release: str) -> str:
    """What an attacker has in its hands."""
    if not attack.plan.facts.reads:
        return "nothing"
    observer = attack.plan.observer
    if observer == "server" and attack.plan.facts.observer != "public":
        return "what clients send it"
    return f"{release} and what it is sent" if observer.startswith("client:") else release


def beforehand(attack: AttackOutcome) -> str:
    """What makes an adversary more than somebody who sees what is let out: granted knowledge, to follow a name."""
    facts = attack.plan.facts
    background = words(attack.game).background
    granted = [background] if background else []
    if facts.auditor:
        granted.append(words(attack.game).auditor)
    if facts.knows_links:
        granted.append(f"{100 * facts.knows_links:g} % of the links")
    if attack.plan.neighbours == "apart" and words(attack.game).asks:
        granted.append("which edges run between members and non-members")
    return f" and knows {' and '.join(granted)}" if granted else ""


def asks_with(attack: AttackOutcome) -> str:
    """With which edges an attack asks; empty where nothing is asked."""
    return ASKED_WITH[attack.plan.neighbours] if words(attack.game).asks else ""


INVALID = "INVALID: a control of the audit failed. Trust no number here."


def conclusion(outcomes: Sequence[DefenseOutcome], release: str, valid: bool) -> str:
    """What to take away; of an audit of which a control failed, that its numbers mean nothing."""
    return last_line(outcomes, release) if valid else INVALID


def last_line(outcomes: Sequence[DefenseOutcome], release: str) -> str:
    """The one sentence that a data owner should take away, per attack.

    The strongest attack on the undefended control first; each with what defenses leave of it and cost.
    """
    control = next((o for o in outcomes if o.defense == "none"), None)
    others = [o for o in outcomes if o is not control]
    base = control or others[0]
    strongest = sorted(base.attacks, key=lambda a: -(a.auc.turned.estimate or 0.0))
    lines = [_about(attack, base, others if control else others[1:], release) for attack in strongest]
    asked = {(a.plan.name, a.game) for a in base.attacks}
    for other in others:  # one that a defense alone allows, or that plays another game there
        only_here = [a for a in other.attacks if (a.plan.name, a.game) not in asked]
        lines += [_about(attack, other, [], release) for attack in only_here]
    return "\n".join(lines)


def _about(attack: AttackOutcome, base: DefenseOutcome, others: Sequence[DefenseOutcome], release: str) -> str:
    start = "" if base.defense == "none" else f"{capital(base.phrase)}, "
    somebody = actor(attack, release)
    somebody = somebody if not start else somebody[0].lower() + somebody[1:]
    text = f"{start}{somebody} {_tells(attack)}{_but(attack)}"
    several = len({o.defense for o in others}) < len(others)
    for other in others:
        same = next((a for a in other.attacks if a.plan == attack.plan and a.game == attack.game), None)
        if same is not None:
            phrase = f"{other.phrase}{strength_of(other) if several else ''}"
            text += f"; {phrase} {_measured(same)}{also_accusing(same)}{cost_phrase(other.cost)}"
    asked = "" if attack.plan.neighbours == "true" else f", asked with {ASKED_WITH[attack.plan.neighbours]}"
    alone = "Without a defense" if base.defense == "none" and others else ""
    return " ".join(filter(None, (f"{text} ({attack.plan.name}{asked}).", accusing(attack, alone))))


def strength_of(outcome: DefenseOutcome) -> str:
    """What tells a defense from itself at another strength."""
    return "" if outcome.strength is None else f" ({outcome.knob} {outcome.strength:g})"


def _tells(attack: AttackOutcome) -> str:
    auc, told = attack.auc, words(attack.game).told
    named = f", and names {_measured(attack)} of the persons" if NAMED in attack.more else ""
    if OWNERS in attack.more:
        named = f", and names who holds {attack.more[OWNERS].text(1, percent=True)} of the nodes"
    alike = f" {words(attack.game).alike}" if PLAIN_AUC in attack.more else ""
    if attack.of_few:
        top = crowded(attack)
        return f"tells some {told}{alike}: {top[0].lower()}{top[1:]} (AUC {auc.text(2)}, chance is 0.5){named}"
    if auc.low is not None and auc.low > 0.5:
        mixed = f" ({_mixed(attack)})" if alike else ""
        return f"tells {told}{alike} with AUC {auc.text(2)}{mixed}{named}"
    mixed = f"; {_mixed(attack)}" if alike else ""
    return f"is not shown to tell {told}{alike} (AUC {auc.text(2)}, chance is 0.5{mixed}){_among(attack)}"


def _mixed(attack: AttackOutcome) -> str:
    """The plain figure beside one that compares like with like."""
    return f"AUC {attack.plain_auc.text(2)} if everybody is compared with everybody"


def clustered(attack: AttackOutcome) -> str:
    """That members come in groups, which makes intervals wider than those of people drawn one by one."""
    groups = attack.clustered_by
    return (
        f"Members come by {groups}, and people of the same {groups} are not independent of each other. "
        f"Intervals therefore count {groups} and not people ({attack.auc.note})."
    )


def _among(attack: AttackOutcome) -> str:
    """The group that is told best, where one is and all together are not: a few who were copied are a leak too."""
    shown = {name: found for name, found in attack.groups.items() if (found.low or 0) > 0.5}
    best = max(shown, key=lambda name: shown[name].estimate or 0, default=None)
    return "" if best is None else f", but does so among {best} (AUC {shown[best].text(2)})"


def _measured(attack: AttackOutcome) -> str:
    """What is compared between defenses: AUC, or the share of persons who are named."""
    named = attack.more.get(NAMED)
    return attack.auc.text(2) if named is None else named.text(1, percent=True)


def _not_beaten(attack: AttackOutcome) -> list[str]:
    """Without the release, what the attack is not shown to beat; of the public graph, its best."""
    blind = [] if attack.beyond_blind.above_zero else [f"{attack.blind.text(2)} without the release"]
    public = {name: b.auc for name, b in attack.public.items() if not b.beyond.above_zero}
    name = max(public, key=lambda n: public[n].estimate or 0, default=None)
    return blind if name is None else [*blind, f"{public[name].text(2)} from the public graph by {name}"]


def _but(attack: AttackOutcome) -> str:
    """What must follow an AUC above chance that is not shown to beat a blind baseline."""
    above = attack.auc.low is not None and attack.auc.low > 0.5
    if not above or attack.unexplained or attack.of_few or not attack.plan.facts.reads:
        return ""
    return f", not shown to be more than {' or '.join(_not_beaten(attack))}"


def cost_phrase(cost: Finding | None) -> str:
    """What a defense costs, to be added to what it leaves of an attack; empty where that is not known."""
    if cost is None or cost.estimate is None:
        return ""
    points, what = 100 * cost.estimate, gain(cost)
    interval = "" if cost.low is None or cost.high is None else f" [{100 * cost.low:.1f}, {100 * cost.high:.1f}]"
    if points < 0:
        return f", with {-points:.1f} points of {what} gained" + (
            "" if not interval else f" [{-100 * cost.high:.1f}, {-100 * cost.low:.1f}]"  # type: ignore[operator]
        )
    return f", at a cost of {points:.1f}{interval} points of {what}"


def level_called(level: Level) -> str:
    """A level within a sentence; one of several words stands in quotation marks."""
    return f'"{level}"' if " " in level else str(level)


def capital(text: str) -> str:
    """With a capital at the start."""
    return text[:1].upper() + text[1:]


def blind_warning(attack: AttackOutcome) -> str | None:
    """What to say where the attack is not shown to do better than chance and its blind baselines."""
    if attack.unexplained or not attack.plan.facts.reads:
        return None
    chance = [] if (attack.auc.low or 0) > 0.5 else ["chance"]
    others = " or ".join([*chance, *_not_beaten(attack)])
    return f"{attack.plan.name}: not shown to be better than {others}; this AUC alone does not show a leak"
