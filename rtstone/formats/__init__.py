"""Import of other tools' data, and export of runs; table.py lists the formats."""
