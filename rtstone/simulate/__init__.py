"""Simulation of scheduling (benchmarks 6.2 and 6.3)."""
