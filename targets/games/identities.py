"""Identities as secrets: which published node is this person?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs.network import Ints, Original
from ...graphs.pair_codes import codes, ends
from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, Words, in_thirds, without_ancestry

if TYPE_CHECKING:
    from torch_geometric.data import Data

OTHERS = 12_000
"""Pairs of a person and another one's node in question: enough for a false-positive rate of 0.1 %."""


@dataclass(frozen=True, eq=False)
class Background:
    """What an adversary knows of people before a network is published.

    Attributes:
        persons: p, the number of people.
        nodes: n', the number of published nodes.
        facts: what it knows of each person, arrays by name.
        seeds: persons whose published node it knows, and these nodes, [2, s].
        sentence: what it knows, for the report.
    """

    persons: int
    nodes: int
    facts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    seeds: Ints = field(default_factory=lambda: np.empty((2, 0), dtype=np.int64))
    sentence: str = ""


def identity_codes(persons: Ints, published: Ints, people: int, nodes: int) -> Ints:
    """One whole number for each pair of a person [s] and a published node [s]; nodes count on after people.

    Published nodes are told by their published names, as adversaries have them, or by whom they stand for.
    """
    coded: Ints = codes(persons, people + published, people + nodes)
    return coded


def identity_pairs(coded: Ints, people: int, nodes: int) -> tuple[Ints, Ints]:
    """The person and the published node of each code: the inverse of `identity_codes`."""
    person, other = ends(coded, people + nodes)
    return person, other - people


@dataclass(frozen=True, eq=False, kw_only=True)
class PersonKnowledge(Knowledge):
    """What an adversary knows of people; subjects are codes of pairs of a person and a published node.

    Attributes:
        background: what it knows of them.
    """

    background: Background

    def sentence(self) -> str:
        return self.background.sentence


