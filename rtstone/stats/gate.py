"""Check a run against the limits of a budget.

A number with an interval passes if the whole interval is within the limit, and fails if it is
beyond; otherwise the check is inconclusive.  Minimum, maximum, numbers of missed activations and
figures are facts.  A limit relative to several runs is a tolerance on their centre.  A number that
was not measured, or not measured properly, never passes, nor does one that nothing could have made
fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.breakdown import breakdown
from rtstone.documents.case_key import ANOTHER_RUN, CaseKey, case_key, may_be
from rtstone.documents.check import Check, Gate, Verdict, overall
from rtstone.documents.imported import bucket_ns, hiding, missed_most
from rtstone.documents.other_names import OTHER_NAMES
from rtstone.documents.plan import wake_ups
from rtstone.documents.run import BREAKDOWN, UNREACHED, Result, Run, Slope
from rtstone.errors import UsageError, unknown
from rtstone.results.estimates import TOO_FEW, Estimate, estimate_whole, worth
from rtstone.results.flags import spoilt, unfit
from rtstone.results.interval import beyond as beyond_histogram
from rtstone.results.interval import lasting
from rtstone.results.omitted import (
    Missed,
    lacking,
    lacking_most,
    least,
    missed,
    most,
    predictable,
    stalls_worth,
    whole,
)
from rtstone.results.pool import percentiles, pooled
from rtstone.stats.budget import Budget, Entry, Limit, fits
from rtstone.stats.cases import Case, Matcher, cases, figure, label
from rtstone.stats.comparison.conditions import SEEDS, circumstances, counted, incompatibility
from rtstone.stats.comparison.judgement import tick
from rtstone.stats.comparison.systems import System
from rtstone.stats.limits import (
    Span,
    activations_missing,
    beyond,
    exactly,
    least_share_beyond,
    rate_shown,
    samples_missing,
    verdict,
)
from rtstone.stats.prediction import WIDEST
from rtstone.stats.tolerance import Number, Tolerance
from rtstone.stats.worstcase.extremes import PER_HOUR, worst_case
from rtstone.summary import ESTIMATED, EXTREME, LABELS, MEDIAN, PERCENTILES, WHOLE, least_n
from rtstone.units import count, quantity, trimmed

# Figures whose true value can be beyond what was tried: the figure with the highest value tried.
CENSORED = {BREAKDOWN: UNREACHED}
_FORESEEN = 3  # times as many samples more: a value is then less than half its interval off
_UNFORESEEN = "how much longer a run has to be cannot be predicted from this one"
_BASELINES = 5  # runs of a baseline, or of a draft, that are advised
_UNLIKELY = 0.025  # that all samples are beyond a percentile, for it to be beyond with them


def check(run: Run, budget: Budget, baselines: Sequence[Run] = ()) -> Gate:
    """Return the verdicts on all limits; several ``baselines`` are runs of one system.

    Raises UsageError if the budget does not fit the run: an entry or a limit that concerns none of
    its results, a limit of the wrong unit, or a relative limit without a baseline.
    """
    baseline = Baseline(run, baselines) if baselines else None
    judge = _Judge(run, baseline)
    judged = [check for entry in budget.entries for check in judge.checks(entry)]
    rule = Tolerance([check.number for check in judged if isinstance(check, _Relative)])
    checks = [
        judge.settled(check, rule) if isinstance(check, _Relative) else check for check in judged
    ]
    remarks = [
        f"run {r.run_id} is incomplete: {r.reason}"
        for r in (run, *baselines)
        if r.status != "complete"
    ]
    if baseline and baseline.unlike:
        remarks.append(baseline.unlike)
    if len(baselines) == 1 and any(check.baseline is not None for check in checks):
        remarks.append(
            "the baseline is a single run, which does not show what changes from one start of a "
            f"system to the next, so that less than {WIDEST:g} times its value does not fail; "
            "name five"
        )
    return Gate(
        run_id=run.run_id,
        target=run.target.name,
        created=run.created,
        budget=str(budget.path or ""),
        title=budget.title,
        baselines=[baseline.run_id for baseline in baselines],
        policy=budget.inconclusive,
        verdict=overall(checks, budget.inconclusive),
        remarks=remarks,
        checks=checks,
        name=run.name,
    )


def check_requirement(run: Run) -> Gate | None:
    """Return whether a run met the latency that was required of it; None if none was.

    A miss counts however it was measured: it happened.  That there was none says nothing of a
    system that was not measured as it should be.
    """
    if run.requirement is None:
        return None
    judge = _Judge(run, None)
    names = {result.bench for result in run.results if result.required}
    names |= wake_ups(run.benches)
    checks = []
    for case in judge.cases:
        if case.bench not in names or all(result.not_begun for result in case.results):
            continue
        accept = frozenset(case.flags) if case.required and case.required.n else frozenset[str]()
        limit = Limit("missed", "0", 0.0, "")
        entry = Entry(case.bench, {}, None, [], [limit], accept, None, "--limit")
        check = judge.judged(entry, limit, case)
        checks.append(check if isinstance(check, Check) else check.check)
    return Gate(
        run_id=run.run_id, target=run.target.name, created=run.created, budget="",
        title=f"no activation later than {trimmed(run.requirement.latency, run.requirement.unit)}",
        policy="inconclusive", name=run.name, checks=checks,
        verdict=overall(checks, "inconclusive") if checks else "not measured",
    )  # fmt: skip


def concerning(budget: Budget, run: Run) -> Budget:
    """Return the part of a budget for many runs that concerns this one: entries with results."""
    matcher = Matcher(run)
    entries = []
    for entry in budget.entries:
        try:
            matching = matcher.matching(entry._replace(loads=[]))
        except UsageError:
            continue
        loads = [pattern for pattern in entry.loads if any(fits(c.load, pattern) for c in matching)]
        if loads or not entry.loads:
            entries.append(entry._replace(loads=loads))
    return budget._replace(entries=entries)


# ---- the baseline -------------------------------------------------------------------------------


class Baseline:
    """The runs that relative limits are relative to.  Raises UsageError for unsuitable ones."""

    def __init__(self, run: Run, baselines: Sequence[Run]) -> None:
        if run.run_id in (names := [baseline.run_id for baseline in baselines]):
            raise UsageError(f"run {run.run_id} is its own baseline; name another one")
        if len(set(names)) < len(names):
            raise UsageError("a baseline is named twice; name runs that differ")
        unlike: dict[str, None] = {}
        for baseline in baselines:
            pair = [System("the run", [run]), System("the baseline", [baseline])]
            if why := incompatibility(pair):
                raise UsageError(why)
            _, differences = circumstances(pair)
            for d in differences:
                if d.grade == "care" and d.aspect != SEEDS:
                    values = ", ".join(f"{value.columns[0]}: {value.value}" for value in d.values)
                    unlike[f"{d.aspect} ({values})"] = None
        self.unlike = (
            f"not measured as the baseline was: {', '.join(unlike)}; measure the baseline again"
            if unlike
            else None
        )
        self.runs = list(baselines)
        self._cases = [cases(baseline) for baseline in baselines]

    def cases(self, wanted: Case) -> list[Case]:
        """Return the same case of each run, except where several could be it."""
        matching: list[Case] = []
        for run in self._cases:
            alike = [case for case in run if _key(case) == _key(wanted)]
            same = [case for case in alike if case.params == wanted.params] or alike
            matching += same if len(same) == 1 else []
        return matching

    def slopes(self, wanted: Slope) -> list[Slope]:
        """Return the slopes of the same case."""
        return [
            slope
            for run in self.runs
            for slope in run.slopes
            if slope.over == wanted.over and _key(slope) == _key(wanted)
        ]


def _key(case: Case | Slope) -> CaseKey:
    """Return the key that identifies a case or slope in all runs of a system."""
    series = case.series if isinstance(case, Case) else ""
    return case_key(case.bench, case.params, series, case.load, ignoring=ANOTHER_RUN)


# ---- verdicts -----------------------------------------------------------------------------------


class _Relative(NamedTuple):
    """A check relative to several runs, before its verdict; ``lacks``: samples to their number."""

    check: Check
    number: Number
    lacks: int | None = None


class _Judge:
    """Judges one run by the limits of entries."""

    def __init__(self, run: Run, baseline: Baseline | None) -> None:
        self._run = run
        self._baseline = baseline
        self._matcher = Matcher(run)

    def checks(self, entry: Entry) -> Iterator[Check | _Relative]:
        """Yield a check for each limit on each case that it concerns."""
        matching = self._matcher.matching(entry)
        for limit in entry.limits:
            if limit.factor is not None and self._baseline is None:
                raise UsageError(
                    f"'{limit.text}' is relative, but there is no baseline, in {entry.where}; "
                    "name a run with --baseline, or in the budget"
                )
            if limit.statistic == "slope" and not limit.figure:
                yield from self._slopes(entry, limit, matching)
                continue
            figures = {limit.statistic, CENSORED.get(limit.statistic)}
            concerned = []
            for case in matching:
                if limit.figure:
                    has = any(name in result.figures for result in case.results for name in figures)
                else:
                    counts = case.missed is not None or case.required is not None
                    has = counts if limit.statistic == "missed" else case.n > 0
                if has or case.status is not None:  # with a valid result it might
                    concerned.append(case)
            if not concerned:
                raise _concerns_none(limit, matching, entry)
            for case in concerned:
                yield self.judged(entry, limit, case)

    def settled(self, relative: _Relative, rule: Tolerance) -> Check:
        """Return a check relative to several runs with its verdict."""
        number, outcome = relative.number, rule.judged(relative.number)
        left = outcome.allowed - number.own.value
        left = -left if number.bound == ">=" else left
        check = structs.replace(
            relative.check,
            verdict=outcome.verdict,
            reason=outcome.reason,
            observed=number.own.value,
            baseline=outcome.centre,
            allowed=outcome.allowed,
            margin=left / abs(outcome.allowed) if outcome.allowed else None,
            detectable=outcome.detectable,
            missing_runs=outcome.missing_runs,
        )
        lacks = relative.lacks if outcome.verdict == "inconclusive" else None
        return self._comparable(_with_missing(check, lacks))

    @property
    def cases(self) -> list[Case]:
        """The cases of the run."""
        return self._matcher.cases

    def judged(self, entry: Entry, limit: Limit, case: Case) -> Check | _Relative:
        """Return the check of a limit on a case; relative to several runs, before its verdict."""
        check = self._blank(entry, limit, case)
        if why := _invalid(case, entry):
            return structs.replace(check, verdict="not measured", reason=why)
        if limit.figure:
            return self._figure(check, limit, case)
        if limit.statistic == "missed":
            return _missed(check, limit, case, entry)
        if limit.factor is None and limit.unit != case.unit:
            raise _wrong_unit(limit, f"the samples are {case.unit}, in {entry.where}")
        if limit.statistic == "bound":
            return _bound(check, limit, case, entry)
        judge = self._estimated if limit.statistic in ESTIMATED else self._extreme
        judged = judge(check, limit, case, entry)
        if not isinstance(judged, Check):
            return judged
        if limit.statistic in ESTIMATED and judged.verdict == "passed":
            judged = self._with_hidden(judged, check, limit, case, entry)
        width = bucket_ns(case.results)
        if not width:
            return judged
        if limit.value is None or judged.observed is None:
            return judged
        # Undecided is a limit within the bucket of another tool's value.  One that is the value
        # itself, as the tool prints it, holds; zero is the value of no sample.
        low = judged.ci95[1] if judged.ci95 else judged.observed
        if not (low < limit.value < low + width or low == limit.value == 0):
            return judged
        bucket = f"{trimmed(low, case.unit)} to {trimmed(low + width, case.unit)}"
        undecided = _undecided(judged, f"the tool's value is anything from {bucket}")
        return structs.replace(undecided, margin=None)

    def _with_hidden(
        self, passed: Check, blank: Check, limit: Limit, case: Case, entry: Entry
    ) -> Check:
        """Return a check of another tool's samples that passed, with what they may have hidden.

        Activations that were hidden were less late than the largest sample.  Were all of them as
        late, as many as there can be, it has to pass still.  Where their number is unknown, any
        percentile can be as late.
        """
        lacking_ = hiding(case.results)
        largest = pooled(case.results).max
        within = largest is not None and limit.value is not None and largest <= limit.value
        if not lacking_ or within:
            return passed
        mosts = [most for result in lacking_ if (most := missed_most(result)) is not None]
        if limit.value is None:
            why = "without the activations that late ones hid, which the tool does not count"
            return structs.replace(passed, reason=why)
        if len(mosts) < len(lacking_):
            top = "" if largest is None else f"; none was later than {quantity(largest, case.unit)}"
            why = (
                "the tool does not count the activations that late wake-ups hid, and how many that "
                "can be follows only from its period (`rtstone import --period`) and a histogram "
                f"up to its maximum{top}"
            )
            return _undecided(passed, why)
        results = [_worst(result) if result in lacking_ else result for result in case.results]
        worst = self._estimated(blank, limit, case._replace(results=results), entry)
        if isinstance(worst, Check) and worst.verdict == "passed":
            return passed
        why = (
            f"late wake-ups may have hidden up to {count(sum(mosts))} activations, which the tool "
            "does not count; take a histogram that includes its maximum"
        )
        return _undecided(passed, why)

    def _blank(self, entry: Entry, limit: Limit, case: Case) -> Check:
        table = self._matcher.tables.get(case.bench)
        return Check(
            bench=case.bench,
            params=dict(case.params),
            label=label(case, table, self._matcher.cases),
            called=entry.bench if entry.bench in OTHER_NAMES else "",
            series=case.series,
            load=case.load,
            what=limit.statistic,
            limit=limit.words,
            verdict="not measured",
            unit="activations" if limit.statistic == "missed" else case.unit,
            n=case.n or None,
            section_s=case.section_s,
            flags=case.flags,
        )

    # ---- numbers with an interval

    def _estimated(self, check: Check, limit: Limit, case: Case, entry: Entry) -> Check | _Relative:
        """Judge a mean or a percentile.

        A limit that was predicted allows for the scatter of runs, so that the value decides; its
        interval would count part of that scatter again.

        The scatter of several baseline runs includes the uncertainty of each, and of one more run
        that is not shorter, even if that has no interval.  A single baseline, or a shorter run,
        must have an interval.
        """
        name = limit.statistic
        corrected = any(result.corrected and result.missed for result in case.results)
        check = structs.replace(check, corrected=corrected)
        estimate = estimate_whole(case.results, name)
        if estimate is not None:
            check = structs.replace(
                check,
                observed=estimate.value,
                ci95=(estimate.low, estimate.high),
                n=estimate.n,
                independent=estimate.independent,
            )
        value = point(case, name)
        if limit.factor is None:
            if least := entry.predicted_for_n:
                if value is not None and case.n >= least:
                    return _fact(check, limit, value)
                reason = f"the limit was predicted for at least {least} samples"
                check = structs.replace(
                    check, verdict="inconclusive", observed=value, reason=reason
                )
                return _with_missing(check, least - case.n if case.n < least else None)
            if estimate is None:
                return _too_few(check, limit, case.results)
            return _compared(check, limit, span(estimate), exactly(limit.value or 0.0))
        base, why = self._base(case)
        if why:
            return structs.replace(check, verdict="not measured", reason=why)
        points = [point(other, name) for other in base]
        before = [exactly(other) for other in points if other is not None]
        if 1 < len(before) == len(base) and value is not None:
            longest = min(other.n for other in base)
            if case.n >= longest:
                return self._relative(check, limit, exactly(value), before)
            if estimate is not None:
                judged = self._relative(check, limit, span(estimate), before)
                lacks = longest - case.n
                return judged._replace(lacks=lacks) if isinstance(judged, _Relative) else judged
        if estimate is None:
            return _too_few(check, limit, case.results)
        estimates = [estimate_whole(other.results, name) for other in base]
        before = [span(other) for other in estimates if other is not None]
        if len(before) < len(base) or len(base) > 1:
            why = f"the baseline has too few independent samples for {name}"
            return structs.replace(check, verdict="inconclusive", reason=why)
        independent = check.independent or any(other.independent for other in estimates if other)
        check = structs.replace(check, independent=independent)
        return self._relative(check, limit, span(estimate), before)

    def _relative(
        self, check: Check, limit: Limit, observed: Span, before: Sequence[Span]
    ) -> Check | _Relative:
        """Compare a number with what the runs of the baseline showed.

        The scatter of a single run is known if it is counted.  Any other may be up to WIDEST times
        as large the next time, so that less does not fail.
        """
        factor = limit.factor if limit.factor is not None else 1.0
        if len(before) > 1:
            step = tick(self._run) if check.unit == "ns" else 0.0
            values = [span.value for span in before]
            kind = f"{limit.statistic} in {check.unit}"
            return _Relative(check, Number(kind, observed, values, factor, limit.bound, step))
        (single,) = before
        allowed = single.times(factor)
        check = structs.replace(check, observed=observed.value, baseline=single.value)
        check = _compared(check, limit, observed, allowed)
        fails = beyond(observed, allowed, limit.bound)
        least = limit.bound == ">="
        if not counted(self._run):
            far = single.value * (1 / WIDEST if least else WIDEST)
            fails = min(fails, far) if least else max(fails, far)
        check = structs.replace(check, detectable=_worsening(fails, single.value, limit.bound))
        better = observed.value >= fails if least else observed.value <= fails
        if check.verdict == "failed" and better:
            check = structs.replace(
                check, verdict="inconclusive", missing=None, missing_s=None,
                reason="a single run does not show how runs of the baseline differ",
                missing_runs=_BASELINES - 1,
            )  # fmt: skip
        return self._comparable(check)

    def _base(self, case: Case) -> tuple[list[Case], str | None]:
        """Return the case in each run of the baseline, and why they are unusable or None."""
        runs = self._baseline.runs if self._baseline else []
        base = self._baseline.cases(case) if self._baseline else []
        if len(base) < len(runs) or not base:
            return base, "the baseline has no such case"
        for other in base:
            flag = spoilt(other.flags, accepted=case.flags)
            if other.status or flag:
                return base, f"the baseline's result is {other.status or (flag and flag.name)}"
        return base, None

    def _comparable(self, check: Check) -> Check:
        """Make a verdict inconclusive if the baseline differs in more than the system."""
        if self._baseline is None or self._baseline.unlike is None:
            return check
        return _undecided(check, "not measured as the baseline was, see above")

    # ---- facts

    def _extreme(self, check: Check, limit: Limit, case: Case, entry: Entry) -> Check | _Relative:
        """Judge the smallest or the largest sample."""
        name = limit.statistic
        value = _extreme(case.results, name)
        if value is None:
            lack = f"no {name}, as samples are means of several operations"
            return structs.replace(check, reason=lack if case.n else "it has no samples")
        if limit.factor is None:
            return _fact(check, limit, value)
        if name in {"max", "jitter"} and case.unit == "ns":
            raise UsageError(
                f"{name} = '{limit.text}' is relative, in {entry.where}; the largest samples of "
                f"two runs differ by chance: limit p999 in this way, or {name} by a time"
            )
        base, why = self._base(case)
        values = [_extreme(other.results, name) for other in base]
        before = [exactly(v) for v in values if v is not None]
        if why or len(before) < len(base):
            return structs.replace(check, reason=why or f"the baseline has no {name}")
        return self._relative(check, limit, exactly(value), before)

    def _figure(self, check: Check, limit: Limit, case: Case) -> Check | _Relative:
        """Judge a figure, or that it was not reached: it is then above what was tried.

        Of a breakdown beyond its limit, tests above the first miss may have held again.
        """
        name = limit.statistic
        value_and_unit = figure(case, name)
        if value_and_unit is None:
            tried_and_unit = figure(case, CENSORED.get(name, ""))
            if tried_and_unit is None:
                return structs.replace(check, reason=f"it has no figure '{name}'")
            tried, unit = tried_and_unit
            decision: Verdict = "inconclusive"
            reason = f"none up to {tried:g}"
            if limit.factor is None and tried >= (limit.value or 0.0):
                decision = "passed" if limit.bound == ">=" else "failed"
            elif limit.factor is None:
                reason += ", which does not reach the limit"
            allowed = (limit.value or 0.0) if limit.factor is None else check.allowed
            return structs.replace(
                check, unit=unit, verdict=decision, reason=reason, allowed=allowed
            )
        value, unit = value_and_unit
        check = structs.replace(check, unit=unit)
        if limit.factor is None:
            if limit.unit not in {unit, ""}:
                raise _wrong_unit(limit, f"{name} of {case.bench} is in {unit or 'no unit'}")
            check = _fact(check, limit, value)
            reached = [progress for result in case.results if (progress := breakdown(result))]
            if name == BREAKDOWN and check.verdict != "passed" and reached:
                lowest = min(reached)
                if lowest.again is not None:
                    both = f"missed at {lowest.missed:g}%, but held again at {lowest.again:g}%"
                    return structs.replace(check, reason=f"{both} (not_monotone)")
            return check
        base, why = self._base(case)
        before = [pair[0] for other in base if (pair := figure(other, name))]
        if why or len(before) < len(base):
            return structs.replace(check, reason=why or f"the baseline has no figure '{name}'")
        return self._relative(check, limit, exactly(value), [exactly(value) for value in before])

    # ---- slopes

    def _slopes(
        self, entry: Entry, limit: Limit, matching: list[Case]
    ) -> Iterator[Check | _Relative]:
        """Judge the slopes of the benches and loads that an entry names."""
        slopes = [slope for slope in self._run.slopes if any(along(slope, c) for c in matching)]
        if not slopes:
            bad = next((case for case in matching if case.status), None)
            if bad is None:
                raise _concerns_none(limit, matching, entry)
            yield structs.replace(self._blank(entry, limit, bad), reason=bad.status)
        for slope in slopes:
            points = [case for case in matching if along(slope, case)]
            unit, _, per = slope.unit.partition(" per ")
            if limit.factor is None and limit.unit != unit:
                raise _wrong_unit(limit, f"the slope is in {slope.unit}, in {entry.where}")
            in_kib = limit.per == "KiB" and per == "B"
            if not in_kib and limit.per not in {None, per}:
                raise UsageError(f"limit '{limit.text}' is not per {per}, in {entry.where}")
            times = 1024.0 if in_kib else 1.0
            observed = Span(slope.slope, *slope.ci95).times(times)
            check = structs.replace(
                self._blank(entry, limit, points[0]),
                params=slope.params,
                label="",
                what=f"slope over {slope.over}",
                unit=f"{unit} per KiB" if in_kib else slope.unit,
                n=sum(case.n for case in points),
                observed=observed.value,
                ci95=(observed.low, observed.high),
                flags=list(dict.fromkeys(flag for case in points for flag in case.flags)),
            )
            base = self._baseline.slopes(slope) if self._baseline else []
            if invalid := [why for case in points if (why := _invalid(case, entry))]:
                yield structs.replace(check, reason=invalid[0])
            elif self._baseline is None or limit.factor is None:
                yield _compared(check, limit, observed, exactly(limit.value or 0.0))
            elif not base or len(base) < len(self._baseline.runs):
                yield structs.replace(check, reason="the baseline has no such slope")
            else:
                before = [Span(other.slope, *other.ci95).times(times) for other in base]
                yield self._relative(check, limit, observed, before)


def _worst(result: Result) -> Result:
    """Return another tool's result with all it may have hidden, each as late as its largest."""
    hid, largest = missed_most(result) or 0, result.max
    n, mean = result.n + hid, None
    if result.mean is not None and largest is not None:
        mean = (result.mean * result.n + largest * hid) / n
    histogram = list(result.histogram)
    if largest is not None:
        histogram.append((largest, hid))
    values = percentiles(histogram, n, result.overflow, beyond_histogram(result))
    return structs.replace(result, n=n, histogram=histogram, mean=mean, sd=None, **values)


