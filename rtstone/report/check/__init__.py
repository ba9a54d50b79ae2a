"""A gate for the reader."""
