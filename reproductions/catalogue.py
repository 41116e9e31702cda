"""The plan files and records that are packaged: found by name, without loading what runs them."""

from functools import cache
from pathlib import Path

from ..errors import InputError, unknown_name
from ..settings import Settings
from ..untrusted import read_text, toml_of
from .experiment import LARGEST_PLAN, Experiment
from .records import Record, read_records

FOLDER = Path(__file__).parent / "papers"


class Paper(Settings):
    """What is said of a paper before its tables.

    Attributes:
        name: of the system.
        title: of the paper.
        source: authors, venue, year.
        holds: what was found again, in sentences.
        differs: what was not.
        found: what the paper does not say.
        more: a page beside its page, with experiments.
    """

    name: str
    title: str
    source: str
    holds: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    more: str = ""


def papers() -> tuple[str, ...]:
    """Folders of plans, in the order of their names."""
    return tuple(sorted(place.name for place in FOLDER.iterdir() if (place / "paper.toml").exists()))


@cache
def paper_of(name: str) -> Paper:
    """What is said of a paper.

    Raises:
        InputError: there is none of that name.
    """
    if name not in papers():
        raise unknown_name("paper", name, papers())
    file = FOLDER / name / "paper.toml"
    return Paper.checked(f"plan {file.name}", toml_of(read_text(file, "plan", LARGEST_PLAN), str(file)))


@cache
def experiments(paper: str | None = None) -> tuple[Experiment, ...]:
    """All tables and figures of one paper or of all, tables first."""
    if paper is not None:
        paper_of(paper)
    found = []
    for name in papers() if paper is None else (paper,):
        read = [Experiment.read(file) for file in (FOLDER / name).glob("*.toml") if file.name != "paper.toml"]
        found += sorted(read, key=lambda one: (one.item.startswith("figure"), _number(one.item), one.item))
    return tuple(found)


def _number(item: str) -> int:
    return int("".join(letter for letter in item if letter.isdigit()))


def experiment_of(name: str) -> Experiment:
    """One table or figure, as fedgc:table2.

    Raises:
        InputError: there is none of that name (with the nearest match).
    """
    paper, colon, item = name.partition(":")
    if not colon:
        raise InputError(f"'{name}' is no table or figure: name it as {papers()[0]}:table2 (gaudit reproduce list)")
    paper_of(paper)
    found = {one.item: one for one in experiments(paper)}
    if item not in found:
        raise unknown_name(f"table or figure of {paper}:", item, found)
    return found[item]


def records_of(experiment: Experiment, quick: bool = False) -> list[Record]:
    """What was recorded of it, without short runs or of short runs alone."""
    file = FOLDER / experiment.paper / f"{experiment.item}.jsonl"
    return [record for record in read_records(file) if record.quick == quick]
