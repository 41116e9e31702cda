"""Hands an adversary who asks who is who what that game grants it, under ids that say nothing."""

from dataclasses import dataclass

import numpy as np
import torch
from torch_geometric.data import Data

from ..attacks.attack import Knowledge
from ..attacks.identity import IdentityAttack
from ..targets.errors import InputError
from ..targets.identities import Background, identity_codes, identity_pairs
from ..targets.network import Original
from ..targets.randomness import branch
from ..targets.target import Secrets
from .knowledge import Grant, without_ancestry


@dataclass(frozen=True)
class IdentityGrant(Grant):
    """An adversary's knowledge about persons, and the way back from its pairs to ours.

    Published nodes keep their ids, which the owner drew at random.
    """

    nodes: int = 0

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        people = len(self.ids)
        person, node = identity_pairs(granted, people, self.nodes)
        return identity_codes(self.ids[person], node, people, self.nodes)


def grant_identities(
    data: Data, secrets: Secrets, attack: IdentityAttack, knows_defense: bool, seed: np.random.SeedSequence
) -> tuple[IdentityGrant, np.ndarray]:
    """What the attack says that its adversary knows of each person, and the subjects that this covers.

    Facts are learned from the network before it was published, under new ids of the persons; an attack that needs
    seeds is told the published nodes of as many persons.
    """
    if secrets.original is None or secrets.people is None or secrets.nodes is None:
        raise InputError("the target does not say who is who: use identity_secrets for its secrets")
    people, nodes = secrets.people, secrets.nodes - secrets.people
    rng = np.random.default_rng(branch(seed, "grant", attack.name))
    ours = rng.permutation(people)
    theirs = np.empty(secrets.original.network.nodes, dtype=np.int64)
    theirs[ours], theirs[people:] = np.arange(people), np.arange(people, len(theirs))
    known_people = ours[: int(attack.knows_people * people)]
    person, node = identity_pairs(secrets.subjects, people, nodes)
    told = np.isin(person, known_people)
    seeds = np.stack([theirs[person[told & secrets.truth]], node[told & secrets.truth]])
    facts = attack.learn(_renamed(secrets.original, theirs), rng)
    asked = identity_codes(theirs[person[~told]], node[~told], people, nodes)
    nobody, no_edges = torch.empty(0, dtype=torch.long), torch.empty((2, 0), dtype=torch.long)
    knowledge = Knowledge(
        x=torch.empty((0, data.num_features)),
        edges=no_edges,
        neighbours="true",
        labels=nobody,
        subjects=torch.from_numpy(np.sort(asked)),
        shadow=nobody,
        shadow_edges=no_edges,
        members=int(secrets.truth[~told].sum()),
        classes=0,
        knows_defense=knows_defense,
        game=secrets.game,
        coins=without_ancestry(branch(seed, "coins")),
        background=Background(people, nodes, facts, seeds, _sentence(attack, seeds.shape[1], people)),
    )
    return IdentityGrant(knowledge, ours, nodes), told


def _renamed(original: Original, theirs: np.ndarray) -> Original:
    """Both networks under the adversary's ids of persons; nodes that a defense added keep theirs."""
    published = original.published
    if published is not None:
        added = np.arange(len(theirs), published.nodes)
        published = published.renamed(np.concatenate([theirs, added]))
    return Original(original.network.renamed(theirs), original.accounts, published)


def _sentence(attack: IdentityAttack, seeds: int, people: int) -> str:
    known = f", and the published nodes of {seeds} of them" if seeds else ""
    return f"knows of {people} persons, before the release, {attack.knows}{known}"
