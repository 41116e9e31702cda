"""How many persons are named where weights of edges are published as they are, or told in part.

    GAUDIT_DATA=... python benchmarks/told_weights.py

Edges get weights that are drawn: amounts with two decimals (log-normal, median 20, sigma 1), or whole numbers
(geometric, mean 20). A row is a way to tell them. Shares of persons that are named (the mean of 1 / k, see
docs/leaks/publishing-attacks.md) by `refinement`, which knows the degrees of each one's neighbours and the sum of
the true weights at each. Nothing else of the network is changed. Means over the seeds.
"""

from dataclasses import replace

import click
import numpy as np
from snap_networks import snap

from gaudit.attacks.identity.vertex_refinement import Refinement
from gaudit.graphs.network import Network, Original
from gaudit.graphs.told_weights import ToldWeights

WAYS = ("dropped", "as they are", "rounded:1", "rounded:10", "rounded:100", "binned:10", "binned:3", "noised:5")
WAYS += ("noised:100",)
DRAWN = {
    "amounts": lambda rng, size: rng.lognormal(np.log(20), 1, size).round(2),
    "whole numbers": lambda rng, size: rng.geometric(1 / 20, size).astype(float),
}


@click.command()
@click.option("--network", "name", default="ca-GrQc", show_default=True)
@click.option("--seeds", default=3, show_default=True)
def main(name: str, seeds: int) -> None:
    """A table of ways and kinds of weights."""
    network = snap(name)
    print(f"| told of weights | {' | '.join(DRAWN)} |\n|---|{'---|' * len(DRAWN)}")
    for way in WAYS:
        shares = [np.mean([named(network, kind, way, seed) for seed in range(seeds)]) for kind in DRAWN]
        print(f"| {way} | {' | '.join(f'{100 * share:.1f} %' for share in shares)} |", flush=True)


def named(network: Network, kind: str, way: str, seed: int) -> float:
    """The share of persons who are named."""
    rng, attack = np.random.default_rng(seed), Refinement()
    weighted = replace(network, weights=DRAWN[kind](rng, network.size))
    told = network if way == "dropped" else weighted
    told = ToldWeights.read(way).of(weighted, rng) if ":" in way else told
    new = rng.permutation(network.nodes)
    found = attack.candidates(
        told.renamed(new), attack.learn(Original(weighted), rng), np.empty((2, 0), dtype=np.int64), rng
    )
    return float(found.probability(np.arange(network.nodes), new).mean())


if __name__ == "__main__":
    main()
