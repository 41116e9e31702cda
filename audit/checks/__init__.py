"""Holding an audit against a policy and what was accepted."""
