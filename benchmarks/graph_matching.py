"""How many persons graph matching names, with some of them known beforehand and with none.

    GAUDIT_DATA=... python benchmarks/graph_matching.py

A row is a network under a defense: the share of persons that are named (the mean of 1 / k, see
docs/leaks/publishing-attacks.md) by `seeded-matching`, which knows 5 % of them, and by `seedless-matching`; of
those with one candidate how many are right; and how many percolation from the known persons alone matches, without
seeds of its own and without guesses. All three know a random 90 % of the original's edges, and persons known
beforehand are left out of every share. Means over the seeds; seconds are of the processor, for one match.
"""

from time import process_time

import click
import numpy as np
from snap_networks import snap

from gaudit.attacks.identity.graph_matching import percolation
from gaudit.attacks.identity.identity_attack import Candidates
from gaudit.attacks.identity.seeded_matching import SeededMatching, auxiliary_network
from gaudit.attacks.identity.seedless_matching import SeedlessMatching
from gaudit.graphs.network import Ints, Network, Original
from gaudit.registry import find

NETWORKS = ("ca-GrQc", "ca-HepTh", "wiki-Vote", "facebook_combined")
DEFENSES = (
    ("none", {}),
    ("k-degree", {"k": 10}),
    ("random-edit", {"share": 0.1}),
    ("random-switch", {"switches": 0.1}),
    ("random-switch", {"switches": 0.3}),
)
HEAD = ("network", "defense", "seeded", "right", "seedless", "right", "percolation alone", "s", "fails")


@click.command()
@click.option("--network", "names", multiple=True, default=NETWORKS, show_default=True)
@click.option("--seeds", default=3, show_default=True)
def main(names: tuple[str, ...], seeds: int) -> None:
    """A table; "fails" counts seeds in which knowing persons names fewer than knowing none."""
    print("| " + " | ".join(HEAD) + " |\n" + "| --- " * len(HEAD) + "|")
    for name in names:
        network = snap(name)
        for defense, settings in DEFENSES:
            runs = np.array([measured(network, defense, settings, seed) for seed in range(seeds)])
            fails = int((runs[:, 0] < runs[:, 2]).sum())
            shares = " | ".join(f"{100 * share:.1f} %" for share in runs[:, :5].mean(0))
            called = " ".join([defense, *(f"{key} = {value}" for key, value in settings.items())])
            print(f"| {name} | {called} | {shares} | {runs[:, 5].mean():.1f} | {fails} of {seeds} |", flush=True)


def measured(network: Network, defense: str, settings: dict[str, float], seed: int) -> tuple[float, ...]:
    """Named and right by `seeded-matching`, so by `seedless-matching`, matched by percolation, and seconds."""
    published = find("defenses", defense)(**settings).on_graph(network, np.random.SeedSequence(seed))
    rng = np.random.default_rng(seed)
    new, order = rng.permutation(published.nodes), rng.permutation(network.nodes)
    released, seeded = published.renamed(new), SeededMatching()
    known, asked = np.split(order, [round(seeded.knows_people * network.nodes)])
    facts = seeded.learn(Original(network), rng)
    found: list[float] = []
    spent = []
    for attack, seeds in ((seeded, np.stack([known, new[known]])), (SeedlessMatching(), np.empty((2, 0), int))):
        start = process_time()
        found += named(attack.candidates(released, facts, seeds, rng), asked, new[asked])
        spent.append(process_time() - start)
    alone = percolation(auxiliary_network(facts), released, np.stack([known, new[known]]))
    return (*found, float((alone[asked] == new[asked]).mean()), max(spent))


def named(found: Candidates, persons: Ints, image: Ints) -> list[float]:
    """The mean of 1 / k, and the share of those with one candidate whose candidate is right."""
    chance, single = found.probability(persons, image), found.sizes[persons] == 1
    return [float(chance.mean()), float((chance[single] == 1).mean()) if single.any() else 0.0]


if __name__ == "__main__":
    main()