def _compared(check: Check, limit: Limit, observed: Span, allowed: Span) -> Check:
    """Return the check with verdict and margin, or if inconclusive with what would settle it."""
    decision = verdict(observed, allowed, limit.bound)
    left = allowed.value - observed.value
    left = -left if limit.bound == ">=" else left
    worse = _worsening(beyond(observed, allowed, limit.bound), observed.value, limit.bound)
    check = structs.replace(
        check, verdict=decision, reason=None, observed=observed.value, allowed=allowed.value,
        margin=left / abs(allowed.value) if allowed.value else None,
        detectable=None if worse is None else max(worse, 0.0),  # 0: it is beyond the limit already
    )  # fmt: skip
    if decision != "inconclusive":
        return check
    missing = samples_missing(observed, allowed, check.n) if check.n else None
    unforeseen = missing is not None and check.n and missing > _FORESEEN * check.n
    if observed.low == observed.high:
        why = "no more than runs of the baseline may differ by"
    elif missing is not None or not check.n:
        why = "its interval holds the limit"
        if unforeseen:
            missing, why = None, f"{why}, near its middle; {_UNFORESEEN}"
    elif observed.value == allowed.value:
        why = "it equals the limit: more samples do not settle that, another limit does"
    else:
        why = "the baseline's interval holds it; a longer run of the baseline may settle it"
    return _with_missing(structs.replace(check, reason=why), missing)


