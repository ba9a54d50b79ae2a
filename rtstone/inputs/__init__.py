"""What people write: parameters, loads, suites, budgets, models."""
