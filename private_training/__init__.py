"""Node classifiers that are trained with differential privacy, and what they promise."""
