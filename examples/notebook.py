"""A Python user: measure, and go on with data frames and arrays."""

import sys

import rtstone

options = dict(argument.split("=") for argument in sys.argv[1:]) or {"time": "20s"}
run = rtstone.run("dk.periodic", **options)
print(run.to_frame()[["bench", "load", "n", "p50", "p99", "p999", "max", "missed"]])
try:
    print("p99:", run.p99, "95% confidence:", run.interval("p99"))
except rtstone.RtstoneError as why:  # too few samples, or not measured as it should be
    print("p99:", why)
counts, edges = run.histogram()
print("most samples are from", edges[counts.argmax()], "ns on")
