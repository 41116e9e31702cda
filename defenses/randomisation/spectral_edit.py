"""Edits that keep the spectrum."""

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Network, Verified
from ...settings import Settings
from ...targets.defense import Defense
from .constrained_chain import Constraints, constrained_edits
from .features import SPECTRUM, both, verify_spectrum
from .largest_component import apart, together
from .random_edit import edited, verify_edge_count
from .random_switch import LEAST, PATIENCE
from .spectral_switch import RARE


class SpectralEditSettings(Settings):
    """Settings of `SpectralEdit`."""

    share: float = Field(
        0.2, ge=0, le=1, description="share of the edges that are deleted; as many others are added"
    )
    tolerance: float = Field(0.1, gt=0, description="of lambda_1 and mu_2, relative")


class SpectralEdit(Defense):
    """Deletes random edges and adds others as long as lambda_1 and mu_2 move back to where they were.

    Spectral Add/Del of Ying and Wu 2008 (SDM, "Randomizing social networks: a spectrum preserving approach"), with
    the same care as `SpectralSwitch`: an edge is deleted and a pair that was not linked is linked if, to first
    order, that moves both eigenvalues towards their values at first; what takes one out of ``tolerance`` is undone.
    As with `RandomEdit`, only edges that were there at first are deleted and none returns.

    It acts on the largest component, which stays connected: an edge that alone holds a part of it (the link
    of anybody with one friend) goes only if the added edge holds that part instead, so most of these stay and
    are true; and so are the edges that weigh most in lambda_1's eigenvector (of a half that is deleted on
    ca-HepTh, 2 % of the hundredth that weighs most). The other components are edited among themselves at random.
    """

    name = "spectral-edit"
    phrase = "with spectrum-preserving edits"
    strength = "share"
    sweep = (0.1, 0.2, 0.5)
    alternative = "random-edit"
    guarantee = (
        "the number of edges stays, and lambda_1 and mu_2 of the largest component stay within the tolerance"
    )
    Settings = SpectralEditSettings
    settings: SpectralEditSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        rng, ((nodes, core), (others, rest)) = np.random.default_rng(seed), apart(network)
        wanted = round(self.settings.share * core.size)
        constraints = Constraints(SPECTRUM, self.settings.tolerance, turned=True)
        limit = RARE * PATIENCE * wanted + LEAST
        core, tally = constrained_edits(core, constraints, rng, proposals=limit, successes=wanted)
        if tally.accepted < wanted:
            raise InputError(
                f"'{self.name}' made {tally.accepted} of {wanted} edits in {tally.proposed} proposals: no more "
                f"keep within a tolerance of {self.settings.tolerance:g}; raise it or take a smaller share"
            )
        room = others.size * (others.size - 1) // 2 - rest.size
        rest = edited(rest, min(round(self.settings.share * rest.size), room), rng)
        return together(network, ((nodes, core), (others, rest)), rng)

    def verify(self, before: Network, after: Network) -> Verified:
        return both(verify_edge_count(before, after), verify_spectrum(before, after, self.settings.tolerance))
