"""The loads that a case can run under."""

LOADS = {"none": "no other work than the system's own"}
