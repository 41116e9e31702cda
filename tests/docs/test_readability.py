"""Pages are short, their sentences too, and the site loads nothing from anywhere else."""

import re

import pytest
from docs.readable import LONG, MOST_WORDS, read

from support.places import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))
MOST_LONG = 0.02
"""The share of a page's sentences that may have more than `LONG` words; one sentence always may."""
LOADED = re.compile(
    r"!\[[^\]]*\]\((?:https?:)?//|<(?:img|script|link|iframe|video|audio|source|object|embed)\b[^>]*//", re.I
)


def name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_is_short(page):
    words = read(page.read_text(encoding="utf-8")).words
    assert words <= MOST_WORDS, f"{words} words"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_sentences_are_short(page):
    found = read(page.read_text(encoding="utf-8"))
    allowed = max(1, int(MOST_LONG * len(found.sentences)))
    assert len(found.long) <= allowed, f"{len(found.long)} of more than {LONG} words:\n" + "\n".join(found.long)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_loads_nothing_from_another_host(page):
    assert LOADED.findall(page.read_text(encoding="utf-8")) == []
