"""Settings as they are written on a command line."""

import json
import sys

import pytest

from gaudit.commands.written_settings import read_defense, read_pairs
from gaudit.errors import InputError
from gaudit.registry import registered


@pytest.mark.parametrize(
    ("text", "name", "settings"),
    [
        ("k-degree", "k-degree", {}),
        ("k-degree:k=10", "k-degree", {"k": 10}),
        ("own.shields:Shield", "own.shields:Shield", {}),
        ("own.shields:Shield:k=5,how.far=2", "own.shields:Shield", {"k": 5, "how": {"far": 2}}),
        ("own:Shield:file=c:x", "own:Shield", {"file": "c:x"}),
        ("ib:file=c:x", "ib", {"file": "c:x"}),
    ],
)
def test_a_defense_is_a_name_or_a_class_with_settings(text, name, settings):
    assert read_defense(text) == (name, settings)


@pytest.mark.parametrize("text", ["k-degree:", "own:Shield:", "k-degree:10", "ib:beta", "own:Shield:beta"])
def test_what_is_no_setting_is_refused(text):
    with pytest.raises(InputError, match=r"^--defense '.*': expected"):
        read_defense(text)


@pytest.mark.parametrize("name", sorted(registered("defenses")))
def test_a_name_that_is_installed_is_no_module(name):
    with pytest.raises(InputError, match="expected KEY=VALUE"):
        read_defense(f"{name}:Shield")


SHIELD = '''
"""A defense of the user's own."""

from pydantic import Field

from gaudit import Defense, Settings


class ShieldSettings(Settings):
    """Settings of `Shield`."""

    k: int = Field(1, ge=1)


class Shield(Defense):
    """Leaves out all features but the first few."""

    name = "shield"
    phrase = "with few features"
    strength = "k"
    alternative = "no-features"
    Settings = ShieldSettings

    def on_data(self, client, shared, seed, hold):
        from dataclasses import replace

        x = client.x.clone()
        x[:, self.settings.k :] = 0
        return replace(client, x=x)
'''


@pytest.mark.parametrize("settings", ["", ":k=5"])
def test_a_defense_of_the_users_own_is_run_with_its_settings(gaudit, graph, tmp_path, monkeypatch, settings):
    module = f"shield_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(SHIELD)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    asked = ["attack", "--target", "classifier", "--attack", "loss", "--only", "--workers", 1, "--graph", graph]
    asked += ["--set", "recipe.epochs=5", "--defense", f"{module}:Shield{settings}"]
    asked += ["--json", tmp_path / "out.json"]
    done = gaudit(*asked)
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "out.json").read_text())["outcomes"]
    assert [one["defense"] for one in told] == ["none", f"{module}:Shield"]
    assert told[1]["strength"] == (5 if settings else 1)


def test_a_setting_that_a_defense_has_twice_is_refused():
    with pytest.raises(InputError, match=r"^--defense 'k-degree:k=3,k=4': 'k' is given twice"):
        read_defense("k-degree:k=3,k=4")


def test_of_two_options_for_one_setting_the_later_counts():
    assert read_pairs(["k=1", "k=2"]) == {"k": 2}
