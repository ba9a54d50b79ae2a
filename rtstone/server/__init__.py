"""The results server: runs of a team in one store, and what they say."""
