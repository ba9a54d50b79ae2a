"""Reports of reproduced publications."""
