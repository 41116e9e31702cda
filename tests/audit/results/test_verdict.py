"""Levels: what each rests on, and how often one is given where nothing leaks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, fisher_exact, norm

from gaudit.audit.planning.plan import Plan
from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.results.outcome import AttackOutcome, BlindBaseline
from gaudit.audit.results.outcomes import attack_outcome
from gaudit.audit.results.verdict import verdict
from gaudit.audit.running.trial import Attacked
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.audit.statistics.severity import Level, Scale
from gaudit.audit.statistics.top_ranks import TOP_LEVEL, beyond_at_top, top_ranks
from gaudit.errors import InputError
from gaudit.reports.text.sentences import last_line
from gaudit.reports.text.short_answer import short_answer
from support import audits

LOSS = AttackPlan("loss")
ROUGH = Scale(fpr=0.05)  # measurable with 200 non-members, which is quick


def simulated(leak: float, rng, seeds: int = 1, scale: Scale = ROUGH, members: int = 100, others: int = 200):
    """Scores of members shifted by ``leak``; the public graph knows nothing."""
    found = {i: audits.attacked(LOSS, leak, rng, members=members, others=others) for i in range(seeds)}
    return attack_outcome(found, scale.fpr)


def shift_for(ratio: float, fpr: float) -> float:
    """The shift of members' scores with which they pass the threshold so many times as often as others do."""
    return norm.isf(fpr) - norm.isf(ratio * fpr)


# --- levels of known leaks


@pytest.mark.parametrize(
    ("ratio", "level"),
    [
        (1.0, Level.NOT_FOUND),
        (2.2, Level.LOW),
        (6.0, Level.MODERATE),
        (19.0, Level.HIGH),
        (60.0, Level.SEVERE),
    ],
)
def test_a_leak_of_known_strength_gets_its_level(ratio, level):
    """With enough subjects that the lower bound is near the truth."""
    scale = Scale()
    leak = shift_for(ratio, scale.fpr)
    audit = audits.simulated({("none", None): (leak, 0.8)}, seeds=4, members=600, others=3000)
    ((judged,),) = audit.sections[0].verdicts
    assert judged.level is level
    assert judged.low <= judged.ratio <= judged.high
    assert judged.low <= ratio <= judged.high
    (place,) = audit.findings()
    assert place.attack.decisive.metric == "tpr@fpr=0.01"


def test_too_few_subjects_show_a_leak_and_not_its_size():
    for leak in (0.0, 3.0):
        audit = audits.simulated({("none", None): (leak, 0.8)}, seeds=4, members=60, others=100)
        ((judged,),) = audit.sections[0].verdicts
        assert judged.level is (Level.UNSIZED if leak else Level.INCONCLUSIVE)
        assert (judged.ratio, judged.low, judged.high) == (None, None, None)
        assert "not measurable: it needs at least 1000 non-members" in judged.reason
        assert ("better than guessing" in judged.reason) == bool(leak)


def test_more_subjects_turn_inconclusive_into_not_found():
    rng = np.random.default_rng(5)
    few = verdict(simulated(0.0, rng, members=12), ROUGH)
    many = verdict(simulated(0.0, rng, members=2000, others=4000), ROUGH)
    assert (few.level, many.level) == (Level.INCONCLUSIVE, Level.NOT_FOUND)
    assert few.high >= ROUGH.moderate > many.high


@pytest.mark.dear
def test_with_no_leak_hardly_ever_a_level_is_given():
    """At most 5 % of audits (and, the seeds being fixed, what 200 of them may show beyond that once in 1000)."""
    rng, times = np.random.default_rng(11), 200
    found = [verdict(simulated(0.0, rng, members=60), ROUGH).level for _ in range(times)]
    given_ = [level for level in found if level not in (Level.NOT_FOUND, Level.INCONCLUSIVE)]
    assert len(given_) <= binom.isf(0.001, times, 0.05)
    assert sum(level.severity > 0 for level in found) <= binom.isf(
        0.001, times, 0.025
    )  # it must beat all baselines


