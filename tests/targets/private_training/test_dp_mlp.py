"""DP-SGD on single rows: edges change nothing, the model is what answers, and promises are checked."""

import pytest
import torch

from gaudit.errors import InputError
from support.private_training import ran, told
from support.sixty_nodes import sixty_nodes


def test_edges_change_nothing():
    data = sixty_nodes()
    without = data.clone()
    without.edge_index = data.edge_index[:, :2]
    one, other = (told(ran("dp-mlp", d), "model") for d in (data, without))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("project", [0, 8])
def test_answers_are_the_published_models(project):
    """The public projection is part of the published weights."""
    data = sixty_nodes()
    run = ran("dp-mlp", data, project=project)
    weights, table = told(run, "model"), told(run, "posteriors-full")
    hidden = torch.relu(data.x @ weights["w1"] + weights["b1"])
    logits = hidden @ weights["w2"] + weights["b2"]
    assert torch.allclose(table["posteriors"], logits.softmax(1), atol=1e-5)


def test_the_promise_is_in_the_notes():
    (note,) = (n for n in ran("dp-mlp", sixty_nodes(), epsilon=2.0).notes if "one of them blank in one input" in n)
    assert "e^2 = 7.39 times" in note


def test_a_delta_that_means_little_is_said():
    assert any("not below 1 / 60" in note for note in ran("dp-mlp", sixty_nodes(), delta=0.1).notes)


def test_an_epsilon_that_no_noise_reaches_is_one_line():
    with pytest.raises(InputError, match="no noise reaches epsilon") as caught:
        ran("dp-mlp", sixty_nodes(), epsilon=0.001, delta=1e-6)
    assert "\n" not in str(caught.value)


def test_more_epsilon_less_noise():
    """Without noise to speak of it learns what the sixty nodes' features say."""
    accuracies = [ran("dp-mlp", sixty_nodes(), epsilon=e, steps=60).utility.test for e in (0.1, 1e5)]
    assert accuracies[1] > 0.6
    assert accuracies[0] < accuracies[1]


def test_a_term_in_the_loss_is_refused():
    with pytest.raises(InputError, match="not be clipped"):
        ran("dp-mlp", sixty_nodes(), defense="adversarial-regularisation")


@pytest.mark.parametrize("defense", ["ib-subgraph", "fewer-edges", "edge-randomised-response"])
def test_a_defense_that_chooses_from_many_nodes_at_once_is_refused(defense):
    with pytest.raises(InputError, match="would not follow"):
        ran("dp-mlp", sixty_nodes(), defense=defense)


@pytest.mark.parametrize("defense", ["label-noise", "one-bit-features", "no-features"])
def test_a_defense_of_each_node_alone_has_its_place(defense):
    run = ran("dp-mlp", sixty_nodes(), defense=defense)
    assert run.promise is not None
    assert not any("published answers" in note for note in run.notes)  # they read what the defense made


@pytest.mark.parametrize("name", ["dp-mlp", "dp-gnn", "gap-ndp"])
def test_guarantee_a_blank_node_moves_nobody_in_or_out_of_training(name):
    """One clip is what noise is for; with a node less, two of five splits would have another in its place."""
    data, node = sixty_nodes(), 17
    blank = data.clone()
    blank.x[node], blank.y[node] = 0, (data.y[node] + 1) % 3
    blank.edge_index = data.edge_index[:, (data.edge_index != node).all(0)]
    one, other = (ran(name, d, split="60/20/20").secrets["label-membership"] for d in (data, blank))
    assert (one.subjects == other.subjects).all()
    assert (one.truth == other.truth).all()
    assert ran(name, data).promise.adjacency == "zero-out"


@pytest.mark.parametrize("name", ["dp-mlp", "dp-gnn", "gap-ndp"])
@pytest.mark.parametrize("split", ["20/40/40", "50/25/25"])
def test_a_split_that_follows_from_private_labels_is_refused(name, split):
    with pytest.raises(InputError, match=r"split.*it divides each class.*use 60/20/20 or dataset") as caught:
        ran(name, sixty_nodes(), split=split)
    assert "\n" not in str(caught.value)


def test_who_is_trained_on_does_not_follow_from_labels():
    """With one label another, the others that can be in question are trained on, or not, as before."""
    data, other = sixty_nodes(), sixty_nodes()
    other.y[0] = (other.y[0] + 1) % 3
    runs = (ran("dp-mlp", d, split="60/20/20").secrets["label-membership"] for d in (data, other))
    one, two = (run.subjects[run.truth].tolist() for run in runs)
    assert one == two


@pytest.mark.parametrize("name", ["dp-mlp", "dp-gnn", "gap-ndp", "gap-edp"])
def test_huge_features_do_not_undo_the_noise(name):
    data = sixty_nodes()
    data.x[0] = 3e38
    for message in ran(name, data).transcript.messages:
        assert all(value.isfinite().all() for value in message.tensors.values())
