"""The training loop keeps what it promises, and randomness follows the seed and nothing else."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaudit.randomness import branch, integer, seeded
from gaudit.targets.models.training import fit


def walk(epochs, scores=None, **settings):
    """Trains one weight from 0 upwards; ``scores(weight)`` is the check. Also the weights at all checks."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    checked = []

    def check():
        checked.append(model.weight.item())
        return scores(model.weight.item())

    settings = {"lr": 0.1, "weight_decay": 0.0} | settings
    check_or_none = None if scores is None else check
    best = fit(model, lambda: -model.weight.sum(), epochs=epochs, check=check_or_none, **settings)
    return model.weight.item(), best, checked, model


def test_without_a_check_the_last_weights_are_kept():
    weight, best, _, model = walk(20)
    assert best is None
    assert weight == pytest.approx(2.0, rel=1e-3)  # Adam goes lr per step while the gradient stays
    assert not model.training


def test_the_best_of_the_checked_weights_are_kept():
    weight, best, checked, model = walk(50, lambda w: -abs(w - 2.1))
    assert checked == pytest.approx([0, 1, 2, 3, 4, 5], rel=1e-3)
    assert weight == pytest.approx(2.0, rel=1e-3)
    assert best == pytest.approx(-0.1, abs=1e-2)
    assert not model.training


def test_untouched_weights_are_kept_if_training_only_harms():
    weight, best, checked, _ = walk(30, lambda w: -w)
    assert (weight, best) == (0, 0)
    assert len(checked) == 4


def test_the_last_epoch_is_checked_whatever_the_interval():
    weight, best, checked, _ = walk(13, lambda w: w, every=5)
    assert checked == pytest.approx([0, 0.5, 1.0, 1.3], rel=1e-3)
    assert best == weight == checked[-1]


def test_of_equals_the_earliest_is_kept():
    weight, _, _, _ = walk(30, lambda w: float(w > 0.5))
    assert weight == pytest.approx(1.0, rel=1e-3)


def test_checks_are_made_in_evaluation_mode_and_steps_in_training_mode():
    model, modes = torch.nn.Linear(1, 1), {"loss": [], "check": []}

    def loss():
        modes["loss"].append((model.training, torch.is_grad_enabled()))
        return model(torch.ones(1, 1)).sum()

    def check():
        modes["check"].append((model.training, torch.is_grad_enabled()))
        return 0.0

    fit(model, loss, epochs=4, lr=0.1, check=check, every=2)
    assert modes == {"loss": [(True, True)] * 4, "check": [(False, False)] * 3}


def test_learning_rate_drops_to_a_tenth():
    weight, _, _, _ = walk(20, drop_lr_at=0.5)
    assert weight == pytest.approx(1.1, rel=1e-3)


def test_weight_decay_pulls_to_zero():
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    fit(model, lambda: 0 * model.weight.sum(), epochs=5, lr=0.1, weight_decay=0.1)
    assert model.weight.item() == pytest.approx(0.5, abs=0.01)


def test_seeded_gives_the_global_generator_back():
    seed = np.random.SeedSequence(5)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with seeded(seed):
        inside = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(1)
    with pytest.raises(KeyError), seeded(seed):
        raise KeyError(float(torch.rand(1)))
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(2)
    with seeded(seed):
        assert torch.equal(torch.rand(3), inside)
    with seeded(branch(seed, 0)):
        assert not torch.equal(torch.rand(3), inside)


def stream(*path, seed=3):
    return tuple(branch(np.random.SeedSequence(seed), *path).generate_state(4).tolist())


def test_paths_give_streams_of_their_own():
    paths = [
        (),
        (0,),
        (1,),
        (1, 0),
        (0, 1),
        ("a",),
        ("b",),
        ("a", "b"),
        ("b", "a"),
        ("ab",),
        ("a", 1),
        (1, "a"),
        (97,),
    ]
    paths += [
        ("self-training",),
        ("self-training-x",),
        ("self-tra",),
        ("evaluate", 1),
        ("evaluate", 10),
        ("evaluate1",),
    ]
    assert len({stream(*path) for path in paths}) == len(paths)
    assert stream("a") != stream("a", seed=4)


@given(st.text(min_size=8, max_size=8), st.text(max_size=6), st.text(max_size=6))
def test_names_with_the_same_beginning_do_not_collide(start, one, other):
    assert (stream(start + one) == stream(start + other)) == (one == other)


def test_branches_do_not_depend_on_who_asked_before():
    seed = np.random.SeedSequence(3)
    first = branch(seed, "a").generate_state(4).tolist()
    branch(seed, "b").spawn(2)
    seed.spawn(3)
    assert branch(seed, "a").generate_state(4).tolist() == first
    # a step at a time is the same as all at once
    assert branch(branch(seed, "a"), 7).generate_state(4).tolist() == list(stream("a", 7))


def test_integers_fit_into_63_bits_and_differ():
    values = {integer(branch(np.random.SeedSequence(0), i)) for i in range(200)}
    assert len(values) == 200
    assert all(0 <= value < 2**63 for value in values)
