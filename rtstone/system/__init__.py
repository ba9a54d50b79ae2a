"""The system that is measured: what it is, whether it is measurable, how to make it so."""
