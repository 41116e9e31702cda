"""k-automorphism and k-neighbourhood anonymity, measured: what they add, and how long they take.

    python benchmarks/k_automorphism.py --data DIR
    python benchmarks/k_automorphism.py --data DIR --defense k-neighbourhood --network ca-HepTh
    python benchmarks/k_automorphism.py --data DIR --defense unlink --network email-Eu-core

``unlink`` is k-neighbourhood that removes edges where it gives up. DIR holds SNAP's networks in ``snap``. Edges
are told as a multiple of the original's, and so is how many of these are kept; times are of the processor, with one
table compiled beforehand; the check of the output is timed apart.
"""

from functools import partial
from pathlib import Path
from runpy import run_path
from time import process_time
from typing import Any

import click
import numpy as np

from gaudit.defenses.anonymity.k_automorphism import KAutomorphism
from gaudit.defenses.anonymity.k_neighbourhood import KNeighbourhood
from gaudit.graphs.network import Network

DEFENSES: dict[str, Any] = {
    "k-automorphism": KAutomorphism,
    "k-neighbourhood": KNeighbourhood,
    "unlink": partial(KNeighbourhood, otherwise="unlink"),
}
HUBS = ("email-Eu-core", "CollegeMsg", "wiki-Vote")
NETWORKS = ("karate", "ca-HepTh", "facebook_combined", "email-Enron")


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option(
    "--network", "names", multiple=True, type=click.Choice((*NETWORKS, *HUBS)), default=NETWORKS, show_default=True
)
@click.option("--defense", type=click.Choice(list(DEFENSES)), default="k-automorphism", show_default=True)
@click.option("--k", "ks", multiple=True, type=int, default=(2, 5, 10), show_default=True)
def main(data: Path, names: tuple[str, ...], defense: str, ks: tuple[int, ...]) -> None:
    KAutomorphism(k=2).on_graph(network("karate", data), np.random.SeedSequence(0))
    click.echo("| network | k | edges | kept | nodes added | CPU s | check, CPU s | holds |\n" + "|---" * 8 + "|")
    for name in names:
        for k in ks:
            click.echo(f"| {name} | {k} | {row(network(name, data), DEFENSES[defense](k=k))} |")


def row(before: Network, defense: Any) -> str:
    """The cells of one network and k."""
    began = process_time()
    after = defense.on_graph(before, np.random.SeedSequence(0))
    made = process_time()
    holds = defense.verify(before, after).holds
    times = f"{made - began:.1f} | {process_time() - made:.1f}"
    low, high = before.plain().edges
    kept = np.isin(low * after.nodes + high, after.plain().codes).mean()
    return f"{after.size / before.size:.3f} | {kept:.3f} | {after.nodes - before.nodes} | {times} | {holds}"


def network(name: str, data: Path) -> Network:
    """A network by name."""
    import igraph

    if name == "karate":
        return Network.from_edges(34, *np.array(igraph.Graph.Famous("Zachary").get_edgelist()).T)
    found: Network = run_path(str(Path(__file__).parents[1] / "tests/support/snap.py"))["snap"](data, name)
    return found


if __name__ == "__main__":
    main()
