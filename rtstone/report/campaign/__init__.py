"""Reports of campaigns."""
