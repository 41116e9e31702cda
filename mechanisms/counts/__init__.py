"""Numbers of subgraphs, private in edges or in nodes."""
