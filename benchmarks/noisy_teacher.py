"""How right a private teacher's guesses are, alone: many draws of the noise, no pipeline behind it.

    python benchmarks/noisy_teacher.py --dataset Cora
    python benchmarks/noisy_teacher.py --dataset Cora --labelled 0.6

The statistic has the noise of ten clients, one of them curious. Accuracies are of validation and test nodes in per
cent, mean and deviation over draws, with how often each rule made the teacher.
"""

from collections import Counter
from dataclasses import replace

import click
import numpy as np
import torch
from torch_geometric.data import Data

from gaudit.defenses.training.private_teacher import PrivateTeacher
from gaudit.defenses.training.teacher import Statistic, teacher_of
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.masks import MASKS
from gaudit.targets.channel import Channel
from gaudit.targets.federated.label_statistic import GRID, Summing, common_basis, label_sums, noise_of_share
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of

CLIENTS = 10


def with_labels(data: Data, share: float) -> Data:
    """The graph with a share of its nodes labelled at random, a tenth for validation and a fifth for testing."""
    nodes = int(data.num_nodes or 0)
    order = torch.from_numpy(np.random.default_rng(0).permutation(nodes))
    sizes = [round(part * nodes) for part in (share, 0.1, 0.2)]
    parts = order.split([*sizes, nodes - sum(sizes)])[:3]
    for name, part in zip(MASKS, parts, strict=True):
        data[name] = torch.zeros(nodes, dtype=torch.bool).index_fill_(0, part, True)
    return data


@click.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--labelled", default=0.0, show_default=True, help="share of nodes; 0: the graph's own split")
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(1.0, 2.0, 4.0, 8.0), show_default=True)
@click.option("--width", default=16, show_default=True)
@click.option("--draws", default=10, show_default=True)
def main(dataset: str, labelled: float, epsilons: tuple[float, ...], width: int, draws: int) -> None:
    """Prints a line for each epsilon."""
    data = load_dataset(dataset)
    data = with_labels(data, labelled) if labelled else data
    clients = clients_of(data, Partition.undivided(int(data.num_nodes or 0)))
    (owner,), channel = clients, Channel(retain=lambda message: False)
    near, adding = exchange(clients, 0, len(owner.nodes), channel, False), Summing(clients, channel)
    basis = common_basis(clients, near, adding, width, np.random.SeedSequence(0))
    phi = basis.features(near[0])
    exact = label_sums(phi, owner.y, owner.train, owner.classes)
    for epsilon in epsilons:
        noise, right, how = PrivateTeacher(epsilon=epsilon).noise, [], Counter[str]()
        for draw in range(draws):
            drawn = noise_of_share(noise.total(CLIENTS), exact.size, np.random.default_rng(draw))
            sums = torch.from_numpy(exact + drawn.reshape(exact.shape)).double() / GRID
            teacher = teacher_of(Statistic(sums, noise.total(CLIENTS)), [phi], adding)
            spread = exchange([replace(owner, x=teacher.posteriors(phi).float())], 0, len(phi), channel, False)
            hit = (spread[0].rows.to_dense().argmax(1) == owner.y).double()
            right.append([float(hit[owner.val].mean()), float(hit[owner.test].mean())])
            how[teacher.how] += 1
        val, test = 100 * np.array(right).T
        click.echo(
            f"{dataset}, {int(owner.train.sum())} labels, epsilon {epsilon:g}: validation {val.mean():.1f}, "
            f"test {test.mean():.1f} +- {test.std():.1f}; {dict(how)}"
        )


if __name__ == "__main__":
    main()