def _worsening(fails: float, value: float, bound: str) -> float | None:
    """Return the share by which a value would have to be worse to be one that fails."""
    distance = value - fails if bound == ">=" else fails - value
    return distance / abs(value) if value else None


def _undecided(check: Check, why: str) -> Check:
    """Make a verdict inconclusive that no more samples or runs would settle."""
    return structs.replace(
        check, verdict="inconclusive", reason=why, missing=None, missing_s=None,
        missing_runs=None, detectable=None,
    )  # fmt: skip


def _with_missing(check: Check, missing: int | None) -> Check:
    length = None
    if missing is not None and check.section_s and check.n:
        length = check.section_s * missing / check.n
    return structs.replace(check, missing=missing, missing_s=length)


def _fact(check: Check, limit: Limit, value: float) -> Check:
    return _compared(check, limit, exactly(value), exactly(limit.value or 0.0))


def _extreme(results: Sequence[Result], name: str) -> float | None:
    """Return the smallest or largest sample, or their distance: the jitter."""
    whole_ = pooled(results)
    if name != "jitter":
        value: float | None = getattr(whole_, name)
        return value
    return None if whole_.max is None or whole_.min is None else whole_.max - whole_.min


def _misses(case: Case) -> Missed | None:
    """Return the misses of a case: what was later than a limit, too, if the run has one."""
    misses = case.required
    if misses is None:
        return missed(case.results)
    singly = [r if r.batch == 1 else r.single for r in case.results]
    due = sum(r.n + (r.missed or 0) for r in singly if r is not None)
    stalls = misses.n**2 / misses.squares if misses.n else 0.0
    return Missed(misses.n, due, stalls) if due else None


