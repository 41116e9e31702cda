"""Pipelines that leak on purpose."""