@runtime_checkable
class LearnsOfPeople(Protocol):
    """What an attack on identity says of its adversary's prior knowledge."""

    name: str
    knows_people: float
    opens_accounts: bool

    @property
    def of(self) -> Literal["original", "published"]:
        """The network that it learns facts of."""

    @property
    def knows(self) -> str:
        """What `learn` returns, in words."""

    def learn(self, original: Original, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """What it knows of each person before the release."""

    def says(self, facts: Mapping[str, NDArray[Any]]) -> str:
        """The same, given what it has learned: a network may tell it more or less."""

    def asked(self, facts: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_] | None:
        """The persons of whom it knows anything [p]; None for all."""


@dataclass(frozen=True, kw_only=True)
class Identity(Game):
    """Who is who: in question are each person with its own node, and people with nodes of others.

    Subjects are pairs of a person and a published node (`identity_codes`).

    Attributes:
        people: p, the number of persons.
        image: the published node of each person, and behind them the nodes that stand for nobody, [n'].
        original: the network before it was published, of which adversaries know single facts; None in games that
            nobody is granted knowledge for.
        with_accounts: the same game about the release with an adversary's accounts, for attacks that open some;
            None where there is no such release of its own.
    """

    name = "identity"
    unit = "which published node one person is"
    words = Words(
        "Identity: which published node is this person?",
        "Can a person be found in the published graph?",
        "people's own nodes",
        "a person's own node from others",
        "node of somebody else",
        "nodes of somebody else",
        background="something of each person beforehand",
    )
    metrics = ("candidates",)

    people: int
    image: np.ndarray
    original: Original | None = None
    with_accounts: Identity | None = None

    @property
    def pairs_of(self) -> int | None:
        """Of people and published nodes together."""
        return self.people + len(self.image)

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Ids, what each attack knows of persons, what a defense made of a network that it watches, a held one."""
        if self._apart(adversary) is not self:
            return self._apart(adversary).grant_key(adversary)
        attack, published = adversary.attack, None if self.original is None else self.original.published
        watches = isinstance(attack, LearnsOfPeople) and attack.of == "published"
        watched = published.digest if watches and published is not None else None
        held = None if self.original is None else self.original.auxiliary
        return adversary.identity, self.image.tobytes(), watched, None if held is None else held.digest

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """What the attack says that its adversary knows of each person, and the game about those in question.

        Facts are learned under new ids of the persons; an attack that needs seeds is told the published nodes of as
        many persons. In question are the others of whom it knows anything. An attack that opens accounts plays the
        game about the release that has them.
        """
        import torch

        if self._apart(adversary) is not self:
            return self._apart(adversary).grant(data, adversary, seed)
        attack, original = adversary.attack, self.original
        if not isinstance(attack, LearnsOfPeople):
            raise InputError(f"the attack '{attack.name}' plays {self.name}: derive it from IdentityAttack")
        if original is None:
            raise InputError("the target does not tell the network before its release: give it as 'original'")
        people, image, nodes = self.people, self.image, len(self.image)
        rng = np.random.default_rng(branch(seed, "grant", attack.name))
        ours = rng.permutation(people)
        theirs = np.empty(original.network.nodes, dtype=np.int64)
        theirs[ours], theirs[people:] = np.arange(people), np.arange(people, len(theirs))
        facts = attack.learn(_renamed(original, attack.of, theirs), rng)
        known = int(attack.knows_people * people)
        seeds = np.stack([np.arange(known), image[ours[:known]]])
        left = self._in_question(attack.asked(facts), ours, known, branch(seed, "others"))
        person, own = identity_pairs(left.subjects, people, nodes)
        members = int(left.truth.sum())
        sentence = _sentence(attack, facts, known, people, members)
        knowledge = PersonKnowledge(
            subjects=torch.from_numpy(np.sort(identity_codes(theirs[person], image[own], people, nodes))),
            members=members,
            knows_defense=adversary.knows_defense,
            game=self.name,
            seed=without_ancestry(branch(seed, "coins")),
            background=Background(people, nodes, facts, seeds, sentence),
        )
        return PersonGrant(knowledge, ours, image), lambda game: left

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """The person's ``degree``, in thirds."""
        if self.original is None:
            return {}
        person = identity_pairs(np.sort(self.subjects), self.people, len(self.image))[0]
        return {"degree": in_thirds(self.original.network.degrees[person])}

    @classmethod
    def called(cls, subject: int | str, pairs_of: int | None) -> int | str:
        """A member is a person with its own node: it is called by the person's id."""
        return int(subject) // int(pairs_of or 1)

    def _apart(self, adversary: Adversary) -> Identity:
        """The game that an adversary plays: another one than this where it opened accounts for it."""
        attack, other = adversary.attack, self.with_accounts
        opens = isinstance(attack, LearnsOfPeople) and attack.opens_accounts
        return self if other is None or not opens else other

    def _in_question(
        self, asked: np.ndarray | None, ours: np.ndarray, known: int, seed: np.random.SeedSequence
    ) -> Identity:
        """The game about persons who are asked about, without those ``known``, the first in the adversary's ids."""
        if asked is None and not known:
            return self
        mask = np.ones(len(ours), dtype=bool) if asked is None else asked.copy()
        mask[:known] = False
        if not mask.any():
            raise InputError("the adversary knows nothing of any person who is in question")
        others, image = int((~self.truth).sum()), self.image
        persons = np.sort(ours[mask])
        return identities(image[: len(ours)], len(image), seed, others, persons, original=self.original)


@dataclass(frozen=True)
class PersonGrant(Grant):
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


def identities(
    image: Ints,
    nodes: int,
    seed: np.random.SeedSequence,
    others: int = OTHERS,
    persons: Ints | None = None,
    original: Original | None = None,
) -> Identity:
    """Who is who: in question are each person with its own node, and people with nodes of others.

    Published names are drawn anew in each run, so a subject tells its published node by the person that it stands
    for: over several runs it is the same subject then. Nodes that stand for nobody in question (an adversary's
    accounts, and what a defense added) come behind the people.

    Args:
        image: the published node of each person, [p].
        nodes: n', the number of published nodes.
        seed: of the sample.
        others: how many pairs of a person and another's node to draw, of all that there are.
        persons: who is in question; all by default.
        original: the network before it was published, of which adversaries know single facts.
    """
    rng, people = np.random.default_rng(seed), len(image)
    persons = np.arange(people) if persons is None else persons
    every = len(persons) * (nodes - 1)
    drawn = np.arange(every) if every <= others else np.unique(rng.integers(every, size=others))
    who, which = persons[drawn // (nodes - 1)], drawn % (nodes - 1)
    which = which + (which >= image[who])  # every node but the person's own
    placed = np.concatenate([image, np.setdiff1d(np.arange(nodes), image)])
    one, other = np.concatenate([persons, who]), np.concatenate([image[persons], which])
    return Identity(
        subjects=identity_codes(one, np.argsort(placed)[other], people, nodes),
        truth=np.arange(len(persons) + len(drawn)) < len(persons),
        people=people,
        image=placed,
        original=original,
        sampling_weight=every / max(len(drawn), 1),
    )


def _renamed(original: Original, of: Literal["original", "published"], theirs: np.ndarray) -> Original:
    """The network to learn of, under the adversary's ids of persons; nodes that a defense added come last."""
    network = original.network if of == "original" else original.published
    if network is None:
        raise InputError("the target does not tell what became of the network: learn facts of the original")
    added, held = np.arange(len(theirs), network.nodes), original.auxiliary
    if held is not None:
        people = original.people
        held = held.renamed(np.concatenate([theirs[:people], np.arange(people, held.nodes)]))
    return Original(
        network.renamed(np.concatenate([theirs, added])), original.accounts + len(added), auxiliary=held
    )


def _sentence(
    attack: LearnsOfPeople, facts: Mapping[str, NDArray[Any]], seeds: int, people: int, members: int
) -> str:
    known = f", and the published nodes of {seeds} of them" if seeds else ""
    about = f"; in question are the {members} of whom it knows anything" if members < people - seeds else ""
    when = "before the release" if attack.of == "original" else "as the published graph has it"
    return f"knows of {people} persons, {when}, {attack.says(facts)}{known}{about}"
