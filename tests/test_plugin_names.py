"""The names of `gaudit.plugin` are there, say what they are, are documented, and cost nothing unused."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_origin

import pytest

import gaudit
from gaudit import plugin

GUIDE = Path(__file__).parents[1] / "docs" / "extend" / "plugins.md"
ALIASES = {"Progress", "Retention"}
"""Names of types of functions: these have no docstring of their own."""


@pytest.mark.parametrize("name", plugin.__all__)
def test_a_name_is_there_and_says_what_it_is(name):
    value = getattr(plugin, name)
    if name in ALIASES:
        assert get_origin(value) is not None
    else:
        assert callable(value)
        assert (value.__doc__ or "").strip()


def test_every_name_is_in_the_guide_and_no_other():
    text = GUIDE.read_text(encoding="utf-8")
    (part,) = re.findall(r"^## Names that stay\n(.*?)^## ", text, re.S | re.M)
    table = "".join(line for line in part.splitlines(keepends=True) if line.startswith("|"))
    assert set(re.findall(r"`(\w+)`", table)) == set(plugin.__all__)


def test_names_that_the_package_has_too_are_the_same():
    both = set(plugin.__all__) & set(gaudit.__all__)
    assert len(both) > 30
    assert all(getattr(plugin, name) is getattr(gaudit, name) for name in both)
    assert set(plugin.__all__) - both == set(plugin._OTHERS)


def test_names_are_listed_once_in_order():
    assert plugin.__all__ == sorted(set(plugin.__all__))
    assert set(plugin.__all__) <= set(dir(plugin))


def test_no_other_name_is_there():
    with pytest.raises(AttributeError, match=r"module 'gaudit\.plugin' has no attribute 'Absent'"):
        _ = plugin.Absent


def test_nothing_is_imported_before_it_is_asked_for():
    code = (
        "import sys\nimport gaudit.plugin\nprint(*sys.modules)\nfrom gaudit.plugin import InputError\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = (set(line.split()) for line in done.stdout.splitlines())
    assert {name for name in before if name.startswith("gaudit")} == {"gaudit", "gaudit.plugin"}
    assert {name for name in after if name.startswith("gaudit")} == {"gaudit", "gaudit.plugin", "gaudit.errors"}
