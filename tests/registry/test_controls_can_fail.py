"""The rules of registered classes find fault with classes that are wrong."""

import numpy as np
import pytest
from scipy.stats import binom

from gaudit.audit.conformance import attack_rules, chance, defense_rules, other_rules, target_rules
from gaudit.audit.conformance.defense_words import IN_WORDS
from gaudit.audit.conformance.named import check_name
from gaudit.audit.conformance.planted_runs import planted_runs, redrawn
from gaudit.audit.conformance.rule import BrokenRuleError
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.defense import Defense
from support.failing_classes import LosingWalk, LuckyBaseline, MembersFirst, Peek, SameUploads, TellsTruth


def own(name: str) -> str:
    return f"support.failing_classes:{name}"


@pytest.fixture
def told(monkeypatch):
    """Whoever peeks knows the truth of the planted leak, also one that is drawn again."""
    x = load_dataset("planted").x

    def leaking(secrets):
        again = redrawn(secrets)
        Peek.told(again, x)
        return again

    Peek.told(next(planted_runs("loss")).run.secrets["label-membership"], x)
    monkeypatch.setattr(LuckyBaseline, "truth", Peek.truth, raising=False)
    monkeypatch.setattr(attack_rules, "redrawn", leaking)


# --- attacks


def test_attack_that_draws_its_scores_misses_what_is_planted():
    with pytest.raises(BrokenRuleError, match="Guess on planted"):
        attack_rules.check_planted_is_found(own("Guess"))
    attack_rules.check_null(own("Guess"))


def test_attack_that_cannot_be_mounted_on_what_is_planted_has_no_control():
    with pytest.raises(BrokenRuleError, match="could not be mounted"):
        attack_rules.check_planted_is_found(own("Unmountable"))
    with pytest.raises(BrokenRuleError, match="could not be mounted"):
        attack_rules.check_null(own("Unmountable"))


def test_baseline_that_finds_something_without_a_message_is_wrong(told):
    with pytest.raises(BrokenRuleError, match="LuckyBaseline on planted"):
        attack_rules.check_planted_is_found(own("LuckyBaseline"))


def test_attack_that_has_seen_the_truth_finds_it_where_nothing_leaks(told):
    with pytest.raises(BrokenRuleError, match=r"Peek: AUC 1\.000 where nothing leaks"):
        attack_rules.check_null(own("Peek"))


def test_scoring_that_does_not_permute_the_truth_is_wrong(monkeypatch):
    monkeypatch.setattr(ScoredSubjects, "scrambled", lambda self, rng: self)
    with pytest.raises(BrokenRuleError, match="with the truth permuted"):
        attack_rules.check_scoring("loss")


def test_chance_is_exact(monkeypatch):
    """Of 400 truths drawn by lot, no more have a chance of 0.05 than a binomial allows but once in 1,000 times."""
    monkeypatch.setattr(chance, "DRAWS", 199)
    rng = np.random.default_rng(0)
    for values in (rng.random(60), rng.integers(0, 3, 60).astype(float)):
        draws = (ScoredSubjects(np.arange(60), values, rng.permutation(60) < 20) for _ in range(400))
        few = sum(chance.chance_of(draw) <= 0.05 for draw in draws)
        assert few <= binom.ppf(0.999, 400, 0.05)
    sure = ScoredSubjects(np.arange(60), np.arange(60.0), np.arange(60) < 20)
    assert chance.chance_of(sure) == 1 / 200


# --- defenses


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SameNetwork", "holds whatever was published"),
        ("NeverHolds", "nobody is told from anybody: looked at"),
        ("NeverChecks", "does not verify what it made"),
        ("OnlyWords", "nothing here checks that"),
        ("BrokenPromise", "refuted: epsilon is above"),
        ("OtherUnit", "names no"),
        ("SecretPromise", "'guarantee' is None"),
    ],
)
def test_defense_that_does_not_keep_what_it_guarantees_is_wrong(name, message):
    with pytest.raises(BrokenRuleError, match=message):
        defense_rules.check_guarantee(own(name))


@pytest.mark.parametrize(
    ("name", "wrong"), [("no-features", Defense), ("noise-instead", SameUploads), ("random-walk", LosingWalk)]
)
def test_what_is_claimed_in_words_is_not_kept_by_any_class(name, wrong):
    IN_WORDS[name](find("defenses", name)())
    with pytest.raises(BrokenRuleError):
        IN_WORDS[name](wrong())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("OnlyWords", "unknown defense 'no-such-defense'"),
        ("BrokenPromise", "label-noise is not trivial"),
        ("Idle", "does nothing"),
        ("Alone", "names no trivial alternative"),
        ("Homeless", "no target has a place for"),
    ],
)
def test_defense_without_a_trivial_alternative_in_the_same_place_is_wrong(name, message):
    with pytest.raises((BrokenRuleError, InputError), match=message):
        defense_rules.check_alternative(own(name))


# --- targets


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Unnamed", "sent model, which its 'sends' does not name"),
        ("Undeclared", "which nobody declared"),
        ("Silent", "never let out its release"),
    ],
)
def test_target_that_does_not_say_what_it_sends_is_wrong(name, message):
    with pytest.raises((BrokenRuleError, InputError), match=message):
        target_rules.check_messages(own(name))


def test_target_without_both_truths_is_wrong():
    with pytest.raises(BrokenRuleError, match="everybody is a member"):
        target_rules.check_games(own("AllMembers"))


