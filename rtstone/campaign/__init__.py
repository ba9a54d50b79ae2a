"""Carry out a matrix of runs over targets, loads, seeds and days, whatever ends in between."""
