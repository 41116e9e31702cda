"""The pages that go through the survey: names are in the registry, states have what they need, sums are right."""

import re
from collections import Counter

import pytest

from gaudit.registry import registered
from support.places import ROOT

PAGES = [ROOT / "docs" / "sure" / name for name in ("survey-coverage.md", "survey-coverage-privacy.md")]
FEDERATED = ROOT / "docs" / "sure" / "survey-coverage-federated.md"
KINDS_PAGE = ROOT / "docs" / "leaks" / "kinds-of-messages.md"
SURVEY = ROOT.parent / "shared" / "papers"
HEADER = "| system | survey | state | in gaudit | what is missing, or why |"
KINDS = ("attacks", "defenses", "games", "mechanisms", "targets")
NAMES = """IFCA, FedCluster, GCFL, GCFL+, FedPer, LG-FedAvg, FMTGL, NGL-FedRep, PartialFed, FedStar, local
fine-tuning, Per-FedAvg, pFedMe, GraphFL, MOCHA, FedGMTL, SemiGraphFL, FedEM, FedFOMO, FedGSL, FedGraph, FedPNS,
FedCog, FedPerGNN, DP-FedRec, FedGCN, FedSage, FedNI, fully decentralised, D-FedGNN, SpreadGNN, FedGS, SFL, GraphFL,
BiG-Fed, device sampling, TensorFlow Federated, FedLab, PFL-Non-IID, FedGraphNN, FederatedScope-GNN, graph-level,
subgraph-level, node-level"""
"""Federated systems and scenarios of the survey's sections 3.2.2 to 3.4 and its table 2; two are called GraphFL."""
OTHERWISE = {"constrained"}
"""Settings that are named."""


def rows(page):
    """The cells of every row of a page's tables."""
    lines = page.read_text(encoding="utf-8").splitlines()
    told = [line for line in lines if line.startswith("| ") and line != HEADER]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in told]


ROWS = [row for page in PAGES for row in rows(page)]
FEDERATIONS = rows(FEDERATED)


@pytest.mark.parametrize("row", ROWS + FEDERATIONS, ids=lambda row: row[0])
def test_a_state_has_what_it_needs(row):
    _, cited, state, names, why = row
    assert re.fullmatch(r"\[\d+\](, \[\d+\])*|none", cited)
    assert state in ("here", "partly", "absent")
    assert bool(names) == (state != "absent"), "what is here has a name, and what is absent has none"
    assert why or state == "here", "what is missing, or why, is not said"


def test_every_name_is_in_the_registry():
    known = set().union(*(registered(kind) for kind in KINDS))
    named = {name for row in ROWS + FEDERATIONS for name in re.findall(r"`([\w+-]+)`", row[3])}
    assert len(named) > 30
    assert named <= known


def test_every_name_in_the_words_beside_is_one_too():
    known = set().union(*(registered(kind) for kind in KINDS)) | OTHERWISE
    assert {name for row in ROWS + FEDERATIONS for name in re.findall(r"`([\w-]+)`", row[4])} <= known


@pytest.mark.parametrize("page", [*PAGES, FEDERATED], ids=lambda page: page.stem)
def test_the_sums_are_those_of_the_tables(page):
    count, text = Counter(row[2] for row in rows(page)), page.read_text(encoding="utf-8")
    told = f"Of {sum(count.values())} systems on this page {count['here']} are here, {count['partly']} are here in "
    assert f"{told}part, and {count['absent']} are absent" in " ".join(text.split())


def test_what_the_survey_cites_in_these_sections_is_on_a_page():
    papers = sorted(SURVEY.glob("004*.txt")) if SURVEY.is_dir() else []
    if not papers:
        pytest.skip("the survey's text is not beside the checkout")
    text = papers[0].read_text(encoding="utf-8")
    part = text[text.index("2.1 Privacy Attackers on Graphs\n") : text.index("2.5 Challenges and Future")]
    cited = {number for group in re.findall(r"\[([\d;, ]+)\]", part) for number in re.findall(r"\d+", group)}
    told = {number for row in ROWS for number in re.findall(r"\d+", row[1])}
    assert len(cited) > 30
    assert cited == told


def test_every_federation_of_the_survey_has_a_row_of_its_own():
    named = [name.strip() for name in NAMES.replace("\n", " ").split(",")]
    assert len(named) == 44
    told = [part.strip() for row in FEDERATIONS for part in row[0].split(", ")]
    for name in set(named):
        assert told.count(name) >= named.count(name), name


def test_what_the_page_on_federations_cites_is_cited_by_the_survey():
    papers = sorted(SURVEY.glob("004*.txt")) if SURVEY.is_dir() else []
    if not papers:
        pytest.skip("the survey's text is not beside the checkout")
    text = papers[0].read_text(encoding="utf-8")
    groups = re.findall(r"\[([\d;, ]+)\]", text)
    known = {number for group in groups for number in re.findall(r"\d+", group)}
    assert {number for row in FEDERATIONS for number in re.findall(r"\d+", row[1])} <= known


def test_the_table_of_kinds_has_twelve_rows_whose_targets_and_attacks_exist():
    lines = [line for line in KINDS_PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d+\. ", line)]
    assert [int(line[2:].split(".")[0]) for line in lines] == list(range(1, 13))
    known = {name for kind in ("targets", "attacks") for name in registered(kind)}
    of_settings = {"shared", "shared=head", "secure=true", "upload=gradients", "aggregation=weighted"}
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == 5
        assert all(cells)
        assert set(re.findall(r"`([^`]+)`", cells[2])) - of_settings <= known
        assert re.findall(r"`([^`]+)`", cells[2]), "no target is named"
