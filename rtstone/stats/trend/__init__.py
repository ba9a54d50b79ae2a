"""Trends: series of runs, where they change, and what changed with them."""
