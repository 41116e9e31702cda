"""Runs that took place elsewhere."""
