"""The controls of registered classes find fault with classes that are wrong."""

import numpy as np
import pytest
from scipy.stats import binom

from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.defense import Defense
from support import registry_controls as controls
from support.failing_classes import LosingWalk, LuckyBaseline, Peek, SameUploads


def own(name: str) -> str:
    return f"support.failing_classes:{name}"


@pytest.fixture
def told(monkeypatch):
    """Whoever peeks knows the truth of the planted leak, also one that is drawn again."""
    x, redrawn = load_dataset("planted").x, controls.redrawn

    def leaking(secrets):
        again = redrawn(secrets)
        Peek.told(again, x)
        return again

    Peek.told(next(controls.controls("loss")).run.secrets["label-membership"], x)
    monkeypatch.setattr(LuckyBaseline, "truth", Peek.truth, raising=False)
    monkeypatch.setattr(controls, "redrawn", leaking)


# --- attacks


def test_attack_that_draws_its_scores_misses_what_is_planted():
    with pytest.raises(AssertionError, match="Guess on planted"):
        controls.check_planted_is_found(own("Guess"))
    controls.check_null(own("Guess"))


def test_attack_that_cannot_be_mounted_on_what_is_planted_has_no_control():
    with pytest.raises(AssertionError, match="could not be mounted"):
        controls.check_planted_is_found(own("Unmountable"))
    with pytest.raises(AssertionError, match="could not be mounted"):
        controls.check_null(own("Unmountable"))


def test_baseline_that_finds_something_without_a_message_is_wrong(told):
    with pytest.raises(AssertionError, match="LuckyBaseline on planted"):
        controls.check_planted_is_found(own("LuckyBaseline"))


def test_attack_that_has_seen_the_truth_finds_it_where_nothing_leaks(told):
    with pytest.raises(AssertionError, match=r"Peek: AUC 1\.000 where nothing leaks"):
        controls.check_null(own("Peek"))


def test_scoring_that_does_not_permute_the_truth_is_wrong(monkeypatch):
    monkeypatch.setattr(ScoredSubjects, "scrambled", lambda self, rng: self)
    with pytest.raises(AssertionError, match="with the truth permuted"):
        controls.check_scoring("loss")


def test_chance_is_exact(monkeypatch):
    """Of 400 truths drawn by lot, no more have a chance of 0.05 than a binomial allows but once in 1,000 times."""
    monkeypatch.setattr(controls, "DRAWS", 199)
    rng = np.random.default_rng(0)
    for values in (rng.random(60), rng.integers(0, 3, 60).astype(float)):
        draws = (ScoredSubjects(np.arange(60), values, rng.permutation(60) < 20) for _ in range(400))
        few = sum(controls.chance_of(draw) <= 0.05 for draw in draws)
        assert few <= binom.ppf(0.999, 400, 0.05)
    sure = ScoredSubjects(np.arange(60), np.arange(60.0), np.arange(60) < 20)
    assert controls.chance_of(sure) == 1 / 200


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
    with pytest.raises(AssertionError, match=message):
        controls.check_guarantee(own(name))


@pytest.mark.parametrize(
    ("name", "wrong"), [("no-features", Defense), ("noise-instead", SameUploads), ("random-walk", LosingWalk)]
)
def test_what_is_claimed_in_words_is_not_kept_by_any_class(name, wrong):
    controls.IN_WORDS[name](find("defenses", name)())
    with pytest.raises(AssertionError):
        controls.IN_WORDS[name](wrong())


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
    with pytest.raises((AssertionError, InputError), match=message):
        controls.check_alternative(own(name))


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
    with pytest.raises((AssertionError, InputError), match=message):
        controls.check_messages(own(name))


def test_target_without_both_truths_is_wrong():
    with pytest.raises(AssertionError, match="everybody is a member"):
        controls.check_games(own("AllMembers"))


def test_game_that_nobody_knows_or_plays_is_wrong(monkeypatch):
    with pytest.raises(AssertionError, match="nothing says what that protects"):
        controls.check_games(own("UnheardOf"))
    known = controls.ours
    monkeypatch.setattr(controls, "ours", lambda group: [*known(group), *["unheard-of"] * (group == "games")])
    with pytest.raises(AssertionError, match="no attack that plays unheard-of"):
        controls.check_games(own("UnheardOf"))
