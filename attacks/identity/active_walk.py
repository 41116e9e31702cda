"""Identities by an active attack: find the accounts that one planted, and through them those linked to them."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Ints, Network, Original
from ...settings import Settings
from ...targets.messages import GRAPH_WITH_ACCOUNTS
from .identity_attack import Candidates, Facts, IdentityAttack, shared
from .walk_recovery import BUDGET, Found, Pattern, find, marked, marks


class RecoverySettings(Settings):
    """Settings of attacks that find nodes of their own again."""

    degree_tolerance: int = Field(0, ge=0, description="by how much a node's degree may have changed")
    edge_tolerance: int = Field(0, ge=0, description="pairs of its own nodes that may have gained or lost a link")
    budget: int = Field(
        BUDGET, ge=1, description="partial embeddings to look at; everybody stays a candidate after"
    )


class ActiveWalk(IdentityAttack):
    """The walk-based active attack (Backstrom, Dwork and Kleinberg 2007), exact or tolerant (Mauw et al. 2019).

    The adversary opened accounts before the release and linked them to its targets. It finds its accounts in the
    published network by their degrees and the links among them, and takes a published node for a person where it
    is linked to exactly the accounts of that person; persons with the same accounts share their candidates.
    Where several places fit its accounts equally well, candidates are those of all of them. A person that is
    linked to no account may be anybody, as may all where the accounts are not found or the search was too long.
    """

    name: ClassVar[str] = "active-walk"
    needs = (GRAPH_WITH_ACCOUNTS,)
    opens_accounts = True
    Settings = RecoverySettings
    settings: RecoverySettings

    @property
    def knows(self) -> str:
        return "the degrees of its own accounts, the links among them, and which of them each person is linked to"

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        if not original.accounts:
            raise InputError(
                f"the attack '{self.name}' needs accounts of its own: plant some (`--set accounts=10`)"
            )
        own = np.arange(original.people, original.network.nodes)
        pattern = Pattern.of(original.network, own)
        links = marks(original.network, own)[: original.people]
        return {"inside": pattern.inside, "degrees": pattern.degrees, "links": links}

    def asked(self, facts: Facts) -> NDArray[np.bool_]:
        """Those who are linked to any of its accounts."""
        linked: NDArray[np.bool_] = facts["links"] != 0
        return linked

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        found = recovered(published, Pattern(facts["inside"], facts["degrees"]), self.settings)
        return shared(*victims(published, found, facts["links"], tolerant(self.settings)))


def tolerant(settings: RecoverySettings) -> bool:
    """Whether the published network may differ from the original one."""
    return settings.degree_tolerance > 0 or settings.edge_tolerance > 0


def recovered(published: Network, pattern: Pattern, settings: RecoverySettings) -> Found:
    """Where the adversary's own nodes are, by a search with its settings."""
    return find(published, pattern, settings.degree_tolerance, settings.edge_tolerance, settings.budget)


def victims(published: Network, found: Found, links: Ints, tolerant: bool) -> tuple[list[Ints], Ints]:
    """Candidate sets of persons by the adversary's nodes that they are linked to, and each person's set.

    Args:
        published: the network.
        found: where the adversary's nodes are; nowhere, if the search did not end.
        links: for each person the adversary's nodes that it is linked to, as `marks` has them, [p].
        tolerant: whether links may have changed.

    Returns:
        Sets, the first of which is everybody, and for each person the place of its set, [p].
    """
    everybody = np.arange(published.nodes)
    wanted, group = np.unique(links, return_inverse=True)
    embeddings = found.embeddings if found.complete else found.embeddings[:0]
    linked = wanted[wanted != 0]
    places = [marked(published, embedding, linked, tolerant) for embedding in embeddings]
    sets = [np.unique(np.concatenate(same)) for same in zip(*places, strict=True)]
    own = np.zeros(len(wanted), dtype=np.int64)
    known = [place for place, nodes in enumerate(sets) if len(nodes)]
    own[np.flatnonzero(wanted != 0)[known]] = np.arange(1, len(known) + 1)
    return [everybody, *(sets[place] for place in known)], own[group]
