"""A run that was recorded is attacked as one that just took place."""

import numpy as np
import pytest

from gaudit import InputError, Plan, find
from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import attacks_on
from gaudit.targets.condensation.fedgc import FedGC
from gaudit.targets.external.recorded import Recorded
from support.sixty_nodes import sixty_nodes
from support.transcripts import same_headers

RECIPE = {"hidden": 8, "epochs": 30}
SETTINGS = {"split": "dataset", "recipe": RECIPE, "publish": ["posteriors"]}
SEED = np.random.SeedSequence(0)


@pytest.fixture(scope="module")
def live():
    """A classifier's run on the graph's own masks."""
    return find("targets", "classifier")(**SETTINGS)(
        sixty_nodes(), find("defenses", "none")(), SEED, lambda m: True
    )


@pytest.fixture
def recorded(live, tmp_path):
    """The target that is its record."""
    file = tmp_path / "run.safetensors"
    live.transcript.save(file)
    return Recorded(transcript=str(file), of="classifier", settings=SETTINGS)


def run_of(target):
    return target(sixty_nodes(), find("defenses", "none")(), SEED, lambda m: True)


def test_its_run_holds_the_same_messages_and_the_masks_as_truth(live, recorded):
    run = run_of(recorded)
    for one, other in same_headers(run.transcript, live.transcript):
        assert all(np.array_equal(one.tensors[name], other.tensors[name]) for name in other.tensors)
    data, game = sixty_nodes(), run.secrets["label-membership"]
    assert np.array_equal(game.subjects[game.truth], np.flatnonzero(data.train_mask))
    assert np.array_equal(game.subjects[~game.truth], np.flatnonzero(data.test_mask))
    assert np.isnan(run.utility.test)


def test_attacks_score_it_as_they_score_the_live_run(live, recorded):
    plan = TrialPlan("classifier", {}, "none", {}, (AttackPlan("loss"),), 0, 0)

    def scores(run, target):
        given = TrialPlan("classifier", target.settings.model_dump(), "none", {}, plan.attacks, 0, 0)
        (attacked,) = attacks_on(given, run, sixty_nodes(), given.root()).attacked
        return attacked.judged.score

    classifier = find("targets", "classifier")(**SETTINGS)
    assert np.array_equal(scores(run_of(recorded), classifier), scores(live, classifier))


def test_it_offers_what_the_target_offers_that_it_was_recorded_from(recorded):
    offers = recorded.offers
    assert (offers.split, offers.game, offers.recipe.hidden) == ("dataset", "label-membership", 8)
    assert recorded.like is find("targets", "classifier")
    assert recorded.assumed()["recipe"]["hidden"] == 8
    assert Recorded(transcript="x", of="fedgc", settings=FedGC().settings.model_dump(mode="json")).assumed() == {}


def test_a_defense_has_no_place_before_it(recorded):
    assert "took place already" in recorded.why_not(find("defenses", "ldp")())
    assert recorded.why_not(find("defenses", "none")()) is None


def test_a_record_without_a_release_is_refused(live, tmp_path):
    live.transcript.__class__().save(tmp_path / "empty.safetensors")
    with pytest.raises(InputError, match="holds no released message: record the run with its release"):
        run_of(Recorded(transcript=str(tmp_path / "empty.safetensors"), settings=SETTINGS))
    with pytest.raises(InputError, match="cannot read the transcript"):
        run_of(Recorded(transcript=str(tmp_path / "none.safetensors"), settings=SETTINGS))


def test_a_record_is_no_repetition_of_itself(tmp_path):
    target = {
        "name": "recorded",
        "settings": {"transcript": str(tmp_path / "run.safetensors"), "settings": SETTINGS},
    }
    content = {"target": [target], "attack": [{"name": "loss"}], "datasets": ["karate"], "seeds": 3}
    trials = [task for task in laid_out(Plan.of(content, "plan")).tasks if task.cell >= 0]
    assert [trial.plan.index for trial in trials] == [0]
