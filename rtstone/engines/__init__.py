"""Engines that carry out work elsewhere, for campaigns and simulations."""
