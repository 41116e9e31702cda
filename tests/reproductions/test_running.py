import json

import pytest

from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.running.trial import run_trial
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.reproductions.experiment import Experiment
from gaudit.reproductions.records import Record, add_records, read_records
from gaudit.reproductions.running import counted, planned_trials, run_trials
from support.small_experiment import axis_figure, small_table

SERIAL = {"here": True, "workers": 1}


def ran(experiment, ledger, noted, seeds=2, **how):
    trials, graphs = planned_trials(experiment, range(seeds), False)
    return run_trials(experiment, trials, graphs, seeds, ledger, SERIAL | how, lambda title, r: noted.append(r))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    ledger, noted = tmp_path_factory.mktemp("table") / "l.db", []
    return ledger, ran(small_table(), ledger, noted), noted


def test_every_row_seed_and_tried_setting_is_run_once(table):
    _, found, noted = table
    assert len(found) == len(noted) == 2 * 2 + 2
    assert {(r.row, r.seed, r.tried.get("lr")) for r in found} == {
        *(("plain", s, lr) for s in (0, 1) for lr in (0.01, 0.001)),
        *(("proximal", s, None) for s in (0, 1)),
    }
    assert not any(r.refused for r in found)


def test_what_the_ledger_holds_is_not_run_again(table):
    ledger, found, _ = table
    again: list[Record] = []
    assert [r.values for r in ran(small_table(), ledger, again)] == [r.values for r in found]
    assert not again


@pytest.mark.dear
def test_workers_give_the_same_numbers(table, tmp_path):
    found = ran(small_table(), tmp_path / "l.db", [], here=False, workers=2)
    assert {r.name: r.values for r in found} == {r.name: r.values for r in table[1]}


def test_numbers_are_those_of_the_trial_itself(table):
    record = next(r for r in table[1] if r.row == "proximal" and r.seed == 1)
    trials, graphs = planned_trials(small_table(), range(2), False)
    plan = next(t.plan for t in trials if t.row.name == "proximal" and t.plan.index == 1)
    assert plan.attacks == (AttackPlan("graphmi", {}, "server"),)
    result = run_trial(plan, graphs["karate"])
    judged, blind = result.attacked[0].judged, result.attacked[0].blind
    want = {
        "accuracy": result.utility.test,
        "auc": auc(judged.truth, judged.score),
        "blind": auc(blind.truth, blind.score),
    }
    assert record.values == pytest.approx(want)
    assert record.validation == pytest.approx(result.utility.validation)


def test_an_axis_sets_what_it_names():
    trials, _ = planned_trials(axis_figure(), range(1), False)
    assert [t.plan.target_settings["clients"] for t in trials if t.row.name == "plain"] == [1, 2, 3]
    nested = axis_figure(axis={"name": "b", "setting": "condensing.ratio", "values": [0.1]}, claim=[])
    trials, _ = planned_trials(nested.model_copy(update={"row": nested.row[:1]}), range(1), False)
    assert trials[0].plan.target_settings["condensing"] == {"ratio": 0.1}
    defended = axis_figure(
        axis={"name": "k", "setting": "defense.share", "values": [0.5]},
        row=[{"name": "plain", "target": "fedavg", "defense": "random-subgraph"}],
        claim=[],
    )
    trials, _ = planned_trials(defended, range(1), False)
    assert trials[0].plan.defense_settings == {"share": 0.5}


def test_releases_of_one_run_are_read_by_round(tmp_path):
    figure = Experiment.checked(
        "small",
        {
            "paper": "small",
            "item": "figure6",
            "title": "rounds",
            "kind": "figure",
            "datasets": ["citations"],
            "axis": {"name": "round", "setting": "round", "values": [1, 2]},
            "settings": {
                "clients": 2,
                "rounds": 2,
                "checkpoints": [1, 2],
                "self_training": False,
                "test": {"epochs": 2, "models": 1},
            },
            "row": [{"name": "none", "target": "fedgc"}],
            "measure": [
                {"key": "accuracy", "name": "accuracy"},
                {"key": "auc", "name": "AUC", "of": "plain-auc", "attack": "nearest"},
            ],
        },
    )
    (record,) = ran(figure, tmp_path / "l.db", [], seeds=1)
    assert set(record.values["accuracy"]) == set(record.values["auc"]) == {"1", "2"}


def test_a_trial_that_cannot_run_says_why(tmp_path):
    broken = small_table(row=[{"name": "plain", "target": "fedavg", "settings": {"clients": 33}}], published={})
    found = ran(broken, tmp_path / "l.db", [], seeds=1)
    assert found[0].refused
    assert not found[0].values


def test_two_rows_that_are_one_trial_are_both_recorded(tmp_path):
    twice = small_table(row=[{"name": n, "target": "fedavg"} for n in ("plain", "proximal")], published={})
    noted: list[Record] = []
    found = ran(twice, tmp_path / "l.db", noted, seeds=1)
    assert sorted(r.row for r in found) == sorted(r.row for r in noted) == ["plain", "proximal"]
    assert found[0].values == found[1].values


def test_statistics_are_counted():
    content = {"paper": "p", "item": "table4", "title": "graphs", "kind": "statistics", "datasets": ["karate"]}
    (found,) = counted(Experiment.checked("p", content))
    assert found.values == {"nodes": 34, "edges": 78, "features": 34, "classes": 4}


def test_records_come_back_as_they_were(tmp_path, table):
    file = tmp_path / "r.jsonl"
    add_records(file, table[1])
    back = {r.name: r for r in read_records(file)}
    for record in table[1]:
        assert back[record.name].values == pytest.approx(record.values, abs=1e-6)
        assert back[record.name].tried == record.tried
    add_records(file, [Record("karate", "proximal", 0, values={"accuracy": 0.25})])
    assert {r.name: r for r in read_records(file)}["karate", "proximal", None, "[]", 0, False].values == {
        "accuracy": 0.25
    }


@pytest.mark.parametrize("line", ["{", "[]", '{"dataset": 1}', '{"dataset": "a", "row": "b", "seed": "x"}'])
def test_a_line_that_is_no_record_is_named(tmp_path, line):
    file = tmp_path / "r.jsonl"
    file.write_text(json.dumps({"dataset": "a", "row": "b", "seed": 0}) + "\n" + line + "\n")
    with pytest.raises(InputError, match="line 2"):
        read_records(file)
