"""Prepare a system for measuring, and restore what was changed.

A change is recorded in the journal, made, and read back.  What the kernel refuses is reported and
left; what was done is restored in reverse order, however the program ended in between.
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


class Entry(NamedTuple):
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
    names, every = set(names), [setting.name for setting in SETTINGS]
    for name in names - set(every):
        raise unknown("setting", name, every, "in --only")
    return [setting for setting in SETTINGS if setting.name in names]


# ---- apply --------------------------------------------------------------------------------------


def apply(system: System, chosen: list[Setting]) -> list[Entry]:
    """Apply settings.  Raises UsageError if the journal cannot be written."""
    with locked(system.files) as journal:
        stale = _other_boot(system, journal)
        begin = Begin(
            boot=system.read(BOOT) or "",
            since=datetime.now(UTC).isoformat(timespec="seconds"),
            cpus=cpu_list(system.measured),
        )
        entries = [Entry("journal", "gone", reason=OTHER_BOOT)] if stale else []
        without = ""  # the control group that was refused
        for setting, change in _changes(system, chosen, entries):
            if without and change.path.startswith(f"{without}/"):
                continue
            journal.open(begin)
            if isinstance(change, Make):
                old, new = "", change.contents[0][1]
                outcome, reason = _make(system, journal, setting, change)
            else:
                before = system.raw(change.path)
                old, new = (before or "").strip(), change.new
                outcome, reason = _write(system, journal, setting, change, before)
            entries.append(Entry(setting.name, outcome, change.path, old, new, reason))
            if isinstance(change, Make) and entries[-1].outcome == "refused":
                without = change.path
        return entries


def dry_run(system: System, chosen: list[Setting]) -> list[Entry]:
    """Return what ``apply`` would do."""
    entries: list[Entry] = []
    for setting, change in _changes(system, chosen, entries):
        if isinstance(change, Make):
            new = " ".join(text for _, text, _ in change.contents)
            entries.append(Entry(setting.name, "planned", change.path, "", new))
        else:
            old = (system.raw(change.path) or "").strip()
            entries.append(Entry(setting.name, "planned", change.path, old, change.new))
    return entries


def _changes(
    system: System, chosen: list[Setting], entries: list[Entry]
) -> Iterator[tuple[Setting, Change]]:
    """Yield the changes to make; add settings that need none, or cannot be made, to ``entries``."""
    for setting in chosen:
        plan = setting.plan(system)
        if isinstance(plan, str):
            entries.append(Entry(setting.name, "impossible", reason=plan))
            continue
        needed = [change for change in plan if not _is_so(system, change)]
        if not needed:
            entries.append(Entry(setting.name, "enough"))
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


def _write(
    system: System, journal: Journal, setting: Setting, change: Write, before: str | None
) -> tuple[Outcome, str]:
    """Write a value in place of the one before; return the outcome, and its reason."""
    if before is None:
        return "refused", "cannot be read"
    earlier = journal.steps_of(change.path)
    old = earlier[0].old if earlier else before
    number = journal.plan(setting.name, change.path, old=old, new=change.new, form=change.form)
    reason = ""
    try:
        system.files.write(change.path, change.new)
    except OSError as error:
        reason = error.strerror or str(error)
    after = system.raw(change.path)
    if after is None or value(change.form, after) == value(change.form, before):
        journal.drop(number)
        return "refused", reason or "the kernel kept its value"
    journal.done(number, after)
    if _reads(system, change):
        return "changed", ""
    return "adjusted", f"the kernel made it {after.strip()}"


def _make(system: System, journal: Journal, setting: Setting, change: Make) -> tuple[Outcome, str]:
    """Make a control group; return the outcome, and its reason."""
    files = system.files
    if files.exists(change.path):
        ours = bool(journal.steps_of(change.path))
        return "refused", "exists with other CPUs; restore first" if ours else "exists already"
    number = journal.plan(setting.name, change.path, contents=change.contents)
    try:
        files.make(change.path)
        for name, text, form in change.contents:
            files.write(f"{change.path}/{name}", text)
            if not _reads(system, Write(f"{change.path}/{name}", text, form)):
                says = system.read(f"{change.path}/{name}")
                raise OSError(0, f"{name} says '{says}'")
    except OSError as error:
        with suppress(OSError):  # else restore does it
            files.remove(change.path)
            journal.drop(number)
        return "refused", error.strerror or str(error)
    journal.done(number, "")
    return "changed", ""


# ---- restore ------------------------------------------------------------------------------------

OTHER_BOOT = "the machine was rebooted since, which restored the values"


def restore(system: System, *, force: bool = False) -> list[Entry]:
    """Restore all values; ``force``: also those changed by others since.

    What could not be restored stays in the journal.  Raises UsageError.
    """
    if not Journal(system.files).exists:
        return []
    with locked(system.files) as journal:
        if _other_boot(system, journal):
            return [Entry("journal", "gone", reason=OTHER_BOOT)]
        entries = []
        for path in reversed(journal.paths()):
            steps = journal.steps_of(path)
            entry = _put_back(system, journal, steps, force)
            entries.append(entry)
            if entry.outcome not in ("left", "failed"):
                with suppress(UsageError):  # a full disk; the value is restored nevertheless
                    for step in steps:
                        journal.drop(step.number)
        if all(entry.outcome not in ("left", "failed") for entry in entries):
            journal.clear()
        return entries


def _other_boot(system: System, journal: Journal) -> bool:
    """Return whether the journal is from an earlier boot; if so, clear it."""
    stale = journal.begin is not None and journal.begin.boot != (system.read(BOOT) or "")
    if stale:
        journal.clear()
    return stale


def _put_back(system: System, journal: Journal, steps: list[Step], force: bool) -> Entry:
    first = steps[0]
    if first.kind == "make":
        return _unmake(system, first)
    now = system.raw(first.path)
    outcome: Outcome = "restored"
    reason = ""
    if now is None and system.files.exists(first.path):
        outcome, reason = "failed", "cannot be read"
    elif now is None:
        outcome, reason = "gone", "the file no longer exists"
    elif value(first.form, now) == value(first.form, first.old):
        outcome = "old"
    elif not (force or _ours(now, journal, steps)):
        outcome, reason = "left", f"changed to {now.strip()} by others; --force restores it"
    else:
        try:
            system.files.write(first.path, undoing(first.form, first.old))
        except OSError as error:
            outcome, reason = "failed", error.strerror or str(error)
        else:
            after = system.raw(first.path) or ""
            if value(first.form, after) != value(first.form, first.old):
                outcome, reason = "failed", f"the kernel made it {after.strip()}"
    was = (now or "").strip()
    return Entry(first.setting, outcome, first.path, was, first.old.strip(), reason)


def _ours(now: str, journal: Journal, steps: list[Step]) -> bool:
    """Return whether the current value is one of ours.

    An interrupted step may have left a value that the kernel adjusted and nobody read back.
    """
    if steps[-1].number not in journal.after:
        return True
    texts = [step.new for step in steps]
    texts += [journal.after[step.number] for step in steps if step.number in journal.after]
    return any(value(steps[0].form, now) == value(steps[0].form, text) for text in texts)


def _unmake(system: System, step: Step) -> Entry:
    """Remove a control group; its tasks move to the topmost, as others may be closed to them."""
    if not system.files.exists(step.path):
        return Entry(step.setting, "old", step.path)
    group = system.group("cpuset")
    above = f"{group.mount if group else step.path.rpartition('/')[0]}/cgroup.procs"
    moved = (system.read(f"{step.path}/cgroup.procs") or "").split()
    try:
        for process in moved:
            with suppress(ProcessLookupError):
                system.files.write(above, process)
        system.files.remove(step.path)
    except OSError as error:
        return Entry(step.setting, "failed", step.path, reason=error.strerror or str(error))
    reason = f"{len(moved)} processes moved to /{above.rpartition('/')[0]}" if moved else ""
    return Entry(step.setting, "restored", step.path, reason=reason)


# ---- status -------------------------------------------------------------------------------------


class Status(NamedTuple):
    """What is tuned: on which CPUs, since when, and whether it still holds."""

    journal: str
    since: str = ""
    cpus: str = ""
    entries: list[Entry] = []  # noqa: RUF012  never added to


def status(system: System) -> Status:
    """Return what is tuned.  Raises UsageError if the journal cannot be read."""
    journal = Journal(system.files)
    if journal.begin is None or journal.begin.boot != (system.read(BOOT) or ""):
        return Status(journal.path)
    entries = [_standing(system, journal, path) for path in journal.paths()]
    return Status(journal.path, journal.begin.since, journal.begin.cpus, entries)


def _standing(system: System, journal: Journal, path: str) -> Entry:
    last = journal.steps_of(path)[-1]
    if last.kind == "make":
        holds = _is_so(system, Make(path, last.contents))
        return Entry(last.setting, "holds" if holds else "lost", path)
    now = system.raw(path)
    expected = journal.after.get(last.number, last.new)
    if now is None:
        return Entry(last.setting, "gone", path, last.old.strip(), last.new)
    same = value(last.form, now) == value(last.form, expected)
    reason = "" if same else f"it is {now.strip()} now"
    return Entry(last.setting, "holds" if same else "lost", path, last.old.strip(),
                expected.strip(), reason)  # fmt: skip


def state(system: System) -> dict[str, str | None]:
    """Return the state of tuning for a run's conditions.

    ``tune`` is "none", or the names of the settings in force, None if that cannot be known;
    ``tune.lost`` names those of which a value is no longer what was set.
    """
    try:
        now = status(system)
    except UsageError:
        return {"tune": None}
    if not now.entries:
        return {"tune": "none"}
    lost = Counter(entry.setting for entry in now.entries if entry.outcome != "holds")
    names = dict.fromkeys(entry.setting for entry in now.entries)
    conditions: dict[str, str | None] = {"tune": " ".join(names), "tune.cpus": now.cpus}
    conditions |= {"tune.since": now.since}
    return conditions | ({"tune.lost": " ".join(lost)} if lost else {})


# ---- the partition ------------------------------------------------------------------------------


def partition(system: System) -> str | None:
    """Return the control group for agents made by `rtstone tune apply`, None if there is none."""
    holding = {step.path for step in status(system).entries if step.outcome == "holds"}
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
    agents = partition(system)
    group = system.group("cpuset")
    if agents is None or group is None:
        yield False
        return
    affinity = os.sched_getaffinity(0)
    door = f"{agents}/cgroup.procs"
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
