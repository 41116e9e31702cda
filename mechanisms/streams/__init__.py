"""Statistics that are released again and again while messages arrive."""
