"""Find every section of a run in the lab in which something was off, as interrupts or preemption.

The run is repeated three times: the first replay shows when its samples were taken, the second
records the sections between the first and the last of them, the third who called the longest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.run import Result, Run
from rtstone.documents.sections import (
    KINDS,
    Bound,
    Kind,
    Part,
    Section,
    Sections,
    SectionsOfRun,
    Term,
    Unseen,
)
from rtstone.errors import TargetError, UsageError
from rtstone.explain import image, kernel, masks, stacks, symbols
from rtstone.explain.bound import NUMBERS, bound_of
from rtstone.explain.elf import Elf
from rtstone.explain.lab import Machine, machine_of, samples_of, space_of
from rtstone.explain.recording import Recording, Span, Table
from rtstone.explain.replay import plan_of, replay, target_of
from rtstone.explain.samples import Samples
from rtstone.explain.symbols import AddressSpace
from rtstone.files import content
from rtstone.interrupt import Interrupt
from rtstone.units import count

LEAD = 300_000  # instructions before a section, from which on its callers are followed
LOOKED_AT = 5  # sections of each kind, whose callers are looked for
# Physical addresses of the memory of boards whose values are read.
MEMORY = {
    "virt-a53": 0x40000000, "virt-rv32": 0x80000000, "virt-rv64": 0x80000000,
    "virt-riscv64": 0x80000000, "q35": 0,
}  # fmt: skip
LINUX = {"aarch64": masks.of_linux, "riscv64": masks.of_riscv}  # what is followed, but of PCs
CHECK = 255  # the kind of what sums up the interrupts, as in tally.c
MIB = 1 << 20
NEVER = Span(1 << 61, 1 << 62)  # while which blocks are counted

Name = Callable[[int], str]  # of the function at an address


def sections_of(
    directory: Path, run: Run, result: Result, *, interrupt: Interrupt
) -> SectionsOfRun:
    """Return all sections of a result's case between its first and its last sample.

    Raises UsageError, TargetError, Inconclusive, Interrupted.
    """
    plan = plan_of(directory)
    machine = machine_of(target_of(plan))
    with_blocks = machine._replace(request=machine.request._replace(totals=NEVER))
    every, recorded = samples_of(plan, run, result, with_blocks, interrupt)
    during = during_of(every)
    followed = followed_of(machine, space_of(machine, recorded))
    plain = machine.request._replace(stamps=(), stores=())
    lines = [("during", *during), *followed.lines]
    request = plain._replace(sections=lines, memory=memory_of(machine))
    recorded = replay(plan, machine.target, run, request, interrupt).recording
    if not len(recorded.sections) or recorded.sections["kind"][-1] != CHECK:
        raise TargetError(f"sections of {machine.target.name} cannot be followed: it ended early")
    space = space_of(machine, recorded)
    seen = Seen(machine, followed, every, recorded, recorded.sections, space)
    document = document_of(run, result, seen)
    start = during.start
    begins = [start + s.at for each in document.kinds for s in each.sections[:LOOKED_AT]]
    bound = document.bound
    begins += [start + term.at for term in bound.terms if term.at is not None] if bound else []
    request = plain._replace(windows=[Span(max(0, at - LEAD), at + 1) for at in begins])
    traced = replay(plan, machine.target, run, request, interrupt).recording
    callers = _Callers(machine, traced)
    return structs.replace(
        document,
        kinds=[_with_stacks(each, start, callers) for each in document.kinds],
        bound=bound and _bound_with_stacks(bound, start, callers),
    )


class Seen(NamedTuple):
    """What was recorded of a case, and of it the rows of its sections (tally.c)."""

    machine: Machine
    followed: masks.Followed
    every: Samples
    recorded: Recording
    rows: Table
    space: AddressSpace


def during_of(every: Samples) -> Span:
    """Return the time from when the first sample was due to the end of the last one."""
    first, last = every.moment(0), every.moment(len(every.buckets) - 1)
    return Span(first.end - first.length, last.end)


def document_of(run: Run, result: Result, seen: Seen) -> SectionsOfRun:
    """Return the sections of a result's case, and their bound, without call stacks.

    Raises TargetError if something is in them that is not known, Inconclusive.
    """
    machine, followed, every, recorded, rows, space = seen
    during = during_of(every)
    check = rows[rows["kind"] == CHECK]
    if check["longest"].any():
        raise TargetError(
            f"sections of {machine.target.name} cannot be followed: code that is not known changes "
            "what is counted"
        )
    name = _named(space, machine.arch.low_bit)
    kinds = [_kind(kind, rows, during.start, name) for kind in followed.kinds]
    terms = [_term(part, rows, during.start, name) for part in NUMBERS]
    bound, no_bound = None, _no_bound(followed, every)
    if followed.composition and not no_bound:
        bound = bound_of(followed.composition, terms, every, recorded, during)
    return SectionsOfRun(
        run_id=run.run_id,
        name=run.name,
        target=run.target.name,
        case=result.case,
        bench=result.bench,
        params=result.params,
        load=result.load,
        series=result.series,
        sentence=_sentence(kinds),
        instructions=during.end - during.start,
        max=result.max,
        interrupts=int(check["n"].sum()) if "irqs-masked" in followed.kinds else None,
        while_masked=int(check["sum"].sum()),
        kinds=kinds,
        bound=bound,
        no_bound=no_bound,
        unseen=_unseen(followed.masking, kinds),
    )


def _unseen(masking: Sequence[str], kinds: Iterable[Sections]) -> Unseen | None:
    """Return which of the functions that mask interrupts began no section; None without any."""
    sections = (s for each in kinds if each.kind == "irqs-masked" for s in each.sections)
    began = {name for section in sections for name in section.begin}
    names = [name for name in masking if name not in began]
    return Unseen(functions=len(masking), unseen=len(names), names=names) if masking else None


def _no_bound(followed: masks.Followed, every: Samples) -> str:
    """Return why there is no bound, "" if there is one."""
    if followed.composition is None:
        return "what switches to a task, or asks for it, is not followed on this system"
    if every.stamped:
        return "the samples begin at a time stamp, not when a task was due to be woken"
    return ""


def followed_of(machine: Machine, space: AddressSpace | None = None) -> masks.Followed:
    """Return what to follow; ``space``: where it is, None if the plugin is to find that out.

    Raises UsageError for a system that is not known, TargetError.
    """
    target, arch = machine.target, machine.arch.name
    try:
        if target.system.kernel is None:
            space = space or symbols.of_image(machine.elf)
            return masks.of_freertos(content(machine.elf), space, arch)
        code = image.kernel(content(target.kernel.image))
        if arch == "x86_64":
            if space is None:
                raise UsageError(
                    f"sections of {target.name} are not seen while it is measured; leave out "
                    "--sections, and see `rtstone sections last`"
                )
            model = target.detail()["preempt"]
            models = {model} if model else set(target.system.preempt)
            preempted = bool(models) and models <= masks.PREEMPTED
            return masks.of_pc(Elf(code), space, preempted=preempted)
        follow, names = LINUX[arch], kernel.read(target.kernel)
        if space is not None:
            return follow(code, names.functions, space)
        followed = follow(code, names.functions, symbols.as_linked(names.functions))
        lines = [*masks.place_of_linux(code, names, arch), *followed.lines]
        return followed._replace(lines=lines)
    except (KeyError, StopIteration, ValueError) as error:
        raise TargetError(f"sections of {target.name} cannot be followed: {error}") from error


def memory_of(machine: Machine) -> tuple[int, int] | None:
    """Return where the guest's memory is, and its bytes; None if it cannot be in a file."""
    system = machine.target.system
    start = MEMORY.get(system.board.name)
    return None if start is None or system.memory is None else (start, system.memory * MIB)


