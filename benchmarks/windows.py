"""What it takes to make a large network k-degree over windows of time.

    python benchmarks/windows.py

Messages are drawn among people of whom some write much, at random times. Printed are the CPU seconds of cutting the
network into windows, of the defense and of its check, the largest memory of the process, and what was checked.
"""

import resource
import time

import click
import numpy as np

from gaudit.graphs.events import Events
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes, ends
from gaudit.graphs.snapshots import windowed
from gaudit.registry import find


def drawn(people: int, messages: int, seed: int = 0) -> Network:
    """A network of random messages with times."""
    rng = np.random.default_rng(seed)
    both = (people * rng.random((2, messages)) ** 3).astype(np.int64)
    both = both[:, both[0] != both[1]]
    pairs, edge = np.unique(codes(both[0], both[1], people), return_inverse=True)
    events = Events.of(edge, rng.integers(0, 10**7, both.shape[1]))
    return Network.from_edges(people, *ends(pairs, people), events=events)


@click.command()
@click.option("--people", default=100_000, show_default=True)
@click.option("--messages", default=1_000_000, show_default=True)
@click.option("--windows", default=8, show_default=True)
@click.option("--k", default=10, show_default=True)
def main(people: int, messages: int, windows: int, k: int) -> None:
    """CPU seconds, memory, and the checked guarantee."""
    network, defense = drawn(people, messages), find("defenses", "k-degree-temporal")(k=k)
    began = time.process_time()
    cut = windowed(network, windows)
    print(f"cut: {time.process_time() - began:.1f} CPU s, {cut.size:,} edges of all windows")
    began = time.process_time()
    made = defense.on_graph(cut, np.random.SeedSequence(0))
    print(f"made: {time.process_time() - began:.1f} CPU s")
    began = time.process_time()
    found = defense.verify(cut, made)
    print(f"checked: {time.process_time() - began:.1f} CPU s; holds: {found.holds}; {found.detail}")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
