"""The words of reports: flags, statuses, verdicts and heads of columns, each in a sentence or two.

`make docs` writes docs/reference/glossary.md from it, `rtstone list WORD` prints an entry.
"""

from __future__ import annotations

import os.path
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rtstone.results.flags import FLAGS
from rtstone.summary import LABELS, TABLE

PAGE = "docs/reference/glossary.md"
_WIDTH = 100  # of a line of the page


class Term(NamedTuple):
    """What a word means; ``page``: below docs, which says more."""

    text: str
    page: str = ""


_HEADS: Mapping[str, Term] = {
    "bench": Term("What is timed: a procedure with parameters.", "benches/README.md"),
    "parameters": Term("Those values of a bench that differ in this run or are no default."),
    "load": Term(
        "What else ran meanwhile, on purpose. `none`: nothing but the system's own work.",
        "reference/measuring.md#loads",
    ),
    "n": Term("Number of samples."),
    "time": Term("How long was measured. A maximum means nothing without it."),
    "missed": Term(
        "Activations of a periodic task that never took place, as the task was still late when "
        "they were due.",
        "reference/measuring.md#missed-activations",
    ),
    "flags": Term("Conditions that may make a result unreliable. Each is explained below."),
    "corrected": Term(
        "The distribution with the lateness that missed activations would have had, so that one "
        "long stall does not count as one bad sample only (coordinated omission).",
        "reference/measuring.md#missed-activations",
    ),
    "part": Term(
        "A component of a load, which counts its own work.", "reference/measuring.md#loads"
    ),
    "per second": Term("How much of its work a component of a load did in a second."),
    "wanted": Term("How much of it the load is defined by; 20% less makes results incomplete."),
    "single calls": Term(
        "Calls timed one by one, where otherwise several were timed together.",
        "reference/measuring.md#clock",
    ),
}

_STATUSES: Mapping[str, Term] = {
    "ok": Term("The case has a result."),
    "unsupported": Term("The system lacks what the case needs. The reason stands beside it."),
    "failed": Term(
        "Of a case: it began and could not be measured, for the reason beside it. Of a check: a "
        "limit was exceeded."
    ),
    "incomplete": Term(
        "Of a case: it ended early, or its load did not reach its rate. Of a run: a case is "
        "missing."
    ),
    "not begun": Term("The run ended before this case."),
    "complete": Term("Each case of the run has ended."),
    "unfinished": Term(
        "The run goes on, or its host died: `rtstone run --resume` goes on with it."
    ),
    "damaged": Term("The files of the run cannot be read."),
}

_VERDICTS: Mapping[str, Term] = {
    "fit": Term(
        "No activation was missed, in the time and under the load that stand beside it. Less than "
        '10 s, or fewer than 10 000 activations, is "so far".',
        "reference/measuring.md#what-you-require",
    ),
    "not fit": Term("Activations were missed: the system was late by more than a period."),
    "no verdict": Term("What was measured allows neither. The reason follows."),
    "met": Term(
        "Nothing was later than the latency that `--limit` requires, in the time and under the "
        "load that stand beside it.",
        "reference/measuring.md#what-you-require",
    ),
    "not met": Term(
        "Something was later than `--limit`, or never came. The numbers of both follow.",
        "reference/measuring.md#what-you-require",
    ),
    "passed": Term("Each limit was met, and the data suffice to say so.", "guides/gate.md"),
    "inconclusive": Term(
        "The data do not suffice to decide: an interval contains the limit, or both a difference "
        "that matters and none; or the result is flagged with what spoils it.",
        "guides/gate.md",
    ),
    "not measured": Term("The run has no result of what a limit is about.", "guides/gate.md"),
    "better": Term("A number is smaller, by more than chance explains.", "guides/comparing.md"),
    "worse": Term("A number is larger, by more than chance explains.", "guides/comparing.md"),
    "no difference": Term(
        "Any difference that there may be is too small to matter; not seen is not enough.",
        "guides/comparing.md",
    ),
    "bound": Term(
        "An estimate of the worst case, with how often it may be exceeded.", "guides/worst-case.md"
    ),
    "undetermined": Term("The intervals allow more than one answer."),
}

