"""Federated training on whole graphs: every client holds some graphs of one collection."""