def test_game_that_nobody_knows_or_plays_is_wrong(monkeypatch):
    with pytest.raises(BrokenRuleError, match="nothing says what that protects"):
        target_rules.check_games(own("UnheardOf"))
    known = target_rules.registered

    def with_it(group):
        return {**known(group), **({"unheard-of": None} if group == "games" else {})}

    monkeypatch.setattr(target_rules, "registered", with_it)
    with pytest.raises(BrokenRuleError, match="no attack that plays unheard-of"):
        target_rules.check_games(own("UnheardOf"))


# --- what plug-ins may do wrong besides


def breaks(check, name: str, message: str) -> None:
    with pytest.raises(BrokenRuleError, match=message):
        check(own(name))


def test_attack_that_copies_the_masks_of_the_graph_is_found_by_messages_about_others():
    """It passes where the truth is drawn again: what it reads is the truth of the run, and not that one."""
    attack_rules.check_planted_is_found(own("ReadsMasks"))
    attack_rules.check_null(own("ReadsMasks"))
    breaks(attack_rules.check_null_of_others, "ReadsMasks", r"AUC 1\.000 where the messages are about others")


def test_attack_that_reaches_for_the_referee_is_found():
    attack_rules.check_planted_is_found(own("ReadsFrames"))
    breaks(attack_rules.check_null, "ReadsFrames", r"AUC 1\.000 where nothing leaks")
    breaks(attack_rules.check_apart, "ReadsFrames", "it reads something else than its view")


@pytest.mark.parametrize(
    ("check", "name", "message"),
    [
        ("check_blind", "BlindKnows", "BlindKnows blind on planted .* without the release"),
        ("check_apart", "BlindKnows", "other blind scores once it has scored a release"),
        ("check_seeded", "GlobalCoins", "other scores with the same seed"),
        ("check_seeded", "Remembers", "other scores with the same seed"),
        ("check_leaves_alone", "WritesView", "wrote into its view, which other attacks share"),
        ("check_leaves_alone", "WritesKnowledge", "wrote into its knowledge, which"),
    ],
)
def test_attack_that_does_not_go_by_what_it_is_given_is_wrong(check, name, message):
    breaks(getattr(attack_rules, check), name, message)


@pytest.mark.parametrize("name", ["SaysNaN", "SaysTooLittle"])
def test_attack_without_a_finite_score_for_each_subject_is_wrong(name):
    with pytest.raises(RuntimeError, match="must give one finite score per subject"):
        attack_rules.check_scores(own(name))


def test_attack_whose_planted_leak_is_not_there_is_wrong():
    with pytest.raises(InputError, match="unknown target 'no-such-leak'"):
        attack_rules.check_scores(own("Unplanted"))


def test_class_without_words_of_its_own_is_wrong():
    with pytest.raises(BrokenRuleError, match="it has no docstring"):
        check_name("attacks", own("Wordless"))


@pytest.mark.parametrize(
    ("check", "name", "message"),
    [
        ("check_changes", "SameUploads", "changes nothing that is sent or published by"),
        ("check_changes", "SameNetwork", "changes nothing that is sent or published by"),
        ("check_seeded", "CoinsOfTheProcess", "sent something else with the same seed"),
        ("check_leaves_alone", "WritesNetwork", "wrote into the network that it is given"),
        ("check_leaves_alone", "WritesClient", "wrote into the data of a client"),
        ("check_guarantee", "TooSure", "no answer is surer than 0.5: "),
        ("check_guarantee", "SureOfItself", "holds whatever is sent"),
        ("check_guarantee", "SilentOnMessages", "does not verify what it made of a message"),
    ],
)
def test_defense_that_does_not_do_what_it_is_for_is_wrong(check, name, message):
    breaks(getattr(defense_rules, check), name, message)


def test_defense_whose_check_of_messages_can_fail_keeps_its_guarantee():
    assert defense_rules.check_guarantee(own("Capped")).told == "no answer is surer than 0.5"


@pytest.mark.parametrize(
    ("check", "name", "message"),
    [
        ("check_channel", "Beside", r"'model' from server to public in round \d into the transcript beside"),
        ("check_channel", "Uncounted", "other numbers of messages or bytes"),
        ("check_channel", "WritesSent", "changed the message .* after it was sent"),
        ("check_seeded", "TargetOfTheProcess", "sent something else, or drew another truth, with the same seed"),
        ("check_leaves_nothing", "LeavesTruth", r"leaves something behind in LeavesTruth\.left"),
        ("check_leaves_nothing", "LeavesInModule", r"leaves something behind in .*failing_classes\.LEFT"),
        ("check_games", "NoGame", "offers no game"),
    ],
)
def test_target_that_goes_beside_the_channel_is_wrong(check, name, message):
    breaks(getattr(target_rules, check), name, message)


@pytest.mark.parametrize("group", other_rules.RULES)
def test_every_group_begins_with_its_words(group):
    first, *_ = other_rules.RULES[group]
    assert first.first


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (TellsTruth, "grants .* other labels where others are members"),
        (MembersFirst, "hands over subjects in another order than ascending"),
    ],
)
def test_game_that_grants_the_truth_is_wrong(monkeypatch, game, message):
    of_target = other_rules._secrets

    def told(target, name):
        secrets = of_target(target, name)
        return None if secrets is None else game(subjects=secrets.subjects, truth=secrets.truth)

    monkeypatch.setattr(other_rules, "_secrets", told)
    with pytest.raises(BrokenRuleError, match=message):
        other_rules.check_grant("label-membership")
