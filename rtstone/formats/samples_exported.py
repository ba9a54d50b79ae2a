"""Import `rtstone export --format samples`: the single samples of each result, as CSV.

They were rtstone's own, net and in order; what else the run had is not in the file.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import NamedTuple, get_args

from msgspec import structs

from rtstone.documents.run import Status, Value
from rtstone.formats.reading import Reading
from rtstone.formats.rows import unguarded
from rtstone.formats.samples import judged, ticks
from rtstone.formats.source import NO_MEANING, Source
from rtstone.wire.records import Bench, Param

_PERIODIC = "dk.periodic"  # goes on with the next activation to come, so samples say what it missed
_PARAMS = "params."


class _Key(NamedTuple):
    """What names a result in each of its rows."""

    case: int
    bench: str
    load: str
    series: str
    status: Status
    params: tuple[tuple[str, Value], ...]


def read(source: Source) -> Reading:
    """Return the distribution of each result's samples.  Raises UsageError."""
    source.check_length()
    source.check_end()
    rows: dict[_Key, list[str]] = defaultdict(list)
    table = csv.DictReader(text for _, text in source.lines())
    try:
        for row in table:
            line = table.line_num
            if None in row or None in row.values():
                source.refuse("a row is not as long as the head", line)
            if row["unit"] != "ns":
                source.refuse(f"samples in {row['unit'][:20]}", line, "only ns can be imported")
            own = tuple(
                (name.removeprefix(_PARAMS), _value(unguarded(text)))
                for name, text in row.items() if name.startswith(_PARAMS) and text
            )  # fmt: skip
            case = source.number(row["case"], line, "case")
            bench, load, series = (unguarded(row[name]) for name in ("bench", "load", "series"))
            status = next((s for s in get_args(Status) if s == row["status"]), None)
            if status is None:
                source.refuse(f"no status '{row['status'][:20]}'", line)
            samples = rows[_Key(case, bench, load, series, status, own)]
            if source.number(row["sample"], line, "sample") != len(samples):
                reason = f"sample {row['sample'][:20]} does not follow {len(samples) - 1}"
                source.refuse(reason, line)
            samples.append(row["value"])
    except csv.Error as error:
        source.refuse(f"{error}", table.line_num)
    if not rows:
        source.refuse("no sample")
    results = []
    for key, texts in rows.items():  # judged like those of users
        period = dict(key.params).get("period") if key.bench == _PERIODIC else None
        period_ns = period if isinstance(period, int) else None
        meaning = NO_MEANING._replace(unit_ns=1, bench=key.bench, period_ns=period_ns)
        own_source = source._replace(meaning=meaning)
        (judgement,) = judged(own_source, [ticks(own_source, texts)]).results
        if judgement.status == "ok" and key.status != "ok":
            reason = f"{key.status} in the run that was exported"
            judgement = structs.replace(judgement, status=key.status, reason=reason)
        results.append(
            structs.replace(judgement, params=dict(key.params), load=key.load, series=key.series)
        )
    names: dict[str, set[str]] = defaultdict(set)
    for result in results:
        names[result.bench] |= set(result.params)
    benches = [
        Bench(bench, "Samples that rtstone exported", "rtstone", "See the run that they are of.",
              params=[
                  Param(name, "duration", "ns") if name == "period" else Param(name, "text")
                  for name in sorted(params)
              ])
        for bench, params in names.items()
    ]  # fmt: skip
    return Reading(tool="rtstone export", results=results, benches=benches)


def _value(text: str) -> Value:
    if text in {"on", "off"}:
        return text == "on"
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text
