"""Shadow models that are known to be unlike the target make no audit invalid, and the reader is told."""

from dataclasses import replace

import pytest

from gaudit.audit.conformance.cheap_settings import cheap
from gaudit.audit.conformance.small_runs import made_cheap
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import attacks_on
from gaudit.registry import find
from gaudit.targets.defense import Defense


@pytest.mark.parametrize(("target", "word"), [("dp-mlp", "noise"), ("noisy-votes", "noise"), ("classifier", None)])
def test_accuracies_stand_beside_each_other_where_models_are_alike(target, word):
    made, data = made_cheap(target)
    attack = AttackPlan("base-offline", cheap(find("attacks", "base-offline").Settings))
    plan = TrialPlan(target, made.settings.model_dump(), "none", {}, (attack,), 0, 0)
    run = made(data, Defense(), plan.root(), lambda message: True)
    told = attacks_on(plan, run, data, plan.root())
    assert (told.attacked[0].accuracies is None) is (word is not None)
    assert any("Shadow models" in note and str(word) in note for note in told.notes) is (word is not None)
    said = attacks_on(plan, replace(run, unlike="They differ."), data, plan.root())
    assert said.attacked[0].accuracies is None
    assert said.notes[-1] == "They differ."
