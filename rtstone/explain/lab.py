"""Explain a sample of a run in the lab: replay the run twice, and follow what was executed.

The first replay shows when each sample was taken, the second records what was executed for some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rtstone.documents.explanation import AllSamples, Ending, Explanation
from rtstone.documents.plan import Plan
from rtstone.documents.run import Result, Run
from rtstone.errors import TargetError, UsageError
from rtstone.explain import roles, samples, stacks, symbols
from rtstone.explain.blocks import Block
from rtstone.explain.description import Followed, described, functions, sentence
from rtstone.explain.elf import Elf
from rtstone.explain.instructions import ARCHITECTURES, Architecture
from rtstone.explain.recording import Kind, Recording, Request, Span
from rtstone.explain.replay import plan_of, replay, target_of
from rtstone.explain.samples import Moment, Samples
from rtstone.explain.segments import segments
from rtstone.explain.symbols import AddressSpace
from rtstone.interrupt import Interrupt
from rtstone.lab.systems import Board
from rtstone.targets.qemu import Qemu
from rtstone.wire import records as wire

LEAD = 1_500_000  # instructions before a sample from which on stacks are followed
LEAD_OF_MANY = 5_000  # the same for each of the worst 1%
LAST_OF_MANY = 10_000  # of each of these, instructions that are followed: it counts how they end
SHARE = 0.01  # of the samples, whose endings are listed
MOST_ENDINGS = 100
AFTER = 64  # instructions recorded after a sample


class Machine(NamedTuple):
    """A target's program, as it is before it runs.

    ``elf``: the file with its symbols.  ``request``: what is always recorded.
    """

    target: Qemu
    arch: Architecture
    system: roles.System
    elf: Path
    request: Request


def by_replay(
    directory: Path, run: Run, result: Result, sample: str, against: str, *, interrupt: Interrupt
) -> Explanation:
    """Return where the instructions of a sample went, as ``rtstone.explain.explain`` does.

    Raises UsageError, TargetError, Inconclusive, Interrupted.
    """
    if result.p50 is None and "median" in {sample, against}:
        raise UsageError(
            f"no median of {result.n} samples of {result.bench}; name a sample by its number, 0 to "
            f"{result.n - 1}, in --sample and --against"
        )
    plan = plan_of(directory)
    machine = machine_of(target_of(plan))
    if machine.arch.one_entry:
        raise _strange(machine.target.system.board)
    every, _ = samples_of(plan, run, result, machine, interrupt)
    chosen, other = (_place(every, result, name) for name in (sample, against))
    many = every.worst(SHARE)[:MOST_ENDINGS]
    windows = [_window(every.moment(place), LEAD) for place in (chosen, other)]
    windows += [_window(_end_of(every.moment(place)), LEAD_OF_MANY) for place in many]
    totals = Span(every.start, every.done)
    request = machine.request._replace(stamps=(), stores=(), windows=windows, totals=totals)
    recorded = replay(plan, machine.target, run, request, interrupt).recording
    seen = _Case(machine, every, recorded, space_of(machine, recorded))
    way = described(result, chosen, seen.follow(every.moment(chosen), LEAD))
    beside = None
    if other != chosen:
        beside = described(result, other, seen.follow(every.moment(other), LEAD))
    return Explanation(
        run_id=run.run_id,
        name=run.name,
        target=run.target.name,
        case=result.case,
        bench=result.bench,
        params=result.params,
        load=result.load,
        series=result.series,
        unit=result.unit,
        source="replay",
        sentence=sentence(way),
        way=way,
        against=beside,
        functions=functions(way, beside),
        all_samples=seen.all_samples(many),
        notes=[
            f"of sample {place} {INEXACT}"
            for place in (chosen, other)
            if not every.moment(place).exact
        ],
    )


INEXACT = (
    "only its bucket of the histogram is known: it may have begun up to 0.4% of its length earlier "
    "or later; the worst samples are known exactly"
)


def _strange(board: Board) -> UsageError:
    """Return the error of a board whose processor is not known."""
    names = ", ".join(name for name, arch in ARCHITECTURES.items() if not arch.one_entry)
    return UsageError(
        f"explain does not know the instructions of {board.title}, which are {board.arch}; it "
        f"knows {names}"
    )


def machine_of(target: Qemu) -> Machine:
    """Return a target's program with its symbols.  Raises UsageError, TargetError."""
    board = target.system.board
    linux = target.system.kernel is not None
    if board.arch not in ARCHITECTURES:
        raise _strange(board)
    elf = target.image.with_name(f"{target.image.name}.symbols") if linux else target.image
    marks = target.image.with_name(f"{target.image.name.removesuffix('.elf')}.marks")
    arch = ARCHITECTURES[board.arch]
    marked: dict[str, list[Span]] = {"sample": [], "stamp": []}  # the code of lines by name
    try:
        for line in marks.read_text("ascii").splitlines():  # of agent/marks.py
            name, start, end = line.split()
            marked.setdefault(name, []).append(Span(int(start), int(end)))
        symbols_ = Elf(elf.read_bytes()).symbols()
        addresses = {symbol.name: symbol.value & ~arch.low_bit for symbol in symbols_}
        entries = [addresses[name] for name in samples.ENTRIES]
    except (OSError, ValueError, KeyError) as error:
        raise TargetError(
            f"the symbols of the agent cannot be read, {elf}: {error}; run: rtstone lab build"
        ) from error
    request = Request(arch.stamps, marked["stamp"], entries, marked["sample"])
    return Machine(target, arch, roles.system_of(board.arch, linux=linux), elf, request)