def _named(space: AddressSpace, low_bit: int) -> Name:
    def name(pc: int) -> str:
        return str(space.name(pc & ~low_bit))

    return name


def _kind(kind: Kind, table: Table, start: int, name: Name) -> Sections:
    """Return the sections of a kind."""
    ranked = _ranked(masks.NUMBERS[kind], table, start, name)
    return Sections(
        kind=kind,
        n=sum(section.n for section in ranked),
        total=sum(section.total for section in ranked),
        longest=ranked[0].longest if ranked else 0,
        sections=ranked,
    )


def _term(part: Part, table: Table, start: int, name: Name) -> Term:
    """Return a term of the bound, of stretches; its time may be before ``start``."""
    ranked = _ranked(NUMBERS[part], table, start, name)
    if not ranked:
        return Term(part=part, longest=0, n=0)
    first, n = ranked[0], sum(section.n for section in ranked)
    return Term(
        part=part, longest=first.longest, n=n, begin=first.begin, end=first.end, at=first.at
    )


def _ranked(number: int, table: Table, start: int, name: Name) -> list[Section]:
    """Return the sections of a kind, those between the same functions made one, longest first."""
    rows = table[table["kind"] == number]
    merged: dict[tuple[tuple[str, ...], tuple[str, ...]], Section] = {}
    for row in rows.tolist():
        begin, begin_caller, end, end_caller, n, total, longest, at, *_ = row
        places = _place(begin, begin_caller, name), _place(end, end_caller, name)
        before = merged.get(places)
        section = Section(
            begin=list(places[0]), end=list(places[1]),
            n=n, total=total, longest=longest, at=at - start,
        )  # fmt: skip
        if before is not None:
            longer = max((before, section), key=lambda s: (s.longest, -s.at))
            section = structs.replace(longer, n=n + before.n, total=total + before.total)
        merged[places] = section
    return sorted(merged.values(), key=lambda s: (-s.longest, s.begin, s.end))


