"""Graphs from files, all of them untrusted."""
