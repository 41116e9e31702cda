"""Published graphs with random changes."""
