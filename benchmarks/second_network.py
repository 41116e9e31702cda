"""How many people are found by whoever holds a second real network of the same people.

    GAUDIT_DATA=... python benchmarks/second_network.py

The messages of a network with times are cut at their median time. What is published is the network of the later
half, and the adversary holds that of the earlier half with names. Beside it stands an adversary who holds a random
90 % of the published network's own links, as `overlap` has it. Shares of people that are named (the mean of 1 / k,
see docs/leaks/publishing-attacks.md), of those who have a link in both halves and are not known beforehand. Means
over the seeds.
"""

import gzip
import os
from pathlib import Path

import click
import numpy as np

from gaudit.attacks.identity.seeded_matching import SeededMatching
from gaudit.attacks.identity.seedless_matching import SeedlessMatching
from gaudit.graphs.network import Network, Original
from gaudit.registry import find

NETWORKS = ("CollegeMsg", "email-Eu-core-temporal")
DEFENSES = (("none", {}), ("k-degree", {"k": 10}), ("random-edit", {"share": 0.1}))
ATTACKS = (SeededMatching(), SeedlessMatching())


@click.command()
@click.option("--network", "names", multiple=True, default=NETWORKS, show_default=True)
@click.option("--seeds", default=3, show_default=True)
def main(names: tuple[str, ...], seeds: int) -> None:
    """A table of networks under defenses."""
    head = [f"{attack.name}, {held}" for attack in ATTACKS for held in ("second network", "90 % of the links")]
    print("| network | defense | " + " | ".join(head) + " |\n" + "|---" * (2 + len(head)) + "|")
    for name in names:
        earlier, later = halves(name)
        for defense, settings in DEFENSES:
            runs = [measured(earlier, later, defense, settings, seed) for seed in range(seeds)]
            shares = " | ".join(f"{100 * share:.1f} %" for share in np.mean(runs, axis=0))
            print(f"| {name} | {defense} | {shares} |", flush=True)


def halves(name: str) -> tuple[Network, Network]:
    """The networks of the earlier and the later messages, of all people."""
    with gzip.open(Path(os.environ["GAUDIT_DATA"]) / "snap" / f"{name}.txt.gz") as stream:
        rows = np.loadtxt(stream, dtype=np.int64)
    ids, ends = np.unique(rows[:, :2], return_inverse=True)
    ends, late = np.sort(ends.reshape(-1, 2), axis=1), rows[:, 2] > np.median(rows[:, 2])
    proper = ends[:, 0] != ends[:, 1]
    one, other = (np.unique(ends[proper & part], axis=0).T for part in (~late, late))
    return Network.from_edges(len(ids), *one), Network.from_edges(len(ids), *other)


def measured(earlier: Network, later: Network, defense: str, settings: dict[str, float], seed: int) -> list[float]:
    """Named by each attack: with the earlier network, and with a part of the later one."""
    published = find("defenses", defense)(**settings).on_graph(later, np.random.SeedSequence(seed))
    found = []
    for attack in ATTACKS:
        for held in (earlier, None):
            rng = np.random.default_rng(seed)
            new, order = rng.permutation(published.nodes), rng.permutation(later.nodes)
            known, asked = np.split(order, [round(attack.knows_people * later.nodes)])
            asked = asked[(earlier.degrees > 0)[asked] & (later.degrees > 0)[asked]]
            facts = attack.learn(Original(later, auxiliary=held), rng)
            named = attack.candidates(published.renamed(new), facts, np.stack([known, new[known]]), rng)
            found.append(float(named.probability(asked, new[asked]).mean()))
    return found


if __name__ == "__main__":
    main()
