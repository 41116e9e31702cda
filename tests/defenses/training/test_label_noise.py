"""Randomised response on labels: the probabilities that its promise rests on, and what it costs."""

import numpy as np
import pytest
import torch
from scipy.stats import binom, chisquare, pearsonr

from gaudit.defenses.training.fewer_labels import FewerLabels
from gaudit.defenses.training.label_noise import LabelNoise
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.party import Client

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed
MANY = 100_000


def client_with(labels: torch.Tensor, classes: int, train: torch.Tensor | None = None) -> Client:
    """A client without edges; all of its nodes are labelled unless it is told which."""
    train = torch.ones(len(labels), dtype=torch.bool) if train is None else train
    nobody, no_edges = torch.zeros_like(train), torch.empty((2, 0), dtype=torch.long)
    x, nodes = torch.ones(len(labels), 1), torch.arange(len(labels))
    return Client(0, nodes, x, labels, labels, train, nobody, nobody, train, no_edges, no_edges, classes)


def told(client: Client, epsilon: float, seed: int = 0) -> Client:
    return LabelNoise(epsilon=epsilon).on_data(
        client, None, np.random.SeedSequence(seed), lambda kind, tensors: None
    )


def honest(epsilon: float, classes: int) -> float:
    """The probability of a label's own value under randomised response (Ghazi et al. 2021, section 3)."""
    return np.exp(epsilon) / (np.exp(epsilon) + classes - 1)


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_guarantee_a_label_is_kept_as_often_as_epsilon_says(epsilon, classes):
    client = client_with(torch.arange(MANY) % classes, classes)
    after = told(client, epsilon)
    kept = int((after.y_train == client.y_train).sum())
    share = honest(epsilon, classes)
    assert binom.ppf(LEVEL / 2, MANY, share) <= kept <= binom.isf(LEVEL / 2, MANY, share)
    more = honest(1.2 * epsilon + 0.05, classes)
    assert kept < binom.ppf(LEVEL / 2, MANY, more)  # it could tell a promise that is hardly better


@pytest.mark.parametrize("classes", [3, 6])
def test_guarantee_a_lie_is_any_other_class_alike(classes):
    for own in range(classes):
        after = told(client_with(torch.full((MANY // 4,), own), classes), 0.5, seed=own).y_train
        counts = np.bincount(after.numpy(), minlength=classes)
        assert chisquare(np.delete(counts, own)).pvalue > LEVEL


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_guarantee_no_told_label_is_more_than_e_to_epsilon_times_likelier_under_one_value(epsilon):
    """And it is tight: the ratio is reached, for every value and every other."""
    classes, shares = 4, []
    for own in range(classes):
        after = told(client_with(torch.full((MANY,), own), classes), epsilon, seed=own).y_train
        shares.append(np.bincount(after.numpy(), minlength=classes) / MANY)
    ratios = np.stack(shares)[None] / np.stack(shares)[:, None]  # [one value, other value, told]
    error = 4 * np.sqrt(2 / (MANY * min(map(min, shares))))  # of the logarithm of a ratio, four deviations
    assert np.log(ratios).max() <= epsilon + error
    for own in range(classes):
        assert np.log(ratios[np.arange(classes) != own, own, own]) == pytest.approx(epsilon, abs=error)


def test_labels_are_randomised_independently():
    client = client_with(torch.zeros(MANY, dtype=torch.long), 3)
    one, two = (told(client, 1.0, seed).y_train.ne(0).double().numpy() for seed in (0, 1))
    assert pearsonr(one, two).pvalue > LEVEL
    assert pearsonr(one[:-1], one[1:]).pvalue > LEVEL


def test_only_labels_that_are_trained_on_are_changed():
    labels = torch.arange(5000) % 5
    client = client_with(labels, 5, torch.arange(5000) < 3000)
    after = told(client, 0.1)
    changed = after.y_train != labels
    assert changed[:3000].any()
    assert not changed[3000:].any()
    for name in ("x", "y", "train", "val", "test", "used", "edges", "cut"):
        assert torch.equal(getattr(after, name), getattr(client, name))
    assert torch.equal(client.y_train, labels)  # the client's own stay as they are
    assert int(after.y_train.min()) >= 0
    assert int(after.y_train.max()) < 5


@pytest.mark.parametrize("epsilon", [50.0, 1000.0, 1e300])
def test_with_a_huge_epsilon_nothing_changes(epsilon):
    client = client_with(torch.arange(1000) % 3, 3)
    assert torch.equal(told(client, epsilon).y_train, client.y_train)


def test_a_class_that_the_client_does_not_hold_may_be_told():
    """Lies are drawn from the classes of the task; else they would say which the client holds."""
    after = told(client_with(torch.zeros(1000, dtype=torch.long), 4), 0.5)
    assert set(after.y_train.tolist()) == {0, 1, 2, 3}


def test_the_seed_decides(federation):
    client = federation.clients[0]
    one, again, other = (told(client, 0.5, seed).y_train for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_trivial_alternative_with_as_many_correct_labels_is_more_accurate():
    """Lies are worse than nothing: leaving them out costs less accuracy than telling them (paired over 4 seeds)."""
    graph = load_dataset("digits")
    target = Classifier(recipe={"hidden": 16, "epochs": 40, "lr": 0.05}, publish=("labels",), in_question=0.5)
    epsilon, classes = 1.0, 10
    alternative = FewerLabels(share=honest(epsilon, classes))
    gaps = []
    for seed in range(4):
        runs = [
            target.run(graph, defense, np.random.SeedSequence(seed), lambda message: False)
            for defense in (alternative, LabelNoise(epsilon=epsilon))
        ]
        gaps.append(runs[0].utility.test - runs[1].utility.test)
    assert min(gaps) > 0
    assert np.mean(gaps) > 0.05
    assert LabelNoise.alternative == FewerLabels.name


def test_the_promise_is_stated_with_its_unit():
    assert "value of one label" in LabelNoise.guarantee
    assert "none for membership" in LabelNoise.guarantee
    assert "validation and test nodes are public" in LabelNoise.guarantee


def test_the_promise_leaves_out_labels_that_stay_as_they_are():
    promise = LabelNoise(epsilon=2).promise()
    assert promise.covers == "what is computed of the labels that are trained on"
    assert "labels of validation and test nodes" in promise.public


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf")])
def test_settings_are_checked(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        LabelNoise(epsilon=epsilon)


def test_a_client_without_labels_is_left_alone():
    client = client_with(torch.zeros(3, dtype=torch.long), 2, torch.zeros(3, dtype=torch.bool))
    assert torch.equal(told(client, 1.0).y_train, client.y_train)
