"""A check in words: lines for the terminal, Markdown for the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10

from rich.text import Text

from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.case_name import CaseName, case_names
from rtstone.documents.check import SIGNS, Cause, Check, Gate, Verdict
from rtstone.documents.run import Result
from rtstone.report.parts.bars import bars
from rtstone.report.parts.markdown import ENTITIES, escaping, table
from rtstone.results.omitted import whole
from rtstone.stats.limits import rare
from rtstone.summary import ESTIMATED, LABELS
from rtstone.units import count, counted, plain, quantity, seconds
from rtstone.wire.records import Bench

STYLES: dict[Verdict, str] = {
    "failed": "bold red", "not measured": "red", "inconclusive": "yellow", "passed": "green",
}  # fmt: skip
_LONGEST = max(map(len, SIGNS))
_MANY = 10  # times, of which no tenth is written
_RARE = 0.01  # smaller shares are written as 1 in so many
_INDEPENDENT = (
    "intervals assume independent samples if a run has no batches: they may be too narrow"
)


def gate_lines(gate: Gate, tables: Sequence[Bench]) -> Iterator[Text]:
    """Yield the summary, then the checks, those that need attention first.

    ``tables``: of the benches of the run that was checked.
    """
    names = check_names(gate, tables)
    yield Text(f"{SIGNS[gate.verdict]} {gate_summary(gate)}", STYLES[gate.verdict])
    yield from (Text(f"note: {remark}", "yellow") for remark in _remarks(gate))
    for check in gate.ordered:
        head = Text(f"{SIGNS[check.verdict]} {check.verdict:{_LONGEST}}  ", STYLES[check.verdict])
        name = name_in(names, check).with_load
        text = f"{name}: {observed(check)}, {allowed(check)}{reason(check)}"
        yield head.append(text, "default not bold")
    yield from (Text(text) for text in causes(gate, names))


def causes(gate: Gate, names: Mapping[CaseKey, CaseName]) -> list[str]:
    """Return a line for each sample that was explained, and for each reason why others were not."""
    explained = [
        f"why {names[key_of(cause)].with_load}: sample {count(cause.sample or 0)}, {cause.sentence}"
        for cause in gate.causes if cause.sentence
    ]  # fmt: skip
    reasons = dict.fromkeys(cause.reason for cause in gate.causes if not cause.sentence)
    left = counted(gate.causes_left, "more case")
    return [
        *explained,
        *(f"not explained: {reason}" for reason in reasons),
        *([f"{left} exceeded limits and were not explained"] if gate.causes_left else []),
    ]


def key_of(check: Check | Cause) -> CaseKey:
    """Return the case of a check or a cause."""
    return case_key(check.bench, check.params, check.series, check.load)


def check_names(gate: Gate, tables: Sequence[Bench]) -> dict[CaseKey, CaseName]:
    """Return the names of the cases of a check."""
    items: list[Check | Cause] = [*gate.checks, *gate.causes]
    names = case_names([(c.bench, c.params, c.series, c.load) for c in items], tables)
    return {key_of(item): name for item, name in zip(items, names, strict=True)}


def name_in(names: Mapping[CaseKey, CaseName], check: Check) -> CaseName:
    """Return the name of a check's case, with the one by which its limit names the bench."""
    name = names[key_of(check)]
    return (
        name._replace(bench=f"{check.called} ({name.bench})")
        if check.called not in {"", name.bench}
        else name
    )


def title(check: Check, name: CaseName) -> str:
    """Return the name by which CI systems know a check: it does not depend on how that went."""
    return f"{name.with_load}: {LABELS.get(check.what, check.what)} {check.limit}"


def number_name(check: Check) -> str:
    """Return the name of the number that is limited."""
    corrected = ", corrected" if check.corrected and check.what in ESTIMATED else ""
    return LABELS.get(check.what, check.what) + corrected


def observed(check: Check) -> str:
    """Return the observation: ``p99 61.2 µs (58.0 µs to 66.1 µs), n 60 000, 60.0 s``."""
    interval = ""
    if check.ci95 is not None:
        interval = f" (95%: {' to '.join(_value(check, end) for end in check.ci95)})"
    parts = [f"{number_name(check)} {_value(check, check.observed)}{interval}"]
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
        share = f"{abs(check.margin):.0%} {'left' if check.margin >= 0 else 'over'}"
        text += (
            f"; {_times(1 - check.margin)} times the limit" if check.margin < -1 else f"; {share}"
        )
    return text


def reason(check: Check) -> str:
    """Return the reason of a verdict, what would settle it, and what would have failed.

    Starts with "; " or is empty.
    """
    parts = [
        check.reason,
        _length(check),
        f"{counted(check.missing_runs, 'baseline run')} more may settle it"
        if check.missing_runs
        else None,
        power(check),
        f"flags {', '.join(check.flags)}" if check.flags else None,
    ]
    return "".join(f"; {part}" for part in parts if part)


def _length(check: Check) -> str | None:
    """Return how long a run may settle a check, in total, with the command for it; None if unknown.

    Rounded up to two digits: it is an estimate.
    """
    if check.missing_s and check.section_s:
        total = _up(check.section_s + check.missing_s)
        run = "" if "imported" in check.flags else f": `rtstone run … --time {total:g}`"
        return f"about {seconds(total)} in total may settle it{run}"
    if check.missing is None:
        return None
    noun = "activations" if check.what == "missed" else "samples"
    return f"about {count(_up((check.n or 0) + check.missing))} {noun} in total may settle it"


