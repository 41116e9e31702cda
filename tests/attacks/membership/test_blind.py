"""The attack that sees nothing: what members and others give away by themselves."""

import numpy as np
import torch

from gaudit.attacks.membership.blind import Blind
from gaudit.attacks.membership.shadow_mia import ShadowMIA
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.targets.transcript import Transcript, View

SMALL = {
    "model": {"hidden": 32, "epochs": 150, "lr": 0.01},
    "hidden": 16,
    "epochs": 60,
    "features": "sorted",
}
NOTHING = Transcript()


def test_planted_difference_of_features_is_found(make_world):
    """Members are long texts: any model is surer of them, and sureness is what the attack model reads."""
    lows = []
    for seed in range(3):
        world = make_world(seed)
        x = world.data.x.clone()
        x[world.members] *= 4
        found = auc_finding([world.with_features(x).judged(Blind(**SMALL), NOTHING, neighbours="none")])
        lows.append(found.low)
    assert min(lows) > 0.6


def test_null_without_difference_is_chance(make_world, at_chance):
    worlds = [make_world(seed) for seed in range(300, 316)]
    at_chance([w.judged(Blind(**SMALL), NOTHING, seed=i) for i, w in enumerate(worlds)])


def test_null_scrambled_truth_is_chance(world, at_chance):
    x = world.data.x.clone()
    x[world.members] *= 4
    judged = world.with_features(x).judged(Blind(**SMALL), NOTHING, neighbours="none")
    at_chance([judged.scrambled(np.random.default_rng(seed)) for seed in range(40)])


def test_a_release_changes_nothing(world, publish):
    one = world.judged(Blind(**SMALL), publish(world.release(world.members)))
    np.testing.assert_array_equal(one.score, world.judged(Blind(**SMALL), NOTHING).score)


def test_it_applies_to_an_empty_view(world):
    assert Blind().why_not(View("public", ()), world.given().knowledge) is None


def test_truth_does_not_reach_the_scores(world):
    one, other = (w.judged(Blind(**SMALL), NOTHING) for w in (world, world.with_other_truth()))
    np.testing.assert_array_equal(one.score, other.score)


def test_it_is_the_baseline_of_the_shadow_attack_up_to_the_draw(make_world):
    """Same features, same models: over a planted difference both find about the same."""
    world = make_world(1)
    x = world.data.x.clone()
    x[world.members] *= 4
    world = world.with_features(x)
    own = auc_finding([world.judged(Blind(**SMALL), NOTHING, neighbours="none")])
    baseline = auc_finding([world.judged_blind(ShadowMIA(**SMALL), neighbours="none")])
    assert own.low <= baseline.estimate <= own.high


def test_labels_of_subjects_are_not_known(world):
    known = world.given().knowledge
    assert bool((known.labels[known.subjects] == -1).all())
    torch.testing.assert_close(known.labels[known.shadow] >= 0, torch.ones(len(known.shadow)).bool())
