"""Who is who from the degrees around a person in each window of time: vertex refinement over snapshots."""

from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...graphs.network import Ints, Network, Original
from ...graphs.snapshots import degree_vectors, snapshot, windows_in
from ...targets.games.identities import PersonKnowledge
from ...targets.messages import PUBLISHED_WINDOWS
from ...targets.transcript import View
from ..identity.colour_refinement import STEP, Hashes, colours_at, mixed, structure
from ..identity.degree_profiles import backed_by, nearest
from ..identity.identity_attack import Candidates, Facts, StructuralQuery, StructuralQuerySettings, shared

N = TypeVar("N", bound=np.generic)


class TemporalRefinementSettings(StructuralQuerySettings):
    """Settings of `TemporalRefinement`."""

    depth: int = Field(
        1, ge=1, description="of the query H_i in each window: 1 is the degree, 2 the degrees of the neighbours"
    )
    match: Literal["nearest", "exact"] = Field(
        "nearest",
        description="where no published node has the same H_i in all windows, take those with the nearest degrees "
        "in them, or nobody",
    )
    linked: bool = Field(
        True,
        description="whether all windows are put together; else each is used alone, as if ids were drawn anew in "
        "each, and the one that leaves a person fewest candidates counts",
    )


class TemporalRefinement(StructuralQuery):
    """Knows H_i of each person in each window of time, and takes the nodes with the same in all for candidates.

    H_i is the vertex refinement query (Hay et al. 2008): H_1 the degree, H_2 the degrees of the neighbours. With
    H_1 a person's key is its vector of degrees over the windows, which is what Rossi, Musolesi and Torsello protect
    ("On the k-anonymization of time-varying and multi-layer social graphs", ICWSM 2015). Who is absent from a
    window has the degree 0 there, which is part of the vector. Where no node fits, those with the nearest vectors
    of degrees do (sum of absolute differences).

    A defense may publish one network instead of windows; the adversary then uses what it knows of all windows
    together. A release that tells numbers of edges instead of edges leaves everybody a candidate.

    Keys are 64-bit hashes, see `colour_refinement` for how unlikely it is that two different ones agree.
    """

    name = "temporal-refinement"
    needs = (PUBLISHED_WINDOWS,)
    cheap = (PUBLISHED_WINDOWS,)
    planted = "planted-windows"
    Settings = TemporalRefinementSettings
    settings: TemporalRefinementSettings

    @property
    def knows(self) -> str:
        depth = self.settings.depth
        first = {1: "the degree of each", 2: "the degrees of each one's neighbours"}
        what = first.get(depth, f"the vertex refinement query H_{depth} of each")
        return f"{what} in each window of time{'' if self.settings.linked else ', without linking the windows'}"

    def why_not(self, view: View, knowledge: PersonKnowledge) -> str | None:
        if not view.carrying(PUBLISHED_WINDOWS):
            return "the network is not published by windows of time (--set windows=8 publishes eight)"
        return super().why_not(view, knowledge)

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """Of each person its colour and degree in each window [p, T], and in all of them together [p]."""
        network, people, depth = original.network, original.people, self.settings.depth
        plain = network.plain()
        return {
            "colours": _colours(network, depth)[:people].view(np.int64),
            "degrees": degree_vectors(network)[:people],
            "colours of all": colours_at(structure(plain), depth)[:people].view(np.int64),
            "degrees of all": plain.degrees[:people, None],
        }

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        people = len(facts["colours"])
        if published.counts is not None or not people:
            return shared([np.arange(published.nodes)], np.zeros(people, dtype=np.int64))
        of_all = " of all" if published.types is None else ""
        colours, degrees = facts[f"colours{of_all}"].view(np.uint64).reshape(people, -1), facts[f"degrees{of_all}"]
        windows = max(colours.shape[1], windows_in(published))
        known = _wide(colours, windows), _wide(degrees, windows)
        seen = _wide(_colours(published, self.settings.depth), windows), degree_vectors(published, windows)
        if self.settings.linked:
            return self._fitting(known, seen)
        return smallest([self._fitting(*(_window(w, *both) for both in (known, seen))) for w in range(windows)])

    def _fitting(self, known: tuple[Hashes, Ints], seen: tuple[Hashes, Ints]) -> Candidates:
        """Published nodes with a person's colours in some windows, or with the nearest degrees in them."""
        same = Candidates.of_keys(_joint(known[0]), _joint(seen[0]))
        if self.settings.match == "exact":
            return same
        return backed_by(same, nearest(known[1].astype(np.float64), seen[1].astype(np.float64)))


def smallest(found: list[Candidates]) -> Candidates:
    """Of several candidate sets of each person the smallest that is not empty, the first of equal ones."""
    sizes = np.stack([one.sizes for one in found])
    best = np.where(sizes > 0, sizes, np.iinfo(np.int64).max).argmin(0)
    before = np.cumsum([0, *(len(one.listed) for one in found)])
    start = np.stack([one.start + skipped for one, skipped in zip(found, before, strict=False)])
    people = np.arange(len(best))
    return Candidates(start[best, people], sizes[best, people], np.concatenate([one.listed for one in found]))


def _colours(network: Network, depth: int) -> Hashes:
    """H_depth of each node in each window, 0 for who is absent there, [n, T]."""
    windows = range(windows_in(network))
    return np.column_stack([colours_at(structure(snapshot(network, window)), depth) for window in windows])


def _joint(colours: Hashes) -> Ints:
    """One key for each row of colours [n, T]: a window in which somebody is absent adds nothing to it, [n]."""
    places = STEP * np.arange(1, colours.shape[1] + 1, dtype=np.uint64)
    keys: Hashes = np.where(colours > 0, mixed(mixed(colours) + places), np.uint64(0)).sum(1, dtype=np.uint64)
    return keys.view(np.int64)


def _wide(columns: NDArray[N], windows: int) -> NDArray[N]:
    """The same with zeros for windows behind the last one, [n, windows]."""
    return np.pad(columns, ((0, 0), (0, windows - columns.shape[1])))


def _window(window: int, colours: Hashes, degrees: Ints) -> tuple[Hashes, Ints]:
    """Colours and degrees in one window, [n, 1] each."""
    return colours[:, [window]], degrees[:, [window]]
