"""What defenses that publish a differentially private graph have in common."""

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ...settings import Settings
from ...targets.defense import Defense

MOST_EDGES = 30_000_000
"""Of a graph that is published; noise of a tiny epsilon asks for more, up to all pairs."""


class PrivateGraphSettings(Settings):
    """Settings of all of them."""

    epsilon: float = Field(1.0, gt=0, description="for one edge more or less, of the whole release")
    fresh: bool = Field(
        False,
        description="noise from the system's entropy, as a real release needs; else whoever knows the seed"
        " can take it off",
    )


def central(epsilon: Fraction, accountant: str, *public: str) -> Guarantee:
    """A pure promise for edges by one who holds all data; the nodes are public, and what else is named."""
    known = ("the nodes and their number", *public)
    return Guarantee("edge", "add/remove", "central", epsilon, accountant=accountant, public=known)


class PrivateGraph(Defense, ABC):
    """Base of defenses whose published graph is differentially private in edges.

    Noise is added to counts of the graph, and the published graph is drawn from the noisy counts alone. Nodes and
    their number are public. Types and weights of edges are not published.

    The promise is one about those who do not know the noise. It is drawn from the seed, so that an audit can be
    repeated, and whoever knows or guesses the seed can take it off. A real release sets ``fresh``: then the noise
    is from the system's entropy, and the seed decides only what is drawn after it, which may be known.
    """

    strength = "epsilon"
    sweep = (4.0, 2.0, 1.0, 0.5)
    Settings = PrivateGraphSettings
    settings: PrivateGraphSettings

    @abstractmethod
    def promise(self) -> Guarantee:
        """The guarantee with its epsilon; it does not depend on the graph."""

    def noise(self, seed: np.random.SeedSequence) -> np.random.Generator | None:
        """What noise is drawn from; None is the system's entropy."""
        return None if self.settings.fresh else np.random.default_rng(branch(seed, "noise"))

    def refuse_many(self, edges: int) -> None:
        """Refuses a graph that would fill the memory.

        Noisy counts tell how large it would be, so that a refusal is as private as the graph.

        Raises:
            InputError: more than `MOST_EDGES`.
        """
        if edges > MOST_EDGES:
            raise InputError(
                f"'{self.name}' with epsilon {self.settings.epsilon:g} would publish {edges:,} edges: "
                f"expected at most {MOST_EDGES:,}; a larger epsilon adds less noise"
            )
