"""What ../notebook.py does, with cyclictest, numpy and pandas: notebook.py [SECONDS]."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

seconds = sys.argv[1] if len(sys.argv) > 1 else "20"
cpu = os.cpu_count() - 1
subprocess.run(
    ["cyclictest", "-q", "-m", "-p98", f"-a{cpu}", "--mainaffinity=0", "-i1000", f"-D{seconds}",
     "-h20000", "--json=cyclictest.json"],
    check=True, stdout=subprocess.DEVNULL,
)  # fmt: skip
(thread,) = json.loads(Path("cyclictest.json").read_text())["thread"].values()
counts = {int(latency): count for latency, count in thread["histogram"].items()}
below, n = np.cumsum(list(counts.values())), thread["cycles"]
row = {"n": n, "max": thread["max"], "beyond the histogram": n - below[-1]}
for name, share in {"p50": 0.5, "p99": 0.99, "p999": 0.999}.items():
    at = np.searchsorted(below, n * share)
    row[name] = list(counts)[at] if at < len(below) else np.nan
print(pd.DataFrame([row]))
print("most samples are at", max(counts, key=counts.get), "us")
