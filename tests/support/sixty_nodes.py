"""A graph of 60 nodes in three classes, with 6, 4 and 2 labelled nodes, for condensation tests."""

from gaudit.audit.conformance.small_graphs import sixty_nodes

__all__ = ["sixty_nodes"]
