"""Reports of how costs grow."""
