"""Which neighbours of several nodes play the same part, so that few edges make their neighbourhoods isomorphic."""

from collections import Counter, deque

Graph = dict[int, set[int]]
"""A small graph: for each node those that it is linked to."""


def aligned(graphs: list[Graph]) -> list[dict[int, int]]:
    """Puts graphs of as many nodes one above the other, one by one, where their edges agree.

    The slots of the first are its nodes; each further graph is laid onto what the ones before it have become, the
    largest component first, each within one component if one has room, from its best-linked node on by
    breadth-first search.

    Args:
        graphs: of d nodes each.

    Returns:
        For each graph the slot of each node, 0 to d - 1.
    """
    slots = [{node: number for number, node in enumerate(graphs[0])}]
    union: Graph = {number: set() for number in range(len(graphs[0]))}
    _lay(union, graphs[0], slots[0])
    for graph in graphs[1:]:
        slots.append(_slots(union, graph))
        _lay(union, graph, slots[-1])
    return slots


def _lay(union: Graph, graph: Graph, slot: dict[int, int]) -> None:
    for node, near in graph.items():
        union[slot[node]] |= {slot[other] for other in near}


def components(graph: Graph) -> list[list[int]]:
    """Its components, the largest and of these the densest first; each by breadth-first search from its hub."""
    seen, found = set[int](), []
    for start in sorted(graph, key=lambda node: (-len(graph[node]), node)):
        if start in seen:
            continue
        seen.add(start)
        order, queue = [], deque([start])
        while queue:
            node = queue.popleft()
            order.append(node)
            fresh = sorted(graph[node] - seen, key=lambda other: (-len(graph[other]), other))
            seen |= set(fresh)
            queue.extend(fresh)
        found.append(order)
    return sorted(found, key=lambda part: (-len(part), -sum(len(graph[node]) for node in part)))


def _slots(union: Graph, graph: Graph) -> dict[int, int]:
    """The slot of each node of a graph."""
    free = [set(part) for part in components(union)]
    slot: dict[int, int] = {}
    for part in components(graph):
        room = _room(free, len(part))
        _place(part, graph, union, room, slot)
        taken = {slot[node] for node in part}
        free = [rest for rest in (own - taken for own in free) if rest]
    return slot


def _room(free: list[set[int]], size: int) -> set[int]:
    """The least component with so many free slots, or the largest ones together."""
    fits = [own for own in free if len(own) >= size]
    if fits:
        return min(fits, key=len).copy()
    room = set[int]()
    for own in sorted(free, key=len, reverse=True):
        room |= own
        if len(room) >= size:
            break
    return room


def _place(part: list[int], graph: Graph, union: Graph, room: set[int], slot: dict[int, int]) -> None:
    """Gives each node of a component the free slot with most edges to the slots of its neighbours."""
    for node in part:
        agree = Counter(
            near for other in graph[node] if other in slot for near in union[slot[other]] if near in room
        )
        best = max(agree.values(), default=0)
        degree = len(graph[node])
        choice = [near for near, times in agree.items() if times == best] if best else room
        slot[node] = min(choice, key=lambda near: (abs(len(union[near]) - degree), near))
        room.discard(slot[node])