def _place(pc: int, caller: int, name: Name) -> tuple[str, ...]:
    """Return the function at an address, behind the one that it was called by if that is known."""
    return (name(caller), name(pc)) if caller and name(caller) != name(pc) else (name(pc),)


class _Callers:
    """The functions that were on the stack at a time, by what was recorded before it."""

    def __init__(self, machine: Machine, recorded: Recording) -> None:
        self._machine, self._recorded = machine, recorded
        self._space = space_of(machine, recorded)

    def _function(self, pc: int) -> tuple[str, int]:
        place = self._space.name(pc)
        return str(place), place.start

    def stack_at(self, when: int) -> list[str]:
        """Return the functions on the stack at an instruction, outermost first."""
        window = Span(max(0, when - LEAD), when + 1)
        tree, slices, _ = stacks.follow(
            self._recorded, window, self._machine.arch, self._function, self._machine.system
        )
        at = [piece for piece in slices if piece.start <= when < piece.start + piece.n]
        return tree.frames(at[-1].node) if at else []


def _with_stacks(kind: Sections, start: int, callers: _Callers) -> Sections:
    """Return sections, the longest with their callers; ``start``: what their times are after."""
    longest, rest = kind.sections[:LOOKED_AT], kind.sections[LOOKED_AT:]
    looked_at = [structs.replace(s, stack=callers.stack_at(start + s.at)) for s in longest]
    return structs.replace(kind, sections=[*looked_at, *rest])


def _bound_with_stacks(bound: Bound, start: int, callers: _Callers) -> Bound:
    """Return a bound, each term with its callers."""
    terms = [
        term if term.at is None
        else structs.replace(term, stack=callers.stack_at(start + term.at))
        for term in bound.terms
    ]  # fmt: skip
    return structs.replace(bound, terms=terms)


def _sentence(kinds: Iterable[Sections]) -> str:
    """Return the answer: the longest section of each kind, and where it began."""
    parts = []
    for each in kinds:
        if not each.sections:
            parts.append(f"{KINDS[each.kind]}: none")
            continue
        section = each.sections[0]
        where = " > ".join(section.begin)
        parts.append(f"{KINDS[each.kind]}: {count(section.longest)} instructions, {where}")
    return f"Longest {'; '.join(parts)} (of what ran)"
