import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from gaudit.commands.main import main
from gaudit.reports.console.reproduction_console import print_catalogue, print_reproduction
from gaudit.reports.formats.reproduction_page import part_of
from gaudit.reproductions import catalogue
from support.small_experiment import axis_figure, small_table, told


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The command with a small table and a small figure in the place of published ones."""
    found = {"table1": small_table(), "figure3": axis_figure()}
    about = catalogue.Paper(name="Small", title="A club", source="nobody", holds=("It holds.",))
    monkeypatch.setattr(catalogue, "papers", lambda: ("small",))
    monkeypatch.setattr(catalogue, "paper_of", lambda name: about)
    monkeypatch.setattr(catalogue, "experiments", lambda paper=None: tuple(found.values()))
    monkeypatch.setattr("gaudit.reports.formats.reproduction_page.paper_of", lambda name: about)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, ["reproduce", *map(str, words)])


def test_the_catalogue_says_why_and_a_page_says_it_once():
    table = small_table(reason=[{"row": "plain", "why": "It is small."}])
    wrong = [told("plain", seed, accuracy=0.3, auc=0.6) for seed in (0, 1)]
    for show in (lambda c: print_catalogue(c, [(table, wrong)]), lambda c: print_reproduction(c, table, wrong)):
        console = Console(width=400, file=io.StringIO())
        show(console)
        assert console.file.getvalue().count("It is small.") == 1
    assert "\n".join(part_of(table, wrong)).count("It is small.") == 1


def test_a_table_is_run_recorded_and_shown_again(small):
    first = run("small:table1", "--seeds", 1, "--workers", 1, "--records", "r.jsonl")
    assert first.exit_code == 0, first.output
    assert first.output.index("State: differs") < first.output.index("karate")
    assert "50 (" in first.output
    assert (small / "reproduce-small.db").exists()
    lines = [json.loads(line) for line in (small / "r.jsonl").read_text().splitlines()]
    assert {(line["row"], line["seed"]) for line in lines} == {("plain", 0), ("proximal", 0)}
    again = run("small:table1", "--seeds", 1, "--records", "r.jsonl")
    assert "0 trials to run of 3" in again.output
    shown = run("small:table1", "--recorded", "--records", "r.jsonl")
    assert shown.output == first.output[first.output.index("Table 1") :]


def test_what_a_ledger_holds_is_recorded_too(small):
    words = ("small:table1", "--seeds", 1, "--workers", 1)
    assert run(*words).exit_code == 0
    assert run(*words, "--records", "r.jsonl").exit_code == 0
    lines = (small / "r.jsonl").read_text().splitlines()
    assert len(lines) == len(set(lines)) == 3, "every trial once"


@pytest.mark.dear
def test_a_figure_is_drawn(small):
    done = run(
        "small:figure3", "--seeds", 2, "--workers", 1, "--figure", "f.svg", "-o", "f.md", "--records", "r.jsonl"
    )
    assert done.exit_code == 0, done.output
    drawn = (small / "f.svg").read_text()
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert all(f">{name}<" in drawn for name in ("plain", "proximal", "1", "2", "3"))
    assert "Plain averaging is better." in (small / "f.md").read_text()


def test_a_whole_paper_is_a_page(small):
    done = run("small", "--recorded", "-o", "page.md")
    assert done.exit_code == 0, done.output
    page = (small / "page.md").read_text()
    assert "**What holds**\n\n- It holds.\n" in page
    assert "| `small:table1` | averaging on a club | Not run yet." in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("small:tabel1",), "did you mean 'table1'?"),
        (("table1",), "small:table2"),
        (("small:table1", "--row", "plane"), "did you mean 'plain'?"),
        (("small:table1", "--dataset", "Cora"), "karate"),
        (("small",), "--recorded"),
        (("small", "--recorded", "--figure", "f.svg"), "no folder"),
        (("small:table1", "--recorded", "--figure", "f.svg"), "no figure to draw"),
        (("small:table1", "--recorded", "-o", "nowhere/f.md"), "does not exist"),
        (("small:table1", "--recorded", "--records", "none.jsonl"), "no file of records none.jsonl"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(small, words, said):
    done = run(*words)
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert said in done.output


def test_quick_runs_are_called_what_they_are(small):
    done = run("small:table1", "--quick", "--seeds", 1, "--row", "proximal", "--workers", 1, "--records", "r.jsonl")
    assert "no reproduction" in done.output
    assert json.loads((small / "r.jsonl").read_text())["quick"] is True


def test_a_page_shows_the_figures_that_were_drawn(small, monkeypatch):
    (small / "pictures").mkdir()
    records = [told("plain", 0, at, accuracy=0.5) for at in (1, 2, 3)]
    monkeypatch.setattr(catalogue, "records_of", lambda experiment: records if experiment.axis else [])
    done = run("small", "--recorded", "-o", "page.md", "--figure", "pictures")
    assert done.exit_code == 0, done.output
    assert "![clients](pictures/small-figure3.svg)" in (small / "page.md").read_text()
    assert [file.name for file in (small / "pictures").iterdir()] == ["small-figure3.svg"]
