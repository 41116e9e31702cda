"""Identities by graph matching from nothing but structure."""

from typing import ClassVar

from .seeded_matching import AuxiliaryMatching


class SeedlessMatching(AuxiliaryMatching):
    """Graph matching without seeds: hubs first, then by the distances from these, then percolation.

    The adversary has another network of the same people, with names and a part of the edges of the one that is
    published, and knows nobody in that one. Otherwise it is `SeededMatching`.
    """

    name: ClassVar[str] = "seedless-matching"
