"""What every attack owes: it finds what was planted, nothing where nothing leaks, from what it is given alone."""

import math
from functools import cache

import numpy as np

from ...registry import find
from ..results.assemble import PLANTED_AUC
from ..running.trial import Attacked
from ..statistics.metrics import auc, auc_finding
from .apart import scores_apart
from .chance import ERROR, SEED, chance_of
from .coins import other_coins
from .fingerprint import fingerprint
from .named import check_name
from .planted_runs import (
    Mounted,
    PlantedRun,
    as_planted,
    attack_plan,
    mounted,
    of_others,
    planted_runs,
    redrawn,
)
from .rule import BrokenRuleError, Kept, Rule, must


@cache
def _mounted(attack: str) -> tuple[Mounted, ...]:
    """The attack on what was planted for it, wherever it can be mounted.

    Raises:
        BrokenRuleError: nowhere.
    """
    runs = list(planted_runs(attack))
    found = tuple(one for one in (mounted(attack, run) for run in runs) if one is not None)
    if not found:
        refused = as_planted(attack, runs[0]).refused
        raise BrokenRuleError(f"{attack} could not be mounted on what was planted for it: {_reasons(refused)}")
    return found


def _reasons(refused: dict[str, str]) -> str:
    return "; ".join(dict.fromkeys(refused.values()))


def check_scores(attack: str) -> Kept:
    """It can be mounted on what was planted for it, and gives one finite score for each subject there."""
    return Kept(f"subjects: {len(_mounted(attack)[0].knowledge.subjects)}")


def check_planted_is_found(attack: str) -> Kept:
    """The attack finds what was planted for it, wherever it can be mounted.

    Found is what an audit calls so: an AUC of `PLANTED_AUC`, and an interval above 0.5. An attack that reads no
    message is a baseline. It must find nothing there, since graphs with planted leaks tell nothing by themselves:
    its 99.99 % interval holds 0.5.
    """
    told: list[float] = []
    reads, tried = find("attacks", attack).kinds(), 0
    _mounted(attack)
    for planted in planted_runs(attack):
        for attacked in as_planted(attack, planted).attacked:
            tried += 1
            found = auc_finding([attacked.judged], 0.95 if reads else 1 - ERROR)
            said = f"{attack} on {_where(planted)}: {found.text(3)}"
            if found.estimate is None or found.low is None or found.high is None:
                raise BrokenRuleError(said)
            if reads:
                must(found.estimate >= PLANTED_AUC and found.low > 0.5, said)
            else:
                must(found.low <= 0.5 <= found.high, said)
            told.append(found.estimate)
    return Kept(f"AUC {min(told):.3f} at least" if reads else "", 0.0 if reads else ERROR * tried)


def _where(planted: PlantedRun) -> str:
    return f"{planted.name} {planted.settings}"


def check_blind(attack: str) -> Kept:
    """The blind version has not seen the release: it is at chance about what was planted.

    Graphs with planted leaks tell nothing by themselves, so a blind score that finds something there has seen what
    it must not see. Compared with permutations of the truth, see `check_null`. Pairs of nodes are not independent,
    and links that are known beforehand tell degrees: of pairs the blind version must not find what an audit would
    call found.
    """
    tried = 0
    for planted in planted_runs(attack):
        for attacked in as_planted(attack, planted).attacked:
            judged = attacked.blind
            found = auc(judged.truth, judged.score)
            said = f"{attack} blind on {_where(planted)}: AUC {found:.3f} without the release"
            if judged.nodes is None:
                tried += 1
                must(chance_of(judged) > ERROR, said)
            else:
                must(found < PLANTED_AUC, said)
    return Kept("", ERROR * tried)


def check_scoring(attack: str) -> Kept:
    """With the truth permuted after the fact, the mean AUC over 20 permutations is 0.5.

    Within four standard errors, exact for permutations if no scores are equal (Mann and Whitney 1947); with equal
    scores the error is smaller. This checks how scores become numbers, not the attack.
    """
    attacks = as_planted(attack, next(planted_runs(attack))).attacked
    for attacked in attacks:
        judged, rng = attacked.judged, np.random.default_rng(SEED)
        members = int(judged.truth.sum())
        others = len(judged.truth) - members
        aucs = [auc(again.truth, again.score) for again in (judged.scrambled(rng) for _ in range(20))]
        error = math.sqrt((members + others + 1) / (12 * members * others) / 20)
        must(bool(abs(np.mean(aucs) - 0.5) <= 4 * error), f"{attack}: {np.mean(aucs)} with the truth permuted")
    return Kept("", ERROR * len(attacks))


