"""Switches that keep features of the graph."""

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Network, Verified
from ...settings import Settings
from ...targets.defense import Defense
from .constrained_chain import Constraints, constrained_switches
from .features import Feature, both, verify_features
from .largest_component import apart, together
from .switching_chain import SwitchCounts, switch, verify_degrees_kept


class FeatureSwitchSettings(Settings):
    """Settings of `FeatureSwitch`."""

    steps: float = Field(2.0, ge=0, description="steps of the chain, as a multiple of the number of edges")
    features: tuple[Feature, ...] = Field(
        ("lambda_1", "mu_2", "transitivity", "distance"), min_length=1, description="what is kept"
    )
    tolerance: float = Field(0.1, gt=0, description="of each feature, relative")


class FeatureSwitch(Defense):
    """A random graph with the same degrees and nearly the same features, by a Markov chain of switches.

    Ying and Wu 2009 (SDM, "Graph generation with prescribed feature constraints"): each step proposes a random
    switch; if it is illegal or takes a feature out of its tolerance, the graph **stays as it is and the step
    counts**. Proposals are symmetric, so the chain is uniform on the graphs that it can reach. Whether these
    are many is not known: look at the share of edges that is kept, which `verify` tells, and at the tally of
    `switched`.

    Transitivity is exact at each step. Eigenvalues are followed to first order and computed anew at the end of each
    block, the harmonic mean of distances only there; a block that ends outside a tolerance is undone as a whole and
    its steps count as rejected. So features are within tolerance at the end of each block; it is only with blocks
    of one switch that this is the chain of the paper to the letter, and blocks are as long as tolerances allow.

    The features are those of the largest component, which stays connected. Other components are switched among
    themselves without constraints.
    """

    name = "feature-switch"
    phrase = "with feature-preserving switches"
    strength = "steps"
    sweep = (0.5, 2.0, 10.0)
    alternative = "random-switch"
    guarantee = "every node keeps its number of neighbours, the largest component its features within the tolerance"
    Settings = FeatureSwitchSettings
    settings: FeatureSwitchSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        return self.switched(network, seed)[0]

    def switched(self, network: Network, seed: np.random.SeedSequence) -> tuple[Network, SwitchCounts]:
        """The switched network, and how many steps of the chain changed it.

        Raises:
            InputError: no switch keeps within the tolerance.
        """
        chosen, rng = self.settings, np.random.default_rng(seed)
        (nodes, core), (others, rest) = apart(network)
        steps, more = (round(chosen.steps * part.size) for part in (core, rest))
        constraints = Constraints(chosen.features, chosen.tolerance)
        core, tally = constrained_switches(core, constraints, rng, proposals=steps)
        if tally.proposed < steps:
            raise InputError(
                f"'{self.name}' is stuck after {tally.proposed} of {steps} steps with {tally.accepted} switches: "
                f"no more keep within a tolerance of {chosen.tolerance:g}; raise it or keep fewer features"
            )
        rest, rested = switch(rest, rng, proposals=more)
        return together(network, ((nodes, core), (others, rest)), rng), tally + rested

    def verify(self, before: Network, after: Network) -> Verified:
        chosen = self.settings
        kept = verify_features(before, after, chosen.features, chosen.tolerance)
        return both(verify_degrees_kept(before, after), kept)