def _missed(check: Check, limit: Limit, case: Case, entry: Entry) -> Check:
    """Judge missed activations.  A count is a fact, as is how close they lie.

    In a run with a limit those that were later are missed, too.

    A share passes if the interval of its number of stalls is within the limit, and fails if that is
    beyond it.  A share that was predicted passes if it was kept.
    """
    losses = _misses(case)
    if losses is None:
        why = "no activations were due" if case.missed == 0 else "they were not counted"
        return structs.replace(check, verdict="inconclusive", reason=why)
    if limit.within is not None:
        return _together(check, limit, case)
    if limit.unit != "%" or not limit.value:
        check = _fact(check, limit, float(losses.omitted))
        detectable = rate_shown(losses, limit.value or 0.0)
        return structs.replace(check, detectable=detectable, reason=_later(case))
    value, low, high = (100 * share for share in (losses.rate, *losses.interval))
    check = structs.replace(check, unit="%")
    least = entry.predicted_for_n
    if least is not None and losses.due < least:
        why = f"the limit was predicted for at least {least} activations"
        check = structs.replace(
            check, verdict="inconclusive", reason=why, observed=value, ci95=(low, high)
        )
        return _with_missing(check, least - losses.due)
    observed = Span(value, low, high if least is None else value)
    check = _compared(check, limit, observed, exactly(limit.value))
    detectable = least_share_beyond(losses, limit.value)
    check = structs.replace(check, ci95=(low, high), detectable=detectable)
    if check.verdict != "inconclusive" or value > limit.value:
        return check
    why = f"{losses.due} activations do not exclude {high:.2g}%"
    missing = activations_missing(losses, limit.value)
    return _with_missing(structs.replace(check, reason=why), missing)


