"""The plan files that are packaged: each can be read, and everything that it names exists."""

import pytest

from gaudit.audit.planning.grid import key_of
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import dataset_names, load_dataset
from gaudit.reproductions.catalogue import experiment_of, experiments, paper_of, papers, records_of
from gaudit.reproductions.trials import trials_of

RUN = [e for e in experiments() if e.kind in ("table", "figure")]
SYSTEMS = ("fedgc", "fedgm", "fedc4", "sos")
PRINTED = {
    "fedgc": ({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
    "fedgm": ({1, 2}, {1, 2, 3, 4, 5, 6}),
    "fedc4": ({1, 2, 3, 4}, {1, 2, 3, 4, 5, 6, 7}),
    "sos": ({1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
}
"""Tables and figures of each paper, by their numbers."""


@pytest.mark.parametrize("paper", SYSTEMS)
def test_every_table_and_figure_of_the_four_papers_is_there(paper):
    numbers = {"table": set(), "figure": set()}
    for one in experiments(paper):
        kind = "table" if one.item.startswith("table") else "figure"
        numbers[kind].add(int("".join(letter for letter in one.item if letter.isdigit())))
    assert (numbers["table"], numbers["figure"]) == PRINTED[paper]
    assert paper_of(paper).title


@pytest.mark.parametrize("experiment", RUN, ids=lambda e: e.name)
def test_targets_defenses_attacks_and_settings_exist(experiment):
    """Nothing is run: every trial is made, of the full plan and of the quick one."""
    for dataset in experiment.datasets or experiment.lacking[:1]:
        data = load_dataset("karate")
        data.name = dataset
        for quick in (False, True):
            for trial in trials_of(experiment, dataset, data, range(1), quick):
                target, defense = trial.plan.make_target(), trial.plan.make_defense()
                assert target.why_not(defense) is None
                for attack in trial.plan.attacks:
                    attack.make()


@pytest.mark.parametrize("experiment", experiments(), ids=lambda e: e.name)
def test_graphs_are_known_and_records_belong_to_rows(experiment):
    assert set(experiment.datasets) <= set(dataset_names())
    rows, measures = {row.name for row in experiment.row}, {m.key for m in experiment.measure}
    for record in (*records_of(experiment), *records_of(experiment, quick=True)):
        assert record.dataset in experiment.datasets
        assert record.row in rows
        assert set(record.values) <= measures
        row = next(row for row in experiment.row if row.name == record.row)
        assert record.at is None or record.at in experiment.places(record.dataset, row)


@pytest.mark.parametrize("name", ["fedgc:table22", "fedgx:table2", "table2", "fedgc:"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(InputError):
        experiment_of(name)


def test_papers_are_folders_with_a_title():
    assert set(SYSTEMS) < set(papers())


def test_figures_of_a_paper_have_trials_in_common():
    """One ledger for a paper runs them once: gamma, the number of clients and the ablations begin from one run."""
    data = load_dataset("karate")
    data.name = "Cora"
    found = [trials_of(experiment_of(f"fedgc:figure{n}"), "Cora", data, range(1)) for n in (5, 7, 9)]
    keys = [{key_of(trial.plan, "") for trial in trials} for trials in found]
    assert len(set.intersection(*keys)) == 1
    (shared,) = [t for t in found[1] if key_of(t.plan, "") in keys[0]]
    assert shared.at == 5e-4
