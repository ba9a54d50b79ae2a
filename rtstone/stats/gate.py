"""Check a run against the limits of a budget.

A number with an interval passes if the whole interval is within the limit, and fails if it is
beyond; otherwise the check is inconclusive.  Minimum, maximum, numbers of missed activations and
figures are facts.  A limit relative to several runs is a tolerance on their centre.  A number that
was not measured, or not measured properly, never passes, nor does one that nothing could have made
fail.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import expm1, floor, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.breakdown import breakdown
from rtstone.documents.case_key import ANOTHER_RUN, CaseKey, case_key, may_be
from rtstone.documents.check import Check, Gate, Verdict, overall
from rtstone.documents.imported import bucket_ns
from rtstone.documents.run import BREAKDOWN, UNREACHED, Result, Run, Slope
from rtstone.errors import UsageError, unknown
from rtstone.results.estimates import Estimate, estimate_whole
from rtstone.results.flags import spoilt, unfit
from rtstone.results.omitted import Missed, missed, whole
from rtstone.results.pool import pooled
from rtstone.stats.budget import Budget, Entry, Limit, fits
from rtstone.stats.cases import Case, Matcher, cases, figure, label
from rtstone.stats.comparison.conditions import circumstances, counted, incompatibility
from rtstone.stats.comparison.judgement import tick
from rtstone.stats.comparison.systems import System
from rtstone.stats.limits import Span, beyond, exactly, samples_missing, verdict
from rtstone.stats.prediction import WIDEST
from rtstone.stats.tolerance import Number, Tolerance
from rtstone.stats.worstcase.extremes import PER_HOUR, worst_case
from rtstone.summary import ESTIMATED, PERCENTILES, least_n
from rtstone.units import trimmed

# Figures whose true value can be beyond what was tried: the figure with the highest value tried.
CENSORED = {BREAKDOWN: UNREACHED}
SHOWN = 0.95  # of the runs in which a rate of losses shows, if it could have been found
_ENDLESS = 10**12  # activations that nobody measures
_BASELINES = 5  # runs of a baseline, or of a draft, that are advised
_SEEDS = "seeds"  # a different seed is just another sample of the same system


def check(run: Run, budget: Budget, baselines: Sequence[Run] = ()) -> Gate:
    """Return the verdicts on all limits; several ``baselines`` are runs of one system.

    Raises UsageError if the budget does not fit the run: an entry or a limit that concerns none of
    its results, a limit of the wrong unit, or a relative limit without a baseline.
    """
    against = Baseline(run, baselines) if baselines else None
    judge = _Judge(run, against)
    found = [check for entry in budget.entries for check in judge.checks(entry)]
    rule = Tolerance([one.number for one in found if isinstance(one, _Relative)])
    checks = [judge.settled(one, rule) if isinstance(one, _Relative) else one for one in found]
    return Gate(
        run_id=run.run_id,
        target=run.target.name,
        created=run.created,
        budget=str(budget.path),
        title=budget.title,
        baselines=[baseline.run_id for baseline in baselines],
        policy=budget.inconclusive,
        verdict=overall(checks, budget.inconclusive),
        remarks=_remarks([run, *baselines], against, checks),
        checks=checks,
        name=run.name,
    )


def concerning(budget: Budget, run: Run) -> Budget:
    """Return the part of a budget for many runs that concerns this one: entries with results."""
    matcher = Matcher(run)

    def concerns(entry: Entry) -> bool:
        try:
            return bool(matcher.matching(entry._replace(loads=[])))
        except UsageError:
            return False

    def narrowed(entry: Entry) -> Entry:
        loads = {case.load for case in matcher.matching(entry._replace(loads=[]))}
        return entry._replace(
            loads=[pattern for pattern in entry.loads if any(fits(load, pattern) for load in loads)]
        )

    found = [(entry, narrowed(entry)) for entry in budget.entries if concerns(entry)]
    return budget._replace(entries=[own for entry, own in found if own.loads or not entry.loads])


def _remarks(runs: Sequence[Run], against: Baseline | None, checks: Sequence[Check]) -> list[str]:
    remarks = [f"run {r.run_id} is incomplete: {r.reason}" for r in runs if r.status != "complete"]
    if against and against.unlike:
        remarks.append(against.unlike)
    if len(runs) == 2 and any(check.baseline is not None for check in checks):
        remarks.append(
            "the baseline is a single run, which does not show what changes from one start of a "
            f"system to the next, so that less than {WIDEST:g} times its value does not fail; "
            "name five"
        )
    return remarks


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
                if d.grade == "care" and d.aspect != _SEEDS:
                    held = ", ".join(f"{held.columns[0]}: {held.value}" for held in d.values)
                    unlike[f"{d.aspect} ({held})"] = None
        self.unlike = (
            f"not measured as the baseline was: {', '.join(unlike)}; measure the baseline again"
            if unlike
            else None
        )
        self.runs = list(baselines)
        self._cases = [cases(baseline) for baseline in baselines]

    def cases(self, of: Case) -> list[Case]:
        """Return the same case of each run, except where several could be it."""
        found = []
        for there in self._cases:
            alike = [case for case in there if _key(case) == _key(of)]
            same = [case for case in alike if case.params == of.params] or alike
            found += same if len(same) == 1 else []
        return found

    def slopes(self, of: Slope) -> list[Slope]:
        """Return the slopes of the same case."""
        return [
            slope
            for run in self.runs
            for slope in run.slopes
            if slope.over == of.over and _key(slope) == _key(of)
        ]


def _key(of: Case | Slope) -> CaseKey:
    """Return the key that identifies a case or slope in all runs of a system."""
    series = of.series if isinstance(of, Case) else ""
    return case_key(of.bench, of.params, series, of.load, ignoring=ANOTHER_RUN)


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
            concerned = [case for case in matching if _concerns(limit, case)]
            if not concerned:
                raise _concerns_none(limit, matching, entry)
            for case in concerned:
                yield self._judged(entry, limit, case)

    def settled(self, one: _Relative, rule: Tolerance) -> Check:
        """Return a check relative to several runs with its verdict."""
        found = rule.judged(one.number)
        left = found.allowed - one.number.own.value
        left = -left if one.number.bound == ">=" else left
        check = structs.replace(
            one.check,
            verdict=found.verdict,
            reason=found.reason,
            observed=one.number.own.value,
            baseline=found.centre,
            allowed=found.allowed,
            margin=left / abs(found.allowed) if found.allowed else None,
            detectable=found.detectable,
            missing_runs=found.missing_runs,
        )
        lacks = one.lacks if found.verdict == "inconclusive" else None
        return self._comparable(_with_missing(check, lacks))

    def _judged(self, entry: Entry, limit: Limit, case: Case) -> Check | _Relative:
        check = self._blank(limit, case)
        if why := _invalid(case, entry):
            return structs.replace(check, verdict="not measured", reason=why)
        if limit.figure:
            return self._figure(check, limit, case)
        if limit.statistic == "missed":
            return _missed(check, limit, case, entry)
        _check_unit(limit, case.unit, entry)
        if limit.statistic == "bound":
            return _bound(check, limit, case, entry)
        judge = self._estimated if limit.statistic in ESTIMATED else self._extreme
        judged = judge(check, limit, case, entry)
        return _resolved(judged, limit, case) if isinstance(judged, Check) else judged

    def _blank(self, limit: Limit, case: Case) -> Check:
        table = self._matcher.tables.get(case.bench)
        return Check(
            bench=case.bench,
            params=dict(case.params),
            label=label(case, table, self._matcher.cases),
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
        name = limit.statistic
        corrected = any(result.corrected and result.missed for result in case.results)
        check = structs.replace(check, corrected=corrected)
        found = estimate_whole(case.results, name)
        if found is not None:
            check = structs.replace(
                check,
                observed=found.value,
                ci95=(found.low, found.high),
                n=found.n,
                independent=found.independent,
            )
        if limit.factor is not None:
            return self._against(check, limit, case, found)
        if entry.predicted_for_n:
            return _foreseen(check, limit, case, entry.predicted_for_n)
        if found is None:
            return _too_few(check, limit, case.results)
        return _compared(check, limit, span(found), exactly(limit.value or 0.0))

    def _against(
        self, check: Check, limit: Limit, case: Case, found: Estimate | None
    ) -> Check | _Relative:
        """Judge a number relative to the baseline.

        The scatter of several baseline runs includes the uncertainty of each, and of one more run
        that is not shorter, even if that has no interval.  A single baseline, or a shorter run,
        must have an interval.
        """
        name = limit.statistic
        base, why = self._base(case)
        if why:
            return structs.replace(check, verdict="not measured", reason=why)
        values = [point(one, name) for one in base]
        before, value = [exactly(v) for v in values if v is not None], point(case, name)
        if 1 < len(before) == len(base) and value is not None:
            least = min(one.n for one in base)
            if case.n >= least:
                return self._relative(check, limit, exactly(value), before)
            if found is not None:
                told = self._relative(check, limit, span(found), before)
                return told._replace(lacks=least - case.n) if isinstance(told, _Relative) else told
        if found is None:
            return _too_few(check, limit, case.results)
        known = [estimate_whole(one.results, name) for one in base]
        before = [span(one) for one in known if one is not None]
        if len(before) < len(base) or len(base) > 1:
            why = f"the baseline has too few independent samples for {name}"
            return structs.replace(check, verdict="inconclusive", reason=why)
        assumed = check.independent or any(one.independent for one in known if one)
        check = structs.replace(check, independent=assumed)
        return self._relative(check, limit, span(found), before)

    def _relative(
        self, check: Check, limit: Limit, found: Span, before: Sequence[Span]
    ) -> Check | _Relative:
        """Compare a number with what the runs of the baseline showed."""
        factor = limit.factor if limit.factor is not None else 1.0
        if len(before) > 1:
            step = tick(self._run) if check.unit == "ns" else 0.0
            values = [one.value for one in before]
            kind = f"{limit.statistic} in {check.unit}"
            return _Relative(check, Number(kind, found, values, factor, limit.bound, step))
        (one,) = before
        check = structs.replace(check, observed=found.value, baseline=one.value)
        return self._comparable(self._once(check, limit, found, one))

    def _once(self, check: Check, limit: Limit, found: Span, before: Span) -> Check:
        """Compare a number with that of a single run, whose scatter is known if it is counted.

        Any other may be up to WIDEST times as large the next time, so that less does not fail.
        """
        allowed = before.times(limit.factor if limit.factor is not None else 1.0)
        check = _compared(check, limit, found, allowed)
        fails = beyond(found, allowed, limit.bound)
        if not counted(self._run):
            far = before.value * (1 / WIDEST if limit.bound == ">=" else WIDEST)
            fails = min(fails, far) if limit.bound == ">=" else max(fails, far)
        check = structs.replace(check, detectable=_worsening(fails, before.value, limit.bound))
        if check.verdict != "failed" or not _better(found.value, fails, limit.bound):
            return check
        why = "a single run does not show how runs of the baseline differ"
        return structs.replace(
            check, verdict="inconclusive", reason=why, missing=None, missing_s=None,
            missing_runs=_BASELINES - 1,
        )  # fmt: skip

    def _base(self, case: Case) -> tuple[list[Case], str | None]:
        """Return the case in each run of the baseline, and why they are unusable or None."""
        runs = self._baseline.runs if self._baseline else []
        base = self._baseline.cases(case) if self._baseline else []
        if len(base) < len(runs) or not base:
            return base, "the baseline has no such case"
        for one in base:
            flag = spoilt(one.flags, accepted=case.flags)
            if one.status or flag:
                return base, f"the baseline's result is {one.status or (flag and flag.name)}"
        return base, None

    def _comparable(self, check: Check) -> Check:
        """Make a verdict inconclusive if the baseline differs in more than the system."""
        unlike = self._baseline.unlike if self._baseline else None
        if unlike is None:
            return check
        return _undecided(check, "not measured as the baseline was, see above")

    # ---- facts

    def _extreme(self, check: Check, limit: Limit, case: Case, entry: Entry) -> Check | _Relative:
        """Judge the smallest or the largest sample."""
        name = limit.statistic
        found = getattr(pooled(case.results), name)
        if found is None:
            lack = f"no {name}, as samples are means of several operations"
            return structs.replace(check, reason=lack if case.n else "it has no samples")
        if limit.factor is None:
            return _fact(check, limit, found)
        if name == "max" and case.unit == "ns":
            raise UsageError(
                f"max = '{limit.text}' is relative, in {entry.where}; the largest samples of two "
                "runs differ by chance: limit p999 in this way, or max by a time"
            )
        base, why = self._base(case)
        before = [getattr(pooled(one.results), name) for one in base]
        if why or None in before:
            return structs.replace(check, reason=why or f"the baseline has no {name}")
        return self._relative(check, limit, exactly(found), [exactly(value) for value in before])

    def _figure(self, check: Check, limit: Limit, case: Case) -> Check | _Relative:
        name = limit.statistic
        told = figure(case, name)
        beyond = figure(case, CENSORED.get(name, ""))
        if told is None and beyond is not None:
            return _censored(structs.replace(check, unit=beyond[1]), limit, beyond[0])
        if told is None:
            return structs.replace(check, reason=f"it has no figure '{name}'")
        value, unit = told
        check = structs.replace(check, unit=unit)
        if limit.factor is None:
            if limit.unit not in {unit, ""}:
                raise _wrong_unit(limit, f"{name} of {case.bench} is in {unit or 'no unit'}")
            return _with_range(_fact(check, limit, value), case)
        base, why = self._base(case)
        before = [told[0] for one in base if (told := figure(one, name))]
        if why or len(before) < len(base):
            return structs.replace(check, reason=why or f"the baseline has no figure '{name}'")
        return self._relative(check, limit, exactly(value), [exactly(value) for value in before])

    # ---- slopes

    def _slopes(
        self, entry: Entry, limit: Limit, matching: list[Case]
    ) -> Iterator[Check | _Relative]:
        """Judge the slopes of the benches and loads that an entry names."""
        found = [slope for slope in self._run.slopes if any(along(slope, c) for c in matching)]
        if not found:
            bad = next((case for case in matching if case.status), None)
            if bad is None:
                raise _concerns_none(limit, matching, entry)
            yield structs.replace(self._blank(limit, bad), reason=bad.status)
        for slope in found:
            yield self._slope(entry, limit, slope, [c for c in matching if along(slope, c)])

    def _slope(
        self, entry: Entry, limit: Limit, slope: Slope, points: list[Case]
    ) -> Check | _Relative:
        unit, times = _slope_unit(limit, slope, entry)
        found = Span(slope.slope, *slope.ci95).times(times)
        check = structs.replace(
            self._blank(limit, points[0]),
            params=slope.params,
            label="",
            what=f"slope over {slope.over}",
            unit=unit,
            n=sum(case.n for case in points),
            observed=found.value,
            ci95=(found.low, found.high),
            flags=list(dict.fromkeys(flag for case in points for flag in case.flags)),
        )
        if invalid := [why for case in points if (why := _invalid(case, entry))]:
            return structs.replace(check, reason=invalid[0])
        if limit.factor is None:
            return _compared(check, limit, found, exactly(limit.value or 0.0))
        base = self._baseline.slopes(slope) if self._baseline else []
        if not base or len(base) < len(self._baseline.runs if self._baseline else []):
            return structs.replace(check, reason="the baseline has no such slope")
        before = [Span(one.slope, *one.ci95).times(times) for one in base]
        return self._relative(check, limit, found, before)


def _compared(check: Check, limit: Limit, observed: Span, allowed: Span) -> Check:
    """Return the check with verdict and margin, or if inconclusive with what would settle it."""
    found = verdict(observed, allowed, limit.bound)
    left = allowed.value - observed.value
    left = -left if limit.bound == ">=" else left
    worse = _worsening(beyond(observed, allowed, limit.bound), observed.value, limit.bound)
    check = structs.replace(
        check, verdict=found, reason=None, observed=observed.value, allowed=allowed.value,
        margin=left / abs(allowed.value) if allowed.value else None,
        detectable=None if worse is None else max(worse, 0.0),  # 0: it is beyond the limit already
    )  # fmt: skip
    if found != "inconclusive":
        return check
    missing = samples_missing(observed, allowed, check.n) if check.n else None
    exact = observed.low == observed.high
    why = (
        "no more than runs of the baseline may differ by"
        if exact
        else "its interval holds the limit"
    )
    return _with_missing(structs.replace(check, reason=why), missing)


def _worsening(fails: float, value: float, bound: str) -> float | None:
    """Return the share by which a value would have to be worse to be one that fails."""
    more = value - fails if bound == ">=" else fails - value
    return more / abs(value) if value else None


def _better(value: float, fails: float, bound: str) -> bool:
    """Return whether a value is not as bad as one that fails."""
    return value >= fails if bound == ">=" else value <= fails


def _resolved(check: Check, limit: Limit, case: Case) -> Check:
    """Leave a limit undecided that lies within the bucket of another tool's value.

    A limit that is the value itself, as the tool prints it, holds; zero is the value of no sample.
    """
    width = bucket_ns(case.results)
    if not width or limit.value is None or check.observed is None:
        return check
    low = check.ci95[1] if check.ci95 else check.observed
    if not (low < limit.value < low + width or low == limit.value == 0):
        return check
    bucket = f"{trimmed(low, case.unit)} to {trimmed(low + width, case.unit)}"
    undecided = _undecided(check, f"the tool's value is anything from {bucket}")
    return structs.replace(undecided, margin=None)


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


def _foreseen(check: Check, limit: Limit, case: Case, least: int) -> Check:
    """Compare a number with a limit that was predicted for ``least`` samples.

    The prediction allows for the scatter of runs, so that the value decides; its interval would
    count part of that scatter again.
    """
    value = point(case, limit.statistic)
    if value is None or case.n < least:
        why = f"the limit was predicted for at least {least} samples"
        check = structs.replace(check, verdict="inconclusive", observed=value, reason=why)
        return _with_missing(check, least - case.n if case.n < least else None)
    return _fact(check, limit, value)


def _missed(check: Check, limit: Limit, case: Case, entry: Entry) -> Check:
    """Judge missed activations.  A count is a fact.

    A share passes if the interval of its number of stalls is within the limit, and fails if that is
    beyond it.  A share that was predicted passes if it was kept.
    """
    found = missed(case.results)
    if found is None:
        why = "no activations were due" if case.missed == 0 else "they were not counted"
        return structs.replace(check, verdict="inconclusive", reason=why)
    if limit.unit != "%" or not limit.value:
        check = _fact(check, limit, float(case.missed or 0))
        return structs.replace(check, detectable=_losing(found, limit.value or 0.0))
    value, low, high = (100 * share for share in (found.rate, *found.interval))
    allowed = exactly(limit.value)
    check = structs.replace(check, unit="%")
    least = entry.predicted_for_n
    if least is not None and found.due < least:
        why = f"the limit was predicted for at least {least} activations"
        check = structs.replace(
            check, verdict="inconclusive", reason=why, observed=value, ci95=(low, high)
        )
        return _with_missing(check, least - found.due)
    told = _compared(check, limit, Span(value, low, high if least is None else value), allowed)
    told = structs.replace(told, ci95=(low, high), detectable=_exceeding(found, allowed.value))
    if told.verdict != "inconclusive" or value > allowed.value:
        return told
    why = f"{found.due} activations do not exclude {high:.2g}%"
    return _with_missing(structs.replace(told, reason=why), _activations(found, allowed.value))


def rare(n: int) -> float:
    """Return the rate of events of which SHOWN of the runs of n chances see one or more."""
    return -expm1(log(1 - SHOWN) / n)


def _weight(found: Missed) -> float:
    """Return how many activations a stall omits; 1 if there was none: they come one by one."""
    return found.omitted / found.stalls if found.stalls else 1.0


def _losing(found: Missed, allowed: float) -> float | None:
    """Return the rate of losses that would show more than so many, in SHOWN of the runs.

    None if no rate would.  Exact for stalls none of which is allowed, else Byar's approximation.
    """
    each = _weight(found)
    stalls = floor(allowed / each)
    if not stalls:
        rate = each * rare(found.due)
    else:
        normal, more = NormalDist().inv_cdf(SHOWN), stalls + 1
        rate = more * (1 - 1 / (9 * more) + normal / (3 * sqrt(more))) ** 3 * each / found.due
    return rate if rate <= 1 else None


def _exceeding(found: Missed, allowed: float) -> float | None:
    """Return the smallest share of missed activations that fails a limit in %, None if none does.

    Stalls are as long as those seen.
    """
    each = _weight(found)

    def fails(omitted: int) -> bool:
        return 100 * Missed(omitted, found.due, omitted / each).interval[0] > allowed

    least = bisect_left(range(found.due + 1), True, key=fails)
    return least / found.due if least <= found.due else None


def _activations(found: Missed, allowed: float) -> int | None:
    """Return how many more activations would show a limit in % to be kept, at the rate seen."""
    each, rate = _weight(found), found.rate

    def shows(due: int) -> bool:
        omitted = rate * due
        return 100 * Missed(round(omitted), due, omitted / each).interval[1] <= allowed

    if 100 * rate >= allowed:
        return None
    most = found.due
    while not shows(most):
        most *= 2
        if most > _ENDLESS:
            return None
    return bisect_left(range(most + 1), True, key=shows, lo=found.due) - found.due


def _bound(check: Check, limit: Limit, case: Case, entry: Entry) -> Check:
    """Judge the worst case: a sample above the limit fails, otherwise the bound decides."""
    exceedance = entry.exceedance_per_hour or PER_HOUR
    results = [
        structs.replace(one, flags=[name for name in one.flags if name not in entry.accept])
        for one in case.results
    ]
    found = worst_case(results, exceedance)
    what = f"bound at {exceedance:g} an hour, {found.confidence:.0%} sure"
    check = structs.replace(check, what=what, allowed=limit.value)
    if found.observed_max is not None and found.observed_max > (limit.value or 0.0):
        over = _fact(check, limit, found.observed_max)
        return structs.replace(over, what="max", reason="so the bound is beyond the limit too")
    if found.bound is not None:
        return _fact(check, limit, found.bound)
    why = f"there is none: {found.reason}"
    return structs.replace(check, verdict="inconclusive", reason=why, missing_s=found.more_s)


def _censored(check: Check, limit: Limit, upto: float) -> Check:
    """Judge a value that was not reached: it is above ``upto``, which may be enough."""
    if limit.factor is not None:
        return structs.replace(check, verdict="inconclusive", reason=f"none up to {upto:g}")
    allowed = limit.value or 0.0
    if upto >= allowed:
        found: Verdict = "passed" if limit.bound == ">=" else "failed"
        return structs.replace(check, verdict=found, reason=f"none up to {upto:g}", allowed=allowed)
    why = f"none up to {upto:g}, which does not reach the limit"
    return structs.replace(check, verdict="inconclusive", reason=why, allowed=allowed)


def _with_range(check: Check, case: Case) -> Check:
    """Say of a breakdown beyond its limit that tests above the first miss held again."""
    reached = [at for result in case.results if (at := breakdown(result))]
    lowest = min(reached, default=None)
    if check.what != BREAKDOWN or check.verdict == "passed" or not lowest or lowest.again is None:
        return check
    why = f"missed at {lowest.missed:g}%, but held again at {lowest.again:g}% (not_monotone)"
    return structs.replace(check, reason=why)


def _too_few(check: Check, limit: Limit, results: Sequence[Result]) -> Check:
    """Judge a percentile that n does not allow: it fails if a lower one is beyond the limit."""
    names = [name for name in PERCENTILES if name != limit.statistic]
    lower = [n for n in names if PERCENTILES[n] < PERCENTILES.get(limit.statistic, 0)]
    for name in reversed(lower):
        found = estimate_whole(results, name)
        if found and limit.value is not None and found.low > limit.value:
            check = structs.replace(check, observed=found.value, ci95=(found.low, found.high))
            check = _compared(check, limit, span(found), exactly(limit.value))
            return structs.replace(check, reason=f"{name}, which is lower, is beyond it already")
    n = check.n or 0
    missing = least_n(limit.statistic) - n
    if missing <= 0:
        what = "stalls" if check.corrected else "samples"
        return structs.replace(
            check,
            verdict="inconclusive",
            observed=getattr(pooled([whole(r) for r in results]), limit.statistic),
            reason=f"too few independent {what} for an interval",
        )
    why = f"n is too small for {limit.statistic}"
    return _with_missing(structs.replace(check, verdict="inconclusive", reason=why), missing)


# ---- what a limit concerns ----------------------------------------------------------------------


def _takes(limit: Limit, case: Case) -> bool:
    """Return whether a case has the limited number."""
    if limit.figure:
        names = {limit.statistic, CENSORED.get(limit.statistic)}
        return any(name in result.figures for result in case.results for name in names)
    if limit.statistic == "missed":
        return case.missed is not None
    return case.n > 0


def _concerns(limit: Limit, case: Case) -> bool:
    """Return whether a case has the limited number, or might with a valid result."""
    return _takes(limit, case) or case.status is not None


def _concerns_none(limit: Limit, matching: Sequence[Case], entry: Entry) -> UsageError:
    names = {name for case in matching for result in case.results for name in result.figures}
    if limit.figure:
        return unknown("figure", limit.statistic, names, f"of {entry.where}")
    lack = {
        "missed": "count of missed activations",
        "slope": "slope, for which a run needs three values of the bench's parameter",
    }.get(limit.statistic, "samples")
    more = f"; it has the figures {', '.join(sorted(names))}" if names and lack == "samples" else ""
    return UsageError(f"no {lack} to limit, in {entry.where}{more}")


def _invalid(case: Case, entry: Entry) -> str | None:
    """Return why a case cannot be judged, None if it can."""
    if case.status:
        return case.status
    flag = spoilt(case.flags, entry.accept)
    if flag is None:
        return None
    proof = unfit(case.flags, case.n, case.missed)
    told = f"; as it was run, {proof}" if proof else ""
    return f"{flag.name}: {flag.cause}; {flag.advice}{told}"


def _check_unit(limit: Limit, unit: str, entry: Entry) -> None:
    if limit.factor is None and limit.unit != unit:
        raise _wrong_unit(limit, f"the samples are {unit}, in {entry.where}")


def _wrong_unit(limit: Limit, which: str) -> UsageError:
    samples = '"50us" is a time, "5k instr" a number of instructions, "60%" a share'
    return UsageError(
        f"limit '{limit.text}' of {limit.statistic} has another unit: {which}; {samples}"
    )


def _slope_unit(limit: Limit, slope: Slope, entry: Entry) -> tuple[str, float]:
    """Return the unit in which a slope is compared, and the factor to it.  Raises UsageError."""
    unit, _, per = slope.unit.partition(" per ")
    if limit.factor is None and limit.unit != unit:
        raise _wrong_unit(limit, f"the slope is in {slope.unit}, in {entry.where}")
    if limit.per == "KiB" and per == "B":
        return f"{unit} per KiB", 1024.0
    if limit.per not in {None, per}:
        raise UsageError(f"limit '{limit.text}' is not per {per}, in {entry.where}")
    return slope.unit, 1.0


def along(slope: Slope, case: Case) -> bool:
    """Return whether a case is a point of a slope."""
    same = (slope.bench, slope.load) == (case.bench, case.load)
    return same and may_be(case.params, slope.params)


def point(case: Case, name: str) -> float | None:
    """Return the value of a statistic of a case, None if n does not allow it."""
    value: float | None = getattr(pooled([whole(result) for result in case.results]), name)
    return value


def span(found: Estimate) -> Span:
    """Return an estimate as a span; its ends, from a histogram, are made to include the value."""
    return Span(found.value, min(found.low, found.value), max(found.high, found.value))