def _up(number: float) -> float:
    """Return a number above 0, rounded up to two digits."""
    step = 10.0 ** (floor(log10(number)) - 1)
    return float(f"{ceil(number / step - 1e-9) * step:.12g}")


def power(check: Check) -> str | None:
    """Return what would have failed: ``a shift of 4% or more would have failed``.

    None where it failed, where nothing could have, and for a fact, which its limit alone decides.
    """
    share = check.detectable
    if share is None or check.verdict not in {"passed", "inconclusive"}:
        return None
    absolute = check.allowed is not None and check.baseline is None
    if check.what == "missed":
        return f"a loss of {_one_in(share)} {'or ' if absolute else ''}more would have failed"
    if not absolute:  # against earlier runs
        if share < 0:  # the limit asks for something better than the baseline
            return f"less than {_share(-share)} better would have failed"
        return f"a shift of {_share(share)} or more would have failed"
    if check.what == "max" and check.n and check.verdict == "passed":
        return f"samples above it, {_one_in(rare(check.n))} or more, would have shown"
    if check.ci95 is None or check.observed is None:
        return None
    lower = check.limit.startswith(">=")
    worse = -share if lower else share
    value = _value(check, check.observed + worse * abs(check.observed))
    return f"{value} or {'less' if lower else 'more'} would have failed"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < _MANY else count(round(ratio))


def _one_in(share: float) -> str:
    """Return a share as ``1 in 101``, or as ``12%`` where it is large."""
    return f"1 in {count(int(1 / share))}" if 0 < share <= _RARE else _share(share)


def gate_summary(gate: Gate) -> str:
    """Return the summary: ``failed: 12 checks, 1 failed, 2 inconclusive; run … on local, …``."""
    counts = [counted(len(gate.checks), "check")]
    counts += [f"{n} {verdict}" for verdict in SIGNS if (n := gate.count(verdict))]
    name = f"{gate.name} ({gate.run_id})" if gate.name else gate.run_id
    run = [f"run {name} on {gate.target}"]
    run += [f"budget {gate.budget}"] if gate.budget else []
    run += [f"trend of {gate.trend} runs"] if gate.trend is not None else []
    run += [f"baseline {', '.join(gate.baselines)}"] if gate.baselines else []
    return f"{gate.verdict}: {', '.join(counts)}; {', '.join(run)}"


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
    """Return a share in percent with two digits, rounded up: what is as large would have failed."""
    if not share:
        return "0%"
    percent = 100 * share
    step = 10.0 ** min(floor(log10(percent)) - 1, 0)
    return f"{ceil(percent / step - 1e-9) * step:.6g}%"


# ---- Markdown -----------------------------------------------------------------------------------

_escaped = escaping("_#", ENTITIES)  # with HTML, which folds the details
_COLUMNS = ("", "case", "load", "observed", "limit", "why")


def gate_markdown(gate: Gate, tables: Sequence[Bench], results: Sequence[Result] = ()) -> str:
    """Return a summary for a CI job: a picture, what needs attention, what passed, folded.

    ``tables``: of the benches of the run that was checked.  ``results``: those of the run, of which
    the picture shows the one that needs attention first.
    """
    names = check_names(gate, tables)
    open_ones = [check for check in gate.ordered if check.verdict != "passed"]
    passed = [check for check in gate.ordered if check.verdict == "passed"]
    parts = [f"## {SIGNS[gate.verdict]} {_escaped(gate.title)}: {gate.verdict}", ""]
    parts += [f"{_escaped(gate_summary(gate))}.", ""]
    parts += _picture(gate, results, names)
    parts += [f"> {_escaped(remark)}\n" for remark in _remarks(gate)]
    parts += [*_rows(open_ones, names), ""] if open_ones else []
    if passed:
        head = f"<details><summary>{counted(len(passed), 'check')} passed</summary>"
        parts += [head, "", *_rows(passed, names), "", "</details>", ""]
    parts += [*(f"* {_escaped(cause)}" for cause in causes(gate, names)), ""] if gate.causes else []
    return "\n".join(parts)


def _picture(gate: Gate, results: Sequence[Result], names: Mapping[CaseKey, CaseName]) -> list[str]:
    """Return the distribution of the first case that has one, those that need attention first."""
    by_key = {case_key(r.bench, r.params, r.series, r.load): r for r in results if r.n}
    for check in gate.ordered:
        result = by_key.get(key_of(check))
        lines = bars(whole(result), _HEIGHT) if result else []
        if result and lines:
            caption = f"{name_in(names, check).with_load}: {count(whole(result).n)} samples"
            limit = f"{number_name(check)} {allowed(check)}"
            return [f"{_escaped(caption)}; {_escaped(limit)}", "", "```text", *lines, "```", ""]
    return []


_HEIGHT = 6  # lines of bars of the picture


def _rows(checks: list[Check], names: Mapping[CaseKey, CaseName]) -> list[str]:
    rows = [
        (
            f"{SIGNS[check.verdict]} {check.verdict}",
            name_in(names, check).without_load,
            check.load,
            observed(check),
            allowed(check).removeprefix("limit "),
            reason(check).removeprefix("; "),
        )
        for check in checks
    ]
    return table(_COLUMNS, rows, _escaped)
