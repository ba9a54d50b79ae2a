"""Makes the system fit to be measured, and puts back what it changed.

A change is taken down in the journal, made, and read back.  What the kernel refuses is told and
left; what was done is put back in reverse order, whatever ended the program in between.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from rtstone.cpus import bind, cpu_list
from rtstone.errors import TargetError, UsageError, unknown
from rtstone.system.facts import System
from rtstone.system.journal import Begin, Journal, Step, locked
from rtstone.system.settings import (
    AGENTS,
    CPUSET,
    SETTINGS,
    Change,
    Make,
    Setting,
    Write,
    undoing,
    value,
)

BOOT = "proc/sys/kernel/random/boot_id"

# apply:   changed, adjusted (the kernel made something else of it), enough (nothing to do),
#          planned (a dry run), refused (by the kernel), impossible (here)
# restore: restored, old (it had the old value), gone (the file, or the boot), left (changed by
#          somebody else), failed
# status:  holds, lost (has another value now), gone
Outcome = Literal[
    "changed", "adjusted", "enough", "planned", "refused", "impossible",
    "restored", "old", "gone", "left", "failed", "holds", "lost",
]  # fmt: skip


class Told(NamedTuple):
    """The outcome of one change; ``path`` is empty for a setting as a whole."""

    setting: str
    outcome: Outcome
    path: str = ""
    old: str = ""
    new: str = ""
    reason: str = ""


def settings(names: Iterable[str] | None) -> list[Setting]:
    """Return the named settings, in the order of the table; None: the default ones.

    Raises UsageError for an unknown name.
    """
    if names is None:
        return [setting for setting in SETTINGS if setting.default]
    wanted, known = set(names), [setting.name for setting in SETTINGS]
    for name in wanted - set(known):
        raise unknown("setting", name, known, "in --only")
    return [setting for setting in SETTINGS if setting.name in wanted]


# ---- apply --------------------------------------------------------------------------------------


def apply(system: System, chosen: list[Setting]) -> list[Told]:
    """Apply settings.  Raises UsageError if the journal cannot be written."""
    with locked(system.files) as journal:
        stale = _other_boot(system, journal)
        begin = Begin(
            boot=system.read(BOOT) or "",
            since=datetime.now(UTC).isoformat(timespec="seconds"),
            cpus=cpu_list(system.measured),
        )
        told = [Told("journal", "gone", reason=OTHER_BOOT)] if stale else []
        without = ""  # the control group that was refused
        for setting, change in _changes(system, chosen, told):
            if without and change.path.startswith(f"{without}/"):
                continue
            journal.open(begin)
            told.append(_Applying(system, journal, setting).carry_out(change))
            if isinstance(change, Make) and told[-1].outcome == "refused":
                without = change.path
        return told


def dry_run(system: System, chosen: list[Setting]) -> list[Told]:
    """Return what ``apply`` would do."""
    told: list[Told] = []
    for setting, change in _changes(system, chosen, told):
        if isinstance(change, Make):
            new = " ".join(text for _, text, _ in change.contents)
            told.append(Told(setting.name, "planned", change.path, "", new))
        else:
            old = (system.raw(change.path) or "").strip()
            told.append(Told(setting.name, "planned", change.path, old, change.new))
    return told


def _changes(
    system: System, chosen: list[Setting], told: list[Told]
) -> Iterator[tuple[Setting, Change]]:
    """Yield the changes to make; add settings that need none, or cannot be made, to ``told``."""
    for setting in chosen:
        plan = setting.plan(system)
        if isinstance(plan, str):
            told.append(Told(setting.name, "impossible", reason=plan))
            continue
        needed = [change for change in plan if not _is_so(system, change)]
        if not needed:
            told.append(Told(setting.name, "enough"))
        yield from ((setting, change) for change in needed)


def _is_so(system: System, change: Change) -> bool:
    if isinstance(change, Make):
        return all(
            _reads(system, Write(f"{change.path}/{name}", text, form))
            for name, text, form in change.contents
        )
    return _reads(system, change)


def _reads(system: System, write: Write) -> bool:
    """Return whether the file already has the value to write."""
    now = system.raw(write.path)
    return now is not None and value(write.form, now) == value(write.form, write.new)


class _Applying:
    """Apply changes of one setting."""

    def __init__(self, system: System, journal: Journal, setting: Setting) -> None:
        self._system, self._files, self._journal = system, system.files, journal
        self._name = setting.name

    def carry_out(self, change: Change) -> Told:
        return self._make(change) if isinstance(change, Make) else self._write(change)

    def _write(self, change: Write) -> Told:
        before = self._system.raw(change.path)
        if before is None:
            return self._told(change, "", "refused", "cannot be read")
        earlier = self._journal.of(change.path)
        old = earlier[0].old if earlier else before
        number = self._journal.plan(
            self._name, change.path, old=old, new=change.new, form=change.form
        )
        reason = ""
        try:
            self._files.write(change.path, change.new)
        except OSError as error:
            reason = error.strerror or str(error)
        after = self._system.raw(change.path)
        if after is None or value(change.form, after) == value(change.form, before):
            self._journal.drop(number)
            return self._told(change, before, "refused", reason or "the kernel kept its value")
        self._journal.done(number, after)
        if _reads(self._system, change):
            return self._told(change, before, "changed")
        return self._told(change, before, "adjusted", f"the kernel made it {after.strip()}")

    def _make(self, change: Make) -> Told:
        if self._files.exists(change.path):
            ours = bool(self._journal.of(change.path))
            why = "exists with other CPUs; restore first" if ours else "exists already"
            return self._told(change, "", "refused", why)
        number = self._journal.plan(self._name, change.path, contents=change.contents)
        try:
            self._files.make(change.path)
            for name, text, form in change.contents:
                self._files.write(f"{change.path}/{name}", text)
                if not _reads(self._system, Write(f"{change.path}/{name}", text, form)):
                    says = self._system.read(f"{change.path}/{name}")
                    raise OSError(0, f"{name} says '{says}'")
        except OSError as error:
            with suppress(OSError):  # else restore does it
                self._files.remove(change.path)
                self._journal.drop(number)
            return self._told(change, "", "refused", error.strerror or str(error))
        self._journal.done(number, "")
        return self._told(change, "", "changed")

    def _told(self, change: Change, old: str, outcome: Outcome, reason: str = "") -> Told:
        new = change.new if isinstance(change, Write) else change.contents[0][1]
        return Told(self._name, outcome, change.path, old.strip(), new, reason)


# ---- restore ------------------------------------------------------------------------------------

OTHER_BOOT = "the machine was rebooted since, which restored the values"


def restore(system: System, *, force: bool = False) -> list[Told]:
    """Restore all values; ``force``: also those changed by others since.

    What could not be restored stays in the journal.  Raises UsageError.
    """
    if not Journal(system.files).exists:
        return []
    with locked(system.files) as journal:
        if _other_boot(system, journal):
            return [Told("journal", "gone", reason=OTHER_BOOT)]
        told = []
        for path in reversed(journal.paths()):
            steps = journal.of(path)
            one = _put_back(system, journal, steps, force)
            told.append(one)
            if one.outcome not in ("left", "failed"):
                with suppress(UsageError):  # a full disk; the value is restored nevertheless
                    for step in steps:
                        journal.drop(step.number)
        if all(one.outcome not in ("left", "failed") for one in told):
            journal.clear()
        return told


def _other_boot(system: System, journal: Journal) -> bool:
    """Return whether the journal is from an earlier boot; if so, clear it."""
    stale = journal.begin is not None and journal.begin.boot != (system.read(BOOT) or "")
    if stale:
        journal.clear()
    return stale


def _put_back(system: System, journal: Journal, steps: list[Step], force: bool) -> Told:
    first = steps[0]
    if first.kind == "make":
        return _unmake(system, first)
    now = system.raw(first.path)
    outcome, reason = _settled(system, journal, steps, now, force) or _written(system, first)
    was = (now or "").strip()
    return Told(first.setting, outcome, first.path, was, first.old.strip(), reason)


def _settled(
    system: System, journal: Journal, steps: list[Step], now: str | None, force: bool
) -> tuple[Outcome, str] | None:
    """Return why nothing is to be written, None if something is."""
    first = steps[0]
    if now is None:
        there = system.files.exists(first.path)
        return ("failed", "cannot be read") if there else ("gone", "the file no longer exists")
    if value(first.form, now) == value(first.form, first.old):
        return "old", ""
    if force or _ours(now, journal, steps):
        return None
    return "left", f"changed to {now.strip()} by others; --force restores it"


def _written(system: System, first: Step) -> tuple[Outcome, str]:
    try:
        system.files.write(first.path, undoing(first.form, first.old))
    except OSError as error:
        return "failed", error.strerror or str(error)
    after = system.raw(first.path) or ""
    if value(first.form, after) != value(first.form, first.old):
        return "failed", f"the kernel made it {after.strip()}"
    return "restored", ""


def _ours(now: str, journal: Journal, steps: list[Step]) -> bool:
    """Return whether the current value is one of ours.

    An interrupted step may have left a value that the kernel adjusted and nobody read back.
    """
    if steps[-1].number not in journal.found:
        return True
    found = [journal.found[step.number] for step in steps if step.number in journal.found]
    texts = [*(step.new for step in steps), *found]
    return any(value(steps[0].form, now) == value(steps[0].form, text) for text in texts)


def _unmake(system: System, step: Step) -> Told:
    """Remove a control group; its tasks move to the topmost, as others may be closed to them."""
    if not system.files.exists(step.path):
        return Told(step.setting, "old", step.path)
    group = system.group("cpuset")
    above = f"{group.mount if group else step.path.rpartition('/')[0]}/cgroup.procs"
    moved = (system.read(f"{step.path}/cgroup.procs") or "").split()
    try:
        for process in moved:
            with suppress(ProcessLookupError):
                system.files.write(above, process)
        system.files.remove(step.path)
    except OSError as error:
        return Told(step.setting, "failed", step.path, reason=error.strerror or str(error))
    reason = f"{len(moved)} processes moved to /{above.rpartition('/')[0]}" if moved else ""
    return Told(step.setting, "restored", step.path, reason=reason)


# ---- status -------------------------------------------------------------------------------------


class Status(NamedTuple):
    """What is tuned: on which CPUs, since when, and whether it still holds."""

    journal: str
    since: str = ""
    cpus: str = ""
    told: list[Told] = []  # noqa: RUF012  never added to


def status(system: System) -> Status:
    """Return what is tuned.  Raises UsageError if the journal cannot be read."""
    journal = Journal(system.files)
    if journal.begin is None or journal.begin.boot != (system.read(BOOT) or ""):
        return Status(journal.path)
    told = [_standing(system, journal, path) for path in journal.paths()]
    return Status(journal.path, journal.begin.since, journal.begin.cpus, told)


def _standing(system: System, journal: Journal, path: str) -> Told:
    last = journal.of(path)[-1]
    if last.kind == "make":
        holds = _is_so(system, Make(path, last.contents))
        return Told(last.setting, "holds" if holds else "lost", path)
    now = system.raw(path)
    known = journal.found.get(last.number, last.new)
    if now is None:
        return Told(last.setting, "gone", path, last.old.strip(), last.new)
    same = value(last.form, now) == value(last.form, known)
    reason = "" if same else f"it is {now.strip()} now"
    return Told(last.setting, "holds" if same else "lost", path, last.old.strip(),
                known.strip(), reason)  # fmt: skip


def state(system: System | None = None) -> dict[str, str | None]:
    """Return the state of tuning for a run's conditions.

    ``tune`` is "none", or the names of the settings in force, None if that cannot be told;
    ``tune.lost`` names those of which a value is no longer what was set.
    """
    try:
        now = status(system or System())
    except UsageError:
        return {"tune": None}
    if not now.told:
        return {"tune": "none"}
    lost = Counter(one.setting for one in now.told if one.outcome != "holds")
    names = dict.fromkeys(one.setting for one in now.told)
    found: dict[str, str | None] = {"tune": " ".join(names), "tune.cpus": now.cpus}
    found |= {"tune.since": now.since}
    return found | ({"tune.lost": " ".join(lost)} if lost else {})


# ---- the partition ------------------------------------------------------------------------------


def partition(system: System) -> str | None:
    """Return the control group for agents made by `rtstone tune apply`, None if there is none."""
    holding = {step.path for step in status(system).told if step.outcome == "holds"}
    for path in holding:
        if path.endswith(f"/{CPUSET}"):
            agents = f"{path.removesuffix(CPUSET)}{AGENTS}"
            return agents if agents in holding else path  # an earlier version made only the one
    return None


@contextmanager
def entered(system: System | None = None) -> Iterator[bool]:
    """Put this process, and what it starts, into the tuned partition for the length of the block.

    Yields whether there is one.  Start the agent in the block: it stays inside, while this process
    leaves again.  Raises TargetError if the kernel refuses.
    """
    system = system or System()
    made = partition(system)
    group = system.group("cpuset")
    if made is None or group is None:
        yield False
        return
    affinity = os.sched_getaffinity(0)
    door = f"{made}/cgroup.procs"
    try:
        system.files.write(door, str(os.getpid()))
    except OSError as error:
        raise TargetError(
            f"cannot enter the partition made by `rtstone tune apply`, {door}: {error.strerror}; "
            "run as root, or `rtstone tune restore`"
        ) from error
    try:
        yield True
    finally:
        system.files.write(f"{group.folder}/cgroup.procs", str(os.getpid()))
        bind(affinity)  # as far as it goes: the partition's CPUs are not allowed outside
