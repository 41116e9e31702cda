"""Defenses of what leaves a party."""
