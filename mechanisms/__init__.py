"""Statistics of a graph released with differential privacy: exact noise, and guarantees that name their unit."""
