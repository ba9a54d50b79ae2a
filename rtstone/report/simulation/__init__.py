"""A simulation for the reader."""
