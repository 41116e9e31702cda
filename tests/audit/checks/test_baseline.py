"""Baselines: the same bytes for the same numbers, reasons kept, broken files refused and left as they are."""

import json
from dataclasses import replace

import pytest

from gaudit.audit.checks.baseline import Baseline, key_of
from gaudit.errors import InputError
from support.audits import simulated

WEAK = {("none", None): (0.5, 0.8), ("ldp", 1.0): (0.1, 0.7), ("ldp", 4.0): (0.2, 0.7)}
STRONG = {**WEAK, ("none", None): (1.0, 0.8)}


@pytest.fixture(scope="module")
def audit():
    return simulated(WEAK, seeds=2, attacks=("loss", "lira"), datasets=("citations", "digits"))


def test_it_comes_back_and_has_one_way_to_be_written(audit, tmp_path):
    made = Baseline.of(audit, "first")
    path = tmp_path / "baseline.json"
    path.write_text(made.text())
    assert Baseline.read(path) == made
    assert Baseline.read(path).text() == made.text() == Baseline.of(audit, "first").text()
    content = json.loads(made.text())
    assert list(content) == sorted(content)
    values = [
        v for found in content["findings"].values() for seed in found["by_seed"].values() for v in seed.values()
    ]
    assert all(v == round(v, 6) for v in values)


def test_every_finding_has_a_key_of_its_own(audit):
    keys = [key_of(place) for place in audit.findings()]
    assert len(set(keys)) == len(keys) == 12
    assert sorted(Baseline.of(audit, "first").findings) == sorted(keys)


def test_a_graph_file_goes_by_its_name_wherever_it_lies(audit):
    def at(folder):
        sections = tuple(replace(section, dataset=f"{folder}/mine.npz") for section in audit.sections[:1])
        return [key_of(place) for place in replace(audit, sections=sections).findings()]

    assert at("here") == at("/some/where/else")


def test_reasons_stay_with_numbers_that_have_not_changed(audit):
    first = Baseline.of(simulated(WEAK, seeds=2), "first")
    second = Baseline.of(simulated(STRONG, seeds=2), "undefended leaks more, nobody uses it", first)
    assert second.history == ("first", "undefended leaks more, nobody uses it")
    reasons = {found.where["defense"]: found.reason for found in second.findings.values()}
    assert reasons["none"] == "undefended leaks more, nobody uses it"
    assert set(reasons.values()) == {"first", "undefended leaks more, nobody uses it"}
    assert sum(reason == "first" for reason in reasons.values()) == 2


def test_findings_are_new_unchanged_or_updated():
    weak, strong = simulated(WEAK, seeds=2), simulated(STRONG, seeds=2)
    baseline = Baseline.of(weak, "first")
    assert [baseline.state(place) for place in weak.findings()] == ["unchanged"] * 3
    assert [baseline.state(place) for place in strong.findings()] == ["updated", "unchanged", "unchanged"]
    more = simulated(WEAK, seeds=2, attacks=("lira",))
    assert {baseline.state(place) for place in more.findings()} == {"new"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: {**c, "schema": 99}, "newer gaudit"),
        (lambda c: {**c, "schema": "1"}, "'schema' must be 1"),
        (lambda c: {k: v for k, v in c.items() if k != "schema"}, "'schema' must be 1"),
        (lambda c: {k: v for k, v in c.items() if k != "findings"}, "broken at 'findings'"),
        (lambda c: {**c, "more": 1}, "broken at 'more'"),
        (lambda c: {**c, "findings": []}, "broken at 'findings'"),
        (lambda c: [c], "holds no table"),
    ],
)
def test_broken_files_are_refused_and_left_as_they_are(audit, tmp_path, change, said):
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps(change(json.loads(Baseline.of(audit, "first").text()))))
    before = path.read_bytes()
    with pytest.raises(InputError, match=said) as caught:
        Baseline.read(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"schema": NaN}'])
def test_what_is_no_json_is_refused(tmp_path, content):
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=str(path)):
        Baseline.read(path)


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(InputError, match="gaudit baseline update"):
        Baseline.read(tmp_path / "none.json")
