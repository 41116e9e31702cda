"""A Lightning training is recorded by a callback, and its model is attacked as that of any other run."""

import builtins

import pytest
import torch

import gaudit
from gaudit import InputError
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.targets.recording import read_recording
from support.flower_world import Net
from support.sixty_nodes import sixty_nodes

EPOCHS = 4


def test_without_lightning_it_says_what_to_install(tmp_path, monkeypatch):
    real = builtins.__import__

    def missing(name, *rest, **more):
        if name.startswith("lightning"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match="Lightning is not installed"):
        gaudit.lightning.Record(tmp_path / "run")


@pytest.fixture
def fitted(tmp_path):
    """``fitted(**options)``: a trained module and its recording."""
    pl = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed: pip install '.[lightning]'")
    data = sixty_nodes()

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net(data.num_features, 8, 3)

        def training_step(self, batch, place):
            hidden = self.net.conv1(data.x, data.edge_index).relu()
            logits = self.net.conv2(hidden, data.edge_index)
            return torch.nn.functional.cross_entropy(logits[data.train_mask], data.y[data.train_mask])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.05)

    def fit(**options):
        torch.manual_seed(0)
        module = Module()
        names = gaudit.names(module)
        record = gaudit.lightning.Record(tmp_path / "run", names=names, recipe={"hidden": 8}, **options)
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
        trainer = pl.Trainer(max_epochs=EPOCHS, callbacks=[record], enable_model_summary=False, **quiet)
        trainer.fit(module, torch.utils.data.DataLoader([0]))
        return names(module.state_dict()), tmp_path / "run"

    return fit


def test_the_trained_model_is_recorded_and_attacked(fitted):
    weights, folder = fitted()
    (message,) = read_recording(folder).transcript.messages
    assert (message.kind, message.receiver, message.round) == ("model", "public", EPOCHS)
    assert all(torch.equal(message.tensors[name], weight) for name, weight in weights.items())
    own = gaudit.find("targets", "recorded")(transcripts=(str(folder),)).settings.model_dump()
    found = run_trial(TrialPlan("recorded", own, "none", {}, (AttackPlan("loss"),), 0, 0), sixty_nodes())
    assert [a.plan.name for a in found.attacked] == ["loss"]


@pytest.mark.parametrize(("every", "rounds"), [(1, [1, 2, 3, 4]), (3, [3, 4])])
def test_checkpoints_that_are_released_are_recorded_once_each(fitted, every, rounds):
    _, folder = fitted(every=every)
    assert [m.round for m in read_recording(folder).transcript.messages] == rounds
