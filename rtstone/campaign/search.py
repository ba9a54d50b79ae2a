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
from math import inf
from pathlib import Path

from msgspec import structs

from rtstone.campaign.engines import Local
from rtstone.campaign.job_table import Table
from rtstone.campaign.jobs import Job
from rtstone.campaign.matrix import Campaign
from rtstone.campaign.planning import plan
from rtstone.campaign.running import Limits, Runner
from rtstone.documents.search import Candidate, SearchResult
from rtstone.documents.sections import SectionsOfRun, defects
from rtstone.errors import TargetError, UsageError
from rtstone.explain.watch import unwatchable
from rtstone.interrupt import Interrupt
from rtstone.measure.actions import CONTROL
from rtstone.measure.catalogue import catalogue
from rtstone.measure.programs import Breeder, Program, load_of, names, sizes, smaller
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
ENOUGH = 0.95  # of the longest that remains without a step that is not needed

# Of each program: it, the longest sample before it, None if there is none, and the unit.
Listener = Callable[[Candidate, float | None, str], None]


class Search:
    """A search on a target; ``listener``: of each program that was measured."""

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
        self._loads = [load for load in LOADS if load in loads]
        self._breeder = Breeder(seed, names(loads), sizes(loads))
        self._candidates: list[Candidate] = []
        self._unit = ""
        self._switched: int | None = None
        self._bound: int | None = None
        self._defects: list[str] = []
        self._target, self._seed = target, seed

    def run(self, programs: int | None, seconds: float | None) -> SearchResult:
        """Search until so many programs were measured, or for so long, and reduce the best.

        Raises UsageError, TargetError, StoreError, Interrupted.
        """
        end = inf if seconds is None else time.monotonic() + seconds
        most = MOST if programs is None else programs
        first = [(CONTROL.load, False), *((load, False) for load in self._loads)]
        control, *beside = [
            self._with_sections(each)[0] for each in self._measured(first, numbered=False)
        ]
        best: Program = ()
        records: list[Candidate] = []
        while len(self._candidates) < most and time.monotonic() < end:
            number = min(GENERATION, most - len(self._candidates))
            proposals = [self._breeder.propose() for _ in range(number)]
            loads = [(load_of(each.program), each.bred) for each in proposals]
            candidates = self._measured(loads, numbered=True)
            for place, (proposal, measured) in enumerate(zip(proposals, candidates, strict=True)):
                candidate, gained = self._with_sections(measured)
                candidates[place] = candidate
                longest = records[-1].longest if records else None
                self._listener(candidate, longest, self._unit)
                if candidate.longest is None:
                    continue
                self._breeder.learn(proposal.program, candidate.longest, gained)
                if longest is None or candidate.longest > longest:
                    best = proposal.program
                    records.append(candidate)
            self._candidates += candidates
        valid = [each for each in self._candidates if each.longest is not None]
        drawn = [each for each in valid if not each.bred]
        least = self._reduced(records[-1], best) if records else None
        return SearchResult(
            target=self._target, bench=self._bench, unit=self._unit, seed=self._seed,
            samples=SAMPLES, programs=len(self._candidates),
            failed=len(self._candidates) - len(valid), control=control, records=records,
            drawn=max(drawn, key=_longest, default=None), n_drawn=len(drawn),
            least=least, loads=beside, switched=self._switched, bound=self._bound,
            no_sections=self._no_sections, defects=self._defects,
        )  # fmt: skip

    def _reduced(self, record: Candidate, program: Program) -> Candidate:
        """Return the program without the steps that can be left out, one after the other."""
        least = record
        while shorter := list(smaller(program)):
            loads = [(load_of(each), True) for each in shorter]
            measured = self._measured(loads, numbered=False)
            candidates = [self._with_sections(each)[0] for each in measured]
            place = max(range(len(shorter)), key=lambda place: _longest(candidates[place]))
            if _longest(candidates[place]) < ENOUGH * _longest(record):
                break
            least, program = candidates[place], shorter[place]
        return least

    def _measured(self, loads: Sequence[tuple[str, bool]], *, numbered: bool) -> list[Candidate]:
        """Measure beside loads, each with whether it was bred, unless that was done before.

        ``numbered``: whether they are the search's next programs.
        """
        texts = list(dict.fromkeys(text for text, _ in loads))
        campaign = structs.replace(self._campaign, loads=texts)
        planned = plan(campaign, self._interrupt)
        if planned.absent:
            raise TargetError(next(iter(planned.absent.values())))
        watched = not self._no_sections
        watching = [structs.replace(job, sections=watched) for job in planned.jobs]
        table = Table(campaign.name)
        try:
            table.register()
            table.adopt(list(enumerate(watching)), planned.absent)
            table.settle()
            engine = Local(campaign.name, table.owner, campaign.folder)
            Runner(table, engine, self._interrupt, lambda _: None).run(Limits())
            reasons = {row.key: row.reason or "" for row in table.rows() if row.state != "done"}
        finally:
            table.close()
        jobs = {job.cell.load: job for job in planned.jobs}
        first = len(self._candidates) + 1
        return [
            self._candidate(jobs[text], bred, first + place if numbered else 0, reasons)
            for place, (text, bred) in enumerate(loads)
        ]

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

    def _candidate(self, job: Job, bred: bool, number: int, reasons: dict[str, str]) -> Candidate:
        """Return what a job measured."""
        candidate = Candidate(number=number, load=job.cell.load or "", bred=bred)
        if job.key in reasons:
            return structs.replace(candidate, reason=reasons[job.key] or "it was not measured")
        results = load(runs() / job.run_id).results
        valid = [each for each in results if each.status == "ok" and each.max is not None]
        if not valid:
            return structs.replace(candidate, reason=results[0].reason or "no sample")
        self._unit = valid[0].unit
        longest = max(each.max or 0.0 for each in valid)
        return structs.replace(candidate, longest=longest, run=job.run_id)


def _longest(candidate: Candidate) -> float:
    return candidate.longest or 0.0
