"""Worst cases: bounds by extreme-value theory, and guarantees."""
