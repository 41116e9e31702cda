"""Active attacks by planted walks: how often accounts are found again, and what noise does to it.

    python benchmarks/active_walk.py plain --graph ca-HepTh
    python benchmarks/active_walk.py noise --graph ca-HepTh --change switch --change edit

Graphs are edge lists from SNAP in the folder that GAUDIT_DATA names. The first table counts plants that are
recovered uniquely: one embedding, and it is the planted one; the accounts' links are drawn again until they cannot
be mistaken for each other. The second changes the release: ``switch`` makes switches for half of the share of
edges, each of which moves two (degrees stay); ``edit`` deletes this share and links as many other pairs. Its
columns: plants whose accounts are found, plants of which the search did not end within the budget, and the share of
the targets that are identified.
"""

import time
from collections.abc import Callable

import click
import numpy as np
from snap_networks import snap

from gaudit.attacks.identity.active_walk import victims
from gaudit.attacks.identity.walk_recovery import BUDGET, Pattern, find, marks
from gaudit.defenses.randomisation.random_edit import edited
from gaudit.defenses.randomisation.switching_chain import switch
from gaudit.graphs.network import Ints, Network
from gaudit.targets.publishing.planted_accounts import plant

GRAPHS = ("ca-HepTh", "email-Enron", "wiki-Vote")
EXTERNAL = ((10, 20), (20, 60))
ACCOUNTS = (3, 4, 5, 7, 10)
TOLERANCES = ((0, 0), (0, 3), (2, 2), (5, 6))
AS_DRAWN = {  # measured before accounts drew links again, for (10, 20) and (20, 60)
    "email-Enron": ((2, 4), (14, 19), (17, 17), (19, 20), (20, 20)),
    "ca-HepTh": ((1, 14), (13, 20), (15, 17), (18, 20), (20, 20)),
    "wiki-Vote": ((13, 9), (16, 18), (16, 16), (19, 20), (20, 20)),
}
graphs = click.option(
    "--graph", "graphs", multiple=True, type=click.Choice(GRAPHS), default=GRAPHS, show_default=True
)
plants = click.option("--plants", default=20, show_default=True)


@click.group()
def main() -> None:
    """Walk-based active attacks, measured."""


@main.command()
@graphs
@plants
def plain(graphs: tuple[str, ...], plants: int) -> None:
    """Unique recovery from a release without noise, by accounts and their links to persons."""
    line("graph", "links", *(f"k={k} (links as drawn)" for k in ACCOUNTS), "nodes of the tree", "ms each")
    for name in graphs:
        base = snap(name)
        for column, external in enumerate(EXTERNAL):
            cells, visited, spent = [], [], 0.0
            for row, accounts in enumerate(ACCOUNTS):
                unique = 0
                for seed in range(plants):
                    network, own, _ = planted(base, accounts, seed, external)
                    began = time.process_time()
                    found = find(network, Pattern.of(network, own))
                    spent += time.process_time() - began
                    visited.append(found.visited)
                    unique += found.embeddings.tolist() == [own.tolist()]
                cells.append(f"{unique} ({AS_DRAWN[name][row][column]})")
            span = f"{min(visited)} to {max(visited)}"
            line(name, external, *cells, span, f"{1000 * spent / len(visited):.1f}")


@main.command()
@graphs
@plants
@click.option(
    "--change", "changes", multiple=True, type=click.Choice(["switch", "edit"]), default=("switch", "edit")
)
@click.option("--share", "shares", multiple=True, type=float, default=(0.001, 0.01, 0.05), show_default=True)
@click.option("--accounts", default=10, show_default=True)
@click.option("--budget", default=BUDGET, show_default=True)
def noise(
    graphs: tuple[str, ...],
    plants: int,
    changes: tuple[str, ...],
    shares: tuple[float, ...],
    accounts: int,
    budget: int,
) -> None:
    """Recovery from a changed release, exact and with tolerance of degrees and of links among the accounts."""
    heads = (f"{degree}/{edge}: found, not ended, targets" for degree, edge in TOLERANCES)
    line("graph", "change", "share of edges", *heads, "s each at the most tolerant")
    for name in graphs:
        base = snap(name)
        for change in changes:
            for share in shares:
                line(name, change, f"{share:.1%}", *noisy(base, CHANGES[change], share, accounts, plants, budget))


def noisy(
    base: Network, change: Callable[..., Network], share: float, accounts: int, plants: int, budget: int
) -> list[str]:
    """The cells of one row."""
    found_own, unended, targets = (np.zeros((plants, len(TOLERANCES))) for _ in range(3))
    spent = 0.0
    for seed in range(plants):
        network, own, marked = planted(base, accounts, seed, EXTERNAL[0])
        release, pattern = change(network, share, seed), Pattern.of(network, own)
        for column, tolerance in enumerate(TOLERANCES):
            began = time.process_time()
            found = find(release, pattern, *tolerance, budget)
            links = marks(network, own)[: base.nodes]
            sets, places = victims(release, found, links, tolerance != (0, 0))
            spent += (time.process_time() - began) * (column == len(TOLERANCES) - 1)
            found_own[seed, column] = found.embeddings.tolist() == [own.tolist()]
            unended[seed, column] = not found.complete
            targets[seed, column] = np.mean([sets[places[person]].tolist() == [person] for person in marked])
    cells = zip(found_own.sum(0), unended.sum(0), targets.mean(0), strict=True)
    return [*(f"{a:.0f}, {b:.0f}, {c:.0%}" for a, b, c in cells), f"{spent / plants:.2f}"]


def planted(base: Network, accounts: int, seed: int, external: tuple[int, int]) -> tuple[Network, Ints, Ints]:
    """A network with accounts and up to 20 targets, the accounts' ids, and the targets'."""
    rng = np.random.default_rng(seed)
    marked = rng.permutation(base.nodes)[: min(20, 2 * accounts, 4 if accounts == 3 else 20)]
    network = plant(base, accounts, marked, rng, external)
    return network, np.arange(base.nodes, network.nodes), marked


def switched(network: Network, share: float, seed: int) -> Network:
    count = round(share * network.size / 2)  # each switch moves two edges
    return switch(network, np.random.default_rng(seed), successes=count)[0]


def replaced(network: Network, share: float, seed: int) -> Network:
    return edited(network, round(share * network.size), np.random.default_rng(seed))


CHANGES = {"switch": switched, "edit": replaced}


def line(*cells: object) -> None:
    click.echo("| " + " | ".join(str(cell) for cell in cells) + " |")


if __name__ == "__main__":
    main()
