"""Edge switching, measured: its speed beside igraph's, and what constrained switching keeps that random one loses.

    python benchmarks/switching.py speed --data DIR
    python benchmarks/switching.py speed --data DIR --network email-Enron
    python benchmarks/switching.py spectrum
    python benchmarks/switching.py large --data DIR

The first makes 10 m switches on a random graph of 20,000 nodes and 100,000 edges and on email-Enron, by turns
with igraph's ``rewire`` (10 m trials) in the same process; times are of the processor. The second is a table in the
manner of Ying and Wu 2008 on a graph like their political books (which carry no licence): three communities of 35
nodes, log-normal weights, pairs of two communities 0.02 times as likely, the seed of 400 that comes nearest to
their lambda_1 and mu_2. The third runs spectral switching on whole networks. DIR holds SNAP's networks in ``snap``.

Defenses are imported where they are needed: they bring torch along, which would be most of the memory.
"""

import resource
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import process_time
from typing import Any

import click
import numpy as np

from gaudit.defenses.randomisation.features import SPECTRUM, features
from gaudit.defenses.randomisation.largest_component import largest_component, within
from gaudit.defenses.randomisation.switching_chain import kept_share, switch
from gaudit.graphs.network import Network

SEED = 157
"""Of the graph that is like political books."""
ROUNDS = 5


def beside(name: str) -> Any:
    """A module that tests share."""
    spec = spec_from_file_location(name, Path(__file__).parents[1] / f"tests/support/{name}.py")
    module = module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def peak() -> float:
    """Most memory held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / (1024 if sys.platform == "darwin" else 1)


@click.group()
def main() -> None:
    pass


@main.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--network", "names", multiple=True, default=("random", "email-Enron"), show_default=True)
def speed(data: Path | None, names: tuple[str, ...]) -> None:
    start = process_time()
    switch(Network.from_edges(4, [0, 2], [1, 3]), np.random.default_rng(0), proposals=1)
    print(f"compiling, or loading what was compiled: {process_time() - start:.2f} s")
    for name in names:
        network = _random() if name == "random" else beside("snap").snap(data, name)
        print(f"{name}: n = {network.nodes}, m = {network.size}")
        ratios = [_once(network, np.random.default_rng(k), k == 0) for k in range(ROUNDS)]
        print(f"  CPU time, igraph / ours: median {np.median(ratios):.2f}, least {min(ratios):.2f}")


def _random() -> Network:
    ends = np.sort(np.random.default_rng(0).integers(20_000, size=(2, 101_000)), 0)
    pairs = np.unique((ends[0] * 20_000 + ends[1])[ends[0] != ends[1]])
    pairs = np.random.default_rng(1).permutation(pairs)[:100_000]
    return Network.from_edges(20_000, pairs // 20_000, pairs % 20_000)


def _once(network: Network, rng: np.random.Generator, told: bool) -> float:
    """igraph's time over ours, once each."""
    held, start = peak(), process_time()
    after, tally = switch(network, rng, successes=10 * network.size)
    ours, grown = process_time() - start, peak() - held
    assert (after.degrees == network.degrees).all()
    assert len(np.unique(after.codes)) == network.size
    graph, start = network.igraph(), process_time()
    graph.rewire(n=10 * network.size)
    theirs = process_time() - start
    if told:
        print(f"  {tally.accepted} switches of {tally.proposed} proposals ({tally.rejected} rejected),")
        print(
            f"  kept edges {kept_share(network, after):.4f}, memory {held:.0f} MB, at the peak {grown:.0f} MB more"
        )
    print(f"  ours {ours:.3f} s, igraph {theirs:.3f} s")
    return theirs / ours


@main.command()
@click.option("--seeds", default=5, show_default=True)
def spectrum(seeds: int) -> None:
    network = beside("three_communities").three_communities(SEED)
    _row("no switch", [network], network)
    for switches in (50, 100, 200, 400):
        ours = [_spectral(network, switches, seed) for seed in range(seeds)]
        _row(f"{switches} spectral", ours, network)
        random = [switch(network, np.random.default_rng(seed), successes=switches)[0] for seed in range(seeds)]
        _row(f"{switches} random", random, network)
        alike = [at_overlap(network, kept_share(network, own), seed) for seed, own in enumerate(ours)]
        _row("random, as many edges kept", alike, network)


def _spectral(network: Network, switches: int, seed: int) -> Network:
    from gaudit.defenses.randomisation.spectral_switch import SpectralSwitch

    defense = SpectralSwitch(switches=switches / network.size)
    return defense.on_graph(network, np.random.SeedSequence(seed))


def at_overlap(network: Network, share: float, seed: int) -> Network:
    """As many random switches as keep a share of the edges, or hardly more."""
    few, many = 0, 4 * network.size
    while many - few > max(1, network.size // 500):
        middle = (few + many) // 2
        switched, _ = switch(network, np.random.default_rng(seed), successes=middle)
        few, many = (middle, many) if kept_share(network, switched) >= share else (few, middle)
    return switch(network, np.random.default_rng(seed), successes=few)[0]


def _row(title: str, graphs: list[Network], before: Network) -> None:
    """lambda_1 and mu_2 of the largest component and the share of kept edges: least and most."""
    columns: dict[str, list[float]] = {"lambda_1": [], "mu_2": [], "kept": []}
    for graph in graphs:
        found = features(within(graph, largest_component(graph)).adjacency, SPECTRUM).values
        for name in SPECTRUM:
            columns[name].append(found[name])
        columns["kept"].append(kept_share(before, graph))
    told = ", ".join(f"{name} {min(v):.4g} to {max(v):.4g}" for name, v in columns.items())
    print(f"{title:28}{told}", flush=True)


@main.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option("--network", "names", multiple=True, default=("ca-HepTh", "facebook_combined", "email-Enron"))
@click.option("--switches", default=0.5, show_default=True)
def large(data: Path, names: tuple[str, ...], switches: float) -> None:
    from gaudit.defenses.randomisation.spectral_switch import SpectralSwitch

    warm = beside("three_communities").three_communities(SEED)
    SpectralSwitch().on_graph(warm, np.random.SeedSequence(0))
    for name in names:
        network, start = beside("snap").snap(data, name), process_time()
        after, tally = SpectralSwitch(switches=switches).switched(network, np.random.SeedSequence(0))
        print(
            f"{name}: {tally.accepted} switches of {tally.proposed} proposals in {process_time() - start:.1f} s CPU"
        )
        _row("no switch", [network], network)
        _row("spectral", [after], network)
        _row("random, as many edges kept", [at_overlap(network, kept_share(network, after), 0)], network)


if __name__ == "__main__":
    main()
