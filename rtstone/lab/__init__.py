"""Boards, kernels and images of the emulated targets."""
