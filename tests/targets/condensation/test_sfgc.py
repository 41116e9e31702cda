"""SFGC on a graph of 60 nodes: what is released, what it starts from, and that students reach where they should."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.attacks.membership.nearest import largest_cosine
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.condensation.central import OwnGraph
from gaudit.targets.condensation.coresets import logits
from gaudit.targets.condensation.gradient_distance import allocate_labels
from gaudit.targets.condensation.sfgc import SFGC, CondensedNodes, central_nodes, trajectory_loss
from gaudit.targets.target import no_progress
from support.condensing import check_headers, check_start, released, run_on_sixty
from support.sixty_nodes import sixty_nodes

TINY = {"ratio": 0.15, "hidden": 8, "experts": 2, "start_every": 2, "start_last": 4, "expert_epochs": 10}
TINY |= {"student_steps": 5, "rounds": 4, "checkpoints": (2, 4), "lr_features": 0.01}
TINY |= {"test": {"hidden": 8, "epochs": 10}}
GROUP = "label-membership"


def ran(seed=0, defense="none", data=None, **changes):
    return run_on_sixty(SFGC(**(TINY | changes)), seed, defense, data)


def test_nothing_leaves_but_releases_without_links():
    run = ran()
    check_headers(run)
    assert not any(release.adjacency.any() for release in released(run))
    assert not torch.equal(released(run)[0].x, released(run)[1].x)


def test_it_starts_from_rows_with_the_labels_of_their_nodes():
    """With steps that move nothing, what is released is what it started from."""
    check_start(ran(lr_features=1e-12))


def test_the_rows_are_those_that_k_center_chooses():
    none, seed = find("defenses", "none")(), np.random.SeedSequence(4)
    channel, settings = Channel(retain=lambda _: True), SFGC(**TINY).settings
    graph = OwnGraph.of(sixty_nodes(), none, channel, seed, settings, no_progress)
    y = allocate_labels(graph.owner.class_counts(), 6)
    chosen, said = central_nodes(graph, y, seed), logits(graph, seed)
    mean = said[:6].mean(0)  # of the first class, whose labelled nodes come first
    assert int(chosen[0]) == int((said[:6] - mean).norm(dim=1).argmin())
    assert int(chosen[1]) == int((said[:6] - said[chosen[0]]).norm(dim=1).argmax())
    assert graph.owner.y[chosen].tolist() == y.tolist()


def test_rows_are_taken_again_only_when_none_is_left():
    release = released(ran(ratio=0.4, lr_features=1e-12))[-1]  # 12, 8 and 4 nodes from 6, 4 and 2 rows
    _, times = release.x.round(decimals=4).unique(dim=0, return_counts=True)
    assert times.tolist() == [2] * 12


def test_noise_copies_nobody():
    run = ran(init="noise", lr_features=1e-12)
    assert float(released(run)[-1].x.abs().max()) < 0.06
    assert run.secrets[GROUP].groups == {}


def test_what_it_starts_from_is_told_by_the_start():
    run = ran()
    secrets, release = run.secrets[GROUP], released(run)[-1]
    score = largest_cosine(sixty_nodes().x[secrets.subjects], release.x).numpy()
    assert score[secrets.groups["members copied at first"] & secrets.truth].min() > 0.99


@pytest.mark.dear
def test_every_knob_matters():
    base = released(ran())[-1].x
    changes = [{"experts": 1}, {"optimiser": "adam"}, {"lr_expert": 0.1}, {"decay_expert": 0.1}, {"start_last": 0}]
    changes += [{"start_every": 1}, {"expert_epochs": 12}, {"student_steps": 6}, {"lr_student": 0.1}]
    changes += [{"lr_rate": 10.0}, {"hidden": 9}, {"lr_features": 0.02}]
    for change in changes:
        assert not torch.equal(base, released(ran(**change))[-1].x), change
    assert torch.equal(base, released(ran())[-1].x)


def test_models_trained_on_it_are_better_than_guessing():
    run = ran(
        init="noise",
        expert_epochs=40,
        student_steps=20,
        rounds=60,
        checkpoints=(60,),
        lr_features=0.05,
        test={"hidden": 16, "epochs": 200},
    )
    assert run.utility.test > 0.8  # three classes of 8 test nodes


def unrolled(x, y, rate, start, target, steps):
    """The reference: a perceptron whose gradients autograd takes, and differentiates once more."""
    weights = {name: w.clone().requires_grad_() for name, w in start.items()}
    for _ in range(steps):
        logits = torch.relu(x @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]
        moves = torch.autograd.grad(F.cross_entropy(logits, y), list(weights.values()), create_graph=True)
        weights = {name: w - rate * move for (name, w), move in zip(weights.items(), moves, strict=True)}
    missed = sum((weights[name] - target[name]).square().sum() for name in target)
    return missed / sum((start[name] - target[name]).square().sum() for name in target)


def case(nodes):
    made = torch.Generator().manual_seed(nodes)
    shapes = {"w1": (5, 6), "b1": (6,), "w2": (6, 3), "b2": (3,)}
    start, target = ({n: torch.randn(s, generator=made).double() for n, s in shapes.items()} for _ in range(2))
    x, y = torch.randn(nodes, 5, generator=made).double(), torch.arange(nodes) % 3
    return x.requires_grad_(), y, torch.tensor(0.3).double().requires_grad_(), start, target


@pytest.mark.parametrize(("nodes", "steps"), [(1, 3), (4, 1), (4, 7), (12, 7), (12, 0)])
def test_the_loss_and_its_gradients_are_those_of_the_unrolled_training(nodes, steps):
    x, y, rate, start, target = case(nodes)
    mine = trajectory_loss(x, F.one_hot(y, 3).double(), rate, start, target, steps)
    theirs = unrolled(x, y, rate, start, target, steps)
    assert torch.allclose(mine, theirs)
    if steps == 0:
        assert float(mine.detach()) == pytest.approx(1)
        return
    for one, other in zip(
        torch.autograd.grad(mine, (x, rate)), torch.autograd.grad(theirs, (x, rate)), strict=True
    ):
        assert float(other.abs().max()) > 1e-4
        assert torch.allclose(one, other)


def test_the_gradients_are_finite_differences():
    x, y, rate, start, target = case(4)
    one_hot = F.one_hot(y, 3).double()
    assert torch.autograd.gradcheck(lambda x, rate: trajectory_loss(x, one_hot, rate, start, target, 6), (x, rate))


def test_matching_brings_students_nearer():
    x, y, _, start, target = case(9)
    start, target = ({name: w.float() for name, w in weights.items()} for weights in (start, target))
    nodes = CondensedNodes(SFGC(**TINY | {"lr_features": 0.05, "lr_rate": 0.01}).settings, x.detach().float(), y, 3)

    def missed():
        return float(trajectory_loss(nodes.x, nodes.one_hot, nodes.rate, start, target, 5).detach())

    before, rate = missed(), float(nodes.rate)
    for round_ in range(100):
        nodes.match(start, target, round_)
    assert missed() < 0.7 * before
    assert float(nodes.rate) != rate
    assert not nodes.release().x.requires_grad


def test_a_defense_of_the_training_acts_through_the_experts():
    assert SFGC().why_not(find("defenses", "adversarial-regularisation")()) is None
    changed = released(ran(defense="adversarial-regularisation"))[-1]
    assert not torch.equal(changed.x, released(ran())[-1].x)
    assert "never sends" in SFGC().why_not(find("defenses", "gaussian-uploads")())


def test_a_ratio_that_leaves_a_class_empty_is_said():
    with pytest.raises(InputError, match="leaves 2 of 3 classes empty"):
        ran(ratio=0.02)


def test_a_loss_that_is_no_number_is_said():
    data = sixty_nodes()
    data.x = data.x * 1e30
    with pytest.raises(InputError, match=r"stops in round 1: the matching loss is (nan|inf); lower") as caught:
        ran(data=data, init="noise")
    assert "\n" not in str(caught.value)


def test_checkpoints_lie_within_the_rounds():
    with pytest.raises(InputError, match="between 1 and 4 rounds"):
        SFGC(**TINY | {"checkpoints": (5,)})


def test_presets_are_settings():
    data = Data()
    data.name = "Cora"
    paper, quick = (SFGC(**SFGC.preset(preset, data)).settings for preset in ("paper", "quick"))
    assert paper.ratio == 0.026
    assert paper.features == "row-shares"
    assert quick.rounds * quick.student_steps * 4 < paper.rounds * paper.student_steps
    with pytest.raises(InputError, match="preset"):
        SFGC.preset("slow", data)
