"""What the formats of cyclictest share: the bench, its command-line options, flags and timing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

from rtstone.documents.run import Value
from rtstone.wire.records import Bench, Param

BENCH = Bench(
    "cyclictest",
    "Wake-up latency as cyclictest measures it",
    "rt-tests",
    "Threads sleep until an absolute time, period after period; each wake-up's lateness is a "
    "sample. A thread that is late goes on with the next period that lies ahead.",
    params=[Param("interval", "duration", "ns", help="Period of the threads.")],
)

MOST_THREADS = 4096

# Lines that it prints before its results.
DMA = re.compile(r"# /dev/cpu_dma_latency set to (\d+)us")
POLICY = re.compile(r"policy: (\w+)(?:/\w+)?: loadavg:")

# Short options that take an argument, and the long options that matter here.
_WITH = "bcDdFhHilop"
_LONG = {
    "interval": "i", "duration": "D", "priority": "p", "histogram": "h", "histofall": "H",
    "breaktrace": "b", "loops": "l", "nsecs": "N", "mlockall": "m", "relative": "r",
    "policy": "policy", "smp": "S",
}  # fmt: skip
_SPANS = {"m": 60, "h": 3600, "d": 86400}
_INTERVAL_US = 1000  # cyclictest's default


class Options(NamedTuple):
    """The options of a cyclictest command line; True stands for an option without argument."""

    given: Mapping[str, str | bool]

    def number(self, *names: str) -> int | None:
        """Return the argument of the first of these options that has a number."""
        found = (self.given.get(name) for name in names)
        texts = (text for text in found if isinstance(text, str) and text.isascii())
        return next((int(text) for text in texts if text.isdigit() and len(text) < 16), None)

    @property
    def interval_ns(self) -> int:
        """The period of the threads in ns."""
        us = self.number("i")
        return (_INTERVAL_US if us is None else us) * 1000

    @property
    def duration_s(self) -> int | None:
        """The requested duration in s, None if not given."""
        text = self.given.get("D")
        if not isinstance(text, str) or not text:
            return None
        digits, unit = (text[:-1], text[-1]) if text[-1] in _SPANS else (text, "")
        known = digits.isascii() and digits.isdigit() and len(digits) < 10
        return int(digits) * _SPANS.get(unit, 1) if known else None

    @property
    def histogram(self) -> bool:
        """True if a histogram was requested."""
        return bool(self.number("h", "H"))

    def evidence(self) -> dict[str, Value]:
        """Return scheduling and locking as rtstone's evidence."""
        prio = self.number("p") or 0
        policy = self.given.get("policy")
        fifo = "fifo" if prio else "other"
        known: dict[str, Value] = {"sched": policy if policy in {"rr", "fifo"} else fifo}
        if prio:
            known["prio"] = prio
        if "m" in self.given:
            known["locked"] = True
        return known

    def expected(self) -> int | None:
        """Return the number of cycles of a thread that is never late, None if unknown.

        It is known with a histogram, as all threads then start at once with the same period, and
        without a limit of latency or loops, which ends them early.
        """
        duration = self.duration_s
        if duration is None or not self.histogram or self.interval_ns <= 0:
            return None
        return None if {"b", "l"} & self.given.keys() else duration * 10**9 // self.interval_ns


def is_own(command: str | None) -> TypeGuard[str]:
    """Return whether a command line is cyclictest's, not that of another tool with its format."""
    return "cyclictest" in (command or "").partition(" ")[0]


def options(command: str) -> Options:
    """Parse the options of a command line whose quotes are lost: it is split at blanks."""
    given: dict[str, str | bool] = {}
    words = command.split()[1:]
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            letter = _LONG.get(name, name)
            takes = letter in _WITH or letter == "policy"
            given[letter] = value if equals else _next(words) if takes else True
        elif word.startswith("-"):
            _cluster(word[1:], words, given)
    return Options(given)


def _cluster(letters: str, words: list[str], given: dict[str, str | bool]) -> None:
    """Parse short options in one word, as in -Smp90."""
    for place, letter in enumerate(letters):
        rest = letters[place + 1 :]
        if letter in _WITH:
            given[letter] = rest or _next(words)
            return
        given[letter] = True
        if letter in "atA":  # its argument is optional
            return


def _next(words: list[str]) -> str | bool:
    return words.pop(0) if words and not words[0].startswith("-") else True


def timing(known: Options | None, cycles: int) -> dict[str, Value]:
    """Return the evidence of the measured time, which is known only with the command line."""
    if known is None:
        return {}
    span = known.duration_s
    ns = cycles * known.interval_ns if span is None else span * 10**9
    told: dict[str, Value] = {"section_ns": ns, "cycles": cycles}
    if (expected := known.expected()) is not None:
        told["cycles_expected"] = expected
    return told


def missed(known: Options | None, cycles: int) -> int | None:
    """Return the activations missing from a run of known length, None if that is unknown."""
    expected = known.expected() if known else None
    return None if expected is None else max(expected - cycles, 0)


def flags(known: Options | None, *more: str) -> list[str]:
    """Return the flags of a run: "omission" unless sleeps were relative, so without a period."""
    return ["omission", *more] if known is None or "r" not in known.given else list(more)
