"""Shadow-model membership inference by one who holds a client's encoder."""

import numpy as np
import pytest
import torch

from gaudit.attacks.membership.shadow_mia import AdaptiveShadowMIA, ShadowMIA
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.errors import InputError
from gaudit.targets.models.encoder import encoded

SMALL = {
    "model": {"hidden": 32, "epochs": 150, "lr": 0.01},
    "hidden": 16,
    "epochs": 60,
    "features": "sorted",
}


@pytest.fixture
def attack():
    return AdaptiveShadowMIA(**SMALL)


def test_planted_release_in_the_encoders_space_is_found(make_world, publish, bend, attack):
    lows, plain = [], []
    for seed in range(3):
        world = make_world(seed)
        encoder, z = bend(world)
        transcript = publish(world.release(world.members, z), encoder)
        lows.append(auc_finding([world.judged(attack, transcript, "client:0", "none")]).low)
        raw = world.judged(ShadowMIA(**SMALL), transcript, "public", "none")
        plain.append(auc_finding([raw]).estimate)
    assert min(lows) > 0.6
    assert abs(np.mean(plain) - 0.5) < 0.11  # 3.3 deviations of a mean of three AUCs at chance


def test_null_release_of_other_nodes_is_chance(make_world, publish, bend, attack, at_chance):
    runs = []
    for seed in range(16):
        world = make_world(200 + seed)
        encoder, z = bend(world)
        runs.append(
            world.judged(attack, publish(world.release(world.strangers, z), encoder), "client:0", seed=seed)
        )
    at_chance(runs)


def test_null_scrambled_truth_is_chance(world, publish, bend, attack, at_chance):
    encoder, z = bend(world)
    judged = world.judged(attack, publish(world.release(world.members, z), encoder), "client:0", "none")
    at_chance([judged.scrambled(np.random.default_rng(seed)) for seed in range(40)])


def test_it_needs_the_encoder(world, publish, bend, attack):
    encoder, z = bend(world)
    transcript = publish(world.release(world.members, z), encoder)
    assert attack.why_not(transcript.seen_by("client:0"), world.given().knowledge) is None
    for observer in ("public", "server"):
        reason = attack.why_not(transcript.seen_by(observer), world.given().knowledge)
        assert "sees no messages that carry a transformation of features" in reason
        with pytest.raises(InputError, match="does not apply"):
            world.judged(attack, transcript, observer)


def test_truth_does_not_reach_the_scores(world, publish, bend, attack):
    encoder, z = bend(world)
    transcript = publish(world.release(world.members, z), encoder)
    one, other = (w.judged(attack, transcript, "client:0") for w in (world, world.with_other_truth()))
    np.testing.assert_array_equal(one.score, other.score)


def test_a_trivial_encoder_makes_it_the_plain_attack_on_encoded_features(world, publish, attack):
    """An encoder that passes non-negative features through, without edges: nothing but its scale is left."""
    d = world.data.x.shape[1]
    encoder = {
        "w1": torch.eye(d),
        "w2": torch.cat([torch.eye(d), torch.zeros(d, d)], dim=1),
        "shift": torch.zeros(d),
        "scale": torch.ones(d),
    }
    given = world.given("none", knows_defense=True).knowledge
    torch.testing.assert_close(encoded(given.x, given.edges, encoder), given.x)
    transcript = publish(world.release(world.members), encoder)
    found = auc_finding([world.judged(attack, transcript, "client:0", "none")])
    assert found.low > 0.5


@pytest.mark.parametrize("broken", ["w2 missing", "w1 narrow", "scale narrow"])
def test_a_broken_encoder_is_refused(world, publish, bend, attack, broken):
    encoder, z = bend(world)
    name, how = broken.split()
    if how == "missing":
        del encoder[name]
    else:
        encoder[name] = encoder[name][:-1]
    with pytest.raises(InputError, match=name):
        world.judged(attack, publish(world.release(world.members, z), encoder), "client:0")
