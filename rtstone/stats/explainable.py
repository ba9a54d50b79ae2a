"""Choose the result, and the sample of it, that is to be explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.documents.case_key import family, is_named
from rtstone.documents.imported import tool
from rtstone.documents.run import NO_REASON, Result, Run
from rtstone.errors import UsageError, nearest, unknown
from rtstone.stats.standouts import INSTRUMENT, standouts
from rtstone.summary import LABELS, PERCENTILES

WORST, MEDIAN = "worst", "median"
_FOREMOST = "dk.periodic"  # the wake-up that is looked at first
# Its samples are taken by the kernel, and read from its trace long after.
_OF_THE_KERNEL = {"int.latency.timerlat"}
_SIMULATED = "sim"  # the kind of a target, and the port, without an operating system
_NAMES = {label: name for name, label in LABELS.items() if name in PERCENTILES}


class Choice(NamedTuple):
    """A result with the largest maximum, and among how many requested ones that is."""

    result: Result
    among: int


def choose(run: Run, bench: str | None = None, series: str | None = None) -> Choice:
    """Return the result of a run whose sample is to be explained.

    ``bench``: its id or its family.  ``series``: of a case with several.

    Without a bench it is the latest wake-up from a timer, of dk.periodic if that was measured, else
    the result whose maximum is the largest multiple of its median.  Raises UsageError.
    """
    _demand_explainable(run)
    results = run.results
    if bench is not None:
        results = [r for r in results if is_named(r.bench, {bench}, r.params)]
        if not results:
            raise unknown("bench", bench, {r.bench for r in run.results}, "of this run")
    if series is not None:
        of_bench, results = results, [r for r in results if r.series == series]
        if not results:
            every = {r.series for r in of_bench if r.series}
            raise unknown("series", series, every, "in --series")
    sampled = [result for result in results if _has_samples(result)]
    if not sampled:
        raise UsageError(f"no single samples {_origin(run, bench)}; {_reason(results)}")
    if bench is not None:
        return _worst(sampled)
    latest = [run.results[place] for place in standouts(run).wakeups]
    woken = [result for result in latest if result in sampled]
    foremost = [result for result in woken if result.bench == _FOREMOST] or woken
    if foremost:
        return _worst(foremost)
    return Choice(max(sampled, key=_multiple), 1)


def explainable(run: Run, result: Result) -> None:
    """Raise UsageError, with the reason, if no sample of a result can be explained."""
    _demand_explainable(run)
    if not _has_samples(result):
        raise UsageError(f"no single samples {_origin(run, result.bench)}; {_reason([result])}")


def _demand_explainable(run: Run) -> None:
    """Raise UsageError if it cannot be known where the time of its samples went."""
    why = None
    port = run.agent.port if run.agent else None
    if (name := tool(run)) is not None:
        why = f"{name} took them, not rtstone; measure with `rtstone run`"
    elif _SIMULATED in (run.target.name.partition(":")[0], port):
        why = "no system ran, all times are those of its model (docs/guides/sim.md)"
    if why:
        raise UsageError(f"samples of run {run.run_id} cannot be explained: {why}")


def _has_samples(result: Result) -> bool:
    """Return whether a result has samples that rtstone has taken one by one."""
    ours = "derived" not in result.flags and result.bench not in _OF_THE_KERNEL
    return result.n > 0 and result.max is not None and ours


def _origin(run: Run, bench: str | None) -> str:
    return f"of {bench}, in run {run.run_id}" if bench else f"in run {run.run_id}"


def _reason(results: Sequence[Result]) -> str:
    """Return why results have no single samples."""
    first = next((r for r in results if r.status != "ok"), None)
    if first is not None:
        return f"{first.bench} is {first.status}: {first.reason or NO_REASON}"
    if any(result.bench in _OF_THE_KERNEL for result in results):
        return "the kernel's own tracer took them, and rtstone only read them"
    if any(result.batch > 1 for result in results):
        return "several calls were timed together (batched)"
    return "there are only figures and derived results"


def _worst(results: Sequence[Result]) -> Choice:
    return Choice(max(results, key=lambda r: r.max or 0.0), len(results))


def _multiple(result: Result) -> tuple[bool, float, float]:
    """Return how many times the median the maximum is; last are benches of the clock itself."""
    of_system, most = family(result.bench) not in INSTRUMENT, result.max or 0.0
    return of_system, most / result.p50 if result.p50 and result.p50 > 0 else 0.0, most


def sample_of(result: Result, text: str, option: str) -> str:
    """Return a sample as documents name it: "worst", "median", "p999", or its number.

    ``option``: named in errors.  Raises UsageError for one that the result does not have.
    """
    if text in {WORST, MEDIAN}:
        return text
    if text.isascii() and text.isdigit():
        if len(text) > 19 or int(text) >= result.n:
            raise UsageError(
                f"no sample {text[:20]} of {result.bench}, in {option}; it has 0 to {result.n - 1}"
            )
        return str(int(text))
    name = _NAMES.get(text, text)
    if name not in PERCENTILES:
        names = [WORST, MEDIAN, *_NAMES]
        raise UsageError(
            f"bad sample '{text}', in {option}; {nearest(text, names)}, or write its number"
        )
    if getattr(result, name) is None:
        raise UsageError(
            f"no {LABELS[name]} of {result.n} samples of {result.bench}, in {option}; "
            f"name a sample by its number, 0 to {result.n - 1}, or write {WORST}"
        )
    return name
