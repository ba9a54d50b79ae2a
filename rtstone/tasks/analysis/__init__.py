"""Schedulability analysis: what no job can take longer than."""
