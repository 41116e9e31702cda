"""Graphs by name: bundled ones, and those that PyG downloads."""
