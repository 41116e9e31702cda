"""GCond on a graph of 60 nodes: what is released, what it starts from, and that it is worth something."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.attacks.membership.nearest import largest_cosine
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.condensation.gcond import GCond
from gaudit.targets.condensation.matching import Learner
from gaudit.targets.models.backbone import GCN, SGC
from gaudit.targets.models.propagation import dense_gcn_operator
from support.condensing import check_headers, check_start, released, run_on_sixty
from support.sixty_nodes import sixty_nodes

TINY = {"ratio": 0.15, "rounds": 4, "outer": 3, "inner": 2, "structure_steps": 1, "feature_steps": 1}
TINY |= {"checkpoints": (2, 4), "lr_features": 0.01, "lr_structure": 0.01, "test": {"hidden": 8, "epochs": 10}}


def ran(seed=0, defense="none", data=None, **changes):
    return run_on_sixty(GCond(**(TINY | changes)), seed, defense, data)


def test_nothing_leaves_but_releases():
    check_headers(ran())


def test_it_starts_from_rows_with_the_labels_of_their_nodes():
    """With steps that move nothing, what is released is what it started from."""
    still = {"lr_features": 1e-12, "lr_structure": 1e-12}
    check_start(ran(**still))
    noise = released(ran(init="noise", **still))[-1]
    assert float(noise.x.abs().max()) < 0.06
    assert ran(init="noise").secrets["label-membership"].groups == {}


def test_what_it_starts_from_is_told_by_the_start():
    run = ran()
    secrets, release = run.secrets["label-membership"], released(run)[-1]
    score = largest_cosine(sixty_nodes().x[secrets.subjects], release.x).numpy()
    copied = secrets.groups["members copied at first"] & secrets.truth
    assert score[copied].min() > 0.99


def test_every_knob_matters():
    base = released(ran())[-1].x
    for change in ({"inner": 0}, {"outer": 1}, {"distance": "mse"}, {"backbone": "gcn"}, {"lr_model": 0.5}):
        assert not torch.equal(base, released(ran(**change))[-1].x)
    assert torch.equal(base, released(ran())[-1].x)


def test_models_trained_on_it_are_better_than_guessing():
    run = ran(rounds=40, checkpoints=(40,), lr_features=0.1, test={"hidden": 16, "epochs": 200})
    assert run.utility.test > 0.8  # three classes of 8 test nodes


@pytest.mark.parametrize("backbone", [GCN, SGC])
def test_a_learner_takes_the_steps_that_autograd_and_adam_take(backbone):
    torch.manual_seed(0)
    x, y, adjacency = torch.randn(9, 5), torch.arange(9) % 3, torch.rand(9, 9)
    operator = dense_gcn_operator((adjacency + adjacency.t()) / 2)
    theta = backbone(5, 8, 3).weights()
    own = {name: value.clone().requires_grad_() for name, value in theta.items()}
    adam = torch.optim.Adam(own.values(), lr=0.05)
    for _ in range(12):
        adam.zero_grad()
        F.cross_entropy(backbone.logits(own, backbone.hidden(own, operator @ x), operator), y).backward()
        adam.step()
    learner = Learner(backbone, theta, 0.05)
    learner.trained(operator @ x, operator, y, 7)
    found = learner.trained(operator @ x, operator, y, 5)  # Adam's state is kept in between
    for name, value in own.items():
        assert torch.allclose(found[name], value, atol=1e-5)


def test_a_ratio_that_leaves_a_class_empty_is_said():
    with pytest.raises(InputError, match="leaves 2 of 3 classes empty"):
        ran(ratio=0.02)


def test_a_loss_that_is_no_number_is_said():
    data = sixty_nodes()
    data.x = data.x * 1e30
    with pytest.raises(InputError, match=r"stops in round 0: the matching loss is (nan|inf)"):
        ran(data=data, backbone="gcn", distance="mse")


def test_checkpoints_lie_within_the_rounds():
    with pytest.raises(InputError, match="between 1 and 4 rounds"):
        GCond(**TINY | {"checkpoints": (5,)})


def test_defenses_of_uploads_have_no_place():
    assert "never sends" in GCond().why_not(find("defenses", "gaussian-uploads")())
    assert "shared model" in GCond().why_not(find("defenses", "ib")()) or GCond().why_not(find("defenses", "ib")())
    changed = released(ran(defense="adversarial-regularisation"))[-1]
    assert not torch.equal(changed.x, released(ran())[-1].x)


def test_labels_that_a_defense_forgets_were_never_copied():
    """Members are told apart by what was copied, not by what the defense left of them."""
    run = ran(defense="fewer-labels", ratio=0.08)
    secrets = run.secrets["label-membership"]
    copied, never = (
        secrets.groups[f"members {how}"] & secrets.truth for how in ("copied at first", "never copied")
    )
    assert not (copied & never).any()
    assert np.array_equal(copied | never, secrets.truth)
    assert copied.sum() == len(released(run)[0].y) < secrets.truth.sum()
