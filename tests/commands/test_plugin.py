"""`gaudit plugin check`: what it prints, and its exit codes."""

import json
import os
import re
import subprocess
import sys

import pytest

OWN = "support.failing_classes:"


def test_a_class_that_keeps_the_rules_ends_with_0(gaudit):
    done = gaudit("plugin", "check", f"{OWN}Capped")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{OWN}Capped keeps all 6 rules that were checked.")
    assert "no answer is surer than 0.5" in done.stdout


def test_a_class_that_breaks_one_ends_with_1_and_says_which(gaudit):
    done = gaudit("plugin", "check", f"{OWN}TooSure")
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith(f"{OWN}TooSure breaks 1 of the 6 rules that were checked.")
    (line,) = [line for line in done.stdout.splitlines() if "BROKEN" in line]
    assert "What it guarantees holds on what it makes: " in line
    assert "no answer is surer than 0.5: 0.75" in line


def test_what_fails_before_anything_is_said_leaves_the_rest_unchecked(gaudit):
    done = gaudit("plugin", "check", f"{OWN}SaysNaN")
    assert done.exit_code == 1, done.output
    first, *_ = done.stdout.splitlines()
    assert first.endswith("breaks 1 of the 2 rules that were checked. 8 more could not be checked.")
    assert done.stdout.count("not checked") == 8
    assert "RuntimeError: the attack 'says-nan' must give one finite score per subject" in done.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such-plugin", "unknown plug-in 'no-such-plugin'.*graph-gaudit"),
        ("graph-gaudi", "did you mean 'graph-gaudit'"),
        ("no_such_module:Attack", "cannot import the .* 'no_such_module:Attack': No module named"),
        ("subprocess:Popen", "'subprocess:Popen' is none of target, attack, defense, game, mechanism"),
        ("support.failing_classes:Missing", "is no class"),
    ],
)
def test_what_is_no_plugin_ends_with_2(gaudit, name, message):
    done = gaudit("plugin", "check", name)
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1
    assert re.search(message, done.stderr)


PAIR = '''
"""A target that leaves its truth where an attack of the same package finds it."""

import torch

from gaudit.attacks.membership.loss import Loss
from gaudit.plugin import Carries, Carrying
from gaudit.targets.classification.classifier import Classifier

LEFT = {}


class Leaves(Classifier):
    """A classifier that notes who its members are."""

    name = "leaves"

    def run(self, data, *given):
        run = super().run(data, *given)
        (game,) = run.secrets.values()
        LEFT.update({data.x[s].numpy().tobytes(): t for s, t in zip(game.subjects, game.truth)})
        return run


class Finds(Loss):
    """An attack that reads what was noted, and is an honest one where nothing was."""

    name = "finds"

    def score(self, view, knowledge):
        told = super().score(view, knowledge)
        noted = [LEFT.get(row.numpy().tobytes(), 0) for row in knowledge.x[knowledge.subjects]]
        return told + 100 * torch.tensor([float(one) for one in noted])
'''


@pytest.mark.dear
def test_a_target_and_an_attack_that_share_a_secret_are_found(tmp_path):
    """The attack alone keeps the rules: the null tests run where its target noted nothing."""
    (tmp_path / "sharing.py").write_text(PAIR)
    metadata = tmp_path / "sharing-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sharing\nVersion: 1.0\n")
    points = "[gaudit.attacks]\nfinds = sharing:Finds\n[gaudit.targets]\nleaves = sharing:Leaves\n"
    (metadata / "entry_points.txt").write_text(points)
    code = (
        "import json\nfrom gaudit.audit.conformance.plugin_check import check_plugin\n"
        "found = check_plugin('sharing')\n"
        "print(json.dumps([[str(one.part), one.told] for one in found.broken]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert [part.split()[0] for part, _ in told] == ["target", "attack"]
    assert "leaves something behind in sharing.LEFT" in told[0][1]
    assert "it reads something else than its view" in told[1][1]
