"""What is left of a graph's shape in a condensed or rebuilt one: FedC4's Table 3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

BINS = 10
"""Equal bins of degrees, from none to the graph's largest."""


@dataclass(frozen=True)
class Topology:
    """Who is linked how often, and with whom, in one undirected graph without loops.

    Attributes:
        degrees: links of each node [n].
        alike: links between nodes of one label, counted at both ends.
    """

    degrees: Tensor
    alike: int

    @classmethod
    def of_edges(cls, edges: Tensor, y: Tensor) -> "Topology":
        """Of edges in both directions [2, e] among nodes with labels ``y`` [n]."""
        return cls(torch.bincount(edges[0], minlength=len(y)), int((y[edges[0]] == y[edges[1]]).sum()))

    @classmethod
    def of_links(cls, links: Tensor, y: Tensor, threshold: float) -> "Topology":
        """Of symmetric weights [n, n]; those up to ``threshold`` are no links."""
        return cls.of_edges((links > threshold).nonzero().t(), y)

    def density(self) -> float:
        """Share of node pairs that are linked."""
        n = len(self.degrees)
        return float(self.degrees.sum()) / max(n * (n - 1), 1)

    def homophily(self) -> float:
        """Share of links between nodes of one label; no number where there are no links."""
        ends = int(self.degrees.sum())
        return self.alike / ends if ends else float("nan")

    def histogram(self) -> np.ndarray:
        """Shares of nodes whose degree, divided by the largest one, is in each bin; with one node more in each."""
        relative = self.degrees.double() / max(int(self.degrees.max()), 1)
        counts = np.histogram(relative.cpu().numpy(), BINS, (0.0, 1.0))[0] + 1.0
        return np.asarray(counts / counts.sum())


def divergence(of: Topology, other: Topology) -> float:
    """Kullback-Leibler divergence of the degrees of one graph from those of another, in nats.

    FedC4 does not say how it compares graphs of different sizes. Here degrees are shares of the largest one, since
    a condensed graph has too few nodes for the degrees of a large graph.
    """
    p, q = of.histogram(), other.histogram()
    return float((p * np.log(p / q)).sum())


def compared(graphs: Mapping[str, Sequence[Topology]], original: str) -> dict[str, float]:
    """Degree divergence from the original, density and homophily, each a mean over clients.

    Args:
        graphs: the clients' graphs, by what they are.
        original: the name of those that the others are compared with.

    Returns:
        The figures by name, as in ``density, condensed``. Clients whose graph has no links have no homophily and do
        not count there.
    """
    found = {}
    for name, parts in graphs.items():
        apart = [divergence(of, other) for of, other in zip(graphs[original], parts, strict=True)]
        there = [part.homophily() for part in parts if bool(part.degrees.any())]
        found[f"degree divergence, {name}"] = float(np.mean(apart))
        found[f"density, {name}"] = float(np.mean([part.density() for part in parts]))
        found[f"homophily, {name}"] = float(np.mean(there)) if there else float("nan")
    return found