def samples_of(
    plan: Plan, run: Run, result: Result, machine: Machine, interrupt: Interrupt
) -> tuple[Samples, Recording]:
    """Replay the run, and return the samples of a result, and what was recorded.

    All blocks of code are in it, which show where it was.  Raises UsageError, TargetError.
    """
    place = [case.id for case in plan.cases].index(result.case)
    request = machine.request._replace(after=place + 1)
    replayed = replay(plan, machine.target, run, request, interrupt)
    raws = replayed.results.get(result.case, [])
    return samples_in(replayed.recording, place, raws, result, machine), replayed.recording


def samples_in(
    recorded: Recording, place: int, raws: Sequence[wire.Result], result: Result, machine: Machine
) -> Samples:
    """Return the samples of a result, of the ``place``-th case (from 0) of what was recorded.

    ``raws``: the results of its case as the agent sent them.  Raises UsageError, TargetError.
    """
    hz = next(raw.hz for raw in raws if raw.series == result.series)
    per_tick = machine.target.system.board.instructions_per_s / hz
    every = samples.find(recorded, place, raws, result.series, per_tick)
    if len(raws) > 1 and not every.stamped and result.missed is None:
        raise UsageError(
            f"where samples of series '{result.series}' begin is not known, of {result.bench}; "
            "explain another series of it"
        )
    return every


def _place(every: Samples, result: Result, name: str) -> int:
    """Return the place of a sample among all."""
    if name == "worst":
        return result.worst[0].index
    if name.isdecimal():
        return int(name)
    return every.nearest(getattr(result, {"median": "p50"}.get(name, name)))


def _end_of(moment: Moment) -> Moment:
    """Return the last part of a sample of which only the ending matters."""
    return moment._replace(length=min(moment.length, LAST_OF_MANY))


def _window(moment: Moment, lead: int) -> Span:
    return Span(max(0, moment.end - moment.length - lead), moment.end + AFTER)


def space_of(machine: Machine, recorded: Recording) -> AddressSpace:
    """Return the functions in the guest's memory."""
    if machine.target.system.kernel is None:
        return symbols.of_image(machine.elf)
    blocks = [
        Block(pc, n, size, last[:length]) for pc, n, size, last, length in recorded.blocks.tolist()
    ]
    return symbols.of_linux(machine.target.kernel, machine.elf, blocks)


class _Case:
    """The samples of a case, and what was recorded of it."""

    def __init__(
        self, machine: Machine, every: Samples, recorded: Recording, space: AddressSpace
    ) -> None:
        self._machine = machine
        self._samples = every
        self._recorded = recorded
        self._space = space
        self._names: dict[int, tuple[str, int]] = {}  # functions by address, which come often

    def _place(self, pc: int) -> tuple[str, int]:
        """Return the name and the begin of the function at an address."""
        if pc not in self._names:
            function = self._space.name(pc)
            self._names[pc] = str(function), function.start
        return self._names[pc]

    def follow(self, moment: Moment, lead: int) -> Followed:
        """Follow what was executed for a sample, from ``lead`` instructions before it was due."""
        system = self._machine.system
        tree, slices, switches = stacks.follow(
            self._recorded, _window(moment, lead), self._machine.arch, self._place, system
        )
        way = stacks.within(slices, moment.end, moment.length)
        parts = segments(tree, way, switches, system, stamped=self._samples.stamped)
        return Followed(moment, tree, way, parts)

    def all_samples(self, worst: Sequence[int]) -> AllSamples:
        """Return the cost of the whole case by function, and what the worst had waited for last."""
        endings: Counter[str] = Counter()
        for place in worst:
            moment = _end_of(self._samples.moment(place))
            parts = self.follow(moment, LEAD_OF_MANY).segments
            if ending := next((part.by for part in reversed(parts) if part.by), None):
                endings[ending] += 1
        cost: Counter[str] = Counter()
        totals = self._recorded.of_kind(Kind.TOTAL)
        blocks = self._recorded.blocks[totals["what"]]
        columns = blocks["pc"], blocks["n"], totals["count"]
        for pc, n, times in zip(*(column.tolist() for column in columns), strict=True):
            cost[self._place(pc)[0]] += n * times
        return AllSamples(
            n=len(self._samples.buckets),
            cost=cost.total(),
            functions=stacks.most_first(cost),
            worst=len(worst),
            endings=[Ending(name=name, samples=n) for name, n in stacks.most_first(endings)],
        )
