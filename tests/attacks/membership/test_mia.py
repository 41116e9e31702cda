"""Shadow-model membership inference on a condensed graph."""

import numpy as np
import pytest
import torch

from gaudit.attacks.membership.shadow_mia import ShadowMIA
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.errors import InputError
from gaudit.targets.condensation.condensed import CondensedGraph

SMALL = {"model": {"hidden": 32, "epochs": 150, "lr": 0.01}, "hidden": 16, "epochs": 60}


def mia(**settings):
    return ShadowMIA(**SMALL | settings)


@pytest.mark.parametrize("features", ["posterior", "sorted"])
def test_planted_rows_with_labels_are_found(make_world, publish, features):
    worlds = [make_world(seed) for seed in range(3)]
    runs = [w.judged(mia(features=features), publish(w.release(w.members)), neighbours="none") for w in worlds]
    assert min(auc_finding([run]).low for run in runs) > 0.5
    assert np.mean([auc_finding([run]).estimate for run in runs]) > 0.7


def test_planted_rows_are_found_with_true_neighbours(make_world, publish):
    worlds = [make_world(seed) for seed in range(3)]
    runs = [w.judged(mia(features="sorted"), publish(w.release(w.members))) for w in worlds]
    findings = [auc_finding([run]) for run in runs]
    assert np.mean([f.low for f in findings]) > 0.5


def test_null_release_of_other_nodes_is_chance(make_world, publish, at_chance):
    worlds = [make_world(seed) for seed in range(100, 116)]
    at_chance([w.judged(mia(), publish(w.release(w.strangers)), seed=i) for i, w in enumerate(worlds)])


def test_null_scrambled_truth_is_chance(world, publish, at_chance):
    judged = world.judged(mia(), publish(world.release(world.members)), neighbours="none")
    at_chance([judged.scrambled(np.random.default_rng(seed)) for seed in range(40)])


def test_truth_does_not_reach_the_scores(world, publish):
    transcript = publish(world.release(world.members))
    one, other = (w.judged(mia(), transcript) for w in (world, world.with_other_truth()))
    assert not np.array_equal(one.truth, other.truth)
    np.testing.assert_array_equal(one.score, other.score)


def test_same_seed_same_scores(world, publish):
    transcript = publish(world.release(world.members))
    one = world.judged(mia(), transcript)
    torch.rand(7)  # what others drew before does not matter
    np.testing.assert_array_equal(one.score, world.judged(mia(), transcript).score)
    assert not np.array_equal(one.score, world.judged(mia(), transcript, seed=1).score)


def test_attacking_leaves_torchs_generator_as_it_was(world, publish):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    world.judged(mia(), publish(world.release(world.members)))
    assert torch.equal(torch.rand(1), expected)


def test_neighbours_change_what_is_asked(world, publish):
    transcript = publish(world.release(world.members))
    edges = {n: world.given(n).knowledge.edges.shape[1] for n in ("true", "partial", "none")}
    assert edges["true"] > edges["partial"] > edges["none"] == 0
    true, partial, none = (world.judged(mia(), transcript, neighbours=n).score for n in edges)
    assert len({tuple(true), tuple(partial), tuple(none)}) == 3


def test_more_epochs_on_the_release_change_the_scores(world, publish):
    transcript = publish(world.release(world.members))
    longer = mia(model=SMALL["model"] | {"epochs": 20})
    assert not np.array_equal(world.judged(mia(), transcript).score, world.judged(longer, transcript).score)


def test_links_of_the_release_are_used(world, publish):
    release = world.release(world.members)
    linked = torch.ones_like(release.adjacency).fill_diagonal_(0)
    plain, other = (
        world.judged(mia(), publish(r)).score for r in (release, CondensedGraph(release.x, release.y, linked))
    )
    assert not np.array_equal(plain, other)


@pytest.mark.parametrize("how", ["width", "nan"])
def test_a_broken_release_is_refused(world, publish, how):
    tensors = world.release(world.members).tensors()
    tensors["x"] = tensors["x"][:, 1:] if how == "width" else tensors["x"] / 0
    with pytest.raises(InputError, match="features" if how == "width" else "not finite"):
        world.judged(mia(), publish(tensors))


def test_a_label_beyond_the_classes_is_refused(world, publish):
    tensors = world.release(world.members).tensors()
    with pytest.raises(InputError, match="label"):
        world.judged(mia(), publish({**tensors, "y": tensors["y"] + 7}))


def test_a_negative_link_is_refused(world, publish):
    tensors = world.release(world.members).tensors()
    with pytest.raises(InputError, match="adjacency"):
        world.judged(mia(), publish({**tensors, "adjacency": tensors["adjacency"] - 1}))


def test_without_a_release_it_does_not_apply(world, publish):
    transcript = publish(world.release(world.members))
    transcript.messages.pop()
    with pytest.raises(InputError, match=r"'mia' does not apply.*that carry a condensed graph"):
        world.judged(mia(), transcript)


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"hiden": 3}, "did you mean 'hidden'"), ({"epochs": 0}, "'epochs'"), ({"model": {"lr": -1}}, "model.lr")],
)
def test_settings_are_checked(settings, says):
    with pytest.raises(InputError, match=says):
        ShadowMIA(**settings)
