"""Models and how they are trained, one or many at a time."""
