"""Federated training in which a client ends with a model that is not everybody's: its own, or the one it chose."""
