"""Worst cases and guarantees for the reader."""
