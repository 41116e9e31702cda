"""What gaudit's defenses claim in words that no number and no ``verify`` stands for, and how it is checked."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from ...graphs.network import Network
from ...targets.channel import Channel
from ...targets.defense import Defense
from ...targets.messages import GRADIENT_KIND
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


IN_WORDS: dict[str, Callable[[Defense], None]] = {
    "no-features": _no_features_are_used,
    "noise-instead": _only_the_norm_is_uploaded,
    "sealed-uploads": _the_server_reads_no_upload,
    "sealed-noise": _the_server_reads_no_upload,
    "random-walk": _degrees_stay_in_expectation,
}
"""Checks by name of the defense."""
