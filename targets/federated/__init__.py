"""Federated training of a node classifier."""
