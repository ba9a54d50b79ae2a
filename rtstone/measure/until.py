"""Parse `--until`: measure a case until its statistic is precise enough, or time is up."""

from __future__ import annotations

import re
from fractions import Fraction

from rtstone.documents.plan import LIMIT_NS, Until, UntilStatistic
from rtstone.errors import UsageError, nearest
from rtstone.wire.parameters import duration

STATISTICS: tuple[UntilStatistic, ...] = ("p50", "p99")
LEAST, MOST = Fraction(1, 200), Fraction(1, 2)  # a value is recorded to within 1/256 of it

_SHAPE = "write ci=2%, ci=2%,p99 or ci=2%,time=5min"


def parse(text: str) -> Until:
    """Parse the value of --until.  Raises UsageError."""
    share: float | None = None
    statistic: UntilStatistic | None = None
    time_ns: int | None = None
    for piece in map(str.strip, text.split(",")):
        name, equals, value = piece.partition("=")
        if equals and name == "ci" and share is None:
            share = _share(value)
        elif equals and name == "time" and time_ns is None:
            time_ns = duration(value, "in --until")
        elif not equals and statistic is None and name in STATISTICS:
            statistic = STATISTICS[STATISTICS.index(name)]
        else:
            if not equals and name in STATISTICS:
                fault = f"'{piece}' is a second statistic"
            elif equals and name in {"ci", "time"}:
                fault = f"'{piece}' is given twice"
            else:
                words = ["ci=", "time="] if equals else list(STATISTICS)
                fault = f"unknown '{piece}', {nearest(name + equals, words).rstrip('?')}"
            raise UsageError(f"bad --until {text}, {fault}; {_SHAPE}")
    if share is None:
        raise UsageError(f"bad --until {text}, no ci= given; {_SHAPE}")
    if time_ns == 0:
        raise UsageError("no time to measure, in --until; give a time above 0")
    return Until(share=share, statistic=statistic or "p50", time_ns=time_ns or LIMIT_NS)


def _share(text: str) -> float:
    """Parse a percentage and return it as a share of 1."""
    number = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", text.strip())
    share = Fraction(number[1]) / 100 if number else None
    if share is None or not LEAST <= share <= MOST:
        raise UsageError(
            f"bad width '{text}', in --until; write 0.5% to 50%: a sample is recorded to within "
            "0.4% of its value"
        )
    return float(share)
