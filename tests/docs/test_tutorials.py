"""The tutorials run as they are printed, print what they quote, and are what their notebooks hold."""

import re
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from support.forked_shell import forked_shell
from support.places import EXAMPLES, ROOT

PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "tutorials").glob("*.md"))}
MOST_BYTES = 300_000
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _make():
    """The script that makes the notebooks."""
    spec = spec_from_file_location("make_notebooks", EXAMPLES / "notebooks" / "make.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _make()


@pytest.fixture(scope="module")
def environment():
    """Variables of a shell in which commands start at once; trials run in it, one at a time."""
    with forked_shell() as shell:
        yield {**shell.environment, "LOKY_MAX_CPU_COUNT": "1"}


def quoted(text):
    """Each block of output that a page quotes, with the number of blocks that run before it."""
    count = 0
    for part in make.parts(text):
        if isinstance(part, str):
            continue
        if part.language == "text":
            yield count, part.code
        else:
            count += 1


def pieces(output):
    """What is quoted without a gap: lines between those that stand for what is left out, with single spaces."""
    return [" ".join(piece.split()) for piece in re.split(r"^\.\.\.$", output, flags=re.MULTILINE) if piece.strip()]


def is_said(piece, said):
    """Whether a piece is in an output: its words exactly, its numbers nearly (processors round differently)."""
    pattern = NUMBER.sub(lambda _: r"(\\d+(?:\\.\\d+)?)", re.escape(piece).replace("\\ ", " ").replace("\\\n", " "))
    numbers = [float(number) for number in NUMBER.findall(piece)]
    for found in re.finditer(pattern.replace("\\.", r"\.") if not numbers else _pattern(piece), said):
        if all(near(told, float(got)) for told, got in zip(numbers, found.groups(), strict=True)):
            return True
    return False


def _pattern(piece):
    """A piece as a pattern in which any number may stand where one stands."""
    words = NUMBER.split(piece)
    return r"(\d+(?:\.\d+)?)".join(map(re.escape, words))


def near(told, got):
    """Whether two numbers differ as little as two processors do."""
    return abs(told - got) <= max(0.03, 0.1 * abs(told))


@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_prints_what_it_quotes(name, environment, tmp_path):
    todo = make.blocks(PAGES[name])
    shown = make.play(todo, tmp_path, environment)
    quotes = list(quoted(PAGES[name]))
    assert quotes
    for count, output in quotes:
        said = " ".join(make.said(shown[count - 1]).split())
        for piece in pieces(output):
            assert is_said(piece, said), f"{name}: not printed: {piece}\nbut: {said}"
