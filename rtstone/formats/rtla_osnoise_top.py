"""Import rtla osnoise top and rtla hwnoise: figures of each CPU, no samples.

A period's noise is the sum of its single noises.  No total says how many CPUs there were: whole
rows missing at the end cannot be seen.  After the sources from Linux 5.17 to 2026.
"""

from __future__ import annotations

import re

from rtstone.documents.run import Figure, Result
from rtstone.formats.reading import Reading, figures_result
from rtstone.formats.rtla import MISSED, MOST
from rtstone.formats.rtla_screen import SPAN, last_screen
from rtstone.formats.source import Source
from rtstone.wire.records import Bench

_BENCHES = {
    bench.source: bench
    for bench in (
        Bench("osnoise.top", "Noise in periods as rtla osnoise measures it", "rtla osnoise",
              "A thread reads the clock without pause, period after period; gaps are noise."),
        Bench("hwnoise.top", "Noise of hardware in periods as rtla hwnoise measures it",
              "rtla hwnoise", "The same with interrupts masked."),
    )
}  # fmt: skip
_HARDWARE = "Hardware-related Noise"
_HEAD = re.compile(rf"duration: +{SPAN} \| time is in us")
_LIKE_ROW = re.compile(r" *[0-9]+ #")
_ROW = re.compile(r" *([0-9]{1,6}) #([0-9]{1,18}) +([0-9. ]+)")
_TIMES = ("runtime", "noise", "largest noise of a period", "largest single noise")
_CAUSES = ("hardware", "NMIs", "interrupts", "softirqs", "threads")
_WRAPS = 1 << 64  # the tool's product, from which it takes the available time


def read(source: Source) -> Reading:
    """Return the figures of the CPUs.  Raises UsageError."""
    screen = last_screen(source, _HEAD)
    hardware = _HARDWARE in screen.title
    bench = _BENCHES["rtla hwnoise" if hardware else "rtla osnoise"]
    causes = _CAUSES[:2] if hardware else _CAUSES
    rest = screen.rest(_ROW)
    lost = any(MISSED in line for line in rest)
    results: dict[int, Result] = {}
    for number, line in screen.lines:
        if match := _ROW.fullmatch(line):
            cpu = int(match[1])
            if cpu in results:
                source.refuse(f"CPU {cpu} appears twice", number)
            figures = _figures(source, number, match[3].split(), causes)
            results[cpu] = figures_result(
                bench, {}, {"periods": Figure(value=int(match[2]), unit=""), **figures},
                series=f"cpu {cpu}",
                flags=["imported", "statistics_only", *(["samples_lost"] if lost else [])],
                evidence={"cpus": [cpu], "section_ns": int(figures["runtime"].value or 0)},
            )  # fmt: skip
        elif _LIKE_ROW.match(line):
            source.refuse_line(line, number, "row")
    if not results:
        source.cut("no CPU")
    return Reading(
        tool=bench.source, benches=[bench], results=list(results.values()), notes=rest[:MOST],
        duration_s=screen.duration_s or None,
    )  # fmt: skip


def _figures(
    source: Source, line: int, words: list[str], causes: tuple[str, ...]
) -> dict[str, Figure]:
    """Return the figures of a row.  Refuses those that contradict each other."""
    if len(words) != len(_TIMES) + 1 + len(causes):
        source.refuse(f"{len(words)} numbers in place of {len(_TIMES) + 1 + len(causes)}", line)
    available = words.pop(2)
    if not re.fullmatch(r"[0-9]{1,3}\.[0-9]{5}", available):
        source.refuse(f"'{available[:20]}' is not a share of a CPU", line)
    numbers = [source.number(word, line, "number") for word in words]
    runtime, noise, period, single = numbers[: len(_TIMES)]
    if not single <= period <= noise <= runtime:
        source.refuse("run time, noise, a period's and a single one do not decrease", line)
    product = (runtime - noise) * 10**7
    if runtime and product < _WRAPS and product // runtime != int(available.replace(".", "")):
        source.refuse(f"{available}% available is not that of run time and noise", line)
    return {
        **{
            name: Figure(value=value * 1000, unit="ns")
            for name, value in zip(_TIMES, numbers, strict=False)
        },
        "available": Figure(value=float(available), unit="%"),
        **{
            name: Figure(value=value, unit="")
            for name, value in zip(causes, numbers[len(_TIMES) :], strict=True)
        },
    }