def test_a_level_is_hardly_ever_above_the_truth():
    """At a true ratio of just the cut-off, the lower bound is above it in 5 % of audits at most."""
    scale = Scale(fpr=0.05, moderate=3, high=6, severe=15)
    rng, times = np.random.default_rng(12), 80
    leak = shift_for(scale.high, scale.fpr)
    found = [verdict(simulated(leak, rng, scale=scale), scale).level for _ in range(times)]
    assert sum(level.severity >= Level.HIGH.severity for level in found) <= binom.isf(0.001, times, 0.05)
    assert sum(level is Level.MODERATE for level in found) > times / 2


# --- what the public graph explains


def outcome_of(
    judged: ScoredSubjects, blind: ScoredSubjects, baselines: dict[str, ScoredSubjects], scale: Scale = ROUGH
) -> AttackOutcome:
    return attack_outcome({0: Attacked(LOSS, 1, judged, blind, {}, "", baselines=baselines)}, scale.fpr)


def test_what_the_public_graph_tells_as_well_is_not_attributable():
    rng = np.random.default_rng(0)
    judged, none = (audits.guesses(leak, rng, members=300, others=1000) for leak in (2.0, 0.0))
    explained = [outcome_of(judged, judged, {"degree": none}), outcome_of(judged, none, {"a": none, "b": judged})]
    for outcome in explained:
        found = verdict(outcome, ROUGH)
        assert found.level is Level.NOT_ATTRIBUTABLE
        assert found.level.severity == 0
        assert "not shown to do better than the public graph" in found.reason
    assert verdict(outcome_of(judged, none, {"degree": none}), ROUGH).level.severity > 0


def test_what_may_well_go_beyond_the_public_graph_is_not_called_explained():
    """Two seeds that differ much: no gap is shown, but nothing shows that the public graph tells as much either."""
    rng = np.random.default_rng(0)
    judged, weaker, none = (audits.guesses(leak, rng, members=300, others=1000) for leak in (2.0, 0.5, 0.0))
    outcome = outcome_of(judged, none, {"degree": weaker})
    (degree,) = outcome.baselines.values()
    assert degree.auc.low > 0.5
    wide = replace(degree, beyond=replace(degree.beyond, low=-0.05, high=0.5))
    found = verdict(replace(outcome, baselines={"degree": wide}, top=None), ROUGH)
    assert found.level is Level.INCONCLUSIVE
    assert "not shown to do better than the same attack without the release" in found.reason


def test_one_baseline_that_tells_does_not_explain_what_another_may():
    """The one that tells is beaten, the one that may not be beaten tells nothing."""
    rng = np.random.default_rng(0)
    judged, weaker, none = (audits.guesses(leak, rng, members=300, others=1000) for leak in (2.0, 0.5, 0.0))
    outcome = outcome_of(judged, none, {"degree": weaker})
    unsure = replace(outcome.beyond_blind, low=-0.1, high=0.9)
    assert verdict(replace(outcome, beyond_blind=unsure, top=None), ROUGH).level is Level.INCONCLUSIVE


@pytest.mark.parametrize(("members", "others", "least"), [(0.6, 0.02, 10), (0.6, 0.2, 1.2)])
def test_tied_scores_hide_no_leak(members, others, least):
    """Most members and a few others share the highest score; no threshold reaches the false-positive rate."""
    scale, place = Scale(), np.arange(1600)
    truth = place < 600
    score = np.where(truth, place < members * 600, place >= 1600 - others * 1000).astype(float)
    rng = np.random.default_rng(0)
    found = {}
    for seed in range(3):
        cell = audits.attacked(LOSS, 0.0, rng, members=600, others=1000)
        found[seed] = replace(cell, judged=ScoredSubjects(place, score, truth))
    outcome = attack_outcome(found, scale.fpr)
    judged = verdict(outcome, scale)
    assert judged.ratio == pytest.approx(members / others, rel=0.35)
    assert judged.low > least
    assert judged.level.severity > 0
    assert "equal scores put in a random order" in outcome.decisive.note
    assert outcome.by_seed[0]["tpr@fpr=0.01"] > 0


def test_scores_tied_by_chance_are_no_leak_and_not_shown_to_be_below_guessing():
    place, rng = np.arange(1600), np.random.default_rng(0)
    truth = place < 600
    found = {}
    for seed in range(3):
        score = (rng.random(1600) < 0.05).astype(float)
        found[seed] = replace(
            audits.attacked(LOSS, 0.0, rng, members=600, others=1000), judged=ScoredSubjects(place, score, truth)
        )
    judged = verdict(attack_outcome(found, 0.01), Scale())
    assert judged.level is Level.NOT_FOUND
    assert judged.low < 1 < judged.high


