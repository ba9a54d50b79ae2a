"""Carry out a matrix of runs over targets, loads, seeds and days."""
