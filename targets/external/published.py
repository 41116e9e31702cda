"""A network that somebody published after another tool anonymised it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.files.digests import digests
from ...graphs.files.network_file import read_network, write_network
from ...graphs.network import Ints, Network, Original, changes
from ...graphs.pyg import name_of, network_of_data, node_names, type_names
from ...graphs.snapshots import window_names
from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.identities import identities
from ..messages import PUBLISHED_KIND, WINDOWS_KIND
from ..published import tensors_of
from ..publishing.held import HeldSettings
from ..publishing.publish import OWNER, NetworkSettings, PublishedNetwork
from ..publishing.who_is_who import Named, by_name, by_table, check_kept, in_order, source_of
from ..publishing.windows import WindowSettings
from ..recording import UNKNOWN
from ..target import Progress, Run, no_progress

if TYPE_CHECKING:
    from torch_geometric.data import Data


class PublishedSettings(NetworkSettings, WindowSettings, HeldSettings):
    """Settings of `Published`."""

    after: str = Field(description="the published network: .txt, .tsv, .csv, .edges (also .gz), .npz, .graphml")
    same: str | None = Field(
        None, description="table with the columns original,published; without it nodes kept their names"
    )


class Published(PublishedNetwork):
    """A network that was anonymised elsewhere, by any tool: its file beside the original.

    Who is who says a table with the columns ``original`` and ``published``, where nodes did not keep their names.
    Secret are the identities and the links, as with `publish`, and attacks are given the same. Nothing is made up:
    which defense was in place is not known, and weights, types and directions are published if the file has them.
    With ``auxiliary``, attacks that match networks hold a second real network in place of a part of the original.
    With ``windows`` the original's times are cut into windows, and the file calls its types of edges as
    `snapshots.window_names` does (``gaudit anonymize --windows`` writes such files).
    """

    name = "published"
    sends = (PUBLISHED_KIND, WINDOWS_KIND)
    runs_elsewhere = True
    brings = True
    Settings = PublishedSettings
    settings: PublishedSettings

    @classmethod
    def example(cls, data: Data, folder: Path) -> dict[str, Any]:
        """The graph itself under its own names."""
        write_network(network_of_data(data), folder / "after.npz")
        return {"after": str(folder / "after.npz"), "measures": ("degree-distribution",)}

    def sent(self) -> set[str]:
        return {PUBLISHED_KIND if self.settings.windows is None else WINDOWS_KIND}

    def original(self, data: Data) -> Original:
        return Original(self.settings.cut(network_of_data(data)))

    def why_not(self, defense: Defense) -> str | None:
        return None if type(defense) is Defense else "the network is published already: publish it with the defense"

    @property
    def reads(self) -> Mapping[str, str]:
        s = self.settings
        return digests(tuple(file for file in (s.after, s.same, *s.held_files) if file is not None))

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        channel, after = Channel(retain=retain), self._matched(data)
        (kind,) = self.sent()
        channel.send(kind, OWNER, "public", 1, tensors_of(after.released))
        network, others = self.original(data).network, branch(seed, "others")
        held = self.settings.held(data)
        original = Original(network, 0, after.ours, None if held is None else held.network)
        who = identities(after.image, after.released.nodes, others, self.settings.others, original=original)
        progress("publishing", 1, 3)
        same = self.settings.same
        told = "nodes kept their names" if same is None else f"who is who as {source_of(same)} says"
        notes = (changes(network, after.ours), f"{told}; which defense was in place is not known", *after.dropped)
        notes = notes if held is None else (*notes, held.note)
        return replace(self.published(data, (after.ours, who, notes), channel, seed, progress), in_place=UNKNOWN)

    def under_original_numbers(self, data: Data) -> Network:
        """The published network, whose node i is person i of the original; others come behind."""
        return self._matched(data).ours

    def check(self, data: Data) -> None:
        self._matched(data)
        self.settings.held(data)

    def _matched(self, data: Data) -> _After:
        """The published network, and who is who in it."""
        s, network = self.settings, self.original(data).network
        known = _known_types(network, type_names(data) if s.windows is None else window_names(s.windows))
        released, names, dropped = _read(s.after, known)
        before, after = Named(name_of(data) or "the original", node_names(data)), Named(source_of(s.after), names)
        image = by_name(before, after) if s.same is None else by_table(s.same, before, after)
        placed = np.concatenate([image, np.setdiff1d(np.arange(released.nodes), image)])
        ours = _under_our_names(released, placed)
        if s.same is None:
            check_kept(network, ours, before, after)
        return _After(released, image, ours, dropped)


@dataclass(frozen=True)
class _After:
    """A published network.

    Attributes:
        released: as it was published.
        image: the published node of each person, [n].
        ours: the same network under the original's numbers.
        dropped: what was left out of its file, in words.
    """

    released: Network
    image: Ints
    ours: Network
    dropped: tuple[str, ...]


def _known_types(network: Network, names: tuple[str, ...]) -> tuple[str, ...]:
    """What types of the original are called: by the names that `write_network` makes up where it has none."""
    if names or network.types is None:
        return names
    return tuple(f"type-{number}" for number in range(int(network.types.max(initial=-1)) + 1))


def _read(path: str, known: tuple[str, ...]) -> tuple[Network, tuple[str, ...], tuple[str, ...]]:
    """A network whose nodes stand in the order of their names, these names, and what was dropped of the file.

    Types of edges have the numbers that they have in the original, where they are called the same.
    """
    read = read_network(path, directed="told")
    order = in_order(read.ids)
    network = _under_our_names(read.network, order)
    if read.type_names:
        network = _retyped(network, read.type_names, known)
    dropped = tuple(filter(None, [read.dropped.sentence]))
    return network, tuple(read.ids[place] for place in order), dropped


def _under_our_names(network: Network, placed: Ints) -> Network:
    """The network whose node i is node ``placed[i]`` of another."""
    return network.renamed(np.argsort(placed))


def _retyped(network: Network, names: tuple[str, ...], known: tuple[str, ...]) -> Network:
    if known and not set(names) & set(known):
        raise InputError(
            f"types of edges have other names ({', '.join(names[:5])}) than in the original "
            f"({', '.join(known[:5])}): call them the same"
        )
    number: dict[str, int] = {name: place for place, name in enumerate(known)}
    new = np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
    if network.types is not None:
        low, high = network.edges
        told = (network.weights, new[network.types], network.groups, network.directions)
        return Network.from_edges(network.nodes, low, high, *told)
    raise InputError("counts between groups by type: their types cannot be told from those of the original")