def test_a_leak_beyond_a_public_graph_that_tells_something_is_a_finding():
    rng = np.random.default_rng(0)
    judged, weaker = (audits.guesses(leak, rng, members=300, others=1000) for leak in (2.0, 0.7))
    assert verdict(outcome_of(judged, weaker, {"degree": weaker}), ROUGH).level.severity > 0


def few_exposed(rng, members: int, others: int, exposed: float = 0.05) -> AttackOutcome:
    """A share of the members stands out completely; an AUC hardly sees it."""
    judged, none, degree = (audits.guesses(0.0, rng, members=members, others=others) for _ in range(3))
    score = judged.score + 8 * (judged.truth & (judged.subjects < exposed * members))
    return outcome_of(replace(judged, score=score), none, {"degree": degree}, Scale())


@pytest.mark.parametrize(("members", "others", "least"), [(140, 1000, 0.3), (1000, 1000, 0.8)])
def test_a_leak_of_few_people_is_found(members, others, least):
    rng, times = np.random.default_rng(2), 30
    found = [verdict(few_exposed(rng, members, others), Scale()) for _ in range(times)]
    assert np.mean([judged.level.severity > 0 for judged in found]) >= least
    assert any("whom the attack ranks highest" in judged.reason for judged in found)


def test_few_people_whom_the_public_graph_puts_at_the_top_too_are_no_finding():
    rng = np.random.default_rng(3)
    judged = few_exposed(rng, 1000, 1000)
    assert judged.stands_out
    score = 8.0 * (np.arange(2000) < 50) + rng.normal(size=2000)
    exposed = ScoredSubjects(np.arange(2000), score, np.arange(2000) < 1000)
    others = audits.guesses(0.0, rng, members=1000, others=1000)
    as_well = outcome_of(
        exposed, others, {"degree": replace(exposed, score=score + rng.normal(size=2000))}, Scale()
    )
    assert as_well.top.found
    assert not as_well.stands_out
    assert verdict(as_well, Scale()).level.severity == 0


def test_all_words_agree_on_a_leak_of_few_people():
    """The AUC alone would not tell it; headline, answer and last sentence do."""
    rng = np.random.default_rng(2)
    some = (few_exposed(rng, 1000, 1000) for _ in range(30))
    found = next(one for one in some if one.stands_out and not one.unexplained and one.auc.low <= 0.5)
    base = audits.simulated({("none", None): (0.0, 0.8)}).sections[0].outcomes[0]
    above = replace(found, auc=replace(found.auc, low=0.501))  # told from chance, and not from the baselines
    assert above.of_few
    for attack in (found, above):
        outcome, top = replace(base, attacks=(attack,)), f"{found.top.members:.3g} are members"
        who, how_well = short_answer([outcome], "it")
        last = last_line([outcome], "it")
        assert "tells members from non-members" in who
        assert "tells some members from non-members: of the" in last
        assert top in how_well
        assert top in last
        assert "not shown" not in last


def test_with_no_leak_members_hardly_ever_crowd_the_first_ranks():
    """By chance alone in 2.5 % of cases at most, and once in 1000 tests in more than this test allows."""
    rng, times = np.random.default_rng(4), 400
    for seeds in (1, 3):
        found = []
        for _ in range(times):
            runs, blind = (
                [audits.guesses(0.0, rng, members=60, others=300) for _ in range(seeds)] for _ in range(2)
            )
            found.append(top_ranks(runs, blind, 0.01))
        assert sum(top.found for top in found) <= binom.isf(0.001, times, TOP_LEVEL)
        assert sum(top.beyond_blind <= TOP_LEVEL for top in found) <= binom.isf(0.001, times, TOP_LEVEL)


def test_the_comparison_at_the_top_is_fishers_exact_test():
    rng = np.random.default_rng(5)
    one, other = audits.guesses(1.0, rng, members=80, others=120), audits.guesses(0.3, rng, members=80, others=120)
    first, second = (set(np.argsort(-run.score)[:10]) for run in (one, other))
    alone, elsewhere = (sum(one.truth[list(part)]) for part in (first - second, second - first))
    size = len(first - second)
    table = [[alone, size - alone], [elsewhere, size - elsewhere]]
    assert beyond_at_top([one], [other], 0.05) == pytest.approx(fisher_exact(table, "greater").pvalue, abs=0.04)


