"""What Eq. 12 of SOS keeps, by how its Laplacian is read: the scores IN of Sub-GIB on parts of Cora.

    python benchmarks/belonging.py --seeds 4

Cora in four parts by METIS, 60 % of the nodes labelled, settings of the paper. A half that is kept is that of the
highest IN. `first weights` is what two seeds of the encoder have in common of it. `rounding` is what a fit, of the
first two seeds, has in common with itself once its first layer is moved by one part in four million, as other
processors round.
"""

from contextlib import nullcontext
from itertools import combinations
from typing import Any
from unittest import mock

import click
import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
LAST_DIGIT = 2.0**-22
"""Relative change of a weight: a last digit or two of a number in single precision."""
ROWS = (("normalised", True), ("normalised", False), ("mean", True), ("sum", True))
"""The Laplacian, and whether the loss of the task is there."""
SHOWN = {"deviation": ".4f", "first weights": ".0%", "rounding": ".0%", "degree": ".2f"}
"""Columns, and how their numbers are printed."""


@click.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--clients", default=4, show_default=True)
@click.option("--seeds", default=4, show_default=True, help="first weights of each encoder")
def main(dataset: str, clients: int, seeds: int) -> None:
    """Prints a row for each reading: ranges over the clients."""
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()
    parts = parts_of(dataset, clients)
    click.echo(
        "| reading | deviation of IN | first weights | rounding | rank correlation of IN and degree | above 0 |"
    )
    click.echo("|---|---|---|---|---|---|")
    for smoothness, task in ROWS:
        found = [part_of_row(client, smoothness, task, seeds) for client in parts]
        name = f"`{smoothness}`" if task else "the same without the task"
        cells = (ranged([one[key] for one in found], how) for key, how in SHOWN.items())
        signs = [value > 0 for one in found for value in one["degree"]]
        click.echo(f"| {name} | " + " | ".join(cells) + f" | {sum(signs)} of {len(signs)} |")


def parts_of(dataset: str, clients: int) -> list[Any]:
    """What each client of the table of kept nodes holds, for the first seed of the split."""
    from gaudit.audit.planning.resolve import graph_of
    from gaudit.targets.partition import partition
    from gaudit.targets.party import clients_of
    from gaudit.targets.splits import split_of_all

    data = split_of_all(graph_of(dataset, file=False), (0.6, 0.2), np.random.SeedSequence(0))
    return clients_of(data, partition(data, "metis", clients, 0))


def part_of_row(client: Any, smoothness: str, task: bool, seeds: int) -> dict[str, list[float]]:
    """What the columns tell of one client."""
    from scipy.stats import spearmanr

    own = [scores(client, smoothness, task, seed) for seed in range(seeds)]
    moved = [scores(client, smoothness, task, seed, moved=True) for seed in range(min(seeds, 2))]
    degrees = np.bincount(client.edges[0].numpy(), minlength=len(client.nodes))
    return {
        "deviation": [float(one.std()) for one in own],
        "first weights": [shared_half(a, b) for a, b in combinations(own, 2)],
        "rounding": [shared_half(a, b) for a, b in zip(own, moved, strict=False)],
        "degree": [float(spearmanr(one, degrees).statistic) for one in own],
    }


def scores(client: Any, smoothness: str, task: bool, seed: int, moved: bool = False) -> Scores:
    """IN of each node of a client, [n]."""
    import torch

    from gaudit.defenses.training import sub_gib
    from gaudit.randomness import seeded

    settings = sub_gib.SubGIBSettings(smoothness=smoothness)
    with seeded(np.random.SeedSequence(seed)):
        model = sub_gib.SubGIB(client.x.shape[1], settings.hidden, client.classes)
        if moved:
            signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=tuple(model.w1.shape))
            with torch.no_grad():
                model.w1.mul_(torch.from_numpy(1 + LAST_DIGIT * signs).float())
        with nullcontext() if task else mock.patch.object(sub_gib, "classification", no_task):
            found: Scores = sub_gib.fitted_scores(model, client, settings).numpy()
    return found


def no_task(model: Any, representations: Any, *others: Any) -> Any:
    """In the place of the loss of the task."""
    return 0 * representations.sum()


def shared_half(a: Scores, b: Scores) -> float:
    """How much the halves of the highest scores have in common, as a share of a half."""
    count = len(a) // 2
    halves = [set(np.argsort(-one, kind="stable")[:count].tolist()) for one in (a, b)]
    return len(halves[0] & halves[1]) / count


def ranged(found: list[list[float]], how: str) -> str:
    """Lowest and highest."""
    every = [value for one in found for value in one]
    return f"{min(every):{how}} to {max(every):{how}}"


if __name__ == "__main__":
    main()
