"""Clients that train on small graphs which they made of their own."""
