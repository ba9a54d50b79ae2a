"""The system that is measured: what it is, whether it is fit, how to make it so, and back."""
