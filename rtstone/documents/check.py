"""The document of a check: a run held against a budget, limit by limit.

Values have the unit of their check; unknown is ``None``.  Members are only ever added; a change of
meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rtstone.documents.run import Value
from rtstone.errors import Inconclusive

SCHEMA = "rtstone.check/1"

Policy = Literal["inconclusive", "pass", "fail"]

FAILED = 1  # the exit code of a gate that failed

# "not measured": there is no result, or none that can be trusted; no policy lets it pass.
Verdict = Literal["failed", "not measured", "inconclusive", "passed"]
SIGNS: dict[Verdict, str] = {"failed": "-", "not measured": "!", "inconclusive": "?", "passed": "+"}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One limit on one case under one load.

    ``what`` is the statistic, the figure or the slope that is limited, ``limit`` as the budget
    has it, ``allowed`` the same as a value. ``ci95`` is that of ``observed``; None: what was
    observed is a fact. ``margin`` is the share of ``allowed`` that is left, below 0 if it is
    exceeded. ``missing``: how many samples more would settle an open question, ``missing_s``
    how much longer that takes. ``section_s``: how long was measured. ``independent``: for want
    of batches the samples were assumed to be independent. ``corrected``: omitted activations
    are counted in.
    """

    bench: str
    params: dict[str, Value] = {}
    label: str = ""  # what tells the case from others of its bench and load
    series: str = ""
    load: str
    what: str
    limit: str
    verdict: Verdict
    reason: str | None = None
    unit: str = ""
    observed: float | None = None
    ci95: tuple[float, float] | None = None
    allowed: float | None = None
    baseline: float | None = None
    margin: float | None = None
    n: int | None = None
    section_s: float | None = None
    missing: int | None = None
    missing_s: float | None = None
    independent: bool = False
    corrected: bool = False
    flags: list[str] = []


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A run held against a budget."""

    schema: str = SCHEMA
    run_id: str
    target: str
    created: str
    budget: str
    title: str
    baselines: list[str] = []  # ids of the runs that relative limits are relative to
    policy: Policy
    verdict: Verdict
    remarks: list[str] = []  # what must be known before any verdict
    checks: list[Check]

    @property
    def exit_code(self) -> int:
        """What the program ends with: 0, 1 or 3."""
        return {"passed": 0, "failed": FAILED}.get(self.verdict, Inconclusive.exit_code)

    @property
    def ordered(self) -> list[Check]:
        """The checks, what needs attention first."""
        order = list(SIGNS)
        return sorted(self.checks, key=lambda check: order.index(check.verdict))

    def count(self, verdict: Verdict) -> int:
        """How many checks ended so."""
        return sum(check.verdict == verdict for check in self.checks)


def overall(checks: Sequence[Check], policy: Policy) -> Verdict:
    """The verdict on all: the gravest, but for what the policy makes of open questions."""
    found = {check.verdict for check in checks}
    open_questions = found & {"not measured", "inconclusive"}
    if "failed" in found or (policy == "fail" and open_questions):
        return "failed"
    if policy == "pass":
        found.discard("inconclusive")
    return next((verdict for verdict in SIGNS if verdict in found), "passed")
