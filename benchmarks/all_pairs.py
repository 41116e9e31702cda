"""What benchmarks of links share: figures over all pairs of nodes, and rows that are kept in a file."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.stats import t as student

Row = Callable[[], dict[str, float]]
"""Measures one row of a table: figures by name."""


def linked(data: Any) -> np.ndarray:
    """Whether each pair of nodes is linked, [n, n] bool."""
    found = np.zeros((data.num_nodes, data.num_nodes), dtype=bool)
    found[data.edge_index[0], data.edge_index[1]] = True
    return found


def upper(table: Any, nodes: np.ndarray | None = None) -> np.ndarray:
    """The entry of each pair: of all pairs, or of those of some nodes with all nodes (each pair once)."""
    table = np.asarray(table)
    if nodes is None:
        return table[np.triu_indices(len(table), 1)]
    later = np.ones(len(table), dtype=bool)
    parts = []
    for node in nodes.tolist():
        later[node] = False
        parts.append(table[node, later])
    return np.concatenate(parts)


def figures(truth: np.ndarray, score: np.ndarray) -> dict[str, float]:
    """AUC, average precision, and precision of as many guesses as there are links; ties are in random order."""
    order = np.argsort(-score)
    ordered, hit = score[order], truth[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    hits, seen = np.cumsum(hit)[last].astype(float), last + 1.0
    found, missed = np.diff(hits, prepend=0), np.diff(seen - hits, prepend=0)
    links, others = hits[-1], seen[-1] - hits[-1]
    return {
        "AUC": float((missed * (hits - found / 2)).sum() / (links * others)),
        "AP": float((found * hits / seen).sum() / links),
        "precision": float(np.interp(links, np.r_[0, seen], np.r_[0, hits]) / links),
    }


def cosines(rows: Any, others: Any = None) -> np.ndarray:
    """Of each row with each other row, [n, m]."""
    from gaudit.attacks.links.link_attack import unit_rows

    found: np.ndarray = (unit_rows(rows) @ unit_rows(rows if others is None else others).t()).numpy()
    return found


class Kept:
    """Finished rows, in a file of one JSON object a line; what it holds is not measured again."""

    def __init__(self, file: Path) -> None:
        self.file = file
        told = file.read_text().splitlines() if file.exists() else []
        self.rows: dict[tuple[str, ...], dict[str, float]] = {
            tuple(row["key"]): row["figures"] for row in map(json.loads, told)
        }

    def measure(self, key: tuple[str, ...], row: Row) -> None:
        """Measures a row, unless it is there."""
        if key in self.rows:
            return
        began = time.process_time()
        self.rows[key] = row()
        self.rows[key].setdefault("CPU s", time.process_time() - began)
        with self.file.open("a") as stream:
            stream.write(json.dumps({"key": key, "figures": self.rows[key]}) + "\n")

    def show(self, head: tuple[str, ...], first: str) -> None:
        """A table of the rows whose keys begin so: means over seeds, a key's last part, ± half a 95 % interval."""
        own = [(key, row) for key, row in self.rows.items() if key[: len(head)] == head]
        if not own:
            return
        names = list(dict.fromkeys(name for _, row in own for name in row))
        click.echo(f"\n### {', '.join(head)}\n\n| {' | '.join((first, *names, 'seeds'))} |")
        click.echo("| --- " * (len(names) + 2) + "|")
        for label in dict.fromkeys(key[len(head)] for key, _ in own):
            runs = [row for key, row in own if key[len(head)] == label]
            cells = [told([row[name] for row in runs if name in row], name) for name in names]
            click.echo(f"| {label} | {' | '.join(cells)} | {len(runs)} |")


def told(values: list[float], name: str) -> str:
    """The mean and, from two seeds on, half the width of its 95 % interval by Student's t."""
    if not values or name == "CPU s":
        return f"{np.mean(values):.1f}" if values else ""
    half = student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5 if values[1:] else None
    return f"{np.mean(values):.3f}" + (f" ± {half:.3f}" if half is not None else "")