def test_where_nobody_has_anybody_to_be_compared_with_nothing_is_at_the_top():
    """Members alone in one stratum and others alone in another: a run of none is compared."""
    alone = ScoredSubjects(
        np.arange(4), np.arange(4.0), np.array([1, 1, 0, 0], bool), strata=np.array([0, 0, 1, 1])
    )
    assert beyond_at_top([alone], [alone], 0.05) == 1.0
    assert top_ranks([alone], [alone], 0.05).people == 0


def test_a_leak_of_few_members_is_not_called_explained():
    """A few members stand out and the AUC hardly moves: nothing shows that the public graph tells as much."""
    rng = np.random.default_rng(1)
    judged = audits.guesses(0.0, rng, members=150, others=1000)
    score = judged.score + 6 * (judged.truth & (judged.subjects < 15))
    none = audits.guesses(0.0, rng, members=150, others=1000)
    outcome = outcome_of(ScoredSubjects(judged.subjects, score, judged.truth), none, {"degree": none})
    found = verdict(outcome, ROUGH)
    assert outcome.auc.low <= 0.5
    assert found.low > 1
    unsure = verdict(replace(outcome, top=None), ROUGH)
    assert unsure.level is Level.INCONCLUSIVE
    assert "whether the public graph explains that cannot be told" in unsure.reason


# --- the rule itself, on findings made by hand


def finding(low: float | None, high: float | None = None) -> Finding:
    estimate = None if low is None else (low + (low if high is None else high)) / 2
    return Finding("made up", estimate, low, high, 0.95, "made up", "valid", "a reason" if low is None else "")


@st.composite
def made_up(draw):
    """An attack with bounds drawn independently of each other."""
    rates = st.none() | st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)
    gap = st.floats(-0.2, 0.2).map(lambda low: finding(low, low + 0.1))
    blind = st.floats(0.3, 0.9).map(lambda low: finding(low, low + 0.1))
    rate = draw(rates)
    auc = draw(st.floats(0.3, 0.6))
    outcome = AttackOutcome(LOSS, 1, "", finding(auc, auc + 0.1), draw(blind), draw(gap), (), finding(0.4, 0.6), {})
    degree = {"degree": BlindBaseline(draw(blind), draw(gap))} if draw(st.booleans()) else {}
    return replace(outcome, baselines=degree, decisive=finding(None) if rate is None else finding(*rate))


@given(made_up(), st.sampled_from([Scale(), ROUGH, Scale(fpr=0.1, moderate=1.5, high=2, severe=4)]))
def test_each_level_has_its_reason(attack, scale):
    found = verdict(attack, scale)
    low = None if attack.decisive.low is None else attack.decisive.low / scale.fpr
    high = None if attack.decisive.high is None else attack.decisive.high / scale.fpr
    ranks, rates = attack.auc.low > 0.5, low is not None and low > 1
    gaps = [attack.beyond_blind.low, *(b.beyond.low for b in attack.baselines.values())]
    beyond = ranks and min(gaps) > 0
    assert (found.low, found.high) == (low, high)
    assert attack.auc.high >= 0.5 or found.level is Level.INCONCLUSIVE
    if found.level is Level.UNSIZED:
        assert beyond
        assert low is None
    elif found.level.severity:
        assert beyond
        assert found.level is scale.level(low)
    elif found.level is Level.NOT_FOUND:
        assert not ranks
        assert not rates
        assert high < scale.moderate
    elif found.level is Level.NOT_ATTRIBUTABLE:
        assert ranks
        assert not beyond
        assert attack.explained
    elif attack.auc.high >= 0.5:  # else it ranks members below others, which shows nothing
        nothing_shown = not ranks and not rates and (high is None or high >= scale.moderate)
        not_sure = ranks and not beyond and not attack.explained
        open_ = (rates and not ranks) or not_sure
        assert nothing_shown or open_
    assert found.reason
    assert "\n" not in found.reason
    assert found.as_dict()["level"] == str(found.level)


def test_an_attack_without_a_rate_has_no_ratio():
    rng = np.random.default_rng(0)
    attack = replace(simulated(0.0, rng), decisive=None)
    found = verdict(attack, ROUGH)
    assert found.level is Level.INCONCLUSIVE
    assert found.as_dict() == {
        "level": "inconclusive",
        "ratio": None,
        "low": None,
        "high": None,
        "reason": found.reason,
    }