def _later(case: Case) -> str | None:
    """Return what counts as missed besides activations that never happened, None if nothing."""
    misses = case.required
    if misses is None or misses.limit is None:
        return None
    latency = trimmed(misses.limit, case.results[0].unit)
    return f"{count(misses.late)} later than {latency}, {count(misses.n - misses.late)} never"


def _together(check: Check, limit: Limit, case: Case) -> Check:
    """Judge how many of any successive activations were missed: a fact.

    Those of several results do not succeed each other.
    """
    most, length = round(limit.value or 0.0), limit.within or 0
    each = [(r.required or r.misses, r.n + (r.missed or 0)) for r in case.results]
    check = structs.replace(check, unit=f"in {length} activations")
    misses = [part for part, _ in each if part is not None]
    if len(misses) < len(each):
        why = "unsupported: the agent has no room for how close misses lie"
        return structs.replace(check, reason=why)
    holds = [part.holds(most, length) for part in misses]
    worst = float(max(part.most_in(length) for part in misses))
    if None in holds and False not in holds:
        room = min(part.room for part in misses)
        why = f"unsupported: the agent knows the windows of {room} misses at most, not {most + 1}"
        return structs.replace(check, reason=why)
    check = structs.replace(_fact(check, limit, worst), reason=_later(case))
    if check.verdict == "passed" and (due := max(due for _, due in each)) < length:
        why = f"only {count(due)} activations were due"
        return _with_missing(_undecided(check, why), length - due)
    return check


