"""Graphs that are published without names."""
