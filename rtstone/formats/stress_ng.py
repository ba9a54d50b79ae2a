"""Import of stress-ng --cyclic: statistics, and with --cyclic-dist a distribution.

It keeps --cyclic-samples samples (by default 10 000) and measures with CLOCK_REALTIME.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rtstone.documents.run import Figure, Result
from rtstone.formats.reading import NS, Reading, Series, result
from rtstone.formats.source import Source
from rtstone.summary import PERCENTILES, least_n
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


class _Told(NamedTuple):
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
    lines = [(n, found["text"]) for n, line in source.lines() if (found := _LINE.match(line))]
    source.check_end()
    ends = [found for _, line in source.lines() if (found := _END.search(line.rstrip()))]
    if not ends:
        source.cut("'run completed' is missing")
    duration_s = float(ends[-1][1]) if ends[-1][1] else None
    told = _told(source, lines)
    policy, delay, n = told.head[1].lower(), int(told.head[2]), int(told.head[3])
    flags = ["wall_clock", *(["samples_lost"] if told.needed else [])]
    series = _series(source, told, n)
    made = result(
        source, BENCH.id, series, flags=flags, params={"delay": delay, "policy": policy},
        evidence={"sched": policy, "section_ns": duration_s and int(duration_s * 1e9)},
        figures={"mode": Figure(value=int(told.mean[2]), unit="ns")},
        tables=[
            TextTable(
                "percentiles as printed", ["percentile", "ns"],
                [[share, str(value)] for share, value in told.shares.items()],
            )
        ],
    )  # fmt: skip
    notes = []
    if told.needed:
        notes.append(f"stress-ng kept {n} of {told.needed} samples; give it --cyclic-samples")
    return Reading(
        tool="stress-ng", benches=[BENCH], notes=notes, duration_s=duration_s,
        results=[_with_statistics(made, told, n)],
    )  # fmt: skip


def _told(source: Source, lines: list[tuple[int, str]]) -> _Told:
    def one(pattern: re.Pattern[str], what: str) -> tuple[int, re.Match[str]]:
        found = [(n, m) for n, text in lines if (m := pattern.fullmatch(text.rstrip()))]
        if len(found) > 1:
            source.refuse(f"'{what}' again", found[1][0], "import one run's file at a time")
        if not found:
            source.cut(f"no '{what}'")
        return found[0]

    if not lines:
        source.refuse("stress-ng has taken no sample", do="let --cyclic run for longer")
    shares: dict[str, int] = {}
    for number, text in lines:
        if found := _SHARE.fullmatch(text):
            shares[found[1]] = source.number(found[2], number, "percentile")
    rising = [value for _, value in sorted(shares.items(), key=lambda pair: float(pair[0]))]
    if len(shares) != _SHARES or not shares.keys() >= _TAKEN or rising != sorted(rising):
        source.refuse(f"{len(shares)} rising percentiles in place of {_SHARES}")
    line, head = one(_HEAD, "sched SCHED_")
    dist, counts = _distribution(source, lines)
    needed = next((int(m[1]) for _, text in lines if (m := _NEEDED.match(text))), None)
    return _Told(
        line, head, one(_MEAN, "mean:")[1], one(_ENDS, "min:")[1], shares, dist, counts, needed
    )


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
        if found := _BUCKET.fullmatch(text):
            value = source.number(found[1], number, "bucket")
            if value % width or value < following or (value > following and not gap):
                source.refuse(f"bucket {value} is not the next one", number)
            counts[value] = source.number(found[2], number)
            following, gap = value + width, False
        elif _GAP.fullmatch(text.rstrip()):
            gap = True
        elif not (text.startswith("latency (ns)") or _NEEDED.match(text)):
            source.refuse(f"'{text.strip()[:40]}' is no line of a distribution", number)
    if max(counts, default=0) != (int(first[1]) - 1) * width:
        source.cut(f"buckets up to {max(counts, default=0)} of {first[1]}")
    return (width, int(first[1]), int(first[2])), {v: c for v, c in counts.items() if c}


def _series(source: Source, told: _Told, n: int) -> Series:
    """Return the checked series.  Only a partly printed distribution may lack samples."""
    over = n - sum(told.counts.values()) if told.dist else 0
    least, most = min(told.shares.values()), max(told.shares.values())
    if not int(told.ends[1]) <= least <= most <= int(told.ends[2]):
        source.refuse("a percentile is not between the minimum and the maximum", told.line)
    if told.dist and (over < 0 or (over and told.dist[1] >= told.dist[2])):
        source.refuse(f"the distribution does not add up to {n} samples", told.line)
    _check_shares(source, told, n)
    return Series(
        name="", n=n, counts=told.counts, overflow=over, unit_ns=NS,
        width=told.dist[0] if told.dist else 1,
        min=source.number(told.ends[1], told.line, "minimum"),
        max=source.number(told.ends[2], told.line, "maximum"),
        mean=float(told.mean[1]), line=told.line,
    )  # fmt: skip


def _check_shares(source: Source, told: _Told, n: int) -> None:
    """Check each percentile against the distribution: it is the sample of its rank."""
    if not told.dist:
        return
    width, buckets, _ = told.dist
    for share, value in told.shares.items():
        rank = int(n * float(share) / 100)
        below = sum(count for edge, count in told.counts.items() if edge + width <= value)
        upto = sum(count for edge, count in told.counts.items() if edge <= value)
        if below > rank + 1 or (value < buckets * width and upto < rank):
            source.refuse(f"the distribution has no {share}% at {value} ns", told.line)


def _with_statistics(made: Result, told: _Told, n: int) -> Result:
    """Return the result with the tool's own percentiles, those that n allows."""
    import msgspec

    known = {
        name: float(told.shares[share])
        for share, name in _NAMES.items()
        if n >= least_n(name) and share in told.shares
    }
    return msgspec.structs.replace(made, sd=float(told.ends[3]), **known)