def _bound(check: Check, limit: Limit, case: Case, entry: Entry) -> Check:
    """Judge the worst case: a sample above the limit fails, otherwise the bound decides."""
    exceedance = entry.exceedance_per_hour or PER_HOUR
    results = [
        structs.replace(result, flags=[name for name in result.flags if name not in entry.accept])
        for result in case.results
    ]
    worst = worst_case(results, exceedance)
    title = f"bound at {exceedance:g} an hour, {worst.confidence:.0%} sure"
    check = structs.replace(check, what=title, allowed=limit.value)
    if worst.observed_max is not None and worst.observed_max > (limit.value or 0.0):
        over = _fact(check, limit, worst.observed_max)
        return structs.replace(over, what="max", reason="so the bound is beyond the limit too")
    if worst.bound is not None:
        return _fact(check, limit, worst.bound)
    why = f"there is none: {worst.reason}"
    return structs.replace(check, verdict="inconclusive", reason=why, missing_s=worst.more_s)


def _too_few(check: Check, limit: Limit, results: Sequence[Result]) -> Check:
    """Judge a mean or a percentile that has no interval.

    It fails if every sample is beyond the limit, or if it is whatever the omitted activations were;
    it passes if it is within the limit whatever they were.  That of the run is within a limit above
    its largest sample, as its maximum is: a fact of the run, if n is enough for the percentile.
    """
    name = limit.statistic
    together = pooled([whole(result) for result in results])
    check = structs.replace(check, observed=getattr(together, name))
    whatever = ", whatever was omitted" if check.corrected else ""
    enough = None  # samples more for a limit above them all to pass
    if limit.value is not None:
        low, n = together.min, sum(result.n for result in results)
        share = PERCENTILES.get(name, PERCENTILES[MEDIAN]) / WHOLE  # a mean: as a median
        if low is not None and low > limit.value and (1 - share) ** n <= _UNLIKELY:
            above = _just_above(low, limit.value, check.unit)
            why = f"every sample is beyond it, the least is {quantity(low, check.unit)}{above}"
            return _settled(check, limit, "failed", why)
        low = least(name, results)
        if low is not None and low > limit.value:
            above = _just_above(low, limit.value, check.unit)
            why = f"it is {quantity(low, check.unit)} at least{above}{whatever} (97.5% sure)"
            return _settled(check, limit, "failed", why)
        tops = [result.max for result in results if result.max is not None]
        if tops and max(tops) + bucket_ns(results) <= limit.value:
            high = most(name, results)
            if high is not None:
                why = f"it is {quantity(high, check.unit)} at most{whatever} (97.5% sure)"
                return _settled(check, limit, "passed", why)
            complete = len(tops) == sum(result.n > 0 for result in results)
            if name in PERCENTILES and complete and n >= least_n(name):
                each = "activation" if check.corrected else "sample"
                top = quantity(max(tops), check.unit)
                why = f"no {each} was above {top}: as of max, a fact of this run"
                return _settled(check, limit, "passed", why)
            enough = lacking_most(name, results)
    check = structs.replace(check, verdict="inconclusive")
    if endless := _endless(check, name, results):
        return _with_missing(structs.replace(check, reason=endless), enough)
    shortage = lacking(name, results)
    missing = least_n(name) - (check.n or 0)
    if missing > 0:
        why = f"n is too small for {LABELS.get(name, name)}"
        shortage = max(missing, shortage or 0)
    else:
        why = f"too few independent stalls for an interval{stalls_worth(results)}"
        if not check.corrected:
            why = f"{TOO_FEW}{worth(results, name)}"
        if shortage is None and check.corrected:
            why = (
                "what was omitted does not follow from the samples, so that no number of them "
                "gives an interval; limit missed, or lower the load until nothing is omitted"
            )
    numbers = [number for number in (shortage, enough) if number is not None]
    foreseen = predictable(results) if check.corrected else not lasting(name, results)
    if numbers and not foreseen:
        numbers, why = [], f"{why}; {_UNFORESEEN}"
    return _with_missing(structs.replace(check, reason=why), min(numbers, default=None))


