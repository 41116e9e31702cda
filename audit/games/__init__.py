"""Judging guesses: what adversaries are granted, and the truth beside what they guess."""
