"""Node classifiers trained with differential privacy."""
