"""A search for the worst, on the terminal."""
