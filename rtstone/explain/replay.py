"""Run a stored plan again in the emulator, and record what the guest executes.

A run repeats to the instruction (docs/guides/lab.md), so the sample that is to be explained comes
again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from msgspec import structs

from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.errors import TargetError, UsageError
from rtstone.explain.recording import Recording, Request
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import Listener
from rtstone.measure.start import execute
from rtstone.resources import path
from rtstone.results.assembly import gather
from rtstone.store.rundir import logs
from rtstone.targets import find
from rtstone.targets.qemu import Qemu, Watcher
from rtstone.wire import records as wire

FILES = ("request", "records", "blocks", "sections")  # of the plugin, by its arguments
LAST_OF_1 = 8  # the last version of QEMU with the first interface for plugins


class Replayed(NamedTuple):
    """A recording of a run, and its results as the agent sent them, by case."""

    recording: Recording
    results: dict[int, list[wire.Result]]


def plan_of(directory: Path) -> Plan:
    """Return the plan of a stored run.  Raises UsageError if the run was resumed."""
    plan, texts = logs(directory)
    if len(texts) > 1:
        raise UsageError(f"the run was resumed: it cannot be repeated as it was, {directory}")
    return plan


def target_of(plan: Plan) -> Qemu:
    """Return the target of a run.  Raises UsageError if it cannot be replayed."""
    target = find(plan.target.name)
    if not isinstance(target, Qemu):
        raise UsageError(f"target '{plan.target.name}' does not repeat itself to the instruction")
    if target.system.beside:
        raise UsageError("explain cannot separate what one processor does for two domains")
    if not target.counts:
        raise UsageError(
            "the run did not count instructions (icount=off), so it cannot be repeated"
        )
    return target


@contextmanager
def recorder(target: Qemu, request: Request) -> Iterator[Callable[[], Recording]]:
    """Have the next guest of a target recorded; what is yielded returns it, once it has ended.

    Raises TargetError if there is no plugin.
    """
    with ExitStack() as stack:
        files: list[IO[bytes]] = []
        for _ in FILES:
            files.append(stack.enter_context(tempfile.TemporaryFile()))
        inputs, records, blocks, sections = files
        if request.memory:
            files.append(stack.enter_context(_memory(request.memory[1])))
        inputs.write(request.text().encode("ascii"))
        inputs.flush()
        target.watcher = _watcher(target, files)
        stack.callback(setattr, target, "watcher", None)
        yield lambda: Recording.parse(*map(_content, (records, blocks, sections)))


def replay(plan: Plan, target: Qemu, run: Run, request: Request, interrupt: Interrupt) -> Replayed:
    """Carry out a plan on its target once more, and return what was recorded.

    Raises TargetError if the replay differs from the run, Interrupted.
    """
    with recorder(target, request) as recorded, tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        again, _, error = execute(
            plan, target, interrupt=interrupt, listener=Listener(), out=place, listed=False
        )
        if error and again.status != run.status:
            raise error
        first, second = (structs.asdict(each) for each in (run, again))
        differ = [name for name in first if name != "duration_s" and first[name] != second[name]]
        if differ:
            raise TargetError(
                f"the run does not repeat itself: {', '.join(differ)} of the replay differ; "
                "see `rtstone compare` for what has changed since, as the agent or QEMU"
            )
        return Replayed(recorded(), results_of(plan, place))


def results_of(plan: Plan, directory: Path) -> dict[int, list[wire.Result]]:
    """Return the results of a run as the agent sent them, by case."""
    _, texts = logs(directory)
    cases = gather(plan, *texts).received.cases
    return {number: case.results for number, case in cases.items()}


def _memory(size: int) -> IO[bytes]:
    """Return a file of that many bytes for a guest's memory, which the plugin reads, too."""
    file = os.fdopen(os.memfd_create("guest"), "r+b")
    file.truncate(size)
    return file


def _watcher(target: Qemu, files: Sequence[IO[bytes]]) -> Watcher:
    """Return the emulator's plugin with its files, and with the guest's memory if it is one."""
    api = 1 if int(target.version.partition(".")[0]) <= LAST_OF_1 else 3
    plugin = path("_engine", f"qemu-plugin-{api}.so")
    if not plugin.exists():
        raise TargetError(f"the emulator's plugin is not built, {plugin}; run: rtstone lab build")
    numbers = tuple(file.fileno() for file in files)
    names = [f"/proc/self/fd/{n}" for n in numbers]
    words = (f"{key}={name}" for key, name in zip((*FILES, "memory"), names, strict=False))
    named = str(plugin).replace(",", ",,")  # as QEMU reads options
    memory: tuple[str, ...] = ()
    if len(files) > len(FILES):
        size = os.fstat(numbers[-1]).st_size
        backend = f"memory-backend-file,id=guest,size={size},mem-path={names[-1]},share=on"
        memory = ("-object", backend, "-machine", "memory-backend=guest")
    return Watcher((*memory, "-plugin", ",".join((named, *words))), numbers)


def _content(file: IO[bytes]) -> bytes:
    """Return what another process has written to a file."""
    file.seek(0)
    return file.read()
