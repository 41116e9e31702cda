"""Networks as other programs write them: GEXF (Gephi), GML (igraph, Cytoscape), node-link JSON (D3, networkx)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import InputError, quoted
from ...untrusted import check_memory
from .data_file import ELEMENT_MEMORY, XML_MEMORY, first_line, parsed_xml
from .elements import Edge, rows_of_elements
from .rows import Rows, check_names

JSON_MEMORY = 40
"""Bytes of memory that a byte of JSON takes at most: each empty list is an object."""
NAMES = ("label", "name")
"""Attributes of nodes of a GML file that are its ids where all nodes have one, and none twice."""
LINKS = ("links", "edges")
Attributes = Mapping[str, Any]


def read_gexf(path: Path) -> Rows:
    """Reads nodes by their id, and edges with ``weight`` if they have one; other attributes are not read.

    Raises:
        InputError: too large, with a document type or entities, or no readable GEXF.
    """
    graph = parsed_xml(path, "GEXF")
    return _rows(dict(graph.nodes(data=True)), [*graph.edges(data=True)], graph.is_directed(), path)


def read_gml(path: Path) -> Rows:
    """Reads nodes by their ``label`` or ``name`` if all have one of their own, else by their number.

    Edges have ``weight`` and ``type`` if the file tells them.

    Raises:
        InputError: too large, or no readable GML.
    """
    import networkx as nx

    text = path.read_bytes()
    words = sum(map(text.count, (b" ", b"\n", b"\t", b"[")))
    check_memory(f"{path}: its elements", ELEMENT_MEMORY * words + XML_MEMORY * len(text))
    graph = _parsed(lambda: nx.parse_gml(text.decode(), label=None), "GML", path)
    nodes = dict(graph.nodes(data=True))
    for name in NAMES:
        called = [str(values.get(name, "")) for values in nodes.values()]
        if all(called) and len(set(called)) == len(called):
            number = dict(zip(nodes, called, strict=True))
            nodes = {number[node]: _without(values, name) for node, values in nodes.items()}
            edges = [(number[one], number[other], values) for one, other, values in graph.edges(data=True)]
            return _rows(nodes, edges, graph.is_directed(), path)
    return _rows(nodes, [*graph.edges(data=True)], graph.is_directed(), path)


def read_node_link(path: Path) -> Rows:
    """Reads an object with ``nodes`` that have an ``id``, and ``links`` or ``edges`` of ``source`` and ``target``.

    Links have ``weight`` and ``type`` if the file tells them; ``directed`` says what they stand for.

    Raises:
        InputError: too large, no JSON, or no such object.
    """
    text = path.read_bytes()
    check_memory(f"{path}: its text", JSON_MEMORY * len(text))
    told = _parsed(lambda: json.loads(text), "JSON", path)
    held = told if isinstance(told, dict) else {}
    nodes, links = _objects(held, "nodes"), _objects(held, *LINKS)
    if nodes is None or links is None:
        raise InputError(f"{path}: expected an object with 'nodes' and 'links', both lists of objects")
    ids = [_plain(node, "id", path) for node in nodes]
    check_names(ids, "node", str(path))
    edges = [
        (_plain(link, "source", path), _plain(link, "target", path), _without(link, "source", "target", "key"))
        for link in links
    ]
    named = {name: _without(node, "id") for name, node in zip(ids, nodes, strict=True)}
    return _rows(named, edges, held.get("directed") is True, path)


def _rows(nodes: Mapping[Any, Attributes], edges: Any, directed: bool, path: Path) -> Rows:
    """The rows of elements whose ids may be numbers."""
    ids = tuple(map(str, nodes))
    if not ids:
        raise InputError(f"{path}: holds no nodes")
    known = set(ids)
    named: list[Edge] = [(str(one), str(other), values) for one, other, values in edges]
    stranger = next((end for one, other, _ in named for end in (one, other) if end not in known), None)
    if stranger is not None:
        raise InputError(f"{path}: an edge names the node {quoted(stranger)}, which is not listed: list it")
    attributes = tuple(dict.fromkeys(str(name) for values in nodes.values() for name in values))
    return replace(rows_of_elements(ids, named, directed, path), attributes=attributes)


def _parsed(parse: Callable[[], Any], kind: str, path: Path) -> Any:
    """What a parser makes of a file, and one line of whatever it raises."""
    try:
        return parse()
    except (Exception, RecursionError) as error:  # parsers answer malformed files with errors of many kinds
        raise InputError(f"{path}: not readable as {kind}: {first_line(error)}") from error


def _objects(held: Attributes, *names: str) -> list[Attributes] | None:
    """The list of objects under the first of some names that is there; None where there is none."""
    items = next((held[name] for name in names if name in held), None)
    return items if isinstance(items, list) and all(isinstance(item, dict) for item in items) else None


def _plain(item: Attributes, name: str, path: Path) -> str:
    """An entry that is text or a whole number, as text."""
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(
            f"{path}: a node or a link has {quoted(value)} as '{name}': expected text or a whole number"
        )
    return str(value)


def _without(values: Attributes, *names: str) -> Attributes:
    return {name: value for name, value in values.items() if name not in names}
