"""The journal of changes, written before each change so that it can be undone after a crash.

One JSON record a line, only ever added to; each is on the disk before what it records is done.
A line that was cut off by a crash records nothing that was done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Literal

import msgspec

from rtstone import structures
from rtstone.errors import UsageError
from rtstone.system.files import Files
from rtstone.system.settings import Form

# The settings are the machine's, not a user's: one place for all, that a crash does not touch.
FOLDER = "var/lib/rtstone"
NAME = "tune.journal"
PATH = f"{FOLDER}/{NAME}"


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """The first record; the values of an earlier boot are gone."""

    boot: str
    since: str
    cpus: str


class Step(msgspec.Struct, frozen=True, tag="step"):
    """A change that is about to be made; ``old`` is the value before the first of its path."""

    number: int
    setting: str
    kind: Literal["write", "make"]
    path: str
    old: str = ""
    new: str = ""
    form: Form = "text"
    contents: list[tuple[str, str, Form]] = []


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The change was made; ``after`` was read back."""

    number: int
    after: str = msgspec.field(name="found")


class Dropped(msgspec.Struct, frozen=True, tag="dropped"):
    """The change was refused, or has been undone."""

    number: int


Record = Begin | Step | Done | Dropped


class Journal:
    """The journal of a system, as stored on its disk; ``exists``: whether there is one."""

    def __init__(self, files: Files) -> None:
        """Raises UsageError if it cannot be read."""
        self._files = files
        self.path = files.where(PATH)
        self.exists = True
        self.begin: Begin | None = None
        self.steps: dict[int, Step] = {}  # those in force
        self.after: dict[int, str] = {}  # read back, by number of the step
        self._next = 0
        for record in self._records():
            self._take(record)

    def steps_of(self, path: str) -> list[Step]:
        """Return the steps in force that changed a path, in their order."""
        return [step for step in self.steps.values() if step.path == path]

    def paths(self) -> list[str]:
        """Return what was changed, in the order of the first changes."""
        return list(dict.fromkeys(step.path for step in self.steps.values()))

    # ---- adding ----------------------------------------------------------------------------

    def open(self, begin: Begin) -> None:
        """Begin the journal, or record that other CPUs are measured from now on."""
        if self.begin is None or self.begin.cpus != begin.cpus:
            self._add(begin)

    def plan(
        self,
        setting: str,
        path: str,
        *,
        old: str = "",
        new: str = "",
        form: Form = "text",
        contents: Sequence[tuple[str, str, Form]] | None = None,
    ) -> int:
        """Record a change that is about to be made, and return its number.

        With ``contents`` it is a control group that is made, else a file that is written.
        """
        number = self._next
        kind: Literal["write", "make"] = "write" if contents is None else "make"
        self._add(Step(number, setting, kind, path, old, new, form, list(contents or [])))
        return number

    def done(self, number: int, after: str) -> None:
        """Record that the change was made, and what was read back."""
        self._add(Done(number, after))

    def drop(self, number: int) -> None:
        """Record that the change is not in force."""
        self._add(Dropped(number))

    def clear(self) -> None:
        """Remove the journal."""
        try:
            self._files.delete(PATH)
        except OSError as error:
            raise UsageError(f"cannot remove the journal, {self.path}: {error.strerror}") from error
        self.begin, self.steps, self.after = None, {}, {}

    # ---- the file --------------------------------------------------------------------------

    def _take(self, record: Record) -> None:
        if isinstance(record, Begin):
            since = self.begin.since if self.begin else record.since
            self.begin = Begin(record.boot, since, record.cpus)
        elif isinstance(record, Step):
            self.steps[record.number] = record
            self._next = record.number + 1
        elif isinstance(record, Done):
            self.after[record.number] = record.after
        else:
            self.steps.pop(record.number, None)

    def _records(self) -> Iterator[Record]:
        try:
            data = self._files.stored(PATH)
        except FileNotFoundError:
            self.exists = False
            return
        except OSError as error:
            raise UsageError(f"cannot read the journal, {self.path}: {error.strerror}") from error
        lines = data.split(b"\n")[:-1]  # what has no line end was cut off
        for number, line in enumerate(lines, start=1):
            try:
                yield structures.decoder(Record).decode(line)
            except msgspec.MsgspecError as error:
                raise UsageError(
                    f"the journal is damaged, {self.path} line {number}: {error}; it holds the old "
                    "values: restore them by hand, then remove it"
                ) from error

    def _add(self, record: Record) -> None:
        try:
            self._files.append(PATH, msgspec.json.encode(record) + b"\n")
        except OSError as error:
            raise UsageError(
                f"cannot write the journal, {self.path}: {error.strerror}; "
                "nothing was changed without being recorded in it"
            ) from error
        self._take(record)


@contextmanager
def locked(files: Files) -> Iterator[Journal]:
    """Lock the journal; the lock is released if its holder dies.  Raises UsageError."""
    place = files.where(FOLDER)
    with ExitStack() as held:
        try:
            held.enter_context(files.locked(FOLDER))
        except BlockingIOError as error:
            raise UsageError(
                f"another `rtstone tune` is running, {place}; try again when it has ended"
            ) from error
        except OSError as error:
            raise UsageError(
                f"cannot write the journal, in {place}: {error.strerror}; {files.to_become_root}"
            ) from error
        yield Journal(files)
