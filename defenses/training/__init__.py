"""Defenses of the data and the training."""
