"""Metrics with intervals."""
