"""Rounded posteriors: what is told of a row, who it hides nothing from, and what it buys."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.results.outcomes import outcomes
from gaudit.audit.running.trial import run_trial
from gaudit.defenses.training.fewer_labels import FewerLabels
from gaudit.defenses.uploads.rounded_posteriors import RoundedPosteriors
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.channel import Channel
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.messages import PROBED_KIND, SUBMITTED_KIND, TABLE_KINDS, kinds_of
from support.kinds import way_of

TABLES = [kind for kind in TABLE_KINDS if kind.startswith("posteriors")]
STEPS = (0.01, 0.1, 0.3, 1.0)


def told(posteriors: torch.Tensor, step: float, kind: str = "posteriors-full") -> torch.Tensor:
    """What the public gets of a table."""
    channel = Channel(mods=(RoundedPosteriors(step=step).on_message(np.random.SeedSequence(0)),))
    rows = torch.arange(len(posteriors))
    got = channel.send(kind, "server", "public", 1, {"nodes": rows, "posteriors": posteriors})
    assert torch.equal(got["nodes"], rows)
    return got["posteriors"]


@st.composite
def tables(draw):
    """Posteriors [4, C] in float32, among them nearly tied, sure and flat ones."""
    classes = draw(st.integers(2, 8))
    scale = draw(st.sampled_from([0.0, 1e-6, 0.01, 1.0, 30.0]))
    logits = torch.from_numpy(np.random.default_rng(draw(st.integers(0, 10**6))).normal(size=(4, classes)))
    return (scale * logits).float().softmax(1)


@given(tables(), st.sampled_from(STEPS) | st.floats(1e-6, 1))
def test_guarantee_the_likeliest_class_stays_and_rows_are_distributions(posteriors, step):
    rounded = told(posteriors, step)
    assert rounded.dtype == posteriors.dtype
    assert torch.equal(rounded.argmax(1), posteriors.argmax(1))
    assert ((rounded >= 0) & (rounded <= 1)).all()
    torch.testing.assert_close(rounded.sum(1), torch.ones(4), atol=1e-6, rtol=0)
    winner = rounded.max(1, keepdim=True).values
    assert ((rounded == winner).sum(1) == 1).all()  # no tie tells the runner-up


@given(tables(), st.sampled_from(STEPS))
def test_guarantee_before_normalisation_probabilities_are_multiples_of_the_step(posteriors, step):
    """Of whole numbers of steps, each within half a step but for the winner's: up to one, or a tie lost."""
    for exact, rounded in zip(posteriors.double(), told(posteriors, step).double(), strict=True):
        fitting = []
        for total in range(1, int(1 / step) + len(exact) + 2):
            counts = rounded * total
            whole = (counts - counts.round()).abs().max() < 1e-5 * total
            off = counts.round() - exact / step
            best = int(exact.argmax())
            others = torch.cat([off[:best], off[best + 1 :]])
            near = (others.abs() <= 0.5 + 1e-6).logical_or((others > -1.5 - 1e-6) & (others < 0)).all()
            if whole and near and -0.5 - 1e-6 <= off[best] <= 1:
                fitting.append(total)
        assert fitting, (exact, rounded)


@pytest.mark.parametrize(
    ("row", "step", "expected"),
    [
        ([0.62, 0.27, 0.11], 0.1, [0.6, 0.3, 0.1]),
        ([0.46, 0.44, 0.10], 0.1, [5 / 10, 4 / 10, 1 / 10]),
        ([0.34, 0.33, 0.33], 0.1, [3 / 7, 2 / 7, 2 / 7]),  # ties with the winner lose a step
        ([0.30, 0.26, 0.24, 0.20], 1.0, [1.0, 0.0, 0.0, 0.0]),  # an empty row is its winner's
        ([0.2, 0.2, 0.2, 0.2, 0.2], 0.5, [1.0, 0, 0, 0, 0]),
    ],
)
def test_rows_by_hand(row, step, expected):
    torch.testing.assert_close(told(torch.tensor([row]), step)[0], torch.tensor(expected))


