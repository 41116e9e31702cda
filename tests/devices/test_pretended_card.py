"""Every pipeline and its attacks keep to what a card allows, on machines that have none."""

import pytest
import torch

from gaudit.audit.conformance.cheap_settings import cheap
from gaudit.audit.conformance.small_runs import made_cheap
from gaudit.audit.planning.automatic import automatic
from gaudit.audit.planning.observers import default_observer
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.registry import find
from support.pipelines import pipelines
from support.pretended_card import CARD, RefusedByCardError, pretended_card


def trial(target, device):
    made, data = made_cheap(target)
    settings = made.settings.model_dump() | {"device": device}
    chosen = {name: find("attacks", name) for name in automatic(made).chosen}
    attacks = tuple(AttackPlan(n, cheap(kind.Settings), default_observer(kind, made)) for n, kind in chosen.items())
    return run_trial(TrialPlan(target, settings, "none", {}, attacks, 0, 0), data)


@pytest.mark.dear
@pytest.mark.parametrize("target", pipelines())
def test_no_tensor_is_read_where_it_is_not(target):
    with pretended_card():
        there = trial(target, "cpu:0")
    here = trial(target, "cpu")
    assert there.refused == here.refused
    assert here.attacked
    assert [a.plan for a in there.attacked] == [a.plan for a in here.attacked]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda there, here: there + here,
        lambda there, here: here[there.long()],
        lambda there, here: there.numpy(),
        lambda there, here: there.relu().sum(0, keepdim=True).numpy(),
        lambda there, here: torch.stack([there, here]),
        lambda there, here: there.__setitem__(torch.tensor([0, 1]), here),
        lambda there, here: [row + here for row in torch.stack([there, there])],
        lambda there, here: torch.zeros(2, device=there.device) + here,
        lambda there, here: torch.nn.Linear(2, 2).to("cpu:0")(here),
    ],
)
def test_what_a_card_refuses_is_refused(wrong):
    here = torch.ones(2)
    with pretended_card(), pytest.raises(RefusedByCardError):
        wrong(here.to("cpu:0"), here)
    wrong(here, here.clone())


def test_what_a_card_allows_is_allowed():
    with pretended_card():
        there = torch.ones(2).to("cpu:0")
        assert there.device == CARD
        assert (there * torch.tensor(2.0)).device == CARD
        assert there[torch.tensor([0])].device == CARD
        assert there.cpu().device == torch.device("cpu")
        assert there.cpu().numpy().tolist() == [1, 1]
        module = torch.nn.Linear(2, 1).to("cpu:0")
        module(there).sum().backward()
        assert module.weight.grad.device == CARD
