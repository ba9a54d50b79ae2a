"""Run directories and their index."""
