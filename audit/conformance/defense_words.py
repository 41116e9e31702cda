"""What gaudit's defenses claim in words that no number and no ``verify`` stands for, and how it is checked."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from ...graphs.network import Network
from ...targets.channel import Channel
from ...targets.defense import Defense
from ...targets.messages import EXPLANATIONS_KIND, GRADIENT_KIND, PROBED_KIND
from ..statistics.epsilon import epsilon_of_counts
from .rule import must
from .small_graphs import pair_of_nodes

SEED = 0
FIRST = torch.tensor([1, 0])


def _no_features_are_used(defense: Defense) -> None:
    """Clients that differ in features alone become the same."""
    client = pair_of_nodes()
    one, other = (
        defense.on_data(c, None, np.random.SeedSequence(SEED), lambda kind, tensors: None)
        for c in (client, replace(client, x=FIRST[:, None].float()))
    )
    must(torch.equal(one.x, other.x), f"{defense.name}: clients of other features stay different")


def _only_the_norm_is_uploaded(defense: Defense) -> None:
    """Uploads of the same norm and shape become the same."""
    sent: list[torch.Tensor] = []
    for upload in (torch.tensor([3.0, 4.0]), torch.tensor([0.0, -5.0])):
        mod = defense.on_message(np.random.SeedSequence(SEED))
        channel = Channel(mods=() if mod is None else (mod,))
        sent.append(channel.send(GRADIENT_KIND, "client:0", "server", 0, {"w": upload})["w"])
    must(torch.allclose(sent[0], sent[1]), f"{defense.name}: uploads of one norm stay different")


def _degrees_stay_in_expectation(defense: Defense) -> None:
    """On a network without odd cycles, where walks of three steps never lead back: within five standard errors."""
    star_and_path = Network.from_edges(8, [0, 0, 0, 0, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7])
    made = type(defense)(steps=3, simple=False)
    found = np.zeros((800, 8))
    for run, degrees in enumerate(found):
        after = made.on_graph(star_and_path, np.random.SeedSequence(run))
        weights = np.ones(after.size) if after.weights is None else after.weights
        for end in after.edges:
            np.add.at(degrees, end, weights)
    error = np.maximum(found.std(0, ddof=1), 1e-9) / math.sqrt(len(found))
    off = np.abs(found.mean(0) - star_and_path.degrees)
    must(bool((off <= 5 * error + 1e-9).all()), f"{defense.name}: degrees change in expectation")


def _the_server_reads_no_upload(defense: Defense) -> None:
    """Neither of two clients' gradients is in its view."""
    mod = defense.on_message(np.random.SeedSequence(SEED))
    channel = Channel(mods=() if mod is None else (mod,))
    for number in range(2):
        channel.send(GRADIENT_KIND, f"client:{number}", "server", 0, {"w": torch.ones(2)})
    read = channel.transcript.seen_by("server").of_kind(GRADIENT_KIND)
    must(not read and channel.seals(GRADIENT_KIND), f"{defense.name}: the server reads {len(read)} uploads")


def _one_query_has_one_answer(defense: Defense) -> None:
    """A query that is sent again, or about fewer nodes, gets the same bits; another one does not."""
    mod = defense.on_message(np.random.SeedSequence(SEED))
    channel = Channel(mods=() if mod is None else (mod,))

    def told(factor: float, *nodes: int) -> torch.Tensor:
        asked = torch.tensor(nodes)
        factors = torch.where(asked == nodes[0], torch.tensor(factor), torch.tensor(1.0))
        table = {"nodes": asked, "factors": factors, "posteriors": torch.full((len(nodes), 2), 0.5)}
        return channel.send(PROBED_KIND, "server", "public", 1, table)["posteriors"]

    once = told(2.0, 1, 0, 2)
    same = torch.equal(once, told(2.0, 1, 0, 2)) and torch.equal(once[:2], told(2.0, 1, 0))
    must(same, f"{defense.name}: a query that is repeated gets another answer")
    must(not torch.equal(once, told(2.5, 1, 0, 2)), f"{defense.name}: another query gets the same noise")


def _one_explanation_is_private(defense: Defense) -> None:
    """What becomes of two explanations that name different features, in all 16 ways that there are.

    Each of 16 outcomes bounds epsilon at 1 - 0.001 / 16: a sound defense fails with a probability of 0.001 at most.
    """
    runs, epsilon, counts = 20_000, 2.0, []
    mod = type(defense)(epsilon=epsilon, entries=1).on_message(np.random.SeedSequence(SEED))
    channel = Channel(mods=() if mod is None else (mod,))
    for feature in (0, 1):
        sent = {"nodes": torch.arange(runs), "explanations": torch.eye(4)[feature].repeat(runs, 1)}
        bits = channel.send(EXPLANATIONS_KIND, "server", "public", 1, sent)["explanations"].long()
        counts.append(np.bincount((bits * torch.tensor([1, 2, 4, 8])).sum(1).numpy(), minlength=16))
    shown = [epsilon_of_counts(a, runs, b, runs, level=1 - 0.001 / 16).max() for a, b in (counts, counts[::-1])]
    must(max(shown) <= epsilon, f"{defense.name}: one explanation shows {max(shown):.2f} of epsilon {epsilon:g}")
    must(max(shown) > epsilon / 2, f"{defense.name}: the check sees {max(shown):.2f} of epsilon {epsilon:g} alone")


IN_WORDS: dict[str, Callable[[Defense], None]] = {
    "no-features": _no_features_are_used,
    "noise-instead": _only_the_norm_is_uploaded,
    "sealed-uploads": _the_server_reads_no_upload,
    "sealed-noise": _the_server_reads_no_upload,
    "noisy-answers": _one_query_has_one_answer,
    "explanation-response": _one_explanation_is_private,
    "random-walk": _degrees_stay_in_expectation,
}
"""Checks by name of the defense."""
