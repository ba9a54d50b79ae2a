"""Figures for papers: what to draw (choose.py), the numbers (data.py), the drawing (draw.py)."""
