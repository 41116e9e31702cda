"""What an audit found: the outcome of an attack, and of a defense with all attacks on it."""

from dataclasses import dataclass, field
from typing import Any

from ...mechanisms.guarantee import Guarantee
from ...targets.games.named import game_of
from ...targets.transcript import Exposure
from ..planning.trial_plan import AttackPlan
from ..statistics.accused import Accusations
from ..statistics.finding import Finding
from ..statistics.rates import Roc
from ..statistics.top_ranks import TOP_LEVEL, TopRanks
from ..statistics.vulnerability import Vulnerability

CONTROL = "none"
"""The defense that changes nothing."""
PLAIN_AUC, PLAIN_TPR = "plain_auc", "plain_tpr"
"""What others quote, beside a headline that compares subjects within what is public."""


@dataclass(frozen=True)
class BlindBaseline:
    """What the public graph alone tells of membership by one kind of column, and what an attack adds to it.

    ``top`` is the one-sided p of the attack having no more members among its first than the baseline has.
    """

    auc: Finding
    beyond: Finding
    top: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "auc": self.auc.as_dict(),
            "auc_beyond": self.beyond.as_dict(),
            "top_p_beyond": round(self.top, 6),
        }


@dataclass(frozen=True)
class AttackOutcome:
    """One attack over all seeds.

    Attributes:
        plan: the attack, its observer and its queries.
        round: the release that was attacked; None where validation chose different ones for different seeds.
        knowledge: what the adversary knew, in words.
        auc: how well it told members from non-members, compared within what is public (`Game.compared_within`).
        blind: the same attack features without the release.
        beyond_blind: auc minus blind, paired.
        tpr: true-positive rates at low false-positive rates, that of the verdict among them.
        null: auc against scrambled truth; 0.5 must lie within. Without an interval the control cannot tell.
        groups: auc with the non-members of one group only.
        game: the game that was played.
        more: average precision, balanced accuracy, advantage, the lower bound of epsilon, and plain AUC and rate.
        baselines: what the public graph alone tells, and how far the attack goes beyond it.
        risk: auc among subjects of one degree, class, homophily or client, by attribute and value.
        roc: the ROC curve of all seeds.
        exposed: subjects one by one, the most exposed first: an attack's product itself, written where asked for.
        decisive: the true-positive rate at the false-positive rate that the verdict rests on, with an interval of
            which each end is a one-sided 95 % bound.
        by_seed: metrics that one seed alone can tell, by the seed's index and by name.
        accuracies: of the target and of the shadow models on the same nodes, mean over seeds, where there are any.
        variant: settings that tell it from another attack of the same name, observer and way to ask.
        clustered_by: the known grouping that membership follows, by which intervals are counted, or nothing.
        top: members among the first of its ranking.
        accusations: how many whom it accuses outright are members, where it does more than rank.
    """

    plan: AttackPlan
    round: int | None
    knowledge: str
    auc: Finding
    blind: Finding
    beyond_blind: Finding
    tpr: tuple[Finding, ...]
    null: Finding
    groups: dict[str, Finding]
    game: str = "label-membership"
    more: dict[str, Finding] = field(default_factory=dict)
    baselines: dict[str, BlindBaseline] = field(default_factory=dict)
    risk: dict[str, dict[str, Finding]] = field(default_factory=dict)
    roc: Roc | None = None
    exposed: tuple[Vulnerability, ...] = ()
    decisive: Finding | None = None
    by_seed: dict[int, dict[str, float]] = field(default_factory=dict)
    accuracies: tuple[float, float] | None = None
    variant: str = ""
    clustered_by: str = ""
    top: TopRanks | None = None
    accusations: Accusations | None = None

    @property
    def valid(self) -> bool:
        """Whether nothing shows the scoring to be wrong: the AUC of a permuted truth is 0.5 within its interval."""
        return self.null.low is None or self.null.high is None or self.null.low <= 0.5 <= self.null.high

    @property
    def null_tells(self) -> bool:
        """Whether the null control could have failed."""
        return self.null.low is not None

    @property
    def plain_auc(self) -> Finding:
        """The AUC as others quote it: everybody compared with everybody."""
        return self.more.get(PLAIN_AUC, self.auc)

    @property
    def plain_tpr(self) -> Finding:
        """The rate at 1 % false positives as others quote it: one threshold for everybody."""
        return self.more.get(PLAIN_TPR, self.tpr[0])

    @property
    def public(self) -> dict[str, BlindBaseline]:
        """The baselines that know what an adversary knows too."""
        hidden = game_of(self.game).private_baselines
        return {name: b for name, b in self.baselines.items() if name not in hidden}

    @property
    def without_release(self) -> tuple[BlindBaseline, ...]:
        """What is told without the release, by the same attack and by the public graph."""
        top = 1.0 if self.top is None else self.top.beyond_blind
        return BlindBaseline(self.blind, self.beyond_blind, top), *self.public.values()

    @property
    def explained(self) -> bool:
        """Whether the public graph explains most of it: a baseline surely tells more than may lie beyond it.

        That an attack is not shown to do better than any baseline explains nothing: its interval may be wide.
        """
        return any(
            None not in (b.auc.low, b.beyond.high) and (b.beyond.high or 0.0) < (b.auc.low or 0.0) - 0.5
            for b in self.without_release
            if (b.auc.low or 0.0) > 0.5
        )

    @property
    def unexplained(self) -> bool:
        """Whether it tells more than chance, the same attack without the release, and every blind baseline.

        All of them must be beaten, so testing each at its own level is enough (an intersection-union test).
        """
        gaps = [b.beyond for b in self.without_release]
        above = self.auc.low is not None and self.auc.low > 0.5
        return above and all(gap.above_zero for gap in gaps)

    @property
    def stands_out(self) -> bool:
        """Whether more members are at the very top than chance, and than every blind baseline, puts there."""
        top = self.top is not None and self.top.found
        return top and all(b.top <= TOP_LEVEL for b in self.without_release)

    @property
    def of_few(self) -> bool:
        """Whether its leak shows at the very top of its ranking, and not in its AUC: few people may be exposed."""
        return self.stands_out and not self.unexplained

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types; no subject by itself."""
        return {
            "attack": self.plan.name,
            "game": self.game,
            "observer": self.plan.observer,
            "neighbours": self.plan.neighbours,
            "settings": self.plan.settings,
            "round": self.round,
            "knowledge": self.knowledge,
            "auc": self.auc.as_dict(),
            "blind_auc": self.blind.as_dict(),
            "auc_beyond_blind": self.beyond_blind.as_dict(),
            "tpr": [f.as_dict() for f in self.tpr],
            "by_seed": {str(i): {m: round(v, 6) for m, v in part.items()} for i, part in self.by_seed.items()},
            "null_auc": self.null.as_dict(),
            "valid": self.valid,
            "beyond_all_baselines": self.unexplained,
            "top_ranks": None if self.top is None else self.top.as_dict(),
            "top_beyond_all_baselines": self.stands_out,
            "groups": {name: f.as_dict() for name, f in self.groups.items()},
            **{name: f.as_dict() for name, f in self.more.items()},
            "baselines": {name: b.as_dict() for name, b in self.baselines.items()},
            "risk": {by: {v: f.as_dict() for v, f in part.items()} for by, part in self.risk.items()},
            "clustered_by": self.clustered_by,
            "roc": None if self.roc is None else _curve(self.roc),
            "accusations": None if self.accusations is None else self.accusations.as_dict(),
        }


def _curve(roc: Roc) -> dict[str, Any]:
    return {
        "fpr": [round(float(v), 6) for v in roc.fpr],
        "tpr": [round(float(v), 6) for v in roc.tpr],
        "measurable_from_fpr": round(roc.measurable, 6),
    }


@dataclass(frozen=True)
class DefenseOutcome:
    """One defense over all seeds.

    Attributes:
        defense: its name.
        phrase: how a sentence calls it.
        guarantee: what it promises, or None.
        settings: its settings.
        accuracy: test accuracy at the release that validation chose.
        before_tuning: the same without local fine-tuning.
        cost: accuracy lost against the undefended control, paired by seed; None for the control.
        attacks: attacks on that release.
        timeline: attacks on every release, if asked for.
        curve: test accuracy at every release.
        refused: attacks that do not apply, with the reason.
        exposure: who saw what, in the first seed's run.
        notes: what a reader must know.
        transfer: test accuracy of other architectures trained on that release, if asked for.
        knob: the name of the setting that is its strength, or None.
        label: its name, with the strength where it ran at several.
        alternative: whether it is a trivial alternative to defenses, and no plan lists it as a defense itself.
        beside: the name of its trivial alternative, or None.
        kept: how much of what a network is used for a published one keeps, by measure; 1: as in the original.
        promise: the differential privacy of its settings, or None.
        elsewhere: whether the run took place elsewhere, with whatever defense was in place there.
        figures: what else runs measured of themselves, by name.
    """

    defense: str
    phrase: str
    guarantee: str | None
    settings: dict[str, Any]
    accuracy: Finding
    before_tuning: Finding
    cost: Finding | None
    attacks: tuple[AttackOutcome, ...]
    timeline: tuple[AttackOutcome, ...]
    curve: dict[int, Finding]
    refused: dict[str, str]
    exposure: tuple[Exposure, ...]
    notes: tuple[str, ...]
    transfer: dict[str, Finding]
    knob: str | None = None
    label: str = ""
    alternative: bool = False
    beside: str | None = None
    kept: dict[str, Finding] = field(default_factory=dict)
    promise: Guarantee | None = None
    elsewhere: bool = False
    figures: dict[str, Finding] = field(default_factory=dict)

    @property
    def reference(self) -> bool:
        """Whether a reader's question is answered by it first: the undefended control, or what was recorded."""
        return self.elsewhere or self.defense == CONTROL

    @property
    def called(self) -> str:
        """Its label, or its name where it has none."""
        return self.label or self.defense

    @property
    def strength(self) -> float | None:
        """The value of its knob."""
        return None if self.knob is None else float(self.settings[self.knob])

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "defense": self.defense,
            "label": self.label,
            "strength": self.strength,
            "settings": self.settings,
            "guarantee": self.guarantee,
            "promise": None if self.promise is None else self.promise.as_dict(),
            "accuracy": self.accuracy.as_dict(),
            "accuracy_before_tuning": self.before_tuning.as_dict(),
            "accuracy_cost": None if self.cost is None else self.cost.as_dict(),
            "attacks": [a.as_dict() for a in self.attacks],
            "timeline": [a.as_dict() for a in self.timeline],
            "accuracy_by_round": {str(r): f.as_dict() for r, f in self.curve.items()},
            "not_applicable": self.refused,
            "exposure": [vars(row) for row in self.exposure],
            "notes": list(self.notes),
            "transfer": {name: f.as_dict() for name, f in self.transfer.items()},
            "kept": {name: f.as_dict() for name, f in self.kept.items()},
            "figures": {name: f.as_dict() for name, f in self.figures.items()},
        }
