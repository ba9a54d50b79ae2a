"""Other tools' data: read into runs, and runs written for other tools; table.py says which."""
