"""Comparison of systems: what differs, by how much, and how certain that is."""
