"""A network under random numbers, and types of edges that keep the names of those alone that are told."""

from dataclasses import replace

import numpy as np

from ...graphs.network import Ints, Network


def renamed(network: Network, type_names: tuple[str, ...], new: Ints) -> tuple[Network, tuple[str, ...]]:
    """The network with the numbers ``new`` [n], drawn at random, added nodes too; its types in their names' order.

    Nodes and edges stand in the order of the new numbers. In the source's order they could be told by counting,
    whatever they are called; that of the types tells which edges came first.
    """
    if type_names:
        order = sorted(range(len(type_names)), key=type_names.__getitem__)
        network = _retyped(network, np.argsort(order))
        type_names = tuple(type_names[k] for k in order)
    return network.renamed(new), type_names


def named_types(network: Network, names: tuple[str, ...]) -> tuple[Network, tuple[str, ...]]:
    """The network with the names of those types alone that it tells an edge of, in their order.

    The name of a type that was dropped tells that there were such edges.
    """
    types = network.types if network.counts is None else network.counts[:, 2]
    if types is None or not names:
        return network, ()
    told = np.unique(types)
    new = np.full(len(names), -1)
    new[told] = np.arange(len(told))
    return _retyped(network, new), tuple(names[k] for k in told)


def _retyped(network: Network, new: Ints) -> Network:
    """The network with type i called ``new[i]``, in its edges or its counts."""
    if network.counts is not None:
        counts = network.counts.copy()
        counts[:, 2] = new[counts[:, 2]]
        return replace(network, counts=counts[np.lexsort(counts.T[2::-1])])
    return network if network.types is None else replace(network, types=new[network.types])
