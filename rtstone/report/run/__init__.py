"""A run for the reader."""
