"""Statements of a paper, each said once with the graphs that it was looked at on."""

from dataclasses import replace

from gaudit.reports.text.reproduced import statements
from support.small_experiment import axis_figure, told


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
    assert statements(figure, records)[0] == expected
    assert statements(figure, []) == []
