"""The trivial alternative to constrained switching: random switches."""

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Network, Verified
from ...settings import Settings
from ...targets.defense import Defense
from .switching_chain import SwitchCounts, switch, verify_degrees_kept

PATIENCE = 100
"""Proposals for each switch that is wanted; hubs make most proposals illegal, but not this many."""
LEAST = 10_000
"""Proposals at least, so that a few switches of a small network are found."""


class RandomSwitchSettings(Settings):
    """Settings of `RandomSwitch`."""

    switches: float = Field(1.0, ge=0, description="switches made, as a multiple of the number of edges")


class RandomSwitch(Defense):
    """Switches the ends of random pairs of edges, which keeps every degree and nothing else.

    Rand Switch of Ying and Wu 2008 (SDM, "Randomizing social networks: a spectrum preserving approach"): edges
    (t, w), (u, v) become (t, v), (u, w). Degrees stay as they are, so whom a degree gives away it still gives away;
    what goes is who is linked to whom, and with it communities: the second smallest eigenvalue of the Laplacian
    grows with every switch. What does no better at the same share of kept edges is no defense.

    Counted are switches that were made. A proposal that would make a loop or an edge that is there already is
    rejected; `switched` tells how many were.
    """

    name = "random-switch"
    phrase = "with randomly switched edges"
    strength = "switches"
    sweep = (0.1, 0.5, 1.0)
    trivial = True
    guarantee = "every node keeps its number of neighbours"
    Settings = RandomSwitchSettings
    settings: RandomSwitchSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        return self.switched(network, seed)[0]

    def switched(self, network: Network, seed: np.random.SeedSequence) -> tuple[Network, SwitchCounts]:
        """The switched network, and how many proposals it took.

        Raises:
            InputError: there are no or too few legal switches, as in a star or a complete graph.
        """
        wanted = round(self.settings.switches * network.plain().size)
        limit = PATIENCE * wanted + LEAST
        after, tally = switch(network, np.random.default_rng(seed), proposals=limit, successes=wanted)
        if tally.accepted < wanted:
            raise InputError(
                f"'{self.name}' made {tally.accepted} of {wanted} switches in {tally.proposed} proposals: there "
                "are too few to make; take fewer switches or 'random-edit'"
            )
        return after, tally

    def verify(self, before: Network, after: Network) -> Verified:
        return verify_degrees_kept(before, after)
