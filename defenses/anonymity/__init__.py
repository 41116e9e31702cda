"""Published graphs in which every node is like others."""
