"""A game that gaudit does not come with, in one file: has a node an odd number of neighbours?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gaudit.audit.statistics.metrics import accuracy_finding
from gaudit.randomness import branch
from gaudit.targets.game import Adversary, Game, Grant, Knowledge, Words, as_it_is, without_ancestry


@dataclass(frozen=True, eq=False, kw_only=True)
class HeadCount(Knowledge):
    """It knows how many nodes are odd, and nothing of any."""

    def sentence(self) -> str:
        return f"knows that {self.members} of {len(self.subjects)} nodes are odd"


class OddDegree(Game):
    """Has this node an odd number of neighbours?"""

    name = "odd-degree"
    unit = "whether one node has an odd number of neighbours"
    words = Words(
        "Odd degree: has this node an odd number of neighbours?",
        "Has this person an odd number of friends?",
        "the odd ones",
        "odd ones from even ones",
    )
    metrics = ("support.odd_degree:right_guesses", "epsilon")

    def grant(
        self, data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        ids = np.random.default_rng(branch(seed, "ids")).permutation(data.num_nodes)
        knowledge = HeadCount(
            subjects=torch.from_numpy(np.flatnonzero(np.isin(ids, self.subjects))),
            members=int(self.truth.sum()),
            game=self.name,
            seed=without_ancestry(branch(seed, "coins")),
        )
        return Grant(knowledge, ids), as_it_is

    def attributes(self, data) -> dict[str, np.ndarray]:
        return {"side": np.where(np.sort(self.subjects) < data.num_nodes // 2, "first half", "second half")}

    @classmethod
    def called(cls, subject, pairs_of):
        return f"node {subject}"


def right_guesses(attacked):
    """The share of nodes that are told right by a score above 0.5."""
    shares = [float(((a.judged.score > 0.5) == a.judged.truth).mean()) for a in attacked]
    return {"right guesses": accuracy_finding(shares, len(attacked[0].judged.truth))}
