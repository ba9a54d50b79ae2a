"""Wire lines to a run document: live, and again from the stored log."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import Any, NamedTuple, TypeVar

from msgspec import structs

from rtstone.assemble import derived, slope
from rtstone.assemble.flags import Seen, flags
from rtstone.assemble.histogram import PERCENTILES, Histogram, Ranks, spread
from rtstone.assemble.identity import Heads
from rtstone.assemble.interval import STATISTICS, confidence_interval
from rtstone.assemble.load_rates import lacking
from rtstone.documents.plan import NONE, Case, Plan
from rtstone.documents.run import (
    Agent,
    Batches,
    Blocks,
    Clock,
    Distribution,
    Figure,
    Result,
    Run,
    Slope,
    Status,
    Trace,
    Worst,
)
from rtstone.wire import records as wire
from rtstone.wire.reader import Defect, Noise, Reader, Record

INSTRUCTIONS = "instructions"
WARNINGS = 200  # of the agent, that are kept; a stuck one says the same for ever
SERIES = 4096  # of a case, that are kept: more than there are CPUs
LETTERS = 1000  # of a warning
STOPPED = "stopped"  # the agent's reason for a case that it was told to end

_T = TypeVar("_T")

_STATUS: dict[str, Status] = {"ok": "ok", "unsupported": "unsupported", "failed": "failed"}


class Net(NamedTuple):
    """Conversion of ticks to net units of one operation.

    ``whole``: the unit comes in whole numbers, so that a reading stands for the nearest of them.
    """

    overhead: int
    per_tick: float
    batch: int = 1
    whole: bool = False

    def value(self, ticks: float | None) -> float | None:
        """Net value; never clamped.  The tenth of a picosecond is below every clock."""
        return None if ticks is None else self.exactly(ticks)

    def exactly(self, ticks: float) -> float:
        """The same where there is a value."""
        return round((self.gross(ticks) - self.gross(self.overhead)) / self.batch, 4)

    def mean(self, total: int, n: int) -> float:
        """The net value of a mean, which no reading stands for."""
        return round((total / n * self.per_tick - self.gross(self.overhead)) / self.batch, 4)

    def gross(self, ticks: float) -> float:
        """As the clock gave it: overhead and batch still in it."""
        units = ticks * self.per_tick
        return round(units) if self.whole else units


class _Seen:
    """What the wire has told of one case."""

    def __init__(self) -> None:
        self.params: dict[str, Any] | None = None
        self.results: list[wire.Result] = []
        self.end: wire.End | None = None

    @property
    def began(self) -> bool:
        """False for a case that the agent refused before it measured anything."""
        refused = self.end is not None and self.end.status == "failed" and not self.results
        return self.params is not None or not refused


class Assembly:
    """Gathers the lines of one run; pure, and blind to where they come from.

    ``earlier``: what gathered the same run before it was interrupted; its valid results are kept.
    """

    def __init__(self, plan: Plan, earlier: Assembly | None = None) -> None:
        self._plan = plan
        self.earlier = earlier
        self.kept = earlier.valid() if earlier else {}
        self._before = earlier.rounds() if earlier else {}
        self._ids = {case.id for case in plan.cases}
        self._seen: dict[int, _Seen] = defaultdict(_Seen)
        self._place: dict[int, tuple[int, str]] = {}  # seq: case, "start" | "mid" | "end"
        self._latest: tuple[int, str] | None = None
        self._warnings: list[str] = list(earlier._warnings) if earlier else []
        self._loads: list[wire.Loaded] = list(earlier._loads) if earlier else []
        self._most_loads = len(self._loads) + len(plan.cases)
        self._left_out: Counter[str] = Counter(earlier._left_out if earlier else ())
        self.reader = Reader()
        self.hello: wire.Hello | None = None
        self.clock: wire.Clock | None = None
        self.conditions: wire.Conditions | None = None
        self.remarks: list[str] = []  # the host's own, for the document's notes
        if earlier:
            kept = f"{len(self.kept)} of {len(plan.cases)} cases are from before"
            self.remarks = [*earlier.remarks, f"resumed after an interruption: {kept}"]
        self.bye: wire.Bye | None = None
        # The last case that has certainly ended: also if its own end was lost, it did before the
        # next one started.
        self.ended = 0

    @property
    def complete(self) -> int:
        """How many cases have come to their end with all their records here."""
        costs = self._costs()
        ends = (self._case_results(case, costs)[0] for case in self.left)
        return len(self.kept) + sum(result.status != "incomplete" for result in ends)

    @property
    def left(self) -> list[Case]:
        """The cases that were to be run when this began to gather."""
        return [case for case in self._plan.cases if case.id not in self.kept]

    @property
    def due(self) -> list[Case]:
        """What the agent is to run first of each of these cases."""
        return [self._next_round(case, self._before.get(case.id, [])) for case in self.left]

    def following(self, wire_id: int) -> Case | None:
        """The round that is to follow one that has ended; None if there is to be none."""
        if self._plan.until is None:
            return None
        case = self.case_of(wire_id)
        rounds = self._rounds(case, self._costs())
        return None if self._over(rounds) else self._next_round(case, rounds)

    def case_of(self, wire_id: int) -> Case:
        """The case that a number on the wire belongs to."""
        number = self._plan.case_of(wire_id)
        return next(case for case in self._plan.cases if case.id == number)

    def _over(self, rounds: list[list[Result]]) -> bool:
        from rtstone.assemble.rounds import sampled, standing

        until = self._plan.until
        assert until is not None
        if any(result.status != "ok" for result in rounds[-1]) or not sampled(rounds):
            return True
        return standing(until, rounds).ended is not None

    def _next_round(self, case: Case, rounds: list[list[Result]]) -> Case:
        if self._plan.until is None or not rounds:
            return self._plan.first(case)
        from rtstone.assemble.rounds import following

        table = self._plan.benches[case.bench]
        more = following(self._plan.until, rounds, lambda name: table.param(name) is not None)
        return self._plan.round(case, len(rounds) + 1, more)

    def rounds(self) -> dict[int, list[list[Result]]]:
        """The valid rounds of the cases that are to be gone on with."""
        if self._plan.until is None:
            return {}
        costs = self._costs()
        found = {case.id: self._rounds(case, costs) for case in self.left}
        good = {
            case: [results for results in rounds if all(r.status == "ok" for r in results)]
            for case, rounds in found.items()
        }
        return {case: rounds for case, rounds in good.items() if rounds}

    def valid(self) -> dict[int, list[Result]]:
        """The cases that need not be run again, with their results."""
        found = {case.id: self.case_results(case) for case in self._plan.cases}
        good = {"ok", "unsupported"}
        return {case: rs for case, rs in found.items() if {r.status for r in rs} <= good}

    def feed(self, line: bytes) -> list[wire.Body]:
        """Takes one raw line; returns the records in it."""
        bodies = []
        for event in self.reader.feed(line):
            if isinstance(event, Noise):
                continue
            self._take(event)
            bodies.append(event.body)
        return bodies

    def _take(self, record: Record) -> None:
        if isinstance(record.body, wire.OF_A_CASE) and not self._asked_for(record.body.id):
            return
        match record.body:
            case wire.Hello() as hello:
                self.hello = hello
            case wire.Clock() as clock:
                self.clock = clock
            case wire.Conditions() as conditions:
                self.conditions = conditions
            case wire.Loaded() as loaded:
                self._keep("answers to loads", self._loads, loaded, self._most_loads)
            case wire.Log("warn", text):
                short = text if len(text) <= LETTERS else f"{text[:LETTERS]}…"
                self._keep("warnings", self._warnings, short, WARNINGS)
            case wire.Case(id, _, params):
                self._seen[id].params = params
                self._at(record.seq, id, "start")
            case wire.Result() as result:
                self._keep("results", self._seen[result.id].results, result, SERIES)
                self._at(record.seq, result.id, "mid")
            case wire.Progress(id) | wire.Raw(id):
                self._at(record.seq, id, "mid")
            case wire.End(id) as end:
                self._seen[id].end = end
                self._at(record.seq, id, "end")
            case wire.Bye() as bye:
                self.bye = bye

    def _keep(self, what: str, kept: list[_T], one: _T, most: int) -> None:
        """Adds one, unless there are so many that only their number is kept."""
        if len(kept) < most:
            kept.append(one)
        else:
            self._left_out[what] += 1

    def _asked_for(self, wire_id: int) -> bool:
        return self._plan.case_of(wire_id) in self._ids

    def _at(self, seq: int, case: int, kind: str) -> None:
        if (case, kind) != self._latest or kind != "mid":  # a case may have any number of these
            self._place[seq] = self._latest = (case, kind)
        self.ended = max(self.ended, case if kind == "end" else case - 1)

    def _costs(self) -> dict[int, Defect]:
        """The cases that a defect of the wire may have taken something from, and the defect.

        What a lost record held nobody knows: it costs the cases that were open before and after.
        """
        costs: dict[int, Defect] = {}
        defects = [defect for defect in self.reader.defects if defect.costs]
        known = sorted(self._place) if defects else []
        for defect in defects:
            before, after = bisect_left(known, defect.first), bisect_right(known, defect.last)
            first, kind = self._place[known[before - 1]] if before else (0, "end")
            last, next_kind = (
                self._place[known[after]] if after < len(known) else (first + 1, "start")
            )
            for case in range(first + (kind == "end"), last + (next_kind != "start")):
                costs.setdefault(case, defect)
        if self._plan.until is None:
            return costs
        there = {self._plan.first(case).id for case in self.left}
        there |= {case for case, _ in self._place.values()}
        return {case: defect for case, defect in costs.items() if case in there}

    def case_results(self, case: Case) -> list[Result]:
        """The results of one case as far as they are known."""
        return self._case_results(case, self._costs())

    def _case_results(
        self, case: Case, costs: dict[int, Defect], unstarted: str = ""
    ) -> list[Result]:
        if case.id in self.kept:
            return self.kept[case.id]
        if self._plan.until is None:
            return self._measured(case, costs.get(case.id), unstarted)
        from rtstone.assemble.rounds import merged

        results = merged(self._plan.until, self._rounds(case, costs, unstarted))
        return [structs.replace(result, case=case.id) for result in results]

    def _rounds(
        self, case: Case, costs: dict[int, Defect], unstarted: str = ""
    ) -> list[list[Result]]:
        """All rounds of a case so far; at least the first, though it may not have begun."""
        ran = sorted(one for one in self._seen if self._plan.case_of(one) == case.id)
        before = self._before.get(case.id, [])
        if not ran and not before:
            first = self._plan.first(case)
            return [self._measured(first, costs.get(first.id), unstarted)]
        return before + [
            self._measured(structs.replace(case, id=one), costs.get(one), unstarted) for one in ran
        ]

    def _measured(self, case: Case, damage: Defect | None, unstarted: str) -> list[Result]:
        """The results of what was one case on the wire."""
        seen = self._seen[case.id]
        status, reason = self._status(case, damage, unstarted)
        known = seen.params if seen.params is not None else case.params
        evidence = dict(seen.end.evidence) if seen.end else {}
        blank = Result(
            case=case.id, bench=case.bench, params=known, load=case.load,
            load_rates=(seen.end.load if seen.end else None) or [],
            status=status, reason=reason, evidence=evidence, unit=self._unit(),
        )  # fmt: skip
        if self.clock is None:  # what the numbers count is not known
            return [blank]
        return [self._result(blank, result) for result in seen.results] or [blank]

    def _status(
        self, case: Case, damage: Defect | None, unstarted: str
    ) -> tuple[Status, str | None]:
        end = self._seen[case.id].end
        if end and end.status != "ok" and end.reason not in {None, STOPPED}:
            return _STATUS.get(end.status, "failed"), end.reason  # the agent's, whatever was lost
        if why := self._incomplete(case, damage, unstarted):
            return "incomplete", why
        assert end is not None
        return _STATUS.get(end.status, "failed"), end.reason

    def _incomplete(self, case: Case, damage: Defect | None, unstarted: str) -> str | None:
        """Why a case is, None if it is whole."""
        seen = self._seen[case.id]
        if damage:
            return f"wire: {damage}"
        if seen.end is None:
            started = seen.params is not None or seen.results
            return "did not end" if started else f"not run: {unstarted}"
        if seen.end.status == "failed" and seen.end.reason == STOPPED:
            return STOPPED
        if self.clock is None:
            return "wire: the clock record was lost, so the unit is not known"
        if seen.end.status == "ok" and case.load != NONE and (lack := lacking(seen.end.load)):
            return f"load {case.load}: {lack}"
        return None

    def _unit(self) -> str:
        if self._instructions_per_s:
            return INSTRUCTIONS
        return self.clock.unit if self.clock else "ns"

    @property
    def _instructions_per_s(self) -> float:
        """What the target's clock really counts, 0 if it is time."""
        told = self._plan.target.detail.get("instructions_per_s")
        return told if isinstance(told, int | float) else 0

    def _per_tick(self, hz: int) -> float:
        """Units of a tick of a clock of that frequency."""
        if self._instructions_per_s:
            return self._instructions_per_s / hz
        return 1e9 / hz if self._unit() == "ns" else 1.0

    def _figure(self, value: float | None, unit: str) -> Figure:
        if unit == "ns" and value is not None and self._instructions_per_s:
            return Figure(value=round(value * self._instructions_per_s / 1e9, 4), unit=INSTRUCTIONS)
        return Figure(value=value, unit=unit)

    def _result(self, blank: Result, raw: wire.Result) -> Result:
        net = self._net(raw)
        histogram = _histogram(raw)
        measured = _distribution(histogram, net)
        ranks = Ranks(histogram)
        source, granule = (self.clock.source, self.clock.granule) if self.clock else ("", 1)
        median = ranks.percentile(PERCENTILES["p50"])
        seen = Seen(raw, blank.evidence, self._conditions(), source, granule, median, blank.params)
        members = {name: getattr(measured, name) for name in Distribution.__struct_fields__}
        result = structs.replace(
            blank,
            **members,
            series=raw.series,
            warmup=raw.warmup,
            batch=raw.batch,
            raw_min=_raw(raw.min, net),
            raw_max=_raw(raw.max, net),
            batches=raw.batches and _batches(raw.batches, net),
            negative=raw.negative,
            overflow=raw.overflow,
            missed=raw.missed,
            figures={name: self._figure(value, unit) for name, value, unit in raw.figures},
            tables=raw.tables,
            ended=raw.ended,
            flags=flags(seen),
        )
        ci95 = {name: confidence_interval(name, measured, [result], 0.95) for name in STATISTICS}
        singly = {} if raw.batch > 1 else _singly(raw, net)
        return structs.replace(result, ci95=ci95, **singly)

    def _net(self, raw: wire.Result) -> Net:
        whole = self._instructions_per_s > 0
        return Net(raw.overhead, self._per_tick(raw.hz), raw.batch, whole)

    def run(self, reason: str | None = None, duration_s: float | None = None) -> Run:
        """The document.  ``reason``: why the run ended early, None if it did not."""
        costs = self._costs()
        unstarted = reason or "the agent never answered"
        results = [
            result
            for case in self._plan.cases
            for result in self._case_results(case, costs, unstarted)
        ]
        made = derived.results(self._plan, results)
        results += [
            Result(
                case=case.id, bench=case.bench, params=case.params, load=case.load,
                status="unsupported", reason=case.reason, unit=self._unit(),
            )
            for case in self._plan.absent
        ]  # fmt: skip
        results += made
        head = self.earlier if self.earlier and not self.clock else self
        missing = sum(result.status == "incomplete" for result in results)
        if missing and not reason:
            verb = "is" if missing == 1 else "are"
            reason = f"{missing} of {len(results)} results {verb} incomplete"
        if not reason and (lost := self.lost()):
            reason = f"wire: records of the agent were lost: {', '.join(lost)}"
        return Run(
            run_id=self._plan.run_id,
            created=self._plan.created,
            status="incomplete" if reason else "complete",
            reason=reason,
            command=self._plan.command,
            suite=self._plan.suite,
            target=self._plan.target,
            agent=head._agent(),
            clock=head._clock(),
            conditions=head._conditions(),
            results=results,
            slopes=_slopes(self._plan, results),
            loads=self._loads,
            benches=list(self._plan.benches.values()),
            notes=_limited(self._plan) + self._warnings + self._notes(costs) + self.remarks,
            duration_s=duration_s,
            turn=self._plan.turn,
        )

    def _notes(self, costs: dict[int, Defect]) -> list[str]:
        """A line for each kind of defect."""
        kinds: dict[str, list[Defect]] = defaultdict(list)
        for defect in self.reader.defects:
            kinds[defect.kind].append(defect)
        notes = []
        for kind, defects in kinds.items():
            count, first = sum(defect.size for defect in defects), defects[0].first
            told = f"{count} records {kind} (first {first})" if count > 1 else str(defects[0])
            hit = {self._plan.case_of(one) for one, why in costs.items() if why.kind == kind}
            cases = [str(case) for case in sorted(hit)]
            what = f"costs case {', '.join(cases)}" if cases else "costs no case"
            notes.append(f"wire: {told}; {what}")
        return notes + [
            f"{number} more {what} of the agent are left out; they are in its log"
            for what, number in self._left_out.items()
        ]

    def lost(self) -> list[str]:
        """The records about all cases that are not here, though they must have been sent."""
        if not self.left:
            return []
        # But for the first they come before the first case that is not refused.
        began = any(seen.began for seen in self._seen.values())
        return [name for name in self.heads.lacking() if began or name == "hello"]

    @property
    def heads(self) -> Heads:
        """The records about all cases."""
        return Heads(self.hello, self.clock, self.conditions)

    @property
    def known(self) -> Heads:
        """The same, also of earlier logs."""
        return self.heads.or_else(self.earlier.known) if self.earlier else self.heads

    def _conditions(self) -> dict[str, Any]:
        return (self.conditions.values if self.conditions else {}) | self._plan.surroundings

    def _agent(self) -> Agent | None:
        hello = self.hello
        if hello is None:
            return None
        return Agent(
            version=hello.agent, source=hello.source, port=hello.port, os=hello.os,
            arch=hello.arch, compiler=hello.compiler, flags=hello.flags, caps=hello.caps,
            binary=_text(self._plan.target.detail.get("agent_sha256")), common=hello.common,
        )  # fmt: skip

    def _clock(self) -> Clock | None:
        clock = self.clock
        if clock is None:
            return None
        net = Net(0, self._per_tick(clock.hz), whole=self._instructions_per_s > 0)
        return Clock(
            source=clock.source,
            hz=clock.hz,
            resolution_ns=round(clock.granule * net.per_tick, 4),
            overhead_ns=round(net.gross(clock.overhead), 4),
            unit=self._unit(),
        )


