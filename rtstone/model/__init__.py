"""The typed documents and how they come about."""
