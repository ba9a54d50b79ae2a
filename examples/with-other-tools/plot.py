"""Draw histogram files of cyclictest over each other, and print their figures.

plot.py FIGURE FILE...: files whose names differ in the last number are one curve.
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

from matplotlib.figure import Figure

curves, over = defaultdict(Counter), Counter()
for name in sys.argv[2:]:
    curve = Path(name).stem.rpartition("-")[0] or Path(name).stem
    for line in Path(name).read_text().splitlines():
        if line.startswith("# Histogram Overflows:"):
            over[curve] += int(line.split()[-1])
        elif line and line[0].isdigit():
            latency, count = map(int, line.split())
            curves[curve][latency] += count

figure = Figure(figsize=(84 / 25.4, 60 / 25.4), layout="constrained")
axes = figure.add_subplot(yscale="log", xscale="log", xlabel="latency (µs)", ylabel="samples")
for curve, counts in curves.items():
    seen = sorted(latency for latency in counts if counts[latency])
    axes.step(seen, [counts[latency] for latency in seen], label=curve, linewidth=0.7)
    n, below, told = sum(counts.values()) + over[curve], 0, {}
    for latency in seen:
        below += counts[latency]
        for q in (50, 99, 99.9):
            if below >= n * q / 100:
                told.setdefault(q, latency)
    figures = "  ".join(f"p{q} {latency} us" for q, latency in told.items())
    print(f"{curve}: n {n}  {figures}  max {seen[-1]} us  beyond the histogram {over[curve]}")
axes.legend(fontsize=6)
figure.savefig(sys.argv[1])
