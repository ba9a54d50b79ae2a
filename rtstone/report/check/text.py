"""A check in words: lines for the terminal, Markdown for the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from rtstone.documents.check import SIGNS, Cause, Check, Gate, Verdict
from rtstone.report.parts.markdown import ENTITIES, escaping, table
from rtstone.statistics import ESTIMATED, LABELS
from rtstone.units import count, counted, plain, quantity, seconds

STYLES: dict[Verdict, str] = {
    "failed": "bold red", "not measured": "red", "inconclusive": "yellow", "passed": "green",
}  # fmt: skip
_LONGEST = max(map(len, SIGNS))
_INDEPENDENT = (
    "intervals assume independent samples if a run has no batches: they may be too narrow"
)


def gate_lines(gate: Gate) -> Iterator[Text]:
    """Yield the checks, those that need attention first, and the summary last."""
    yield from (Text(f"note: {remark}", "yellow") for remark in _remarks(gate))
    for check in gate.ordered:
        head = Text(f"{SIGNS[check.verdict]} {check.verdict:{_LONGEST}}  ", STYLES[check.verdict])
        told = f"{case(check)}: {observed(check)}, {allowed(check)}{reason(check)}"
        yield head.append(told, "default not bold")
    yield from (Text(told) for told in causes(gate))
    yield Text(f"{SIGNS[gate.verdict]} {gate_summary(gate)}", STYLES[gate.verdict])


def causes(gate: Gate) -> list[str]:
    """Return a line for each sample that was explained, and for each reason why others were not."""
    known = [f"why {case(one)}: {_cause(one)}" for one in gate.causes if one.sentence]
    reasons = dict.fromkeys(one.reason for one in gate.causes if not one.sentence)
    left = counted(gate.causes_left, "more case")
    return [
        *known,
        *(f"not explained: {reason}" for reason in reasons),
        *([f"{left} exceeded limits and were not explained"] if gate.causes_left else []),
    ]


def _cause(cause: Cause) -> str:
    return f"sample {count(cause.sample or 0)}, {cause.sentence}"


def case(check: Check | Cause) -> str:
    """Return the name of the checked case, with its load."""
    return f"{' '.join(filter(None, (check.bench, check.label)))}, load {check.load}"


def what(check: Check) -> str:
    """Return the name of the number that is limited."""
    corrected = ", corrected" if check.corrected and check.what in ESTIMATED else ""
    return LABELS.get(check.what, check.what) + corrected


def observed(check: Check) -> str:
    """Return the observation: ``p99 61.2 µs (58.0 µs to 66.1 µs), n 60 000, 60.0 s``."""
    parts = [f"{what(check)} {_value(check, check.observed)}{_interval(check)}"]
    if check.n is not None:
        parts.append(f"n {count(check.n)}")
    if check.section_s is not None:
        parts.append(seconds(check.section_s))
    elif check.what == "max" and check.unit == "ns":
        parts.append("time not recorded")
    return ", ".join(parts)


def allowed(check: Check) -> str:
    """Return the limit: ``limit <= +10%: 55.0 µs, the baseline 50.0 µs; 8% left``."""
    text = f"limit {check.limit}"
    if check.baseline is not None:
        text += f": {_value(check, check.allowed)}, the baseline {_value(check, check.baseline)}"
    if check.margin is not None:
        word = "left" if check.margin >= 0 else "over"
        text += (
            f"; {abs(check.margin):.3g} times over"
            if check.margin < -1
            else (f"; {abs(check.margin):.0%} {word}")
        )
    return text


def reason(check: Check) -> str:
    """Return the reason of a verdict, and what would settle it; starts with "; " or is empty."""
    text = f"; {check.reason}" if check.reason else ""
    more = [f"{count(check.missing)} samples"] if check.missing is not None else []
    more += [seconds(check.missing_s)] if check.missing_s else []
    text += f"; {', '.join(more)} more may settle it" if more else ""
    accepted = ", ".join(check.flags)
    return text + (f"; flags {accepted}" if accepted else "")


def gate_summary(gate: Gate) -> str:
    """Return the summary: ``failed: 12 checks, 1 failed, 2 inconclusive; run … on local, …``."""
    told = [f"{n} {verdict}" for verdict in SIGNS if (n := gate.count(verdict))]
    against = f", baseline {', '.join(gate.baselines)}" if gate.baselines else ""
    measure = f"budget {gate.budget}" if gate.trend is None else f"trend of {gate.trend} runs"
    return (
        f"{gate.verdict}: {counted(len(gate.checks), 'check')}, {', '.join(told)}; "
        f"run {_named(gate)} on {gate.target}, {measure}{against}"
    )


def _named(gate: Gate) -> str:
    return f"{gate.name} ({gate.run_id})" if gate.name else gate.run_id


def _remarks(gate: Gate) -> list[str]:
    assumed = any(check.independent for check in gate.checks)
    passing = gate.policy == "pass" and gate.count("inconclusive")
    return [
        *gate.remarks,
        *([_INDEPENDENT] if assumed else []),
        *(["the budget lets inconclusive checks pass"] if passing else []),
    ]


def _value(check: Check, value: float | None) -> str:
    if value is None:
        return "unknown"
    unit, _, per = check.unit.partition(" per ")
    if unit not in {"ns", "instructions"}:
        return f"{plain(value)} {unit}".rstrip()
    return quantity(value, unit) + (f" per {per}" if per else "")


def _share(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share * 100:.2g}%"


def _interval(check: Check) -> str:
    if check.ci95 is None:
        return ""
    low, high = (_value(check, end) for end in check.ci95)
    return f" (95%: {low} to {high})"


# ---- Markdown -----------------------------------------------------------------------------------

_escaped = escaping("_#", ENTITIES)  # with HTML, which folds the details
_COLUMNS = ("", "case", "load", "observed", "limit", "why")


def gate_markdown(gate: Gate) -> str:
    """Return a summary for a CI job: what needs attention, then what passed, folded."""
    open_ones = [check for check in gate.ordered if check.verdict != "passed"]
    passed = [check for check in gate.ordered if check.verdict == "passed"]
    parts = [f"## {SIGNS[gate.verdict]} {_escaped(gate.title)}: {gate.verdict}", ""]
    parts += [f"{_escaped(gate_summary(gate))}.", ""]
    parts += [f"> {_escaped(remark)}\n" for remark in _remarks(gate)]
    parts += [*_rows(open_ones), ""] if open_ones else []
    if passed:
        head = f"<details><summary>{counted(len(passed), 'check')} passed</summary>"
        parts += [head, "", *_rows(passed), "", "</details>", ""]
    parts += [*(f"* {_escaped(told)}" for told in causes(gate)), ""] if gate.causes else []
    return "\n".join(parts)


def _rows(checks: list[Check]) -> list[str]:
    rows = [
        (
            f"{SIGNS[check.verdict]} {check.verdict}",
            " ".join(filter(None, (check.bench, check.label))),
            check.load,
            observed(check),
            allowed(check).removeprefix("limit "),
            reason(check).removeprefix("; "),
        )
        for check in checks
    ]
    return table(_COLUMNS, rows, _escaped)
