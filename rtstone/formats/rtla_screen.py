"""The screens that rtla's top modes print: each clears the one before, with -q there is one."""

from __future__ import annotations

import re
from typing import NamedTuple

from rtstone.formats.reading import clock_s
from rtstone.formats.source import Source

SPAN = r"([0-9]{1,6}) ([0-9]{2}):([0-9]{2}):([0-9]{2})"  # days, hours, minutes, seconds
_CODES = re.compile(r"\x1b(?:\[[0-9;]*m|c)")  # colours, and what clears the screen
_CLEAR = "\x1bc"
_OTHER = re.compile(r"CPU (COUNT|Period) |-*\|-|\s*$")  # headings, rules
_ANALYSIS = re.compile(rb"hit stop tracing")


class Screen(NamedTuple):
    """What was printed at once: a line with the time, the title before it, all after it."""

    head: re.Match[str]
    title: str
    lines: list[tuple[int, str]]

    @property
    def duration_s(self) -> int:
        """For how long it had measured."""
        return clock_s(*self.head.groups()[:4])

    def rest(self, *rows: re.Pattern[str]) -> list[str]:
        """Return the lines that are no such rows, headings or rules."""
        known_rows = (*rows, _OTHER)
        return [
            line.strip() for _, line in self.lines if not any(p.match(line) for p in known_rows)
        ]


def last_screen(source: Source, head: re.Pattern[str]) -> Screen:
    """Return what was on the screen last; ``head`` begins with SPAN.

    Refuses a second run behind the first, and a screen that is not whole.
    """
    screen: Screen | None = None
    before, cleared = "", False
    for number, line in source.lines():
        cleared = cleared or _CLEAR in line
        text = _CODES.sub("", line).rstrip()
        if match := head.match(text):
            following = Screen(match, before, [])
            if screen is not None and (not cleared or following.duration_s < screen.duration_s):
                source.refuse("a second screen that does not clear the first", number,
                              "import the output of one run, with rtla's -q")  # fmt: skip
            screen, cleared = following, False
        elif screen is not None:
            screen.lines.append((number, text))
        before = text
    source.check_end()
    if screen is None and _ANALYSIS.search(source.data):
        source.refuse("only an analysis of rtla, no statistics", do="run it without --aa-only")
    if screen is None or cleared:
        source.cut("the last screen is not whole")
    return screen
