"""Import stress-ng --cyclic: statistics, and with --cyclic-dist a distribution.

It keeps --cyclic-samples samples (by default 10 000) and measures with CLOCK_REALTIME.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from rtstone.documents.run import Figure
from rtstone.formats.reading import NS, Reading, Series, result
from rtstone.formats.source import ONE_FILE, Source
from rtstone.summary import PERCENTILES, least_n
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench, Param, TextTable

BENCH = Bench(
    "stress-ng.cyclic",
    "Wake-up latency as stress-ng measures it",
    "stress-ng --cyclic",
    "A task sleeps for a time again and again; what a sleep takes longer is a sample.",
    params=[
        Param("delay", "duration", "ns", help="Length of a sleep."),
        Param("policy", "text", help="Scheduling policy."),
    ],
)

_LINE = re.compile(r"(?:stress-ng: \w+: +\[(?P<pid>\d+)\] )?(?:stress-ng-)?cyclic: (?P<text>.*)")
_N, _F = r"([0-9]{1,18})", r"([0-9]{1,18}(?:\.[0-9]{1,9})?)"
_HEAD = re.compile(rf"sched SCHED_(\w+): {_N} ns delay, {_N} samples")
_MEAN = re.compile(rf" *mean: {_F} ns, mode: {_N} ns")
_ENDS = re.compile(rf" *min: {_N} ns, max: {_N} ns, std\.dev\. {_F}")
_SHARE = re.compile(rf" *{_F}%: +{_N} ns")
_DIST = re.compile(rf"latency distribution \({_N} ns intervals\):")
_FIRST = re.compile(rf"\(for the first {_N} buckets of {_N}\)")
_GAP = re.compile(r" *\.\. +\.\.(?: \(all zeros hereafter\))?")
_BUCKET = re.compile(rf" *{_N} +{_N}")
_NEEDED = re.compile(rf"Note: --cyclic-samples needed to be {_N} ")
_END = re.compile(r"(?:un)?successful run completed in (?:([0-9]{1,9}(?:\.[0-9]+)?)s$)?")
_SHARES = 9  # number of percentiles that it prints
_TAKEN = {"50.00", "90.00", "99.00", "99.90", "99.99"}  # percentiles that rtstone takes over
_NAMES = {f"{share / 100:.2f}": name for name, share in PERCENTILES.items()}


class _Printed(NamedTuple):
    """The parsed lines.

    ``line``: number of the first.  ``dist``: (bucket width, buckets printed, buckets in all).
    """

    line: int
    head: re.Match[str]
    mean: re.Match[str]
    ends: re.Match[str]
    shares: dict[str, int]
    dist: tuple[int, int, int] | None
    counts: dict[int, int]
    needed: int | None


def read(source: Source) -> Reading:
    """Return the statistics of the one instance that prints them.  Raises UsageError."""
    lines = [(n, match["text"]) for n, line in source.lines() if (match := _LINE.match(line))]
    source.check_end()
    ends = [match for _, line in source.lines() if (match := _END.search(line.rstrip()))]
    if not ends:
        source.cut("'run completed' is missing")
    duration_s = float(ends[-1][1]) if ends[-1][1] else None
    printed = _printed(source, lines)
    policy, delay, n = printed.head[1].lower(), int(printed.head[2]), int(printed.head[3])
    flags = ["wall_clock", *(["samples_lost"] if printed.needed else [])]
    series = _series(source, printed, n)
    bare = result(
        source, BENCH.id, series, flags=flags, params={"delay": delay, "policy": policy},
        evidence={"sched": policy, "section_ns": duration_s and int(duration_s * NS_PER_S)},
        figures={"mode": Figure(value=int(printed.mean[2]), unit="ns")},
        tables=[
            TextTable(
                "percentiles as printed", ["percentile", "ns"],
                [[share, str(value)] for share, value in printed.shares.items()],
            )
        ],
    )  # fmt: skip
    quantiles = {  # as far as n allows
        name: float(printed.shares[share])
        for share, name in _NAMES.items()
        if n >= least_n(name) and share in printed.shares
    }
    notes = []
    if printed.needed:
        notes.append(f"stress-ng kept {n} of {printed.needed} samples; give it --cyclic-samples")
    return Reading(
        tool="stress-ng", benches=[BENCH], notes=notes, duration_s=duration_s,
        results=[msgspec.structs.replace(bare, sd=float(printed.ends[3]), **quantiles)],
    )  # fmt: skip


def _printed(source: Source, lines: list[tuple[int, str]]) -> _Printed:
    def single(pattern: re.Pattern[str], words: str) -> tuple[int, re.Match[str]]:
        matches = [(n, m) for n, text in lines if (m := pattern.fullmatch(text.rstrip()))]
        if len(matches) > 1:
            source.refuse(f"'{words}' again", matches[1][0], ONE_FILE)
        if not matches:
            source.cut(f"no '{words}'")
        return matches[0]

    if not lines:
        source.refuse("stress-ng has taken no sample", do="let --cyclic run for longer")
    shares: dict[str, int] = {}
    for number, text in lines:
        if matches := _SHARE.fullmatch(text):
            shares[matches[1]] = source.number(matches[2], number, "percentile")
    rising = [value for _, value in sorted(shares.items(), key=lambda pair: float(pair[0]))]
    if len(shares) != _SHARES or not shares.keys() >= _TAKEN or rising != sorted(rising):
        source.refuse(f"{len(shares)} rising percentiles in place of {_SHARES}")
    line, head = single(_HEAD, "sched SCHED_")
    dist, counts = _distribution(source, lines)
    needed = next((int(m[1]) for _, text in lines if (m := _NEEDED.match(text))), None)
    mean, ends = single(_MEAN, "mean:")[1], single(_ENDS, "min:")[1]
    return _Printed(line, head, mean, ends, shares, dist, counts, needed)


def _distribution(
    source: Source, lines: list[tuple[int, str]]
) -> tuple[tuple[int, int, int] | None, dict[int, int]]:
    width = next((int(m[1]) for _, text in lines if (m := _DIST.fullmatch(text))), None)
    if width is None:
        return None, {}
    first = next((m for _, text in lines if (m := _FIRST.fullmatch(text))), None)
    if first is None or not width:
        source.cut("no '(for the first … buckets'")
    counts: dict[int, int] = {}
    following, gap = 0, False  # next bucket; whether empty ones before it were left out
    begun = [text for _, text in lines].index(first[0])
    for number, text in lines[begun + 1 :]:
        if match := _BUCKET.fullmatch(text):
            value = source.number(match[1], number, "bucket")
            if value % width or value < following or (value > following and not gap):
                source.refuse(f"bucket {value} is not the next one", number)
            counts[value] = source.number(match[2], number)
            following, gap = value + width, False
        elif _GAP.fullmatch(text.rstrip()):
            gap = True
        elif not (text.startswith("latency (ns)") or _NEEDED.match(text)):
            source.refuse(f"'{text.strip()[:40]}' is not a line of a distribution", number)
    if max(counts, default=0) != (int(first[1]) - 1) * width:
        source.cut(f"buckets up to {max(counts, default=0)} of {first[1]}")
    return (width, int(first[1]), int(first[2])), {v: c for v, c in counts.items() if c}


def _series(source: Source, printed: _Printed, n: int) -> Series:
    """Return the checked series.  Only a partly printed distribution may lack samples."""
    over = n - sum(printed.counts.values()) if printed.dist else 0
    least, most = min(printed.shares.values()), max(printed.shares.values())
    if not int(printed.ends[1]) <= least <= most <= int(printed.ends[2]):
        source.refuse("a percentile is not between the minimum and the maximum", printed.line)
    if printed.dist and (over < 0 or (over and printed.dist[1] >= printed.dist[2])):
        source.refuse(f"the distribution does not add up to {n} samples", printed.line)
    width, buckets, _ = printed.dist or (1, 0, 0)
    for share, value in printed.shares.items() if printed.dist else ():
        rank = int(n * float(share) / 100)  # of the sample that it is
        below = sum(count for edge, count in printed.counts.items() if edge + width <= value)
        upto = sum(count for edge, count in printed.counts.items() if edge <= value)
        if below > rank + 1 or (value < buckets * width and upto < rank):
            source.refuse(f"the distribution has no {share}% at {value} ns", printed.line)
    return Series(
        name="", n=n, counts=printed.counts, overflow=over, unit_ns=NS,
        width=width,
        min=source.number(printed.ends[1], printed.line, "minimum"),
        max=source.number(printed.ends[2], printed.line, "maximum"),
        mean=float(printed.mean[1]), line=printed.line,
    )  # fmt: skip
