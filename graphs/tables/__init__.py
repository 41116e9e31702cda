"""Attributes of nodes as data: columns, how coarse they can be told, and tables of what is told."""
