"""Estimates and comparisons: pure functions over documents."""