@given(tables())
def test_with_a_step_of_one_nothing_but_the_label_is_told(posteriors):
    one_hot = torch.nn.functional.one_hot(posteriors.argmax(1), posteriors.shape[1])
    assert torch.equal(told(posteriors, 1.0), one_hot.float())


def test_a_finer_step_tells_more():
    posteriors = torch.randn(500, 6, generator=torch.Generator().manual_seed(0)).softmax(1)
    different = [len(told(posteriors, step).unique()) for step in (1.0, 0.1, 0.01)]
    assert different == sorted(different)
    errors = [float((told(posteriors, step) - posteriors).abs().max()) for step in (0.1, 0.01, 0.001)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.005


@pytest.mark.parametrize("kind", ["model", "update", "labels-full", "condensed-graph"])
def test_other_messages_pass_untouched(kind):
    channel = Channel(mods=(RoundedPosteriors().on_message(np.random.SeedSequence(0)),))
    tensors = {"posteriors": torch.tensor([[0.123, 0.877]])}
    assert torch.equal(channel.send(kind, *way_of(kind), 1, tensors)["posteriors"], tensors["posteriors"])


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_of_posteriors_is_rounded_and_the_senders_stays(kind):
    posteriors = torch.tensor([[0.123, 0.877]])
    assert told(posteriors, 0.1, kind).tolist() == [[pytest.approx(0.1), pytest.approx(0.9)]]
    assert torch.equal(posteriors, torch.tensor([[0.123, 0.877]]))
    assert set(kinds_of([RoundedPosteriors.acts_on])) == {*TABLES, PROBED_KIND, SUBMITTED_KIND}


@pytest.fixture(scope="module")
def leak():
    """``leak(defense, settings, artefact)``: AUC of the loss where members are learned by heart."""
    graph = load_dataset("planted")
    recipe = {"hidden": 64, "epochs": 150, "lr": 0.01, "weight_decay": 0, "dropout": 0}

    def measured(defense: str, settings: dict, artefact: str = "posteriors") -> float:
        attack = AttackPlan("loss", {"artefact": artefact})
        target = {"recipe": recipe, "split": "dataset"}
        result = run_trial(TrialPlan("classifier", target, defense, settings, (attack,), 0, 0), graph)
        return outcomes([result])[0].attacks[0].auc.estimate

    return measured


def test_trivial_alternative_stops_more(leak):
    """Labels alone give members away; forgetting half of the labels does not care what is told."""
    control = leak("none", {})
    fine, coarse, labels = (leak("rounded-posteriors", {"step": step}) for step in (0.01, 0.1, 1.0))
    assert control > fine > coarse > labels > 0.75
    assert labels == pytest.approx(leak("none", {}, "labels"), abs=0.03)  # ties are broken otherwise
    assert leak("fewer-labels", {"share": 0.5}) < labels
    assert RoundedPosteriors.alternative == FewerLabels.name


def test_who_holds_the_model_sees_no_difference(leak):
    assert leak("rounded-posteriors", {"step": 1.0}, "model") == leak("none", {}, "model")


def test_accuracy_is_what_it_was():
    graph = load_dataset("karate")
    target = Classifier(recipe={"hidden": 8, "epochs": 20}, in_question=1.0)
    runs = [
        target.run(graph, defense, np.random.SeedSequence(0), lambda message: True)
        for defense in (RoundedPosteriors(step=1.0), FewerLabels(share=1.0))
    ]
    assert runs[0].utility.test == runs[1].utility.test
    tables = [run.transcript.seen_by("public").last("posteriors-full").tensors["posteriors"] for run in runs]
    assert torch.equal(*(table.argmax(1) for table in tables))
    assert not torch.equal(*tables)


@pytest.mark.parametrize("step", [0, -0.1, 1e-9, 1.5, float("nan"), float("inf")])
def test_settings_are_checked(step):
    """A step finer than single precision would let rounding choose the likeliest class."""
    with pytest.raises(InputError, match="step"):
        RoundedPosteriors(step=step)
