"""The site holds every page, and its reference every public name, also those for plug-ins alone."""

import re
from pathlib import Path

import gaudit
from gaudit import plugin

ROOT = Path(__file__).parents[2]
NAV = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]


def test_every_page_is_in_the_navigation_once():
    listed = re.findall(r": ([\w/-]+\.md)$", NAV, re.MULTILINE)
    docs = ROOT / "docs"
    assert sorted(listed) == sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))


def test_every_public_name_is_in_the_reference():
    page = (ROOT / "docs" / "extend" / "reference.md").read_text(encoding="utf-8")
    told = {place.rpartition(".")[2] for place in re.findall(r"^::: (gaudit[\w.]+)$", page, re.MULTILINE)}
    renamed = {"declare": "declare_message"}
    modules = {"flower", "lightning"}
    assert {renamed.get(name, name) for name in told} == (set(gaudit.__all__) | set(plugin.__all__)) - modules
    assert all(f"`{name}`" in page for name in modules)
