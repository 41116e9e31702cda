"""What defenses share that make people alike in attributes and degrees over snapshots that follow each other."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import ATTRIBUTES, Ints, Network, Verified
from ...graphs.tables.node_table import NodeTable
from ...settings import Settings
from ...targets.defense import Defense
from .classes import diverse, loss_of, table_of, untrue
from .clusters import coordinates, united
from .k_attributed_degree import MADE_UP, gone, links
from .k_attributes import check_whole
from .relations import degree_sides, raised, relations_of, together
from .requirement import ClassSettings, Requirement, members
from .sequence import by_attributes, parted, signatures


class SnapshotSettings(Settings):
    """Settings of defenses that make people alike in attributes and degrees over snapshots."""

    k: int = Field(10, ge=1, description="people who are alike, at least")
    relations: int = Field(
        1,
        ge=1,
        description="relations of a snapshot: relation r of snapshot t is the type t * relations + r; with windows "
        "of time there is one",
    )
    beta: float = Field(
        0.5, ge=0, le=1, description="weight of out-degrees beside in-degrees in what clusters lose"
    )


class OverSnapshots(Defense):
    """Adds values and edges until people are alike in every w snapshots that follow each other.

    Alike are people who share all that is told of attributes, and in each snapshot of the window their out- and
    in-degree in each relation; where directions are not published (``keep=directions``) their degree. Types of
    edges are the snapshots. Attributes are told once for all of them: of names all values of a class of people, of
    numbers their range (`sequence.by_attributes`). Then one snapshot after the other is made. People who were alike
    in the last w - 1 of them are put into clusters with degrees that are near in this one and the next w - 1, and
    all of a cluster get its largest degrees, by arcs that are added (`relations.raised`). So nothing that was made
    for an older snapshot changes, attributes aside. No edge is removed; weights go.
    """

    strength = "k"
    sweep = (2, 5, 10, 20)
    publishes = (ATTRIBUTES, "types")
    Settings = SnapshotSettings
    settings: SnapshotSettings

    @property
    @abstractmethod
    def window(self) -> int | None:
        """w, snapshots over which people are alike; None for all there are."""

    @property
    def classes(self) -> ClassSettings:
        """What is required of people who are alike."""
        return ClassSettings(k=self.settings.k)

    def check_types(self, names: Sequence[str], in_order: bool, windows: bool) -> None:
        each = self.settings.relations
        if not names:
            raise InputError(f"'{self.name}' needs snapshots: name a column 'type' in the file, or cut --windows")
        if windows and each > 1:
            raise InputError("relations: with windows of time there is one: leave the setting out")
        if len(names) % each:
            raise InputError(
                f"relations: {len(names)} types of edges are no snapshots of {each} relations each: let the file "
                "name all of them, with '#@type NAME' lines at its top"
            )
        if not in_order and list(names) != sorted(names, key=_by_numbers):
            raise InputError(
                f"'{self.name}' takes types of edges as snapshots, and their order is open: they first come as "
                f"{' '.join(names[:4])}; write '#@type NAME' lines at the top of the file, in the order of time"
            )

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        rng, table, s = np.random.default_rng(seed), table_of(network), self.settings
        requirement = Requirement.of(self.classes, network)
        check_whole(requirement, network)
        group = by_attributes(table, coordinates(table, degree_sides(network), 1, s.beta), s.k, requirement.met)
        told = replace(table, runs=united(table.columns, table.values, group))
        parts = self._snapshots(network, told.classes, requirement, rng)
        made = together(parts, network.types is not None) if parts else replace(network, weights=None)
        return made if network.people is None else replace(made, people=told)

    def _snapshots(
        self, network: Network, told: Ints, requirement: Requirement, rng: np.random.Generator
    ) -> list[Network]:
        """The relations of all snapshots as they are published, one snapshot after the other.

        Args:
            network: the original.
            told: a number for what is told of each person's attributes, [n].
            requirement: of people who are alike.
            rng: of edges that are added.
        """
        s, nobody = self.settings, NodeTable(np.empty((network.nodes, 0, 1, 2), dtype=np.int64))
        parts, sides, made = relations_of(network), degree_sides(network), list[Network]()
        published = [side.copy() for side in sides]
        span = len(parts) if self.window is None else (self.window - 1) * s.relations
        for first in range(0, len(parts), s.relations):
            last = first + s.relations
            alike = signatures(told, published, max(first - span, 0), first)
            ahead = [side[:, first : last + span] for side in sides]
            group = parted(coordinates(nobody, ahead, 0, s.beta), alike, s.k, requirement.met)
            for number, part in enumerate(parts[first:last], start=first):
                made.append(raised(network, part, group, number, rng))
                for side, now in zip(published, degree_sides(made[-1]), strict=True):
                    side[:, number] = now[:, 0]
        return made

    def verify(self, before: Network, after: Network) -> Verified:
        """Counts signatures of every window; checks that no edge is gone and own values are among those told."""
        requirement, snapshots = Requirement.of(self.classes, after), self._snapshots_in(after)
        width, windows = self._width(after), self._windows(after)
        found = [rows for number in windows for rows in members(number)]
        wrong = untrue(table_of(before), table_of(after)) or gone(before, after)
        least = min(map(requirement.diversity, found), default=0)
        parts = [
            f"{len(windows)} window{'' if len(windows) == 1 else 's'} of {width} of {snapshots} "
            f"snapshot{'' if snapshots == 1 else 's'}",
            f"the rarest signature of a window occurs {min(map(len, found), default=self.settings.k)} times",
            f"the least diverse counts {least:.3g} sensitive values" if self.classes.l_diversity > 1 else "",
            f"{links(after) - links(before)} links added to {links(before)}",
            loss_of(after),
            wrong,
        ]
        where = "each snapshot by itself" if width == 1 else f"every {width} snapshots that follow each other"
        more = "more snapshots, or " if width < snapshots else ""
        return Verified(
            "each person shares its published attributes, and its degrees in each relation, with at least "
            f"{self.settings.k - 1} others{diverse(self.classes, requirement.columns)}: in {where}",
            not wrong and all(map(requirement.met, found)),
            "; ".join(filter(None, parts)),
            "This holds against somebody who knows a person's attributes and how many links it has in "
            f"{'one snapshot' if width == 1 else where}. It says nothing against somebody who knows {more}more of "
            "its links, such as to whom they lead, or to how many different people.",
            MADE_UP,
        )

    def _snapshots_in(self, network: Network) -> int:
        """How many snapshots there are, up to the last one with an edge."""
        relations: int = degree_sides(network)[0].shape[1]
        return -(-relations // self.settings.relations)

    def _width(self, network: Network) -> int:
        """Snapshots of a window: w, or all where there are fewer."""
        snapshots = self._snapshots_in(network)
        return snapshots if self.window is None else min(self.window, snapshots)

    def _windows(self, network: Network) -> Sequence[Ints]:
        """For each window a number for each person, shared by those who are alike in it, [n] each."""
        told, sides = table_of(network).classes, degree_sides(network)
        width, each = self._width(network), self.settings.relations
        starts = range(self._snapshots_in(network) - width + 1)
        return [signatures(told, sides, first * each, (first + width) * each) for first in starts]


def _by_numbers(name: str) -> list[tuple[int, str]]:
    """What orders names of which parts are numbers: 2-like comes before 10-follow."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
