"""Clients who condense their graphs, alone or together."""
