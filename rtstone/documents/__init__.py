"""Typed documents and their versions: what rtstone writes and reads, and nothing else."""
