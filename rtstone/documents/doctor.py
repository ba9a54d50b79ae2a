"""The document of `rtstone doctor`: whether a system can be measured."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "rtstone.doctor/2"  # 1 called `measurable` fit

# good     as it should be
# seen     a value that was measured, which no rule judges
# warn     costs time or certainty; the figures are still what they say
# bad      makes measuring impossible or its figures misleading
# unknown  cannot be seen from here
# yours    a matter of the user's application or choice, which nothing here can see
Verdict = Literal["good", "seen", "warn", "bad", "unknown", "yours"]
Group = Literal[
    "OS features", "known quantities", "application", "environment", "multiprocessor", "today"
]


class CheckedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a system.

    ``advice``: what to do, empty where nothing is to be done; ``tunable``: whether `rtstone tune
    apply` does it.
    """

    id: str
    group: Group
    title: str
    verdict: Verdict
    value: str
    advice: str
    tunable: bool


class Checklist(msgspec.Struct, frozen=True, kw_only=True):
    """The checks of a system, and whether it can be measured: no check is bad.

    ``target``: as it was requested; ``cpus``: those to be measured; ``agents``: who measures there
    now, in words.
    """

    schema: str = SCHEMA
    target: str
    measurable: bool
    cpus: list[int]
    agents: list[str] = []
    checks: list[CheckedLine]
