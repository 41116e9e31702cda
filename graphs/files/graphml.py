"""Networks as GraphML."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from ...errors import InputError
from ..directions import as_rows
from ..network import Network
from .data_file import graphml_features, graphml_labels, is_numbered, parsed_xml
from .elements import Edge, rows_of_elements
from .rows import Rows, as_whole


def read_graphml(path: Path) -> Rows:
    """Reads nodes in the file's order, and edges with ``weight`` (a number) and ``type`` (a name) if they have one.

    Features and classes of nodes are read where any node has them, as `graphfile.read_graph` does. Types
    stand in the order of the graph's own attribute ``types`` (a JSON list of names), then as they first appear.
    Other attributes of edges are named and not read.

    Raises:
        InputError: not readable, without nodes, or nodes or edges of which some lack what others have.
    """
    graph = parsed_xml(path, "GraphML")
    nodes: dict[str, dict[str, Any]] = {str(node): values for node, values in graph.nodes(data=True)}
    edges: list[Edge] = [(str(u), str(v), values) for u, v, values in graph.edges(data=True)]
    declared = _declared(str(graph.graph.get("types", "")), path)
    attributes = dict.fromkeys(name for values in nodes.values() for name in values)
    return replace(
        rows_of_elements(tuple(nodes), edges, graph.is_directed(), path, declared),
        x=graphml_features(nodes, path).numpy() if "x" in attributes or any(map(is_numbered, attributes)) else None,
        y=graphml_labels(nodes, path).numpy() if "label" in attributes else None,
        attributes=tuple(name for name in attributes if name not in ("label", "x") and not is_numbered(name)),
    )


def write_graphml(
    stream: IO[bytes],
    network: Network,
    ids: Sequence[str],
    types: Sequence[str],
    x: NDArray[Any] | None,
    y: NDArray[Any] | None,
) -> None:
    """Writes a network so that `read_graphml` reads the same."""
    import networkx as nx

    directed = network.directions is not None
    graph: Any = nx.DiGraph() if directed else nx.Graph()
    if network.types is not None:
        kind = nx.MultiDiGraph if directed else nx.MultiGraph
        graph = kind(types=json.dumps(list(types), ensure_ascii=False))
    for k, node in enumerate(ids):
        told: dict[str, Any] = {} if y is None else {"label": int(y[k])}
        graph.add_node(node, **told | ({} if x is None else {"x": " ".join(map(repr, x[k].tolist()))}))
    weights = None if network.weights is None else as_whole(network.weights).tolist()
    rows, edge = as_rows(network.edges, network.directions)
    for k, one, other in zip(edge.tolist(), *rows.tolist(), strict=True):
        weight = {} if weights is None else {"weight": weights[k]}
        named = {} if network.types is None else {"type": types[network.types[k]]}
        graph.add_edge(ids[one], ids[other], **weight, **named)
    nx.write_graphml_xml(graph, stream)  # also where lxml is installed: the same file everywhere


def _declared(text: str, path: Path) -> list[str]:
    """Names of types in a JSON list, or, as older files have them, between blanks."""
    if not text.startswith("["):
        return text.split()
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}: attribute 'types' of the graph is no JSON list of names")
    return names