def check_null(attack: str) -> Kept:
    """An attack that sees the same messages is at chance about a truth that is independent of them.

    The truth is drawn again *before* knowledge is granted, so whatever reaches the attack from the referee's side
    (labels, counts, links told beforehand, the order of subjects, shadow models) goes with the new truth, and only
    what was let out with the old one: nothing leaks. Whoever finds the new truth has seen it. The AUC is compared
    with those of ``DRAWS`` permutations of that truth, which is an exact test: a sound attack fails it with
    probability 1e-4 at most, and as often does its blind version. Of identities it is nearly exact: each of n
    persons is one node only, which leaves the sum of members' ranks at most n / (n - 1) times the variance
    (Hoeffding 1951).
    """
    results = [planted.attacked(attack_plan(attack, planted), redrawn) for planted in planted_runs(attack)]
    found = [attacked for result in results for attacked in result.attacked]
    must(bool(found), f"{attack} could not be mounted: {_reasons(results[0].refused)}")
    return _at_chance(attack, found, "where nothing leaks")


def check_null_of_others(attack: str) -> Kept:
    """An attack that sees messages about other members is at chance about those who are asked for.

    As `check_null`, turned round: the referee, the graph in memory and the graph on the disk keep their truth, and
    the messages come from a run with other members. Whoever finds the truth has it from somewhere else than from
    the messages: from the masks of the graph, or from a copy of it. In games of membership alone.
    """
    moved = [run for run in map(of_others, planted_runs(attack)) if run is not None]
    found = [attacked for run in moved for attacked in run.attacked(attack_plan(attack, run)).attacked]
    return _at_chance(attack, found, "where the messages are about others")


def _at_chance(attack: str, found: list[Attacked], where: str) -> Kept:
    for attacked in found:
        for name, judged in (("", attacked.judged), (" blind", attacked.blind)):
            chance = chance_of(judged)
            value = auc(judged.truth, judged.score)
            must(chance > ERROR, f"{attack}{name}: AUC {value:.3f} {where} (p = {chance:.1g})")
    return Kept("", 2 * ERROR * len(found))


def check_seeded(attack: str) -> Kept:
    """The same view, knowledge and seed give the same scores, whatever else the process drew before."""
    one = _mounted(attack)[0]
    said = []
    for coins in (1, 2):
        with other_coins(coins):
            said.append((one.attack.blind(one.knowledge, one.seed), one.attack(one.view, one.knowledge, one.seed)))
    (blind, scores), (blind_again, again) = said
    must(
        np.array_equal(scores.score, again.score) and np.array_equal(blind.score, blind_again.score),
        f"{attack} gave other scores with the same seed: take randomness from torch's default generators, which "
        "are seeded around each call",
    )
    return Kept()


def check_leaves_alone(attack: str) -> Kept:
    """What it sees and knows is the same after it as before."""
    for one in _mounted(attack):
        before = fingerprint(one.view), fingerprint(one.knowledge)
        one.attack.blind(one.knowledge, one.seed)
        one.attack(one.view, one.knowledge, one.seed)
        after = fingerprint(one.view), fingerprint(one.knowledge)
        changed = [name for name, b, a in zip(("view", "knowledge"), before, after, strict=True) if a != b]
        must(not changed, f"{attack} wrote into its {' and its '.join(changed)}, which other attacks share")
    return Kept()


def check_apart(attack: str) -> Kept:
    """In a process that was told nothing but its view, knowledge and seed it gives the scores of the audit.

    The truth, the graph and the referee are in the memory of the process that runs an audit. An attack that finds
    its way to them says something else where they are not; and so does one whose blind version has been told the
    release by the other, since each is asked afresh there.
    """
    return apart(attack, _mounted(attack)[0])


def apart(attack: str, one: Mounted) -> Kept:
    """`check_apart` of one attack on one run."""
    blind, scores = map(one.as_audited, scores_apart(attack, one))
    must(
        np.array_equal(one.audited.judged.score, scores),
        f"{attack} gives other scores in a process of its own that holds neither truth nor graph: it reads "
        "something else than its view, its knowledge and its seed",
    )
    must(
        np.array_equal(one.audited.blind.score, blind),
        f"{attack} gives other blind scores once it has scored a release: the blind version must know nothing "
        "of it",
    )
    return Kept()


RULES = (
    Rule("name", "It bears its name and says what it is.", lambda name: check_name("attacks", name), first=True),
    Rule(
        "scores",
        "It can be mounted on a leak that is planted for it, and gives one finite score for each subject.",
        check_scores,
        first=True,
    ),
    Rule("planted", "It finds what was planted for it, in every game that it plays.", check_planted_is_found),
    Rule("blind", "Its blind version finds nothing of what was planted.", check_blind),
    Rule("scoring", "Its scores are at chance beside a truth that is permuted afterwards.", check_scoring),
    Rule("null", "It finds nothing of a truth that has nothing to do with the messages.", check_null),
    Rule("others", "It finds nothing where the messages are about other people.", check_null_of_others),
    Rule("seeded", "The same seed gives the same scores.", check_seeded),
    Rule("unchanged", "It leaves what it sees and knows as it is.", check_leaves_alone),
    Rule("apart", "It gives the same scores in a process that never held the truth.", check_apart),
)
"""What attacks owe."""