_PHRASES: Mapping[str, Term] = {
    "beyond doubt": Term(
        "The whole 95% interval of the difference lies beyond what counts as none.",
        "guides/comparing.md",
    ),
    "effects": Term(
        "What is compared of a case: median, tail, maximum, spread, missed activations.",
        "guides/comparing.md",
    ),
    "in the other results": Term(
        "The median of the same measure over the other results of this run."
    ),
    "floor": Term(
        "How much single runs of one unchanged system differ. A smaller difference is no evidence.",
        "guides/comparing.md",
    ),
    "interval": Term(
        "A range made so that it contains the true value in 95 of 100 runs, although samples may "
        "depend on those before them.",
        "reference/estimates.md",
    ),
    "activation": Term(
        "One turn of a periodic task: due at its release, once a period. It ran in time, ran late, "
        "or is missed. For audio it is the buffer to be filled.",
        "reference/measuring.md#missed-activations",
    ),
    "never": Term(
        "Of activations: they did not take place, not even late, because the task was still busy "
        "with, or waiting for, an earlier one when they were due. They count as missed.",
        "reference/measuring.md#missed-activations",
    ),
    "stall": Term(
        "A time in which a task could not run for a period or more: one late sample, and the "
        "activations that it hid. Stalls come independently of each other, activations do not, so "
        "an interval needs enough of them.",
        "reference/estimates.md#with-omitted-activations",
    ),
    "dropout": Term(
        "Of audio: a buffer that was not filled in time, heard as a click (JACK calls it an xrun). "
        "It is a missed activation of `audio`, whose period is that of one buffer.",
        "reference/measuring.md#missed-activations",
    ),
    "wake-up latency": Term("From the time that a task was due until it runs."),
    "jitter": Term(
        "How much a time varies. Of a budget the largest sample less the smallest; else a standard "
        "deviation or a range, as is written.",
        "guides/gate.md#the-file",
    ),
    "n.e.": Term("Not evaluable: the system lacks the call, or another stands for it."),
    "breakdown": Term(
        "The utilisation at which a set of tasks first misses a deadline.",
        "reference/measuring.md#hartstone",
    ),
    "granule": Term("The smallest step of the clock.", "reference/measuring.md#clock"),
    "overhead": Term(
        "What two successive readings of the clock take at least; it is subtracted from every "
        "sample.",
        "reference/measuring.md#clock",
    ),
    "instr": Term(
        "Instructions: the unit of emulated boards, equal on every host.", "guides/lab.md"
    ),
    "last": Term("The newest run; `last~1` is the one before."),
    "session": Term("Runs that belong together: of `compare --run`, or of several targets."),
}

_FLAGS = {
    flag.name: Term(f"{flag.cause[0].upper()}{flag.cause[1:]}. What to do: {flag.advice}.")
    for flag in FLAGS
}


def _section(terms: Mapping[str, Term]) -> dict[str, Term]:
    """Return the terms of a section, each with what it says as a flag."""
    return {
        word: term._replace(text=f"{term.text} As a flag: {_FLAGS[word].text}")
        if word in _FLAGS
        else term
        for word, term in terms.items()
    }


_WORDS = {
    "Heads of columns": _section({**_HEADS, **{s.label: Term(s.help) for s in TABLE}}),
    "Statuses": _section(_STATUSES),
    "Verdicts": _section(_VERDICTS),
    "Other words": _section(_PHRASES),
}
_EXPLAINED = {word for terms in _WORDS.values() for word in terms}
SECTIONS: Mapping[str, Mapping[str, Term]] = _WORDS | {
    "Flags": {word: term for word, term in _FLAGS.items() if word not in _EXPLAINED}
}
TERMS: Mapping[str, Term] = {
    word: term for terms in SECTIONS.values() for word, term in terms.items()
}


_PLURALS = {f"{word}s": word for word in ("activation", "stall", "dropout")}  # as they are printed


def term(word: str) -> tuple[str, Term] | None:
    """Return the entry of a word, or of a plural, with its heading; None if it has none."""
    heading = _PLURALS.get(word, word)
    return (heading, TERMS[heading]) if heading in TERMS else None


def anchor(word: str) -> str:
    """Return the anchor of a word's heading, as renderers of Markdown make it."""
    return re.sub(r"[^\w\- ]", "", word.lower()).replace(" ", "-")


# Heads that mean the same in every table.
_HEADS_ANYWHERE = frozenset({"bench", "load", "n", "missed", "flags", *LABELS.values()})
_VERDICT = re.compile(r"(not fit|fit|no verdict)\b:?", re.IGNORECASE)  # at a sentence's beginning


class Words:
    """The words of one page: its templates ask what they mean, and it explains those at its end."""

    def __init__(self) -> None:
        self.used: dict[str, str] = {}

    def meaning(self, word: str) -> str:
        """Return what a word means, and count it as used; of an unknown one, that it is unknown."""
        term = TERMS.get(word, Term("No explanation is known to this version."))
        return self.used.setdefault(word, term.text)

    def heads(self, name: str) -> bool:
        """Return whether this head of any table is a word."""
        return name in _HEADS_ANYWHERE

    def verdict(self, sentence: str) -> tuple[str, str]:
        """Return the verdict that a sentence begins with, and the rest; "" if with none."""
        match = _VERDICT.match(sentence)
        end = match.end() if match else 0
        return sentence[:end], sentence[end:]


def page() -> str:
    """Return docs/reference/glossary.md."""
    lines = [
        "# Glossary",
        "",
        "<!-- From the table of words: `make docs` writes this page. -->",
        "",
        "The words that rtstone prints. `rtstone list WORD` prints an entry, too: "
        "`rtstone list corrected`.",
    ]
    for title, terms in SECTIONS.items():
        lines += ["", f"## {title}"]
        for word, term in terms.items():
            page = os.path.relpath(term.page, Path(PAGE).parent.name) if term.page else ""
            link = f" [More]({page})." if page else ""
            lines += ["", f"### {word}", "", *textwrap.wrap(f"{term.text}{link}", _WIDTH,
                      break_on_hyphens=False, break_long_words=False)]  # fmt: skip
    return "\n".join([*lines, ""])
