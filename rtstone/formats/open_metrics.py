"""Export as OpenMetrics text, version 1.0, which Prometheus and similar tools read.

Times are in seconds, the base unit of the format.  A bucket counts samples up to ``le``: the upper
edge of its bucket, or where that is not known the bucket's middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from math import isinf

from rtstone.documents.run import Result, Run
from rtstone.formats import rows
from rtstone.formats.registry import Written, refused
from rtstone.results.edges import edged, whole_line

_BASE = {"ns": ("seconds", Decimal(10) ** -9)}  # unit of a result: (unit in the format, factor)
_GAUGES: dict[str, tuple[str, Callable[[Result], float | None]]] = {
    "min": ("Least sample.", lambda r: r.min),
    "max": ("Largest sample, within the time and under the load of the run.", lambda r: r.max),
}
_COUNTS: dict[str, tuple[str, Callable[[Result], float | None]]] = {
    "overflow": ("Samples beyond the histogram.", lambda r: r.overflow),
    "missed": ("Activations that never happened.", lambda r: r.missed),
}


def write(run: Run) -> Written:
    """Export histograms, extremes, counts and figures.  Raises UsageError if there are none."""
    measured = [result for result in run.results if result.n]
    figures = [result for result in run.results if result.figures]
    if not measured and not figures:
        raise refused(run, "nothing measured")
    lines: list[str] = []
    for unit in dict.fromkeys(result.unit for result in measured):
        name, size = _BASE.get(unit, (unit, Decimal(1)))
        results = [result for result in measured if result.unit == unit]
        lines += _family(f"rtstone_sample_{name}", "histogram", "Samples of a case.", name)
        for result in results:
            lines += _histogram(run, result, f"rtstone_sample_{name}", size)
        for kind, (text, member) in _GAUGES.items():
            extremes = [(r, value) for r in results if (value := member(r)) is not None]
            lines += _family(f"rtstone_{kind}_{name}", "gauge", text, name) if extremes else []
            lines += [
                f"rtstone_{kind}_{name}{_labels(run, r)} {_number(value, size)}"
                for r, value in extremes
            ]
    for name, (text, member) in _COUNTS.items():
        counts = [(result, value) for result in measured if (value := member(result)) is not None]
        lines += _family(f"rtstone_{name}_samples", "gauge", text, "samples") if counts else []
        lines += [f"rtstone_{name}_samples{_labels(run, r)} {value}" for r, value in counts]
    values = [(r, name, f) for r in figures for name, f in r.figures.items() if f.value is not None]
    if values:
        lines += ["# TYPE rtstone_figure gauge", "# HELP rtstone_figure Single figures of a case."]
    lines += [
        f"rtstone_figure{_labels(run, result, figure=name, unit=figure.unit)} {figure.value}"
        for result, name, figure in values
    ]
    lost = ["percentiles, conditions, evidence, flags, traces and worst samples"]
    if blank := sum(not r.n and not r.figures for r in run.results):
        lost.append(f"{blank} results without samples or figures")
    if any(result.corrected for result in measured):
        lost.append("distributions corrected for omitted activations")
    if any(result.negative for result in measured):
        lost.append("sums of results with negative samples")
    return Written("\n".join([*lines, "# EOF", ""]).encode(), lost)


def _family(name: str, kind: str, text: str, unit: str) -> list[str]:
    return [f"# TYPE {name} {kind}", f"# UNIT {name} {unit}", f"# HELP {name} {text}"]


def _histogram(run: Run, result: Result, name: str, size: Decimal) -> Iterator[str]:
    """Yield the cumulative buckets, and the sum if it is known and no sample is negative."""
    edges = edged(result)
    buckets = [(b.high, b.n) for b in whole_line(edges) if b.n] if edges else result.histogram
    upto = 0
    for edge, count in buckets:
        if isinf(edge):
            break
        upto += count
        le = _number(edge, size)
        yield f"{name}_bucket{_labels(run, result, le=le)} {upto}"
    yield f"{name}_bucket{_labels(run, result, le='+Inf')} {result.n}"
    if result.mean is not None and (result.min or 0) >= 0:
        yield f"{name}_count{_labels(run, result)} {result.n}"
        total = Decimal(repr(result.mean)) * result.n * size
        yield f"{name}_sum{_labels(run, result)} {_plain(total)}"


def _labels(run: Run, result: Result, **labels: str) -> str:
    named = {"params": rows.params(result.params), **rows.key(run, result)._asdict(), **labels}
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    pairs = [f'{k}="{str(value).translate(escapes)}"' for k, value in named.items() if value != ""]
    return "{" + ",".join(pairs) + "}"


def _number(value: float, size: Decimal) -> str:
    """Return a value in the format's unit, without rounding."""
    return _plain(Decimal(repr(value)) * size)


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text}.0" if "." not in text else text
