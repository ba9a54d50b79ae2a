"""Reports of worst cases and guarantees."""
