"""Simulation of scheduling: random task sets, and Hartstone."""
