"""Hands an adversary who asks who is who what that game grants it, under ids that say nothing."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch_geometric.data import Data

from ...attacks.attack import Knowledge
from ...attacks.identity.identity_attack import IdentityAttack, Of
from ...errors import InputError
from ...graphs.network import Original
from ...randomness import branch
from ...targets.games.identities import Background, identity_codes, identity_pairs, identity_secrets
from ...targets.target import Secrets
from .knowledge import Grant, without_ancestry


@dataclass(frozen=True)
class IdentityGrant(Grant):
    """An adversary's knowledge about persons, and the way back from its pairs to ours.

    It calls published nodes by their published names, which the owner drew at random.

    Attributes:
        image: the published node of each person, and behind them those that stand for nobody in question, [n'].
    """

    image: np.ndarray

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        people, nodes = len(self.ids), len(self.image)
        person, node = identity_pairs(granted, people, nodes)
        return identity_codes(self.ids[person], np.argsort(self.image)[node], people, nodes)


def grant_identities(
    data: Data, secrets: Secrets, attack: IdentityAttack, knows_defense: bool, seed: np.random.SeedSequence
) -> tuple[IdentityGrant, Secrets]:
    """What the attack says that its adversary knows of each person, and the game about those who are in question.

    Facts are learned under new ids of the persons; an attack that needs seeds is told the published nodes of as
    many persons. In question are the others of whom it knows anything.
    """
    image = secrets.image
    if secrets.original is None or secrets.people is None or image is None:
        raise InputError("the target does not say who is who: use identity_secrets for its secrets")
    people, nodes = secrets.people, len(image)
    rng = np.random.default_rng(branch(seed, "grant", attack.name))
    ours = rng.permutation(people)
    theirs = np.empty(secrets.original.network.nodes, dtype=np.int64)
    theirs[ours], theirs[people:] = np.arange(people), np.arange(people, len(theirs))
    facts = attack.learn(_renamed(secrets.original, attack.of, theirs), rng)
    known = int(attack.knows_people * people)
    seeds = np.stack([np.arange(known), image[ours[:known]]])
    left = _in_question(secrets, image, attack.asked(facts), ours, known, branch(seed, "others"))
    person, own = identity_pairs(left.subjects, people, nodes)
    nobody, no_edges = torch.empty(0, dtype=torch.long), torch.empty((2, 0), dtype=torch.long)
    members = int(left.truth.sum())
    knowledge = Knowledge(
        x=torch.empty((0, data.num_features)),
        edges=no_edges,
        neighbours="true",
        labels=nobody,
        subjects=torch.from_numpy(np.sort(identity_codes(theirs[person], image[own], people, nodes))),
        shadow=nobody,
        shadow_edges=no_edges,
        members=members,
        classes=0,
        knows_defense=knows_defense,
        game=secrets.game,
        seed=without_ancestry(branch(seed, "coins")),
        background=Background(people, nodes, facts, seeds, _sentence(attack, known, people, members)),
    )
    return IdentityGrant(knowledge, ours, image), left


def _in_question(
    secrets: Secrets,
    image: np.ndarray,
    asked: np.ndarray | None,
    ours: np.ndarray,
    known: int,
    seed: np.random.SeedSequence,
) -> Secrets:
    """The game about persons who are asked about, without those ``known``, the first in the adversary's ids."""
    if asked is None and not known:
        return secrets
    mask = np.ones(len(ours), dtype=bool) if asked is None else asked.copy()
    mask[:known] = False
    if not mask.any():
        raise InputError("the adversary knows nothing of any person who is in question")
    others = int((~secrets.truth).sum())
    again = identity_secrets(image[: len(ours)], len(image), seed, others, np.sort(ours[mask]))
    return replace(again, original=secrets.original)


def _renamed(original: Original, of: Of, theirs: np.ndarray) -> Original:
    """The network to learn of, under the adversary's ids of persons; nodes that a defense added come last."""
    network = original.network if of == "original" else original.published
    if network is None:
        raise InputError("the target does not tell what became of the network: learn facts of the original")
    added = np.arange(len(theirs), network.nodes)
    return Original(network.renamed(np.concatenate([theirs, added])), original.accounts + len(added))


def _sentence(attack: IdentityAttack, seeds: int, people: int, members: int) -> str:
    known = f", and the published nodes of {seeds} of them" if seeds else ""
    about = f"; in question are the {members} of whom it knows anything" if members < people - seeds else ""
    when = "before the release" if attack.of == "original" else "as the published graph has it"
    return f"knows of {people} persons, {when}, {attack.knows}{known}{about}"
