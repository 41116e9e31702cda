"""gaudit: what a graph pipeline gives away, to whom, how sure we are, and what it costs to stop it."""

__version__ = "0.1.0"
