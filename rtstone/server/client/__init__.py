"""The client's side of a results server: pushing runs, and reading what it has."""
