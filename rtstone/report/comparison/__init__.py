"""Reports of comparisons."""
