"""Randomised response: promises that no server has to keep."""
