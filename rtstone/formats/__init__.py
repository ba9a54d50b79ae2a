"""Import other tools' data, and export runs; registry.py lists the formats."""
