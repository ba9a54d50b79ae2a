"""A check as test runs of KCIDB, the database of KernelCI, by version 5.3 of its schema.

https://github.com/kernelci/kcidb-io has the schema, and says what each status stands for.  What is
inconclusive is DONE: it "completed and had not reported the status of the tested code", but has a
number.  What was not measured is MISS, as nothing ran that could be judged.  Neither is a PASS, nor
a FAIL unless the budget counts it as a failure.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from rtstone.documents.case_key import CaseKey
from rtstone.documents.case_name import CaseName
from rtstone.documents.check import Check, Gate, Policy, Verdict
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.report.check.text import allowed, check_names, key_of, observed, reason, title
from rtstone.units import NS_PER_S

VERSION = {"major": 5, "minor": 3}
_ORIGIN = re.compile(r"[a-z0-9_]+")
_ID = re.compile(rf"{_ORIGIN.pattern}:[^\0]+")
_NO_STEP = re.compile(r"[^A-Za-z0-9_-]+")  # what no step of a path has
_OPEN: dict[Policy, dict[Verdict, str]] = {
    "inconclusive": {"inconclusive": "DONE", "not measured": "MISS"},
    "pass": {"inconclusive": "DONE", "not measured": "MISS"},
    "fail": {"inconclusive": "FAIL", "not measured": "FAIL"},
}
_NUMBERED = {"PASS", "FAIL", "DONE"}  # a number of any other status counts for nothing
_CONDITIONS = (
    "kernel.release", "kernel.version", "kernel.cmdline", "cpu.model", "machine.arch",
    "machine.product", "machine.hypervisor",
)  # fmt: skip


class Submission(NamedTuple):
    """What only the submitter knows: the name of its CI system, and the id of the tested build."""

    origin: str
    build_id: str


def submission(origin: str | None, build_id: str | None) -> Submission:
    """Return what the options of the command say.  Raises UsageError."""
    if origin is None or build_id is None:
        missing = "--kcidb-origin NAME" if origin is None else "--kcidb-build ID"
        raise UsageError(
            f"--kcidb needs {missing}: test runs belong to a CI system and to a build, which only "
            "you know"
        )
    if not _ORIGIN.fullmatch(origin):
        raise UsageError(
            f"bad name '{origin}', in --kcidb-origin; write the one that your CI system has in "
            "KCIDB, of a-z, 0-9 and _"
        )
    if not _ID.fullmatch(build_id):
        raise UsageError(
            f"bad id '{build_id}', in --kcidb-build; write the one that the build has in KCIDB, "
            "such as maestro:68a1"
        )
    return Submission(origin, build_id)


def kcidb(gate: Gate, run: Run, submitted: Submission) -> str:
    """Return the JSON document, with a test run for each check of a run."""
    names = check_names(gate, run.benches)
    conditions = {name: run.conditions.get(name) for name in _CONDITIONS}
    environment = {
        "comment": run.target.name,
        "misc": {name: value for name, value in conditions.items() if value is not None},
    }
    tests = [
        {
            "id": name,
            "build_id": submitted.build_id,
            "origin": submitted.origin,
            "path": _path(check, names[key_of(check)]),
            "start_time": gate.created,
            "environment": environment,
            **_outcome(gate, check),
        }
        for check, name in zip(gate.checks, _ids(gate, names, submitted.origin), strict=True)
    ]
    document = msgspec.json.encode({"version": VERSION, "tests": tests})
    return msgspec.json.format(document, indent=2).decode() + "\n"


def _ids(gate: Gate, names: dict[CaseKey, CaseName], origin: str) -> list[str]:
    """Return the ids of the checks: the same whenever the same limits of the run are checked."""
    used: Counter[str] = Counter()
    ids = []
    for check in gate.checks:
        own = f"{origin}:{gate.run_id}:{title(check, names[key_of(check)])}"
        used[own] += 1
        ids.append(own if used[own] == 1 else f"{own} ({used[own]})")
    return ids


def _path(check: Check, name: CaseName) -> str:
    """Return the place in the tree of tests: ``rtstone.dk.periodic.load-none.p999``."""
    words = [*name.bench.split("."), name.within_bench, f"load {name.load}", check.what]
    steps = (_NO_STEP.sub("-", word).strip("-") for word in words)
    return ".".join(["rtstone", *filter(None, steps)])


def _outcome(gate: Gate, check: Check) -> dict[str, Any]:
    """Return the status, the number, and all that is known of a check."""
    settled = {"passed": "PASS", "failed": "FAIL"} | _OPEN[gate.policy]
    status = settled[check.verdict]
    members = msgspec.to_builtins(check)
    outcome: dict[str, Any] = {
        "status": status,
        "comment": f"{observed(check)}, {allowed(check)}{reason(check)}",
        "misc": {"rtstone": {name: value for name, value in members.items() if value is not None}},
    }
    if check.section_s is not None:
        outcome["duration"] = check.section_s
    if check.observed is not None and status in _NUMBERED:
        outcome["number"] = _number(check.observed, check.unit)
    return outcome


def _number(value: float, unit: str) -> dict[str, Any]:
    """Return a number as KCIDB has it: times in s, which it shows with a prefix."""
    unit = unit.replace(" per ", "/")
    if unit.startswith("ns"):
        return {"value": value / NS_PER_S, "unit": unit.removeprefix("n"), "prefix": "metric"}
    return {"value": value, "unit": unit} if unit else {"value": value}