# --- the scale


@pytest.mark.parametrize(
    ("ratio", "level"),
    [
        *((0.0, Level.LOW), (1.0, Level.LOW), (2.999, Level.LOW), (3.0, Level.MODERATE), (9.999, Level.MODERATE)),
        *((10.0, Level.HIGH), (29.999, Level.HIGH), (30.0, Level.SEVERE), (100.0, Level.SEVERE)),
    ],
)
def test_a_level_begins_at_its_cut_off(ratio, level):
    assert Scale().level(ratio) is level


@given(st.lists(st.floats(1.01, 1e6), min_size=3, max_size=3, unique=True).map(sorted), st.floats(0, 1e7))
def test_cut_offs_may_be_set(cuts, ratio):
    scale = Scale(moderate=cuts[0], high=cuts[1], severe=cuts[2])
    assert scale.level(ratio).severity == 1 + sum(ratio >= cut for cut in cuts)
    assert [scale.level(cut) for cut in cuts] == [Level.MODERATE, Level.HIGH, Level.SEVERE]


@given(st.permutations([2.0, 5.0, 9.0]))
def test_cut_offs_must_ascend(cuts):
    assume(list(cuts) != sorted(cuts))
    with pytest.raises(InputError, match="moderate < high < severe must hold"):
        Scale.checked("test", dict(zip(("moderate", "high", "severe"), cuts, strict=True)))


@pytest.mark.parametrize(
    "values", [{"moderate": 1}, {"fpr": 0}, {"fpr": 1}, {"severe": math.inf}, {"high": math.nan}, {"mild": 2}]
)
def test_unusable_scales_are_refused(values):
    with pytest.raises(InputError, match=next(iter(values))):
        Scale.checked("test", values)


def test_a_plan_that_overrides_cut_offs_changes_levels_and_no_number():
    audit = audits.simulated({("none", None): (1.0, 0.8)}, seeds=3, members=400, others=2000)
    attack = audit.findings()[0].attack
    mild, strict = verdict(attack, Scale()), verdict(attack, Scale(moderate=1.2, high=1.5, severe=2))
    assert (mild.level, strict.level) == (Level.MODERATE, Level.SEVERE)
    assert (mild.ratio, mild.low, mild.high) == (strict.ratio, strict.low, strict.high)
    plan = {"target": [{"name": "classifier"}], "attack": [{"name": "loss"}], "severity": {"moderate": 1.2}}
    assert Plan.of(plan, "test").severity == Scale(moderate=1.2)


def test_severities_are_ordered_and_nothing_shown_is_none():
    order = [Level.UNSIZED, Level.LOW, Level.MODERATE, Level.HIGH, Level.SEVERE]
    assert [level.severity for level in order] == [1, 1, 2, 3, 4]
    assert {level.severity for level in Level if level not in order} == {0}


def test_the_meaning_of_every_level_follows_from_the_cut_offs():
    for scale in (Scale(), Scale(moderate=2, high=4, severe=8)):
        rows = {row[0]: row[1:] for row in scale.meaning()}
        assert list(rows) == [str(level) for level in Level]
        for level, cut in (
            (Level.MODERATE, scale.moderate),
            (Level.HIGH, scale.high),
            (Level.SEVERE, scale.severe),
        ):
            when, prior, epsilon = rows[str(level)]
            assert f"ratio {cut:g} " in when
            odds = cut / 99  # a prior of 1 %
            assert prior.startswith(f"{100 * odds / (1 + odds):.2g} %")
            assert epsilon == f"below {math.log(cut):.1f}"
        assert rows[str(Level.LOW)][2] == "none"
        assert f"below {scale.moderate:g}" in rows[str(Level.NOT_FOUND)][0]


def test_a_significant_finding_whose_rate_cannot_be_measured_is_a_leak_as_the_meaning_says():
    scale = Scale()
    judged = verdict(simulated(2.0, np.random.default_rng(0), scale=scale, others=50), scale)
    assert judged.level is Level.UNSIZED
    assert "better than guessing does" in judged.reason
    rows = {row[0]: row[1] for row in scale.meaning()}
    assert "cannot be measured" in rows[str(Level.UNSIZED)]
