"""What a run of one bench says where no deadline is to be judged: its numbers, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.plan import NONE
from rtstone.documents.run import Result, Run
from rtstone.report.parts.words import observed
from rtstone.report.run.findings import Subject, subjects_of
from rtstone.results import flags
from rtstone.summary import COLUMNS
from rtstone.units import count, counted, quantity
from rtstone.wire.records import TextTable

_OPTIONS = "posix.options"  # whose table of profiles is its answer
_TAILS = ("p999", "p99")  # the farther one that there are samples for


def sentence(run: Run) -> str | None:
    """Return what the only bench of a run measured; None if it has several, or has no numbers."""
    subjects = [s for s in subjects_of(run) if s.result.status == "ok"]
    if len({s.result.bench for s in subjects}) != 1:
        return None
    if subjects[0].result.bench == _OPTIONS:
        return _profiles(subjects[0].result)
    sampled = [s for s in subjects if s.result.p50 is not None]
    return _samples(sampled) if sampled else None


def _samples(subjects: Sequence[Subject]) -> str:
    """Return median, tail and maximum of what missed most, or has the largest maximum."""

    def singly(result: Result) -> Result:
        return result.single or result if result.batch > 1 else result

    worst = max(
        subjects,
        key=lambda s: (
            s.result.missed or 0, singly(s.result).max or 0, s.result.p50 or 0, -s.place,
        ),
    )  # fmt: skip
    r = worst.result
    parts = [f"median {quantity(r.p50, r.unit)}"]
    timed = singly(r)
    tail = next((name for name in _TAILS if getattr(timed, name) is not None), None)
    if tail and timed.batch == 1:
        parts.append(f"{COLUMNS[tail]} {quantity(getattr(timed, tail), r.unit)}")
    if timed.max is not None and timed.batch == 1:
        parts.append(f"max {quantity(timed.max, r.unit)}")
    if r.missed is not None:
        parts.append(f"missed {count(r.missed)}")
    span = f" in {seen}" if (seen := observed(r)) else ""
    under = "without load" if r.load == NONE else f"under load {r.load}"
    several = f"; the worst of {counted(len(subjects), 'result')}" if len(subjects) > 1 else ""
    flag = flags.spoilt(r.flags)
    how = f", {flag.spoils}" if flag else ""
    name = worst.name.without_load
    return f"{name}: {', '.join(parts)}, n = {count(r.n)}{span}, {under}{how}{several}."


def _profiles(result: Result) -> str | None:
    """Return which profiles of 2003 a system has, what the next one lacks, and its options."""
    tables: dict[str, TextTable] = {table.title: table for table in result.tables}
    if not {"Profiles", "Options"} <= tables.keys():
        return None
    rows = [
        dict(zip(tables["Profiles"].columns, row, strict=True)) for row in tables["Profiles"].rows
    ]
    rows = [row for row in rows if row["edition of 1003.13"].startswith("2003")]
    has = [row["profile"] for row in rows if row["satisfied"] == "yes"]
    lacking = next((row for row in rows if row["satisfied"] != "yes"), None)
    column = tables["Options"].columns.index("supported")
    options = [row[column] for row in tables["Options"].rows]
    text = f"POSIX: profiles {', '.join(has)} of 2003" if has else "POSIX: no profile of 2003"
    if lacking:
        text += f"; {lacking['profile']} lacks {lacking['missing']}"
    return f"{text}; {options.count('yes')} of {counted(len(options), 'option')} supported."
