"""Synthetic graphs with a promise of differential privacy."""
