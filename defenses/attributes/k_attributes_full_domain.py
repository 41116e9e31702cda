"""k-anonymity of attributes by telling all people's values at the same level: the trivial alternative."""

from dataclasses import replace

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import ATTRIBUTES, Ints, Network, Verified
from ...graphs.tables.column import Column
from ...graphs.tables.node_table import UNTOLD, NodeTable
from ...targets.defense import Defense
from .classes import degree_column, table_of, verified, with_common_degrees
from .k_attributes import check_whole
from .partition import partitioned
from .requirement import ClassSettings, Requirement, members


class KAttributesFullDomainSettings(ClassSettings):
    """Settings of `KAttributesFullDomain`."""

    suppress: float = Field(
        0.0, ge=0, lt=1, description="share of people of whom no attribute is told, at most, instead of more levels"
    )


class KAttributesFullDomain(Defense):
    """Tells each attribute of all people at one level of its hierarchy, until k people share what is told.

    One attribute after the other goes up one level: the one after which fewest people are in classes that are too
    small, of equals the one that loses least. With ``suppress`` a share of people may be left in such classes;
    nothing is told of their attributes then, sensitive ones too, but they and their edges stay, and there are at
    least k of them. Within each class people are then put into smaller ones of like degree, which they get in
    common as in `k-attributes`.

    It is the trivial alternative to `k-attributes`: one rare person makes an attribute coarse for everybody.

    Source:
        Full-domain generalisation of Samarati, IEEE TKDE 2001, with the greedy choice of levels of Datafly (Sweeney
        2002), by people left instead of different values.
    """

    name = "k-attributes-full-domain"
    phrase = "with attributes told at one level, shared by k people each"
    strength = "k"
    sweep = (2, 5, 10, 20)
    trivial = True
    publishes = (ATTRIBUTES,)
    guarantee = (
        "each node shares its published attributes and its degree with at least k - 1 others; who knows more of "
        "its links may tell them apart"
    )
    Settings = KAttributesFullDomainSettings
    settings: KAttributesFullDomainSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        rng, table = np.random.default_rng(seed), table_of(network)
        requirement = Requirement.of(self.settings, network)
        check_whole(requirement, network)
        runs, left = self._levels(table, requirement)
        made, told = network, _without(replace(table, runs=runs), left)
        if self.settings.degrees:
            degree, place = degree_column(network.plain().degrees)
            within = replace(requirement, sensitive=told.sensitive)
            group = partitioned((degree,), place[:, None], within, list(members(told.classes)))
            made = with_common_degrees(network, group, rng)
        return made if network.people is None else replace(made, people=told)

    def verify(self, before: Network, after: Network) -> Verified:
        """Counts the classes of ``after``, checks that nothing untrue is told, and measures what is lost."""
        return verified(self.settings, before, after)

    def _levels(self, table: NodeTable, requirement: Requirement) -> tuple[Ints, Ints]:
        """What is told of each person, and those of whom nothing shall be.

        Raises:
            InputError: not even the coarsest levels will do.
        """
        columns, values = table.columns, table.values
        level = [0] * len(columns)
        while True:
            runs = _told_at(columns, values, level)
            left = _left(runs, requirement)
            if self._bearable(len(left), len(values)):
                return runs, left
            choices = [
                [own + (at == place) for at, own in enumerate(level)]
                for place, column in enumerate(columns)
                if level[place] + 1 < len(column.blocks)
            ]
            if not choices:
                raise InputError(
                    "attributes that tell nothing are not enough: choose a smaller k or l, or a larger t"
                )
            level = min(
                choices,
                key=lambda choice: _price(replace(table, runs=_told_at(columns, values, choice)), requirement),
            )

    def _bearable(self, left: int, people: int) -> bool:
        """Whether so many people may be left out; fewer than k would be known by that."""
        return left == 0 or self.settings.k <= left <= self.settings.suppress * people


def _told_at(columns: tuple[Column, ...], values: Ints, level: list[int]) -> Ints:
    """What is told of each person with each attribute at a level, [n, q, 1, 2]."""
    runs = np.empty((*values.shape, 1, 2), dtype=np.int64)
    for place, column in enumerate(columns):
        runs[:, place, 0] = column.blocks[level[place], values[:, place]]
    return runs


def _left(runs: Ints, requirement: Requirement) -> Ints:
    """The people in classes that are not good ones."""
    group = NodeTable(runs).classes
    large = np.bincount(group)[group] >= requirement.settings.k
    rest = np.flatnonzero(large)
    bad = [rest[rows] for rows in members(group[rest]) if not requirement.met(rest[rows])]
    return np.concatenate([np.flatnonzero(~large), *bad])


def _price(table: NodeTable, requirement: Requirement) -> tuple[int, float]:
    return len(_left(table.runs, requirement)), float(table.losses().mean())


def _without(table: NodeTable, left: Ints) -> NodeTable:
    """The table without the attributes and sensitive values of some people."""
    if not len(left):
        return table
    runs = table.runs.copy()
    runs[left] = np.array([[0, column.size - 1] for column in table.columns])[:, None]
    sensitive = None if table.sensitive is None else table.sensitive.copy()
    if sensitive is not None:
        sensitive[left] = UNTOLD
    return replace(table, runs=runs, sensitive=sensitive)
