"""Task sets in words."""
