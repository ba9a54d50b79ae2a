"""Estimates, worst case, comparison."""
