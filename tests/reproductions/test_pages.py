"""The pages of the documents are what the packaged records say."""

import re
from pathlib import Path

import pytest

from gaudit.reports.figures.series_figure import series_figure
from gaudit.reports.formats.reproduction_page import page_of
from gaudit.reproductions.catalogue import experiments, papers, records_of

DOCS = Path(__file__).parents[2] / "docs"
MEND = "gaudit reproduce {0} --recorded -o docs/sure/reproductions-{0}.md --figure docs/figures/reproduced"


@pytest.mark.parametrize("paper", papers())
def test_a_page_is_up_to_date(paper):
    found = [(one, records_of(one)) for one in experiments(paper)]
    figures = {}
    for one, records in found:
        drawn = series_figure(one, records)
        if drawn:
            name = f"{one.name.replace(':', '-')}.svg"
            figures[one.name] = f"../figures/reproduced/{name}"
            assert (DOCS / "figures" / "reproduced" / name).read_text() == drawn, MEND.format(paper)
    assert (DOCS / "sure" / f"reproductions-{paper}.md").read_text() == page_of(paper, found, figures), MEND.format(
        paper
    )


@pytest.mark.parametrize("paper", papers())
def test_each_condition_stands_once_with_all_that_it_holds_of(paper):
    lines = (DOCS / "sure" / f"reproductions-{paper}.md").read_text().splitlines()
    shown = [one for one in experiments(paper) if records_of(one)]
    for condition in {line for one in shown for line in one.conditions}:
        of = [one.called for one in shown if condition in one.conditions]
        (line,) = [line for line in lines if line.startswith(f"    - {condition}") and line[-1] in ".)"]
        assert _called_in(line.removeprefix(f"    - {condition}")) == (of if len(of) > 1 else []), condition


def _called_in(text):
    """Table 2 and Figure 5 out of (Tables 2, 3, Figure 5)."""
    kinds = re.findall(r"(Table|Figure)s? ([^TF]+)", text.strip(" ()"))
    return [f"{kind} {number}" for kind, numbers in kinds for number in re.findall(r"\w+", numbers)]
