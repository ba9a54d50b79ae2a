"""Search for the program of actions beside which a bench takes longest, on an emulated board.

A search is a campaign that grows: each generation is planned from what was measured before it.  As
an emulated run repeats, and its run is stored under a hash of what it depends on, the same search
proposes the same programs again, and goes on where it was interrupted.  The sections of each run
are recorded with it, and lead the search to code that delays, before a wake-up hits it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import islice
from math import inf
from pathlib import Path

from msgspec import structs

from rtstone.campaign.engines import Local
from rtstone.campaign.job_table import Row, Table
from rtstone.campaign.jobs import Job
from rtstone.campaign.matrix import Campaign
from rtstone.campaign.planning import plan
from rtstone.campaign.running import GIVEN_UP, Limits, Runner
from rtstone.documents.search import Candidate, Lack, SearchResult
from rtstone.documents.sections import SectionsOfRun, defects
from rtstone.errors import Interrupted, RtstoneError, StoreError, TargetError, UsageError
from rtstone.explain.watch import unwatchable
from rtstone.interrupt import Interrupt
from rtstone.measure.actions import CONTROL
from rtstone.measure.catalogue import catalogue
from rtstone.measure.programs import Breeder, Program, load_of, names, refused, sizes, smaller
from rtstone.measure.provocation import is_lab, loads_of
from rtstone.store.layout import runs
from rtstone.store.rundir import load
from rtstone.store.sections import stored
from rtstone.targets import find

SAMPLES = 1000  # of a program: 200 cycles, which meet the wake-ups at other times each
GENERATION = 8  # programs that are proposed at once; the same however many CPUs there are
MOST = 1_000_000  # programs, where only time limits them
# What rtstone itself loads a system with, where the system has it.
LOADS = ("syscalls", "exit", "unmap", "tcp", "files", "heavy/reduced")
UNMEASURED = "not measured"
ENOUGH = 0.95  # of the longest that remains without a step that is not needed

# Of each program: it, the longest sample before it, None if there is none, and the unit.
Listener = Callable[[Candidate, float | None, str], None]


class Search:
    """A search on a target; ``listener``: of each program that was measured.

    ``error``: why it ended early, None if it did not.
    """

    error: RtstoneError | None = None

    def __init__(
        self, bench: str, target: str, seed: int, interrupt: Interrupt, listener: Listener
    ) -> None:
        if not is_lab(find(target)):
            raise UsageError(
                f"no search on target '{target}': it needs an emulated board, which repeats and "
                "which nobody else uses; give --target qemu:..."
            )
        self._bench, self._interrupt, self._listener = bench, interrupt, listener
        self._no_sections = unwatchable(find(target))
        words = [bench, target, str(seed), *(["sections"] if not self._no_sections else [])]
        digest = sha256(" ".join(words).encode()).hexdigest()[:12]
        self._campaign = Campaign(
            name=f"search-{digest}", file=Path(f"search-{digest}.toml").absolute(),
            title=f"search for the worst of {bench}", targets=[target], measure=[bench],
            params={"samples": [str(SAMPLES)]},
        )  # fmt: skip
        loads = loads_of(target, catalogue(find(target), interrupt))
        self._beside = [
            Candidate(number=0, load=load, reason=UNMEASURED)
            for load in (CONTROL.load, *(each for each in LOADS if each in loads))
        ]
        self._breeder = Breeder(seed, names(loads), sizes(loads))
        self._candidates: list[Candidate] = []
        self._records: list[Candidate] = []
        self._best: Program = ()
        self._lacks: list[Lack] = []
        self._least: Candidate | None = None
        self._reduced = False
        self._unit = ""
        self._switched: int | None = None
        self._bound: int | None = None
        self._defects: list[str] = []
        self._target, self._seed = target, seed

    def run(self, programs: int | None, seconds: float | None) -> SearchResult:
        """Search until so many programs were measured, or for so long, and reduce the best.

        It ends early if interrupted, or if the target or the store fails, with what was measured
        until then.  Raises UsageError, and what ended it before anything was measured.
        """
        end = inf if seconds is None else time.monotonic() + seconds
        most = MOST if programs is None else programs
        try:
            self._measure_loads(end)
            while len(self._candidates) < most and time.monotonic() < end:
                if not self._generation(min(GENERATION, most - len(self._candidates)), end):
                    break
            self._reduce()
        except (Interrupted, StoreError, TargetError) as error:
            if not any(each.longest is not None for each in (*self._beside, *self._candidates)):
                raise
            self.error = Interrupted("interrupted") if self._interrupt.requested else error
        return self._result()

    def _result(self) -> SearchResult:
        valid = [each for each in self._candidates if each.longest is not None]
        drawn = [each for each in valid if not each.bred]
        lacking = {lack.action for lack in self._lacks}
        failures = [
            each
            for each in self._candidates
            if each.longest is None and each.refused not in lacking
        ]
        why = f"{UNMEASURED}: {self.error or 'the time was over'}"
        control, *loads = [
            structs.replace(each, reason=why) if each.reason == UNMEASURED else each
            for each in self._beside
        ]
        return SearchResult(
            target=self._target, bench=self._bench, unit=self._unit,
            early=str(self.error or ""), seed=self._seed, samples=SAMPLES,
            programs=len(self._candidates), failed=len(self._candidates) - len(valid),
            failure=failures[0] if failures else None, lacks=self._lacks, control=control,
            records=self._records, drawn=max(drawn, key=_longest, default=None),
            n_drawn=len(drawn), least=self._least, reduced=self._reduced, loads=loads,
            switched=self._switched, bound=self._bound, no_sections=self._no_sections,
            defects=self._defects,
        )  # fmt: skip

    def _measure_loads(self, end: float) -> None:
        """Measure the control and the loads of rtstone."""
        loads = [(each.load, False) for each in self._beside]
        measured, error = self._measured(loads, numbered=False, end=end)
        for place, candidate in enumerate(measured):
            if candidate is not None:
                self._beside[place], _ = self._with_sections(candidate)
        if error:
            raise error

    def _generation(self, number: int, end: float) -> bool:
        """Measure the next programs and learn from them; return False if no action is left."""
        proposals = list(islice(iter(self._breeder.propose, None), number))
        if not proposals:
            return False
        loads = [(load_of(each.program), each.bred) for each in proposals]
        measured, error = self._measured(loads, numbered=True, end=end)
        for proposal, candidate in zip(proposals, measured, strict=True):
            if candidate is not None:
                self._learn(proposal.program, candidate)
        if error:
            raise error
        return True

    def _learn(self, program: Program, measured: Candidate) -> None:
        """Take note of a program that was measured, and of what the target lacks for it."""
        candidate, gained = self._with_sections(measured)
        if candidate.longest is None and (action := refused(program, candidate.reason)):
            candidate = structs.replace(candidate, refused=action)
            if self._breeder.fail(program, action):
                _, _, reason = candidate.reason.rpartition(f" {program[0]}: ")
                self._lacks.append(Lack(action=action, reason=reason))
        longest = self._records[-1].longest if self._records else None
        self._candidates.append(candidate)
        self._listener(candidate, longest, self._unit)
        if candidate.longest is None:
            return
        self._breeder.learn(program, candidate.longest, gained)
        if longest is None or candidate.longest > longest:
            self._best = program
            self._records.append(candidate)
            self._least = candidate

    def _reduce(self) -> None:
        """Leave out the steps of the best program that it does not need, one after the other."""
        program = self._best
        while shorter := list(smaller(program)):
            loads = [(load_of(each), True) for each in shorter]
            measured, error = self._measured(loads, numbered=False)
            if error:
                raise error
            candidates = [self._with_sections(each)[0] for each in measured if each is not None]
            place = max(range(len(shorter)), key=lambda place: _longest(candidates[place]))
            if _longest(candidates[place]) < ENOUGH * _longest(self._records[-1]):
                break
            self._least, program = candidates[place], shorter[place]
        self._reduced = True

    def _measured(
        self, loads: Sequence[tuple[str, bool]], *, numbered: bool, end: float = inf
    ) -> tuple[list[Candidate | None], RtstoneError | None]:
        """Measure beside loads, each with whether it was bred, unless that was done before.

        ``numbered``: whether they are the search's next programs.  ``end``: time after which none
        is begun.  None is returned for those that were not measured, and why if it was not for
        their time.
        """
        texts = list(dict.fromkeys(text for text, _ in loads))
        campaign = structs.replace(self._campaign, loads=texts)
        planned = plan(campaign, self._interrupt)
        if planned.absent:
            raise TargetError(next(iter(planned.absent.values())))
        watched = not self._no_sections
        watching = [structs.replace(job, sections=watched) for job in planned.jobs]
        table = Table(campaign.name)
        error: RtstoneError | None = None
        try:
            table.register()
            table.adopt(list(enumerate(watching)), planned.absent)
            table.settle()
            engine = Local(campaign.name, table.owner, campaign.folder)
            limits = Limits(None if end == inf else max(0.0, end - time.monotonic()))
            try:
                ended = Runner(table, engine, self._interrupt, lambda _: None).run(limits)
                if ended.early and time.monotonic() < end:
                    error = TargetError(ended.early)
            except (Interrupted, StoreError) as early:
                error = early
            rows = {row.key: row for row in table.rows()}
            if lost := [row for row in rows.values() if _is_lost(row)]:
                table.retry()
                error = error or TargetError(lost[0].reason or "")
        finally:
            table.close()
        jobs = {job.cell.load: job for job in planned.jobs}
        first = len(self._candidates) + 1
        candidates = [
            self._candidate(
                jobs[text], rows[jobs[text].key], bred, first + place if numbered else 0
            )
            for place, (text, bred) in enumerate(loads)
        ]
        return candidates, error

    def _with_sections(self, candidate: Candidate) -> tuple[Candidate, int]:
        """Return a candidate with what its sections add, and how many instructions they gained.

        Of all that were measured the longest until the switch, and the bound, are noted.
        """
        document = self._sections(candidate)
        if document is None:
            return candidate, 0
        longest = {
            f"{each.kind} {' > '.join(s.begin)} ... {' > '.join(s.end)}": s.longest
            for each in document.kinds for s in each.sections
        }  # fmt: skip
        news = self._breeder.compare(longest)
        self._defects += [f"{candidate.load}: {clause}" for clause in defects(document)]
        bound = document.bound
        switched = bound and bound.seen
        self._switched = max(switched or 0, self._switched or 0) or None
        self._bound = max(bound.longest if bound else 0, self._bound or 0) or None
        signature = sha256("\n".join(sorted(longest)).encode()).hexdigest()[:12]
        candidate = structs.replace(
            candidate, signature=signature, new=news.new, longer=news.longer, switched=switched,
            bound=bound and bound.longest,
        )  # fmt: skip
        return candidate, news.gained

    def _sections(self, candidate: Candidate) -> SectionsOfRun | None:
        """Return the sections of a candidate's run, None if they are not known."""
        if candidate.run is None or self._no_sections:
            return None
        sections, _ = stored(runs() / candidate.run, candidate.run)
        return sections[0] if sections else None

    def _candidate(self, job: Job, row: Row, bred: bool, number: int) -> Candidate | None:
        """Return what a job measured, None if it did not come to that."""
        if row.state in {"planned", "leased"} or _is_lost(row):
            return None
        candidate = Candidate(number=number, load=job.cell.load or "", bred=bred)
        if row.state != "done":
            return structs.replace(candidate, reason=row.reason or "it was not measured")
        results = load(runs() / job.run_id).results
        valid = [each for each in results if each.status == "ok" and each.max is not None]
        if not valid:
            return structs.replace(candidate, reason=results[0].reason or "no sample")
        self._unit = valid[0].unit
        longest = max(each.max or 0.0 for each in valid)
        return structs.replace(candidate, longest=longest, run=job.run_id)


def _is_lost(row: Row) -> bool:
    """Return whether a job was given up for others that failed."""
    return row.state == "failed" and (row.reason or "").startswith(GIVEN_UP)


def _longest(candidate: Candidate) -> float:
    return candidate.longest or 0.0