def _limited(plan: Plan) -> list[str]:
    """How the whole run limits its cases."""
    notes = []
    if plan.scale_s is not None:
        notes.append(
            f"time scale: each case measures for {plan.scale_s:g} s at most; --time 0 lets every "
            "case of the suite take as long as its publication did"
        )
    if until := plan.until:
        notes.append(
            f"until: each case was measured in rounds until the 95% interval of its "
            f"{until.statistic} was within {until.share * 100:g}% of it, or for {until.time_s:g} s"
        )
    return notes


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _histogram(raw: wire.Result) -> Histogram:
    return Histogram(raw.n, raw.sum, raw.min, raw.max, raw.bits, raw.hist, raw.overflow)


def _distribution(histogram: Histogram, net: Net) -> Distribution:
    ranks = Ranks(histogram)
    percentiles = {name: net.value(ranks.percentile(q)) for name, q in PERCENTILES.items()}
    if net.batch > 1:  # the extremes of means are not those of operations
        percentiles |= {"p999": None, "p9999": None}
    sd = spread(histogram)
    return Distribution(
        n=histogram.n,
        min=net.value(histogram.min),
        mean=net.mean(histogram.sum, histogram.n) if histogram.n else None,
        sd=None if sd is None else round(sd * net.per_tick / net.batch, 4),
        max=net.value(histogram.max) if net.batch == 1 else None,
        histogram=_points(histogram, net),
        **percentiles,
    )


