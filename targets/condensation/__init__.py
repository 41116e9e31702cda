"""Small graphs that stand for large ones."""
