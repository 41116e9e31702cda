"""A table and a figure that take a second to reproduce, in place of published ones."""

from typing import Any

from gaudit.reproductions.experiment import Experiment
from gaudit.reproductions.records import Record

SHORT = {"clients": 2, "rounds": 2, "local_epochs": 1, "lr": 0.01}


def small_table(**more: Any) -> Experiment:
    """Two ways to train on karate, with an attack on links."""
    content: dict[str, Any] = {
        "paper": "small",
        "item": "table1",
        "title": "averaging on a club",
        "kind": "table",
        "datasets": ["karate"],
        "lacking": ["Reddit"],
        "seeds": 2,
        "settings": {"clients": 2, "rounds": 2, "local_epochs": 1, "partition": "dirichlet"},
        "quick": {"fedavg": {"rounds": 1}},
        "row": [
            {"name": "plain", "target": "fedavg", "tried": {"lr": [0.01, 0.001]}},
            {"name": "proximal", "target": "fedprox", "ours": True},
        ],
        "measure": [
            {"key": "accuracy", "name": "accuracy %"},
            {"key": "auc", "name": "AUC %", "of": "plain-auc", "attack": "graphmi", "observer": "server"},
            {
                "key": "blind",
                "name": "blind",
                "of": "plain-auc",
                "attack": "graphmi",
                "observer": "server",
                "blind": True,
            },
        ],
        "published": {"karate": {"plain": {"accuracy": 50.0, "auc": 60.0}, "proximal": {"accuracy": 70.0}}},
    }
    return Experiment.checked("small", content | more)


def axis_figure(**more: Any) -> Experiment:
    """One way to train, at three numbers of clients, without a published number."""
    content: dict[str, Any] = {
        "paper": "small",
        "item": "figure3",
        "title": "clients",
        "kind": "figure",
        "datasets": ["karate"],
        "axis": {"name": "clients", "setting": "clients", "values": [1, 2, 3]},
        "row": [{"name": "plain", "target": "fedavg"}, {"name": "proximal", "target": "fedprox"}],
        "measure": [{"key": "accuracy", "name": "accuracy %"}],
        "claim": [
            {
                "says": "Plain averaging is better.",
                "larger": {"row": "plain", "measure": "accuracy"},
                "smaller": {"row": "proximal", "measure": "accuracy"},
            }
        ],
    }
    return Experiment.checked("small", content | more)


def told(row: str, seed: int, at: Any = None, **values: float) -> Record:
    """A record of karate."""
    return Record("karate", row, seed, at=at, values=values)
