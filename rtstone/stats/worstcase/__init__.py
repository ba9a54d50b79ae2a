"""Worst cases: bounds by extreme-value theory, and what may be guaranteed."""
