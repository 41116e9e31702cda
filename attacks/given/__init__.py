"""Attacks that others ran."""
