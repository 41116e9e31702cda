"""What each defense does to what an attack tells: shown to help, shown to harm, or neither."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...audit.results.assemble import curve
from ...audit.results.audit_result import AttackFinding, Point, Section
from ...audit.results.outcome import AttackOutcome, DefenseOutcome
from ...audit.results.verdict import Verdict
from ...audit.statistics.finding import Finding
from .answers import outright, strength

Identity = tuple[str, ...]


@dataclass(frozen=True)
class Tried:
    """One attack under one defense at one strength.

    Attributes:
        point: its place on the privacy-utility curve.
        outcome: the defense.
        attack: what is left of the attack.
        verdict: what that amounts to.
    """

    point: Point
    outcome: DefenseOutcome
    attack: AttackOutcome
    verdict: Verdict

    @property
    def label(self) -> str:
        """The defense with its strength."""
        return self.point.label

    @property
    def leak(self) -> Finding:
        """The AUC, either way round."""
        return self.point.leak.turned


@dataclass(frozen=True)
class Effects:
    """What the defenses of a section do to one attack.

    Attributes:
        control: the attack without a defense; None where that did not run.
        tried: the attack under each defense, trivial alternatives among them, in the order of the curve.
        raised: by the label of a defense, other attacks on the same question that it is shown to help.
        strongest: by the label of a defense, or of the control, the strongest of all attacks on the same question.
    """

    control: Tried | None
    tried: tuple[Tried, ...]
    raised: dict[str, tuple[Tried, ...]]
    strongest: dict[str, AttackFinding]

    @property
    def any_defense(self) -> bool:
        """Whether any defense was tried, trivial alternatives aside."""
        return any(t.point.role == "defense" for t in self.tried)

    def recommended(self, role: str = "defense") -> list[Tried]:
        """Those that help and that nothing which was measured speaks against, defenses or ``alternative``."""
        helping = (t for t in self.tried if t.point.role == role and self._helps(t))
        return [t for t in helping if t.label not in self.raised and not self.leaves_worse(t)]

    def advised(self, role: str = "defense") -> Tried | None:
        """The one to use: of those recommended, which leave the strongest attack the least, the cheapest.

        The least is the lowest level, then nobody named outright.
        """
        better = self.recommended(role)
        least = min(map(self._left, better), default=None)
        return None if least is None else cheapest([t for t in better if self._left(t) == least])

    def _left(self, tried: Tried) -> tuple[int, bool]:
        """What the strongest attack on a defense still finds."""
        place = self.strongest[tried.label]
        assert place.verdict is not None
        return place.verdict.level.severity, outright(place.attack) > 0

    def leaves_worse(self, tried: Tried) -> bool:
        """Whether the strongest of all attacks has a worse level with a defense than without."""
        assert self.control is not None
        return self._left(tried)[0] > self._left(self.control)[0]

    def mixed(self) -> list[Tried]:
        """Those that help against this attack and help another one."""
        return [t for t in self.tried if self._helps(t) and t.label in self.raised]

    def harmful(self) -> list[Tried]:
        """Those that are shown to raise what this attack tells."""
        return [t for t in self.tried if self.control is not None and clearly_less(self.control.leak, t.leak)]

    def vain(self) -> list[Tried]:
        """Those that cost something in the seeds that ran, and are shown to neither help nor harm."""
        settled = {t.label for t in (*self.recommended(), *self.mixed(), *self.harmful(), *self.doubtful())}
        own = [t for t in self.tried if t.point.role == "defense" and t.label not in settled]
        return [t for t in own if t.outcome.cost is not None and t.outcome.cost.above_zero]

    def _helps(self, tried: Tried) -> bool:
        """The AUC is shown to be less, the level is no worse, and it is not shown that more people are named."""
        if self.control is None or not clearly_less(tried.leak, self.control.leak):
            return False
        worse = tried.verdict.level.severity > self.control.verdict.level.severity
        return not worse and not more_named(tried.attack, self.control.attack)

    def doubtful(self) -> list[Tried]:
        """Those that lower the AUC, but raise a level, or the number of people who are named."""
        lower = [t for t in self.tried if self.control is not None and clearly_less(t.leak, self.control.leak)]
        return [t for t in lower if not self._helps(t) or (self.leaves_worse(t) and t.label not in self.raised)]


def effects(section: Section, identity: Identity) -> Effects:
    """What the defenses of a section do to one attack (`AttackPlan.identity`)."""
    control, tried = _split(section, identity)
    game = next(a.game for o in section.outcomes for a in o.attacks if a.plan.identity == identity)
    raised: dict[str, tuple[Tried, ...]] = {}
    for other in _identities(section, game):
        without, under = _split(section, other) if other != identity else (None, ())
        for one in under:
            if without is not None and clearly_less(without.leak, one.leak):
                raised[one.label] = (*raised.get(one.label, ()), one)
    return Effects(control, tried, raised, _strongest(section, game))


def _strongest(section: Section, game: str) -> dict[str, AttackFinding]:
    """By the label of each defense the strongest of all attacks on one question."""
    found: dict[str, AttackFinding] = {}
    for outcome, row in zip(section.outcomes, section.verdicts, strict=True):
        pairs = zip(outcome.attacks, row, strict=True)
        judged = [AttackFinding(section, outcome, a, v) for a, v in pairs if a.game == game and v is not None]
        if judged:
            found[outcome.label] = max(judged, key=strength)
    return found


def without_defense(section: Section, tried: Tried) -> Tried | None:
    """The same attack on the undefended pipeline."""
    return _split(section, tried.attack.plan.identity)[0]


def _split(section: Section, identity: Identity) -> tuple[Tried | None, tuple[Tried, ...]]:
    found = {
        outcome.label: (outcome, attack, judged)
        for outcome, row in zip(section.outcomes, section.verdicts, strict=True)
        for attack, judged in zip(outcome.attacks, row, strict=True)
        if attack.plan.identity == identity and judged is not None
    }
    every = [Tried(p, *found[p.label]) for p in curve(section, identity) if p.label in found]
    control = next((t for t in every if t.point.role == "control"), None)
    return control, tuple(t for t in every if t.point.role != "control")


def _identities(section: Section, game: str) -> Iterator[Identity]:
    """The attacks that play a game, each once."""
    yield from dict.fromkeys(a.plan.identity for o in section.outcomes for a in o.attacks if a.game == game)


def clearly_less(one: Finding, other: Finding) -> bool:
    """The intervals do not meet: stricter than a test of the difference."""
    return one.high is not None and other.low is not None and one.high < other.low


def more_named(one: AttackOutcome, other: AttackOutcome) -> bool:
    """Whether more people are shown to be named: at the rate of the level, or outright in every run."""
    rates, accused = (one.decisive, other.decisive), (one.accusations, other.accusations)
    if rates[0] is not None and rates[1] is not None and clearly_less(rates[1], rates[0]):
        return True
    if accused[0] is None or accused[1] is None:
        return False
    return min(accused[0].named, default=0) > max(accused[1].named, default=0)


def cheapest(tried: Sequence[Tried]) -> Tried:
    """With the most utility left, then the least leak."""
    return max(tried, key=lambda t: (t.point.utility.estimate or 0.0, -(t.leak.estimate or 0.0)))


def safest(tried: Sequence[Tried]) -> Tried:
    """With the least leak, then the most utility left."""
    return min(tried, key=lambda t: (t.leak.estimate or 0.0, -(t.point.utility.estimate or 0.0)))
