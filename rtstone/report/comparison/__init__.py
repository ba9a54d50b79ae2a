"""A comparison for the reader."""
