"""Pipelines that compute on private graphs, and what they stand on."""
