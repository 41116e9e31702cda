"""Defenses of what a model answers: posteriors with noise or in part, explanations in part or with flipped bits."""
