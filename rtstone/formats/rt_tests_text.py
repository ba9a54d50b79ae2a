"""Import what the smaller tools of rt-tests print: the last status of each thread, in us.

Pairs are two lines each, which begin ``#0: ID`` and ``#1 -> #0``; only pmqtest's have a ``TO``.
Whole lines of signaltest and cyclicdeadline missing at the end cannot be seen.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rtstone.formats import cyclictest
from rtstone.formats.reading import US, Reading
from rtstone.formats.rt_tests import BENCHES, MINIMUM, PAIRS, Status, results
from rtstone.formats.rt_tests_document import tool
from rtstone.formats.source import ONE_FILE, Source

_CURSOR = re.compile(r"\x1b\[\d*[A-Z]")  # moves it back before a status is printed again
_N, _Z = "([0-9]{1,15})", " *(-?[0-9]{1,15})"
_HEAD = re.compile(
    rf"#{_N}: ID{_N}, P{_N}, CPU(-?[0-9]+), I{_N}; #[0-9]+: ID[0-9]+, P[0-9]+, CPU-?[0-9]+,"
    rf"( TO [0-9]+,)? Cycles {_N}\s*"
)
_PAIR = re.compile(rf"#{_N} -> #{_N}(?: \(not yet ready\)|, Min{_Z}, Cur{_Z}, Avg{_Z}, Max{_Z})\s*")
_TASK = re.compile(
    rf"T: *{_N} \( *{_N}\) (?:P: *{_N}|I:{_N}) C: *{_N} Min:{_Z} Act:{_Z} Avg:{_Z} Max:{_Z}\s*"
)
_LIKE = re.compile(r"#[0-9]+(:| ->)|.*\bT: *[0-9]")


class _Seen(NamedTuple):
    """What was printed last of a thread or of a pair's receiver."""

    line: int
    task: int
    cycles: int
    status: Status


def read(source: Source) -> Reading:
    """Return the statistics of the threads.  Raises UsageError."""
    seen: dict[int, _Seen] = {}
    ready: set[int] = set()
    tools: set[str] = set()
    line = ""
    for at, text in source.lines():
        line = _CURSOR.sub("", text)
        if match := _HEAD.fullmatch(line):
            number, task, prio, cpu, interval, timeout, cycles = match.groups()
            if int(number) // 2 in seen and text == line and int(number) == 0:
                source.refuse("a second run begins here", at, ONE_FILE)
            own = _Seen(at, int(task), int(cycles), Status(
                int(cycles), 0, None, 0, int(interval), int(cpu), int(prio)))  # fmt: skip
            cyclictest.check_same_run(source, at, seen.get(int(number) // 2, own), own)
            seen[int(number) // 2] = own
            ready.discard(int(number) // 2)
            tools.add("pmqtest" if timeout else _named(source.command or ""))
        elif match := _PAIR.fullmatch(line):
            _add(source, at, seen, match)
            ready.add(int(match[2]) // 2)
        elif match := _TASK.fullmatch(line):
            number, task, prio, interval, cycles, low, _, mean, high = match.groups()
            status = Status(int(cycles), int(low), int(mean) if int(cycles) else None, int(high),
                            int(interval) if interval else None,
                            prio=int(prio) if prio else None)  # fmt: skip
            own = _Seen(at, int(task), int(cycles), status)
            cyclictest.check_same_run(source, at, seen.get(int(number), own), own)
            seen[int(number)] = own
            ready.add(int(number))
            tools.add("signaltest" if prio else "cyclicdeadline")
        elif _LIKE.match(line):
            source.refuse_line(line, at, "line of rt-tests")
    if line:
        source.check_end()
    return _reading(source, seen, ready, tools)


def _named(command: str) -> str:
    """Return the tool in a command line, which may begin with sudo or the like; "" without one."""
    return next((name for word in command.split() if (name := tool(word)) in BENCHES), "")


def _add(source: Source, line: int, seen: dict[int, _Seen], match: re.Match[str]) -> None:
    """Add the statistics of a pair to its status.  Refuses a pair whose first line is not there."""
    sender, receiver, low, _, mean, high = match.groups()
    number = int(receiver) // 2
    if (int(sender), int(receiver)) != (2 * number + 1, 2 * number) or number not in seen:
        source.refuse(f"no line of pair {number} is before its statistics", line)
    own = seen[number].status
    if mean is None or low is None or high is None or int(low) < 0:  # of none received yet
        status = own._replace(n=0 if own.n <= 1 else own.n)
    else:
        status = own._replace(min=int(low), mean=int(mean), max=int(high))
    seen[number] = seen[number]._replace(line=line, status=status)


def _reading(source: Source, seen: dict[int, _Seen], ready: set[int], tools: set[str]) -> Reading:
    if sorted(ready) != list(range(len(seen))) or not seen:
        source.cut(f"the statistics of {', '.join(map(str, sorted(ready))) or 'none'} only")
    name = next(iter(tools)) if len(tools) == 1 else ""
    if name not in BENCHES:
        source.refuse(
            "the text does not say which of ptsematest, svsematest, sigwaittest printed it",
            do="put its command line before it, as '$ ptsematest -q', or import its --json",
        )
    # The pairs' means are rounded, those of the others are truncated.
    within = (0.5, 0.5) if name in PAIRS else (1.0, 0.0)
    threads = [seen[number] for number in range(len(seen))]
    return Reading(
        tool=name, benches=[BENCHES[name]], notes=[MINIMUM] if name == "cyclicdeadline" else [],
        command=source.command if _named(source.command or "") == name else None,
        results=results(source, name, [thread.status for thread in threads], within=within,
                        unit_ns=US, lines=[thread.line for thread in threads]),
    )  # fmt: skip
