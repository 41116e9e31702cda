"""Published graphs in which people share their degrees."""
