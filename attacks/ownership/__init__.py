"""Whose node is it: what uploads and condensed rows tell of who holds whom, and of which classes."""
