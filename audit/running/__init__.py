"""Trials, side by side, and the ledger that keeps them."""