def _just_above(value: float, limit: float, unit: str) -> str:
    """Return that a value is just above the limit where both read alike, else nothing."""
    alike = quantity(value, unit) == quantity(limit, unit)
    return ", just above the limit" if alike else ""


def _endless(check: Check, name: str, results: Sequence[Result]) -> str | None:
    """Return why no number of such samples shows a percentile, None if one does."""
    if name not in PERCENTILES:
        return None
    label = LABELS[name]
    if name in EXTREME and any(result.batch > 1 for result in results):
        return f"samples are means of several operations, which have no {label} of single ones"
    if check.observed is not None:
        return None
    if any("statistics_only" in result.flags for result in results):
        return f"the tool kept no histogram, without which there is no {label}; have it write one"
    n, over = (sum(getattr(result, each) for result in results) for each in ("n", "overflow"))
    # The largest sample is no percentile, though it is that of those beyond the histogram.
    if over and (n >= least_n(name) or over > n - ceil(n * PERCENTILES[name] / WHOLE)):
        return (
            f"{label} is among the {count(over)} samples beyond the histogram, of which only the "
            "largest is known; measure with a histogram that includes the maximum"
        )
    return None


def _settled(check: Check, limit: Limit, verdict: Verdict, why: str) -> Check:
    """Return the check of a number that is decided, though it has no interval."""
    allowed = limit.value
    margin = None
    if check.observed is not None and allowed:
        margin = (allowed - check.observed) / abs(allowed)
    return structs.replace(check, verdict=verdict, allowed=allowed, margin=margin, reason=why)


