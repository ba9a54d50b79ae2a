"""Scheduling simulated instead of measured (benchmarks 6.2 and 6.3)."""
