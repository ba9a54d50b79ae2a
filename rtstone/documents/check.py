"""The check document: a run checked against a budget, limit by limit.

Values have the unit of their check; unknown is ``None``.  A release may add members; a change of
meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rtstone.documents.run import Value
from rtstone.errors import Inconclusive
from rtstone.wire.records import Natural

SCHEMA = "rtstone.check/1"

Policy = Literal["inconclusive", "pass", "fail"]

FAILED = 1  # the exit code of a gate that failed

# "not measured": there is no result that can be trusted; no policy lets it pass.
Verdict = Literal["failed", "not measured", "inconclusive", "passed"]
SIGNS: dict[Verdict, str] = {"failed": "-", "not measured": "!", "inconclusive": "?", "passed": "+"}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One limit on one case under one load.

    ``label``: distinguishes the case from others of the same bench and load.  ``called``: another
    name of the bench, by which the limit names it.  ``what``: the limited statistic, figure or
    slope.  ``limit``: as in the budget; ``allowed``: the same as a value.  ``ci95``: the interval
    of ``observed``; None: it is a fact, or has none.  ``baseline``: the value that a relative limit
    is relative to.  ``margin``: the remaining share of ``allowed``, negative if exceeded.
    ``missing``: how many more samples would settle an inconclusive check; ``missing_s``: how much
    longer that takes, in s.  ``section_s``: the measured time in s.
    ``independent``: samples had to be assumed independent, for lack of batches.  ``corrected``:
    omitted activations are included.  ``detectable``: the smallest worsening, as a share, that
    would have failed; None: nothing could have, or it is not known.  It is a share of ``baseline``,
    else of ``observed``; of missed activations, a share of those due.
    ``missing_runs``: how many more runs of the baseline would settle an inconclusive check.
    """

    bench: str
    params: dict[str, Value] = {}
    label: str = ""
    called: str = ""
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
    missing_runs: Natural | None = None
    independent: bool = False
    corrected: bool = False
    detectable: float | None = None
    flags: list[str] = []


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Why the worst sample of a case that exceeded a limit took so long.

    ``bench``, ``params``, ``label``, ``series``, ``load``: the case, as of its checks.
    ``case``, ``sample``: its number in the run and that of the sample, by which the explanation is
    kept (`rtstone report` shows it).  ``sentence``: the answer; None: ``reason`` tells why there is
    none, and what to do.
    """

    bench: str
    params: dict[str, Value] = {}
    label: str = ""
    series: str = ""
    load: str
    case: Natural
    sample: Natural | None = None
    sentence: str | None = None
    reason: str | None = None


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The check of a run against a budget.

    ``schema``: name and version of the document.
    ``run_id``, ``target``, ``created``: the run that was checked.
    ``budget``, ``title``: file and title of the budget.  ``trend``: instead of a budget, in so many
    last runs no case may have become worse; ``budget`` is empty then.
    ``baselines``: ids of the runs that relative limits are relative to.
    ``policy``: what an inconclusive check counts as.
    ``verdict``: of the whole: "passed", "failed", "inconclusive" or "not measured".
    ``remarks``: what to know before reading any verdict.
    ``checks``: one for each limit on each case that it concerns.
    ``name``: what a person calls the run.
    ``causes``: with --explain, of the cases that exceeded limits of single samples, most exceeded
    first; ``causes_left``: of how many more there are none.
    """

    schema: str = SCHEMA
    run_id: str
    target: str
    created: str
    budget: str
    title: str
    baselines: list[str] = []
    name: str | None = None
    policy: Policy
    verdict: Verdict
    remarks: list[str] = []
    checks: list[Check]
    causes: list[Cause] = []
    causes_left: Natural = 0
    trend: Natural | None = None

    @property
    def exit_code(self) -> int:
        """The exit code: 0 passed, 1 failed, 3 neither."""
        return {"passed": 0, "failed": FAILED}.get(self.verdict, Inconclusive.exit_code)

    @property
    def ordered(self) -> list[Check]:
        """The checks, those that need attention first."""
        order = list(SIGNS)
        return sorted(self.checks, key=lambda check: order.index(check.verdict))

    def count(self, verdict: Verdict) -> int:
        """Return the number of checks with this verdict."""
        return sum(check.verdict == verdict for check in self.checks)


def overall(checks: Sequence[Check], policy: Policy) -> Verdict:
    """Return the overall verdict: the worst one, with inconclusive checks counted by the policy."""
    verdicts = {check.verdict for check in checks}
    open_questions = verdicts & {"not measured", "inconclusive"}
    if "failed" in verdicts or (policy == "fail" and open_questions):
        return "failed"
    if policy == "pass":
        verdicts.discard("inconclusive")
    return next((verdict for verdict in SIGNS if verdict in verdicts), "passed")