# ---- what a limit concerns ----------------------------------------------------------------------


def _concerns_none(limit: Limit, matching: Sequence[Case], entry: Entry) -> UsageError:
    names = {name for case in matching for result in case.results for name in result.figures}
    if limit.figure:
        return unknown("figure", limit.statistic, names, f"of {entry.where}")
    lack = {
        "missed": "count of missed activations",
        "slope": "slope, for which a run needs three values of the bench's parameter",
    }.get(limit.statistic, "samples")
    figures = f"; it has the figures {', '.join(sorted(names))}" if names else ""
    return UsageError(f"no {lack} to limit, in {entry.where}{figures if lack == 'samples' else ''}")


def _invalid(case: Case, entry: Entry) -> str | None:
    """Return why a case cannot be judged, None if it can."""
    if case.status:
        return case.status
    flag = spoilt(case.flags, entry.accept)
    if flag is None:
        return None
    proof = unfit(case.flags, case.n, case.missed)
    as_run = f"; as it was run, {proof}" if proof else ""
    accepted = f'an entry of a budget with accept = ["{flag.name}"] judges it nevertheless'
    return f"{flag.name}: {flag.cause}; {flag.advice}{as_run}; {accepted}"


def _wrong_unit(limit: Limit, which: str) -> UsageError:
    samples = '"50us" is a time, "5k instr" a number of instructions, "60%" a share'
    return UsageError(
        f"limit '{limit.text}' of {limit.statistic} has another unit: {which}; {samples}"
    )


def along(slope: Slope, case: Case) -> bool:
    """Return whether a case is a point of a slope."""
    same = (slope.bench, slope.load) == (case.bench, case.load)
    return same and may_be(case.params, slope.params)


def point(case: Case, name: str) -> float | None:
    """Return the value of a statistic of a case, None if n does not allow it."""
    value: float | None = getattr(pooled([whole(result) for result in case.results]), name)
    return value


def span(estimate: Estimate) -> Span:
    """Return an estimate as a span; its ends, from a histogram, are made to include the value."""
    low, high = min(estimate.low, estimate.value), max(estimate.high, estimate.value)
    return Span(estimate.value, low, high)
