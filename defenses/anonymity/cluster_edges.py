"""Cluster-edge anonymisation: numbers of edges between classes of nodes instead of edges."""

from typing import Literal

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Ints, Network, Verified
from ...settings import Settings
from ...targets.defense import Defense
from .summaries import counts_between
from .summarisation import IN_GROUPS, certain_links, verify_groups
from .typed_edges import types_with, verify_no_edge_of_type


class ClusterEdgesSettings(Settings):
    """Settings of `ClusterEdges`."""

    k: int = Field(10, ge=1, description="nodes of each class, at least")
    sensitive: int | None = Field(
        0, ge=0, description="the type of edges that is not counted; null: all edges are, with or without types"
    )
    classes: Literal["degree", "groups"] = Field(
        "degree", description="degree: blocks of k nodes of like degree; groups: those that the network comes with"
    )
    constrained: bool = Field(
        False, description="whether no more than `limit` edges of a type are told between classes"
    )
    limit: int = Field(1, ge=1, description="where constrained: most edges of one type between two classes")
    inside: bool = Field(False, description="whether the edges within classes are counted too")


class ClusterEdges(Defense):
    """Publishes classes of nodes and how many edges of each type lie between two classes, and no edge.

    Zheleva and Getoor (PinKDD 2007): "cluster-edge anonymization", over the classes of any anonymisation of nodes.
    ``constrained`` is the variant "with constraints": what holds for two nodes, at most `limit` edges of a type,
    holds for two classes, so that a link is told with a probability of limit / |A||B| at most. Within classes
    nothing is told, unless ``inside`` is set. Degrees are those in the edges that are not sensitive.
    """

    name = "cluster-edges"
    phrase = "with edges counted between classes"
    strength = "k"
    sweep = (5, 10, 20, 50)
    publishes = ("types", "groups", "counts")
    alternative = "random-edit"
    guarantee = (
        "every class has at least k nodes, no edge of the sensitive type is counted, and of the others only "
        "numbers are told; two classes that are linked completely tell every link between them"
    )
    Settings = ClusterEdgesSettings
    settings: ClusterEdgesSettings

    @property
    def most(self) -> int | None:
        """Most edges of a type that are told between two classes; None where there is no limit."""
        return self.settings.limit if self.settings.constrained else None

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        s = self.settings
        if s.sensitive is not None:
            network = network.only(types_with(network, s.sensitive, self.name) != s.sensitive)
        groups = self._classes(network, np.random.default_rng(seed))
        counts = told_counts(network, groups, self.most, s.inside)
        return Network(network.nodes, np.empty((2, 0), dtype=np.int64), groups=groups, counts=counts)

    def _classes(self, network: Network, rng: np.random.Generator) -> Ints:
        k, n = self.settings.k, network.nodes
        if self.settings.classes == "degree":
            if n < k:
                raise InputError(f"'{self.name}' cannot make classes of k = {k} of {n} nodes: take a smaller k")
            blocks = degree_blocks(network.degrees, k, rng)
            numbers: Ints = rng.permutation(blocks.max(initial=-1) + 1)  # else they would tell the order
            return numbers[blocks]
        if network.groups is None:
            raise InputError(f"'{self.name}' with classes = groups: the network has none; set classes to 'degree'")
        groups: Ints = np.unique(network.groups, return_inverse=True)[1].astype(np.int64)
        smallest = int(np.bincount(groups).min(initial=n))
        if smallest < k:
            raise InputError(
                f"'{self.name}': the smallest group has {smallest} nodes, fewer than k = {k}: merge groups"
            )
        return groups

    def verify(self, before: Network, after: Network) -> Verified:
        s = self.settings
        checks = [verify_groups(after, s.k), verify_told_counts(before, after, s.sensitive, self.most, s.inside)]
        if s.sensitive is not None:
            checks.append(verify_no_edge_of_type(after, s.sensitive))
        guarantee, detail = (words.join(getattr(c, name) for c in checks) for name, words in _JOINED)
        return Verified(guarantee, all(c.holds for c in checks), detail, IN_GROUPS)


_JOINED = (("guarantee", ", and "), ("detail", "; "))


def degree_blocks(degrees: Ints, k: int, rng: np.random.Generator) -> Ints:
    """Classes of k nodes each in the order of degrees, those of equal degree in random order, [n].

    The last class takes the nodes that are left over. Classes are numbered by degree, the highest first.
    """
    order = np.lexsort((rng.random(len(degrees)), -degrees))
    groups = np.empty(len(degrees), dtype=np.int64)
    groups[order] = np.minimum(np.arange(len(order)) // k, max(len(order) // k - 1, 0))
    return groups


def told_counts(network: Network, groups: Ints, most: int | None, inside: bool) -> Ints:
    """Rows of two classes, a type, and the number of edges that is told, [c, 4]; see `counts_between`."""
    counts = counts_between(network, groups)
    if not inside:
        counts = counts[counts[:, 0] != counts[:, 1]]
    if most is not None:
        counts[:, 3] = np.minimum(counts[:, 3], most)
    return counts


def verify_told_counts(
    before: Network, after: Network, sensitive: int | None, most: int | None, inside: bool
) -> Verified:
    """Whether numbers are told and no edges, and the numbers are the original's, or the limit where that is less.

    Its detail says which links are told for certain.
    """
    guarantee = "of edges only their numbers between classes are told" + (f", {most} at most" if most else "")
    if after.counts is None or after.groups is None or after.size:
        return Verified(guarantee, False, "edges are published, or no numbers")
    kept = before if sensitive is None or before.types is None else before.only(before.types != sensitive)
    right = np.array_equal(told_counts(kept, after.groups, most, inside), after.counts)
    return Verified(guarantee, right, f"{len(after.counts)} numbers of edges; {certain_links(after)}")
