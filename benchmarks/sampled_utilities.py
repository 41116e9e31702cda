"""Measures of what a large published network keeps: what samples save, and how often their intervals cover.

    python benchmarks/sampled_utilities.py cost --nodes 100000 --edges 1100000
    python benchmarks/sampled_utilities.py cost --nodes 300000 --edges 3200000
    python benchmarks/sampled_utilities.py coverage --samples 2000

`cost` makes a network with groups and hubs, switches its edges, and measures both. Beside each measure stands the
same with samples as large as on small networks: 200 sources, 100 cascades, all triangles. Compiled loops are at
hand before the clock, that of the processor, starts. `coverage` counts how often the interval of 95 % has the exact
value in it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import click
import networkx as nx
import numpy as np

from gaudit.graphs.measures import comparison, distances, influence, triangles
from gaudit.graphs.measures.comparison import NetworkComparison
from gaudit.graphs.measures.estimate import Estimate
from gaudit.graphs.measures.influence import spreads
from gaudit.graphs.measures.utility import MEASURES, utility_of
from gaudit.graphs.network import Network
from gaudit.registry import find

DISTANCES = ("harmonic-distance", "effective-diameter")
SAMPLED = {*DISTANCES, "average-clustering", "transitivity", "influence"}


@click.group()
def main() -> None:
    """What samples save, and how often they cover."""


@main.command()
@click.option("--nodes", default=100_000, show_default=True)
@click.option("--edges", default=1_100_000, show_default=True, help="that are drawn; repeated ones count once")
def cost(nodes: int, edges: int) -> None:
    """CPU seconds of each measure, with samples as on small networks and as they are."""
    before = grouped(nodes, edges, np.random.default_rng(0))
    began = time.process_time()
    after = find("defenses", "random-switch")().on_graph(before, np.random.SeedSequence(3))
    click.echo(
        f"{before.nodes:,} nodes, {before.size:,} edges; switching: {time.process_time() - began:.1f} CPU s\n"
    )
    small = grouped(2000, 30_000, np.random.default_rng(0))
    with patch.object(distances, "FEW_STEPS", 0), patch.object(comparison, "LARGE", 0):
        utility_of(small, small, np.random.default_rng(0))  # compiles
        triangles.clustering(small, np.random.default_rng(0), 100)
    with unsampled():
        full = seconds(before, after, SAMPLED)
    found = seconds(before, after, {measure.name for measure in MEASURES})
    for name, spent in found.items():
        click.echo(f"{name:25s} {f'{full[name]:.1f}, then ' if name in full else ''}{spent:.1f}")
    rest = sum(spent for name, spent in found.items() if name not in full)
    click.echo(f"{'all':25s} {rest + sum(full.values()):.1f}, then {sum(found.values()):.1f}")


@main.command()
@click.option("--samples", default=2000, show_default=True)
def coverage(samples: int) -> None:
    """How often intervals of a network of 500 nodes with hubs and triangles cover."""
    graph = nx.powerlaw_cluster_graph(500, 4, 0.6, seed=1)
    before = network_of(graph)
    after = network_of(nx.double_edge_swap(graph.copy(), 300, 50_000, seed=2))
    starts = [np.arange(5)]
    exact = distances.distances(before, np.random.default_rng(0), 500)

    def told(name: str, truth: float, draw: Callable[[np.random.Generator], Estimate]) -> None:
        intervals = [draw(np.random.default_rng(seed)).interval for seed in range(samples)]
        click.echo(f"{name:35s} {np.mean([low <= truth <= high for low, high in intervals]):.3f}")

    def cascades(rng: np.random.Generator) -> Estimate:
        reached = spreads(before, starts, rng, 30)[0]
        return Estimate(float(reached.mean()), reached - reached.mean())

    with patch.object(distances, "FEW_STEPS", 0):
        for name in ("harmonic", "effective_diameter"):
            told(
                f"{name}, 50 sources",
                getattr(exact, name).value,
                lambda rng, name=name: getattr(distances.distances(before, rng, 50), name),
            )
        told("clustering, 200 nodes", nx.average_clustering(graph), lambda r: triangles.clustering(before, r, 200))
        told("transitivity, 500 edges", nx.transitivity(graph), lambda r: triangles.closed_triples(before, r, 500))
        truth = float(spreads(before, starts, np.random.default_rng(10**6), 40_000).mean())
        told("influence, 30 cascades", truth, cascades)
        for name in DISTANCES:
            with patch.object(comparison, "affordable_sources", lambda network: network.nodes):
                score = utility_of(before, after, np.random.default_rng(0), [name])[0].score
            with patch.object(comparison, "affordable_sources", lambda _: 50):
                runs = [utility_of(before, after, np.random.default_rng(s), [name])[0] for s in range(samples)]
            ends = [one.intervals[2] for one in runs if one.intervals]
            share = np.mean([low <= score <= high for low, high in ends])
            click.echo(f"{f'score of {name}, 50 sources':35s} {share:.3f}")


@contextmanager
def unsampled() -> Iterator[None]:
    """Samples are those of small networks."""
    with (
        patch.object(comparison, "affordable_sources", lambda _: distances.SOURCES),
        patch.object(comparison, "affordable_runs", lambda _: influence.RUNS),
        patch.object(comparison, "LARGE", 10**12),
    ):
        yield


def seconds(before: Network, after: Network, names: set[str]) -> dict[str, float]:
    """CPU seconds of these measures; both distances come from one search, the first of them pays."""
    found = {}
    compared = NetworkComparison(before, after, np.random.default_rng(0))
    for network in (compared.before, compared.after):
        network.igraph()
    for measure in MEASURES:
        if measure.name in names:
            began = time.process_time()
            measure.compare(compared)
            found[measure.name] = time.process_time() - began
    return found


def network_of(graph: nx.Graph) -> Network:
    """The same network."""
    ends = np.array(graph.edges, dtype=np.int64)
    return Network.from_edges(len(graph), ends[:, 0], ends[:, 1])


def grouped(nodes: int, edges: int, rng: np.random.Generator) -> Network:
    """A network of groups of 200 nodes with heavy-tailed weights; three of five edges are within a group."""
    weight = np.minimum((1 - rng.random(nodes)) ** (-1 / 1.8), 300)
    group = rng.integers(nodes // 200, size=nodes)
    order, inside = np.argsort(group, kind="stable"), int(edges * 0.6)
    first = np.searchsorted(group[order], np.arange(nodes // 200 + 1))
    one = rng.choice(nodes, edges, p=weight / weight.sum())
    at = group[one[:inside]]
    near = order[first[at] + (rng.random(inside) * (first[at + 1] - first[at])).astype(np.int64)]
    other = np.concatenate([near, rng.choice(nodes, edges - inside, p=weight / weight.sum())])
    apart = one != other
    pairs = np.unique(np.minimum(one, other)[apart] * nodes + np.maximum(one, other)[apart])
    return Network.from_edges(nodes, pairs // nodes, pairs % nodes)


if __name__ == "__main__":
    main()
