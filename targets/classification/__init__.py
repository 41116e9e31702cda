"""Node classifiers that are published, or asked."""
