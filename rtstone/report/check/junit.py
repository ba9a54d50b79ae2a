"""A check as JUnit XML, which CI systems show as tests.

The file agrees with the exit code: who reads only one of them sees the same.  An exceeded limit is
a failure, and so is an inconclusive check, whose type says so: the test was carried out, and its
limit not shown to be met.  If the budget lets inconclusive checks pass, they are skipped.  What was
not measured is an error, as there was no test, or a failure if the budget counts it as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.case_name import CaseName
from rtstone.documents.check import Check, Gate, Policy, Verdict
from rtstone.report.check.text import (
    allowed,
    causes,
    check_names,
    gate_summary,
    key_of,
    observed,
    reason,
    title,
)
from rtstone.wire.records import Bench

_ELEMENTS: dict[Policy, dict[Verdict, str]] = {
    "inconclusive": {"failed": "failure", "not measured": "error", "inconclusive": "failure"},
    "pass": {"failed": "failure", "not measured": "error", "inconclusive": "skipped"},
    "fail": {"failed": "failure", "not measured": "failure", "inconclusive": "failure"},
}
# Characters that XML 1.0 cannot represent.
_UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(gate: Gate, tables: Sequence[Bench]) -> str:
    """Return the XML document.  ``tables``: of the benches of the run that was checked."""
    elements = [_ELEMENTS[gate.policy].get(check.verdict) for check in gate.checks]
    # So that their sum is the time that was measured: a case is measured once, whatever the number
    # of its limits, and all its series at once; the first of them has its time.
    measured: set[CaseKey] = set()
    times = []
    for check in gate.checks:
        key = case_key(check.bench, check.params, load=check.load)
        times.append(0.0 if key in measured else check.section_s or 0.0)
        if check.section_s:
            measured.add(key)
    counts = {
        "tests": str(len(elements)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
        "skipped": str(elements.count("skipped")),
        "time": f"{sum(times):.3f}",
    }
    totals = {name: number for name, number in counts.items() if name != "skipped"}
    root = ET.Element("testsuites", {"name": "rtstone", **totals})
    named = {"name": gate.title, "timestamp": gate.created[:19], **counts}
    suite = ET.SubElement(root, "testsuite", _printable(named))
    properties = ET.SubElement(suite, "properties")
    facts = {"run": gate.run_id, "target": gate.target, "budget": gate.budget or gate.title}
    facts |= {"baseline": ", ".join(gate.baselines)} if gate.baselines else {}
    for name, value in facts.items():
        ET.SubElement(properties, "property", _printable({"name": name, "value": value}))
    names = check_names(gate, tables)
    for check, element, time in zip(gate.checks, elements, times, strict=True):
        _testcase(suite, check, names[key_of(check)], element, time)
    ET.SubElement(suite, "system-out").text = _clean(
        "\n".join([*gate.remarks, *causes(gate, names), gate_summary(gate)])
    )
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _testcase(
    suite: ET.Element, check: Check, named: CaseName, element: str | None, time: float
) -> None:
    case = named.with_load
    name = title(check, named)
    attributes = {"classname": check.bench, "name": name, "time": f"{time:.3f}"}
    test = ET.SubElement(suite, "testcase", _printable(attributes))
    facts = f"{observed(check)}, {allowed(check)}{reason(check)}"
    if element is None:
        ET.SubElement(test, "system-out").text = _clean(facts)
        return
    attributes = {"message": f"{check.verdict}: {facts}"}
    attributes |= {"type": check.verdict} if element != "skipped" else {}
    ET.SubElement(test, element, _printable(attributes)).text = _clean(f"{case}: {facts}")


def _printable(attributes: dict[str, str]) -> dict[str, str]:
    return {name: _clean(value) for name, value in attributes.items()}


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
