"""Reports of checks and budgets."""
