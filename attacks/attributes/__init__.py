"""Attacks on hidden attributes of people."""
