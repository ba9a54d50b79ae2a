"""The package as it is installed: built, clean, and used by others than who built it."""