def _points(histogram: Histogram, net: Net) -> list[tuple[float, int]]:
    """Net value and count; several readings may stand for one value."""
    counts: dict[float, int] = defaultdict(int)
    for value, count in histogram.points():
        counts[net.exactly(value)] += count
    return list(counts.items())


def _batches(batches: wire.Batches, net: Net) -> Batches:
    return Batches(
        n=[row[0] for row in batches.rows],
        mean=[net.mean(row[1], row[0]) for row in batches.rows],
        above={
            name: [row[place] for row in batches.rows]
            for place, name in enumerate(list(PERCENTILES)[: len(batches.lines)], 2)
        },
    )


def _raw(ticks: int | None, net: Net) -> float | None:
    """As the clock gave it: overhead and batch still in it."""
    return None if ticks is None else round(net.gross(ticks), 4)


def _singly(raw: wire.Result, net: Net) -> dict[str, Any]:
    """The members that make sense only where a sample is a single operation."""
    per_tick_s = 1 / raw.hz
    trace, blocks, omitted = raw.trace, raw.blocks, raw.omitted
    return {
        "worst": [
            Worst(value=net.exactly(value), index=index, at_s=round(at * per_tick_s, 9))
            for value, index, at in raw.worst
        ],
        "trace": trace and Trace(
            width_s=round(trace.ticks * per_tick_s, 9),
            rows=[
                (round(window * trace.ticks * per_tick_s, 9), n,
                 net.exactly(low), net.mean(total, n), net.exactly(high))
                for window, n, low, total, high in trace.rows if n
            ],
        ),
        "blocks": blocks and Blocks(
            samples=blocks.samples, max=[net.exactly(value) for value in blocks.max]
        ),
        "corrected": omitted and _distribution(
            _histogram(raw).plus(
                Histogram(omitted.n, omitted.sum, omitted.min, omitted.max, raw.bits,
                          omitted.hist, omitted.overflow)
            ), net,
        ),
    }  # fmt: skip


