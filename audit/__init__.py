"""Runs targets and attacks, keeps the truth, scores the guesses."""
