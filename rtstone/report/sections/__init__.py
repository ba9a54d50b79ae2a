"""The sections of a run in which something was off, on the terminal."""