def _slopes(plan: Plan, results: list[Result]) -> list[Slope]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        over = plan.benches[result.bench].slope_over
        if over and result.status == "ok" and result.mean is not None and _number(result, over):
            rest = sorted((k, str(v)) for k, v in result.params.items() if k != over)
            groups[f"{result.bench} {rest} {result.load} {result.series}"].append(result)
    slopes = (_slope(plan, group) for group in groups.values())
    return [found for found in slopes if found]


def _number(result: Result, param: str) -> bool:
    """True if a parameter is one, whatever the table of its bench says."""
    return type(result.params.get(param)) in (int, float)


def _slope(plan: Plan, group: list[Result]) -> Slope | None:
    first = group[0]
    over = plan.benches[first.bench].slope_over
    assert over is not None
    points = [
        (float(result.params[over]), result.mean)  # type: ignore[arg-type]  # a number in the table
        for result in group
        if result.mean is not None
    ]
    line = slope.fit(points)
    if line is None:
        return None
    param = plan.benches[first.bench].param(over)
    per = (param.unit if param else None) or over
    return Slope(
        bench=first.bench,
        load=first.load,
        over=over,
        params={name: value for name, value in first.params.items() if name != over},
        points=points,
        slope=line[0],
        ci95=line[1],
        unit=f"{first.unit} per {per.removesuffix('s')}",
        constant=line[1][0] <= 0 <= line[1][1],
    )


def gathered(plan: Plan, log: bytes, *later: bytes) -> Assembly:
    """What the log of a run holds, and the logs of its resumptions."""
    assembly = Assembly(plan)
    for number, text in enumerate((log, *later)):
        assembly = Assembly(plan, assembly) if number else assembly
        for line in text.splitlines(keepends=True):
            assembly.feed(line)
    return assembly


def replay(plan: Plan, log: bytes, *later: bytes) -> Run:
    """The document of a run whose host did not live to write it."""
    assembly = gathered(plan, log, *later)
    whole = (assembly.bye or not assembly.left) and assembly.complete == len(plan.cases)
    return assembly.run(None if whole else "the host ended before the run did")
