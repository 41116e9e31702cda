"""Federated self-training: the jointly trained model that labels what is not labelled (FedGC 3.2)."""

from collections.abc import Callable, Collection

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...randomness import branch, seeded
from ..channel import Channel
from ..defense import SharedModel
from ..messages import SELF_TRAINING_GRADIENTS_KIND, SELF_TRAINING_MODEL_KIND, SELF_TRAINING_SUM_KIND
from ..models.backbone import GCN, Weights
from ..models.propagation import Factor, Neighbourhood, side_by_side
from ..party import Client
from .federated_averaging import averaged, labelled_counts


def mean_error(logits: Tensor, labels: Tensor) -> Tensor:
    """Derivative of the mean cross-entropy by the logits, [k, C]."""
    one_hot = F.one_hot(labels, logits.shape[1])
    return (logits.softmax(1) - one_hot) / len(labels)


def train_together(
    clients: list[Client],
    near: list[Neighbourhood],
    channel: Channel,
    *,
    hidden: int,
    rounds: int,
    lr: float,
    weights_by: Callable[[list[float]], list[float]],
    seed: np.random.SeedSequence,
    progress: Callable[[int], None],
    looked: Collection[int] = (),
) -> Weights:
    """FedSGD on a two-layer GCN: one full-batch gradient per client and round.

    Of the rounds that are looked at, the first with the best validation accuracy is kept. Algorithm 1 (line 32)
    looks at every round, before its step; here it is every fifth, after it. The released code looks after 100, 150,
    200, 300, 400 and 500 rounds, and takes the best test accuracy.

    Args:
        clients: the parties.
        near: what each client's model reads.
        channel: what models and gradients go through.
        hidden: width of the hidden layer.
        rounds: communication rounds.
        lr: the server's step.
        weights_by: turns the clients' labelled counts into weights that sum to one.
        seed: of the first weights.
        progress: called with the number of rounds done.
        looked: numbers of rounds after which it is looked; the last counts always. None: every fifth.
    """
    looked = looked or range(1, rounds, 5)
    with seeded(branch(seed, "weights")):
        model = GCN(clients[0].x.shape[1], hidden, clients[0].classes).to(clients[0].x.device)
    weights = {name: tensor.clone() for name, tensor in model.weights().items()}
    taught = [n.of(c.train.nonzero().flatten()) for c, n in zip(clients, near, strict=True)]
    parts = [(Factor.of(part.rows), Factor.of(part.second)) for part in taught]
    watched = _watched(clients, near)
    labels = torch.cat([c.y[c.val] for c in clients])
    shares = weights_by(labelled_counts(clients, channel))
    best, kept = -1.0, weights
    for round_ in range(rounds):
        sent = channel.send(SELF_TRAINING_MODEL_KIND, "server", "clients", round_, weights)
        uploads = []
        for client, part, share in zip(clients, parts, shares, strict=True):
            own = _gradient(sent, *part, client.y_train[client.train])
            got = channel.send(SELF_TRAINING_GRADIENTS_KIND, client.name, "server", round_, own)
            weights = {name: weights[name] - lr * share * got[name] for name in weights}
            uploads.append(got)
        if channel.seals(SELF_TRAINING_GRADIENTS_KIND):
            channel.hold(SELF_TRAINING_SUM_KIND, "server", round_, averaged(uploads, shares))
        if round_ + 1 in looked or round_ == rounds - 1:
            predicted = GCN.logits(weights, GCN.hidden(weights, watched.rows), watched.second).argmax(1)
            accuracy = float((predicted == labels).float().mean())
            if accuracy > best:
                best, kept = accuracy, {name: tensor.clone() for name, tensor in weights.items()}
        progress(round_ + 1)
    return kept


def _watched(clients: list[Client], near: list[Neighbourhood]) -> Neighbourhood:
    return side_by_side([n.of(c.val.nonzero().flatten()) for c, n in zip(clients, near, strict=True)])


def _gradient(weights: Weights, rows: Factor, second: Factor, labels: Tensor) -> Weights:
    hidden = GCN.hidden(weights, rows)
    error = mean_error(GCN.logits(weights, hidden, second), labels)
    return GCN.gradients(weights, rows, hidden, second, error)


def label_the_rest(
    clients: list[Client],
    near: list[Neighbourhood],
    weights: Weights,
    held_out: float,
    seed: np.random.SeedSequence,
) -> SharedModel:
    """Each client labels its unlabelled nodes with the shared model.

    Args:
        clients: the parties.
        near: what each client's model reads.
        weights: of the shared model.
        held_out: share of the test nodes that takes no part, drawn at random. Pseudo-labelled nodes are
            training data of what follows; only nodes that took no part are non-members in every sense.
        seed: of this draw.
    """
    rng = np.random.default_rng(seed)
    labels, taking_part = {}, {}
    for client, part in zip(clients, near, strict=True):
        labels[client.number] = GCN.logits(weights, GCN.hidden(weights, part.rows), part.second).argmax(1)
        out = torch.from_numpy(rng.random(len(client.nodes)) < held_out).to(client.test.device)
        taking_part[client.number] = ~client.train & ~(client.test & out)
    return SharedModel(weights, labels, taking_part)
