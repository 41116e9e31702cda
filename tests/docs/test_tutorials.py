"""The tutorials run as they are printed, print what they quote, and are what their notebooks hold."""

import json
import re
from importlib.util import module_from_spec, spec_from_file_location

import pytest

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


@pytest.fixture
def environment(shell):
    """Variables of a shell in which commands start at once; trials run in it, one at a time."""
    return {**shell.environment, "LOKY_MAX_CPU_COUNT": "1"}


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
    told = NUMBER.findall(piece)
    any_numbers = f"({NUMBER.pattern})".join(map(re.escape, NUMBER.split(piece)))
    return any(
        all(near(one, other) for one, other in zip(told, found.groups(), strict=True))
        for found in re.finditer(any_numbers, said)
    )


def near(one, other):
    """Whether printed numbers differ as little as on two processors: by a tenth, or three of the last decimal."""
    decimals = len(one.partition(".")[2])
    last = 3 * 10.0**-decimals if decimals else 0.0
    return abs(float(one) - float(other)) <= max(0.03, last, 0.1 * abs(float(one))) + 1e-9


def in_one_line(text):
    """A text with single spaces."""
    return " ".join(text.split())


@pytest.mark.dear
@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_prints_what_it_and_its_notebook_show(name, environment, tmp_path):
    shown = [make.said(outputs) for outputs in make.play(make.blocks(PAGES[name]), tmp_path, environment)]
    quotes = list(quoted(PAGES[name]))
    assert quotes
    for count, output in quotes:
        for piece in pieces(output):
            said = in_one_line(shown[count - 1])
            assert is_said(piece, said), f"{name} quotes what is not printed: {piece}\nbut: {said}"
    for cell, said in zip(code_cells(name), shown, strict=True):
        kept = in_one_line(make.said(cell["outputs"]))
        again = f"not what it prints now: python examples/notebooks/make.py {name}"
        assert is_said(kept, in_one_line(said)), f"{name}.ipynb shows {kept}\n{again}"


def notebook(name):
    return json.loads((EXAMPLES / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))


def code_cells(name):
    return [cell for cell in notebook(name)["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_is_its_tutorial(name):
    assert ["".join(cell["source"]) for cell in code_cells(name)] == [b.cell for b in make.blocks(PAGES[name])]
    blank = [[] for _ in make.blocks(PAGES[name])]
    for cell, now in zip(notebook(name)["cells"], make.notebook(PAGES[name], blank)["cells"], strict=True):
        assert (cell["id"], cell["cell_type"], cell["source"]) == (now["id"], now["cell_type"], now["source"])


@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_is_small_and_tells_of_no_machine(name):
    file = EXAMPLES / "notebooks" / f"{name}.ipynb"
    text = file.read_text(encoding="utf-8")
    assert file.stat().st_size < MOST_BYTES
    assert any(cell["outputs"] for cell in code_cells(name))
    assert re.findall(r"(?<![\w./-])/(?:home|root|tmp|work|usr|var|Users)/[^\s\"]*", text) == []
    assert str(ROOT) not in text


def test_each_tutorial_has_a_notebook_and_the_other_way_round():
    assert {file.stem for file in (EXAMPLES / "notebooks").glob("*.ipynb")} == set(PAGES)


def test_the_links_of_a_notebook_lead_somewhere():
    for name in PAGES:
        prose = "".join("".join(c["source"]) for c in notebook(name)["cells"] if c["cell_type"] == "markdown")
        for link in re.findall(r"\]\(([^)\s]+)\)", prose):
            assert "://" in link or (EXAMPLES / "notebooks" / link.partition("#")[0]).exists(), f"{name}: {link}"
