"""What the formats of cyclictest share: the bench, its command-line options, flags and timing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeGuard

from msgspec import structs

from rtstone.documents.run import Result, Value
from rtstone.formats.source import ONE_FILE, Source
from rtstone.units import NS_PER_S, count, seconds
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

_DMA = re.compile(r"# /dev/cpu_dma_latency set to (\d+)us")
_POLICY = re.compile(r"policy: (\w+)(?:/\w+)?: loadavg:")

# Short options that take an argument, and the long options that matter here.
_WITH = "bcDdFhHilop"
_LONG = {
    "interval": "i", "distance": "d", "duration": "D", "priority": "p", "histogram": "h",
    "histofall": "H", "breaktrace": "b", "loops": "l", "nsecs": "N", "mlockall": "m",
    "relative": "r", "policy": "policy", "smp": "S",
}  # fmt: skip
_SPANS = {"m": 60, "h": 3600, "d": 86400}
_INTERVAL_US, _DISTANCE_US = 1000, 500  # cyclictest's defaults


class Options(NamedTuple):
    """The options of a cyclictest command line; True stands for an option without argument."""

    options: Mapping[str, str | bool]

    def number(self, *names: str) -> int | None:
        """Return the argument of the first of these options that has a number."""
        arguments = (self.options.get(name) for name in names)
        texts = (text for text in arguments if isinstance(text, str) and text.isascii())
        return next((int(text) for text in texts if text.isdigit() and len(text) < 16), None)

    @property
    def periodic(self) -> bool:
        """True if threads sleep until absolute times; relative sleeps have no period to miss."""
        return "r" not in self.options

    def period_ns(self, thread: int = 0) -> int:
        """Return the period of a thread in ns; without a histogram each next one's is longer."""
        us, apart = self.number("i"), self.number("d")
        us = _INTERVAL_US if us is None else us
        if not self.histogram:
            us += thread * (_DISTANCE_US if apart is None else apart)
        return us * 1000

    @property
    def duration_s(self) -> int | None:
        """The requested duration in s, None if not given."""
        text = self.options.get("D")
        if not isinstance(text, str) or not text:
            return None
        digits, unit = (text[:-1], text[-1]) if text[-1] in _SPANS else (text, "")
        sound = digits.isascii() and digits.isdigit() and len(digits) < 10
        return int(digits) * _SPANS.get(unit, 1) if sound else None

    @property
    def histogram(self) -> bool:
        """True if a histogram was requested."""
        return bool(self.number("h", "H"))

    def evidence(self) -> dict[str, Value]:
        """Return scheduling and locking as rtstone's evidence."""
        prio = self.number("p") or 0
        policy = self.options.get("policy")
        fifo = "fifo" if prio else "other"
        evidence: dict[str, Value] = {"sched": policy if policy in {"rr", "fifo"} else fifo}
        if prio:
            evidence["prio"] = prio
        if "m" in self.options:
            evidence["locked"] = True
        return evidence


def is_own(command: str | None) -> TypeGuard[str]:
    """Return whether a command line is cyclictest's, not that of another tool with its format."""
    return "cyclictest" in (command or "").partition(" ")[0]


def options(command: str) -> Options:
    """Parse the options of a command line whose quotes are lost: it is split at blanks."""
    options: dict[str, str | bool] = {}
    words = command.split()[1:]
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            letter = _LONG.get(name, name)
            takes = letter in _WITH or letter == "policy"
            options[letter] = value if equals else _next(words) if takes else True
        elif word.startswith("-"):
            for place, letter in enumerate(word[1:], 2):  # several in one word, as in -Smp90
                if letter in _WITH:
                    options[letter] = word[place:] or _next(words)
                    break
                options[letter] = True
                if letter in "atA":  # its argument is optional
                    break
    return Options(options)


def _next(words: list[str]) -> str | bool:
    return words.pop(0) if words and not words[0].startswith("-") else True


class Preamble:
    """What cyclictest prints before its results, and so of all threads."""

    def __init__(self) -> None:
        self.policy: str | None = None
        self.conditions: dict[str, Value] = {}

    def take(self, line: str) -> bool:
        """Take a line, and return whether it is one of these."""
        if policy := _POLICY.search(line):
            self.policy = policy[1]
        elif dma := _DMA.match(line):
            self.conditions["cpu_dma_latency"] = f"held at {dma[1]} us"
        else:
            return False
        return True

    def evidence(self, prio: int, section_ns: int, smi: int | None) -> dict[str, Value]:
        """Return the evidence of a thread; ``smi``: SMIs on its CPU, if they were counted."""
        sched = self.policy if prio else "other"
        evidence: dict[str, Value] = {"prio": prio, "section_ns": section_ns, "sched": sched}
        return evidence | ({} if smi is None else {"smi": smi})


class Status(Protocol):
    """The status that a thread printed while it ran."""

    @property
    def task(self) -> int:
        """The id of the thread in its kernel, 0 before it runs."""

    @property
    def cycles(self) -> int:
        """How often it woke up so far."""


def check_same_run(source: Source, line: int, before: Status, status: Status) -> None:
    """Refuse the status of a thread that is not a later one of the same run."""
    if before.task not in (0, status.task) or status.cycles < before.cycles:
        difference = f"thread id {status.task} after {before.task}"
        if status.task == before.task:
            difference = f"{status.cycles} cycles after {before.cycles}"
        source.refuse(f"a second run begins here ({difference})", line, ONE_FILE)


def timing(options: Options | None, thread: int, cycles: int) -> dict[str, Value]:
    """Return the evidence of the measured time, which is known only with the command line."""
    if options is None:
        return {}
    span = options.duration_s
    ns = cycles * options.period_ns(thread) if span is None else span * NS_PER_S
    return {"section_ns": ns, "cycles": cycles}


def lasting(threads: Sequence[Result]) -> list[Result]:
    """Return the results of a file's threads, incomplete for those that stopped before the others.

    A thread that gets no CPU any more takes no sample of that: only its missing cycles show it.
    Threads start one after another, and so may lack up to a second or a twentieth of the time.
    """
    most = max((thread.n for thread in threads), default=0)
    longest = max(map(_lasted_ns, threads), default=0)
    slack = max(longest / 20, NS_PER_S)

    def judged(thread: Result) -> Result:
        lasted = _lasted_ns(thread)
        if thread.status != "ok" or thread.n == most or longest - lasted <= slack:
            return thread
        reason = (
            f"the thread took no sample after {seconds(lasted / NS_PER_S)} of "
            f"{seconds(longest / NS_PER_S)} ({count(thread.n)} cycles): it hung, or was starved"
        )
        return structs.replace(thread, status="incomplete", reason=reason)

    return list(map(judged, threads))


def _lasted_ns(thread: Result) -> float:
    """Return for how long a thread ran at most, in ns; 0 if its period is unknown."""
    interval = thread.params.get("interval")
    if not isinstance(interval, int) or not thread.n:
        return 0
    late = (thread.missed or 0) * interval
    if thread.missed is None:  # each sample beyond the histogram may be the largest
        late = (thread.overflow if thread.histogram else thread.n) * int(thread.max or 0)
    return thread.n * interval + late


def flags(options: Options | None, *names: str) -> list[str]:
    """Return the flags of a run: "omission" unless sleeps were relative, so without a period."""
    return ["omission", *names] if options is None or options.periodic else list(names)
