"""Assemble wire lines into a run document, live or from the stored log."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from rtstone.documents.plan import NONE, Case, Plan
from rtstone.documents.run import (
    HARTSTONE,
    INTERRUPTED,
    STOPPED,
    Agent,
    Result,
    Run,
    Status,
    as_text,
)
from rtstone.results import derived
from rtstone.results.attribution import attributed
from rtstone.results.identity import Heads
from rtstone.results.load_rates import lacking
from rtstone.results.notes import limits, wire_notes
from rtstone.results.received import Received
from rtstone.results.series import series_result, with_single
from rtstone.results.slope import slopes
from rtstone.results.ticks import Scale
from rtstone.wire.reader import Defect

_STATUS: dict[str, Status] = {"ok": "ok", "unsupported": "unsupported", "failed": "failed"}


class Assembly:
    """Turn the records of one run into results, wherever the records come from; no input or output.

    ``earlier``: what gathered the same run before it was interrupted; its valid results are kept.
    """

    def __init__(self, plan: Plan, earlier: Assembly | None = None) -> None:
        self._plan = plan
        self.earlier = earlier
        self.final = earlier.valid() if earlier else {}
        before = earlier.rounds() if earlier else {}
        self._before = {case: rounds for case, rounds in before.items() if case not in self.final}
        self._in_rounds = plan.until is not None or bool(self._before)  # the cases on this wire
        self.received: Received = Received(plan, earlier.received if earlier else None)
        self._made: dict[tuple[int, str], tuple[tuple[Any, ...], Result]] = {}
        self.remarks: list[str] = []  # the host's own, for the document's notes
        if earlier:
            share = f"{len(self.final)} of {len(plan.cases)} cases are from before"
            self.remarks = [*earlier.remarks, f"resumed after an interruption: {share}"]
        if self._before and plan.until is None:
            which = ", ".join(map(str, self._before))
            self.remarks.append(
                f"case {which} was interrupted and goes on: its samples so far are kept"
            )

    @property
    def complete(self) -> int:
        """Return the number of cases that have ended with all their records received."""
        costs = self._costs()
        ends = (self._case_results(case, costs)[0] for case in self.left)
        return len(self.final) + sum(result.status != "incomplete" for result in ends)

    @property
    def cut_off(self) -> Case | None:
        """Return the case that began and has not ended, None if there is none."""
        seen = self.received.cases
        begun = (case for case in self.left if seen[case.id].end is None and self._started(case))
        return next(begun, None)

    def _started(self, case: Case) -> bool:
        seen = self.received.cases[case.id]
        return seen.params is not None or bool(seen.results)

    @property
    def left(self) -> list[Case]:
        """Return the cases that were due when this assembly began."""
        return [case for case in self._plan.cases if case.id not in self.final]

    @property
    def due(self) -> list[Case]:
        """Return what the agent has to run first of each of these cases."""
        return [self._next_round(case, self._before.get(case.id, [])) for case in self.left]

    def damage(self, wire_id: int) -> Defect | None:
        """Return the defect by which a wire case may have lost records, None if there is none."""
        return self._costs().get(wire_id)

    def following(self, wire_id: int) -> Case | None:
        """Return the round to run after one that has ended, None if none."""
        if self._plan.until is None:
            return None
        from rtstone.results.rounds import sampled, standing

        case = self.case_of(wire_id)
        rounds = self._rounds(case, self._costs())
        if any(result.status != "ok" for result in rounds[-1]) or not sampled(rounds):
            return None
        over = standing(self._plan.until, rounds).ended is not None
        return None if over else self._next_round(case, rounds)

    def case_of(self, wire_id: int) -> Case:
        """Return the case that a wire id belongs to."""
        number = self._plan.case_of(wire_id)
        return next(case for case in self._plan.cases if case.id == number)

    def _next_round(self, case: Case, rounds: list[list[Result]]) -> Case:
        if not rounds:
            return self._plan.first(case) if self._in_rounds else case
        from rtstone.results.rounds import following, remaining

        def has_param(name: str) -> bool:
            return self._plan.benches[case.bench].param(name) is not None

        until = self._plan.until
        changes = (
            remaining(rounds, has_param) if until is None else following(until, rounds, has_param)
        )
        return self._plan.round(case, len(rounds) + 1, changes)

    def _due_id(self, case: Case) -> int:
        """Return the id on the wire of what the agent has to run first of a case."""
        number = len(self._before.get(case.id, [])) + 1
        return self._plan.round(case, number).id if self._in_rounds else case.id

    def rounds(self) -> dict[int, list[list[Result]]]:
        """Return the valid rounds of the cases to continue, which have samples."""
        from rtstone.results.rounds import sampled, valid

        costs = self._costs()
        valid_rounds = {case.id: valid(self._rounds(case, costs)) for case in self.left}
        return {case: rounds for case, rounds in valid_rounds.items() if sampled(rounds)}

    def valid(self) -> dict[int, list[Result]]:
        """Return the cases that need not be run again, with their results."""
        results = {case.id: self.case_results(case) for case in self._plan.cases}
        return {
            case: case_results
            for case, case_results in results.items()
            if all(
                result.status == "unsupported" or (result.status == "ok" and not result.goes_on)
                for result in case_results
            )
        }

    def _costs(self) -> dict[int, Defect]:
        """Return the cases that may have lost records to a defect; of rounds, only those begun."""
        costs = self.received.costs()
        if not self._in_rounds:
            return costs
        begun = {self._due_id(case) for case in self.left} | self.received.placed
        return {case: defect for case, defect in costs.items() if case in begun}

    def case_results(self, case: Case) -> list[Result]:
        """Return the results of one case so far."""
        return self._case_results(case, self._costs())

    def _case_results(
        self, case: Case, costs: dict[int, Defect], unstarted: str = ""
    ) -> list[Result]:
        if case.id in self.final:
            return self.final[case.id]
        if not self._in_rounds:
            return self._measured(case, costs.get(case.id), unstarted)
        from rtstone.results.rounds import merged

        results = merged(self._plan.until, self._rounds(case, costs, unstarted))
        return [structs.replace(result, case=case.id) for result in results]

    def _rounds(
        self, case: Case, costs: dict[int, Defect], unstarted: str = ""
    ) -> list[list[Result]]:
        """Return all rounds of a case so far; always the first one, even if it has not begun."""
        ran = sorted(
            wire_id for wire_id in self.received.cases if self._plan.case_of(wire_id) == case.id
        )
        before = self._before.get(case.id, [])
        if not ran and not before:
            ran = [self._due_id(case)]
        return before + [
            self._measured(structs.replace(case, id=wire_id), costs.get(wire_id), unstarted)
            for wire_id in ran
        ]

    def _measured(self, case: Case, damage: Defect | None, unstarted: str) -> list[Result]:
        """Return the results of one wire case."""
        seen = self.received.cases[case.id]
        status, reason = self._status(case, damage, unstarted)
        params = seen.params if seen.params is not None else case.params
        evidence = dict(seen.end.evidence) if seen.end else {}
        blank = Result(
            case=case.id, bench=case.bench, params=params, load=case.load,
            load_rates=(seen.end.load if seen.end else None) or [],
            status=status, reason=reason, evidence=evidence, unit=self._scale.unit,
        )  # fmt: skip
        if self.received.clock is None:  # what the numbers count is not known
            return [blank]
        # The result of a series is made once: each round asks for all before it.
        results = []
        for raw in seen.results:
            own = blank
            if not raw.n and blank.status == "ok" and self._interrupted(blank.case):
                own = structs.replace(blank, status="incomplete", reason=INTERRUPTED)
            inputs = (own, raw, self._scale, self._conditions())
            cached = self._made.get((blank.case, raw.series))
            if cached is None or cached[0] != inputs:
                cached = self._made[blank.case, raw.series] = inputs, series_result(*inputs)
            results.append(cached[1])
        return with_single(results) or [blank]

    def _interrupted(self, wire_id: int) -> bool:
        end = self.received.cases[wire_id].end
        return end is not None and (end.status, end.reason) == ("failed", STOPPED)

    def _status(
        self, case: Case, damage: Defect | None, unstarted: str
    ) -> tuple[Status, str | None]:
        """Return the status of a wire case, and the reason if there is one."""
        seen = self.received.cases[case.id]
        end = seen.end
        if end and end.status != "ok" and end.reason not in {None, STOPPED}:
            return _STATUS.get(end.status, "failed"), end.reason  # the agent's, whatever was lost
        if damage:
            return "incomplete", f"wire: {damage}"
        if end is None:
            why = "did not end" if self._started(case) else f"not run: {unstarted}"
            return "incomplete", why
        interrupted = self._interrupted(case.id)
        if interrupted and not any(result.n for result in seen.results):
            return "incomplete", INTERRUPTED
        if self.received.clock is None:
            return "incomplete", "wire: the clock record was lost, so the unit is not known"
        if end.status == "ok" or interrupted:
            if seen.params is None or not seen.results:
                missing = "of no result" if seen.params is not None else "never that it began"
                return "incomplete", f"the agent told of its end, and {missing}"
            may_starve = case.bench.startswith(HARTSTONE)
            if case.load != NONE and (lack := lacking(end.load, may_starve=may_starve)):
                return "incomplete", f"load {case.load}: {lack}"
        if interrupted:
            return "ok", None  # with fewer samples, if it was not done anyway
        return _STATUS.get(end.status, "failed"), end.reason

    def run(
        self, reason: str | None = None, duration_s: float | None = None, unstarted: str = ""
    ) -> Run:
        """Return the run document.

        ``reason``: why the run ended early, None if it did not; ``unstarted``: the same, of a case
        that was not begun.
        """
        costs = self._costs()
        unstarted = unstarted or reason or "the agent never answered"
        results = [
            result
            for case in self._plan.cases
            for result in self._case_results(case, costs, unstarted)
        ]
        derived_results = derived.results(self._plan, results)
        results += [
            Result(
                case=case.id, bench=case.bench, params=case.params, load=case.load,
                status="unsupported", reason=case.reason, unit=self._scale.unit,
            )
            for case in self._plan.absent
        ]  # fmt: skip
        results += derived_results
        head = self.earlier if self.earlier and not self.received.clock else self
        missing = sum(result.status == "incomplete" for result in results)
        if missing and not reason:
            verb = "is" if missing == 1 else "are"
            reason = f"{missing} of {len(results)} results {verb} incomplete"
        if not reason and (lost := self.lost()):
            reason = f"wire: records of the agent were lost: {', '.join(lost)}"
        agent = None
        if hello := head.received.hello:
            agent = Agent(
                version=hello.agent, source=hello.source, port=hello.port, os=hello.os,
                arch=hello.arch, compiler=hello.compiler, flags=hello.flags, caps=hello.caps,
                binary=as_text(self._plan.target.detail.get("agent_sha256")), common=hello.common,
            )  # fmt: skip
        return Run(
            run_id=self._plan.run_id,
            created=self._plan.created,
            status="incomplete" if reason else "complete",
            reason=reason,
            command=self._plan.command,
            suite=self._plan.suite,
            target=self._plan.target,
            agent=agent,
            clock=head._scale.document(),
            conditions=head._conditions(),
            results=results,
            slopes=slopes(self._plan, results),
            loads=self.received.loads,
            benches=list(self._plan.benches.values()),
            notes=[
                *limits(self._plan),
                *self.received.warnings,
                *wire_notes(
                    self._plan, self.received.reader.defects, costs, self.received.left_out
                ),
                *self.remarks,
            ],
            duration_s=duration_s,
            turn=self._plan.turn,
            name=self._plan.name,
            session=self._plan.session,
            requirement=self._plan.requirement,
            attribution=self._plan.attribution
            and attributed(self._plan.attribution, results[: len(results) - len(derived_results)]),
        )

    def lost(self) -> list[str]:
        """Return the names of missing records that concern all cases and must have been sent."""
        if not self.left:
            return []
        # But for the first they come before the first case that is not refused.
        began = any(seen.began for seen in self.received.cases.values())
        return [name for name in self.received.heads.lacking() if began or name == "hello"]

    @property
    def _scale(self) -> Scale:
        return Scale.for_plan(self._plan, self.received.clock)

    @property
    def all_heads(self) -> Heads:
        """Return the records that concern all cases, including those of earlier logs."""
        heads = self.received.heads
        return heads.or_else(self.earlier.all_heads) if self.earlier else heads

    def _conditions(self) -> dict[str, Any]:
        record = self.received.conditions
        return (record.values if record else {}) | self._plan.surroundings


def gather(plan: Plan, log: bytes, *later: bytes) -> Assembly:
    """Assemble the log of a run and the logs of its resumptions."""
    assembly = Assembly(plan)
    for number, text in enumerate((log, *later)):
        assembly = Assembly(plan, assembly) if number else assembly
        for line in text.splitlines(keepends=True):
            assembly.received.feed(line)
    return assembly


def replay(plan: Plan, log: bytes, *later: bytes) -> Run:
    """Return the document of a run whose host died before writing it."""
    assembly = gather(plan, log, *later)
    whole = (assembly.received.bye or not assembly.left) and assembly.complete == len(plan.cases)
    return assembly.run(None if whole else "the host ended before the run did")
