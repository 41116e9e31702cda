"""Findings on another device are those on the CPU, up to the chance of a training.

These tests run where there is a device: a CUDA card, or what the variable GAUDIT_DEVICE names (``cpu:0`` takes the
ways of other devices, on the CPU). Random numbers differ between devices, so findings agree as those of two seeds
do: each interval has 95 %, and two of the same people that do not even overlap are far rarer than one in twenty.
"""

import json
import os
import subprocess

import pytest
import torch

from gaudit.registry import find
from support.pipelines import pipelines

DEVICE = os.environ.get("GAUDIT_DEVICE") or ("cuda" if torch.cuda.is_available() else None)
ACCURACY = 0.05
"""How far a single training's accuracy on a bundled graph may move."""

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(DEVICE is None, reason="there is no device besides the CPU")]


def found(target: str, device: str, folder) -> dict:
    path = folder / f"{device.replace(':', '-')}.json"
    graphs = ["--dataset", "molecules"] if find("targets", target).collections else []
    given = ["gaudit", "attack", "--target", target, *graphs, "--defense", "none", "--workers", "1"]
    done = subprocess.run(
        [*given, "--json", str(path), "--device", device], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (outcome,) = json.loads(path.read_text())["outcomes"]
    return outcome


@pytest.mark.parametrize("target", pipelines())
def test_findings_agree_with_those_on_the_cpu(target, tmp_path):
    here, there = (found(target, device, tmp_path) for device in ("cpu", str(DEVICE)))
    assert there["accuracy"]["estimate"] == pytest.approx(here["accuracy"]["estimate"], abs=ACCURACY, nan_ok=True)
    ours, theirs = ({a["attack"]: a for a in outcome["attacks"]} for outcome in (here, there))
    assert list(ours) == list(theirs)
    for name, attack in ours.items():
        one, other = attack["auc"], theirs[name]["auc"]
        assert max(one["low"], other["low"]) <= min(one["high"], other["high"]), f"{name}: {one}, {other}"
