"""Tables of what was measured, and statements of a paper, each said once with the graphs it was looked at on."""

from dataclasses import replace

from gaudit.reports.text.reproduced import reasons, reproduced_tables, statements
from support.small_experiment import axis_figure, small_table, told


def test_a_statement_is_said_once_with_graphs_by_what_came_out():
    figure = axis_figure(datasets=["karate", "citations", "Cora", "CiteSeer"])
    better = {"karate": 0.2, "citations": 0.2, "Cora": -0.2}
    records = [
        replace(told(row, seed, at, accuracy=0.5 + seed / 1000 + (gain if row == "plain" else 0)), dataset=dataset)
        for dataset, gain in better.items()
        for row in ("plain", "proximal")
        for at in (1, 2, 3)
        for seed in range(3)
    ]
    says = figure.claim[0].says
    expected = f"{says} karate and citations: holds at 3 of 3 places; Cora: does not hold at 3 of 3 places."
    assert statements(figure, records)[0][0] == expected
    assert statements(figure, []) == ([], [])


def test_statements_are_open_where_seeds_show_nothing_anywhere():
    better = {"plain": 0.2, "proximal": 0.0}
    records = [
        told(row, seed, at, accuracy=0.5 + seed / 1000 + gain)
        for row, gain in better.items()
        for at in (1, 2, 3)
        for seed in range(3)
    ]
    of_one_seed = [record for record in records if record.seed == 0]
    says = axis_figure().claim[0].says
    decided, undecided = statements(axis_figure(), of_one_seed)
    assert decided == []
    assert undecided[0].startswith(says)
    decided, undecided = statements(axis_figure(), records)
    assert decided[0].startswith(says)
    assert not any(line.startswith(says) for line in undecided)


def test_seeds_are_told_from_fewest_to_most():
    at_places = {1: 3, 2: 1}  # none at the third
    records = [told("plain", seed, at, accuracy=0.5) for at, seeds in at_places.items() for seed in range(seeds)]
    (table,) = reproduced_tables(axis_figure(), records)
    assert {row[0]: row[1] for row in table.rows} == {"plain": "1 to 3"}


def test_rows_have_run_or_a_published_number():
    rows = [{"name": name, "target": "fedavg"} for name in ("printed", "run", "neither")]
    figure = axis_figure(row=rows, claim=[], published={"karate": {"printed": {"accuracy": [50.0, 50.0, 50.0]}}})
    (table,) = reproduced_tables(figure, [told("run", 0, 1, accuracy=0.5)])
    assert [row[0] for row in table.rows] == ["printed", "run"]


def test_a_reason_of_a_graph_stands_there_once_the_graph_has_run():
    reason = [{"row": "plain", "dataset": "karate", "why": "A club."}, {"row": "plain", "why": "A row."}]
    table = small_table(reason=reason)
    assert reasons(table, []) == ["A row."]
    assert reasons(table, [told("plain", 0, accuracy=0.5)]) == ["A club.", "A row."]
