"""Carry out one job, in a process of its own: it may crash, hang or be killed alone.

``perform`` starts this module as a program.  The job comes on its standard input, and its
outcome goes to its standard output; the run stays in the directory given as home.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, chdir, suppress
from pathlib import Path
from typing import Literal

import msgspec

from rtstone import structures
from rtstone.campaign.jobs import CORE, WHOLE, Job
from rtstone.errors import (
    Inconclusive,
    Interrupted,
    RtstoneError,
    StoreError,
    TargetError,
    UsageError,
)
from rtstone.interrupt import Interrupt, end_with
from rtstone.printable import line

SPARE_S = 600.0  # time limit of a job beyond ten times what it is expected to take
UNKNOWN_S = 6 * 3600.0  # of one of which nobody knows how long it takes
REASON = 300  # characters of a crash that are shown

# What may have made a job fail: itself, its target, the disk here, a signal to end, a defect.
Fault = Literal["job", "target", "store", "interrupted", "defect"]
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A job, where its paths begin, and the home in which its run is to be made."""

    job: Job
    folder: str
    home: str
    parent: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a job.

    ``fault``: None if its run is complete.  ``reason``: of the fault, or a remark on the run.
    ``took_s``: of its run, without the start of its process.
    """

    fault: Fault | None = None
    reason: str | None = None
    took_s: float = 0.0


def limit_s(job: Job) -> float:
    """Return the time after which a job is stopped, in s."""
    return UNKNOWN_S if job.expected_s is None else SPARE_S + 10 * job.expected_s


def perform(
    job: Job, folder: str, home: str, started: Callable[[subprocess.Popen[bytes]], None]
) -> Outcome:
    """Carry out a job in a process of its own, and return its outcome.

    ``started`` is called with the process.  Its run is in ``home``, in runs/ID.
    """
    task = Task(job=job, folder=folder, home=home, parent=os.getpid())
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return Outcome(fault="store", reason=f"no process can be started: {error.strerror}")
    started(process)
    try:
        out, errors = process.communicate(msgspec.json.encode(task), timeout=limit_s(job))
    except subprocess.TimeoutExpired:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Outcome(
            fault="target", reason=f"did not end within {limit_s(job):.0f} s; it was stopped"
        )
    with suppress(msgspec.MsgspecError):
        return structures.decode(out, Outcome)
    status = process.returncode
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"
    words = line(errors.decode(errors="replace"))[-REASON:]
    reason = f"its process ended {how}{f': {words}' if words else ''}"
    return Outcome(fault="defect", reason=reason)


# ---- in the process of the job ------------------------------------------------------------------


def main() -> None:
    """Read a task, carry it out, and write its outcome."""
    task = structures.decode(sys.stdin.buffer.read(), Task)
    if not end_with(task.parent):
        os._exit(1)
    os.environ["RTSTONE_HOME"] = task.home
    begin = time.monotonic()
    with Interrupt() as interrupt:
        try:
            outcome = Outcome(reason=_run(task, interrupt))
        except RtstoneError as error:
            outcome = Outcome(fault=_fault(error), reason=str(error))
    outcome = msgspec.structs.replace(outcome, took_s=time.monotonic() - begin)
    sys.stdout.buffer.write(msgspec.json.encode(outcome))
    sys.stdout.buffer.flush()


def _fault(error: RtstoneError) -> Fault:
    """Return what made a job fail."""
    cause = error.__cause__
    if isinstance(error, StoreError) or (isinstance(cause, OSError) and cause.errno in _FULL):
        return "store"
    if isinstance(error, Interrupted):
        return "interrupted"
    return "target" if isinstance(error, TargetError) else "job"


def _run(task: Task, interrupt: Interrupt) -> str | None:
    """Make the run, and return a remark on it, None if there is none.  Raises RtstoneError."""
    from rtstone.campaign.requests import key_of, request
    from rtstone.explain.watch import Watch
    from rtstone.measure.exclusive import alone, beside
    from rtstone.measure.listener import Listener
    from rtstone.measure.planner import build_plan
    from rtstone.measure.start import execute
    from rtstone.store.sections import keep

    job = task.job
    folder = Path(task.folder)
    with ExitStack() as held:
        if folder.is_dir():
            held.enter_context(chdir(folder))
        run_request = request(job.cell, job.spec, job)
        target, plan = build_plan(run_request, interrupt)
        if key_of(plan, target.running_kernel(), job.repeat) != job.key:
            raise UsageError(
                f"not what was planned: target '{job.spec}', its kernel or its agent has changed; "
                "`rtstone campaign run` plans again"
            )
        if job.lane == WHOLE:
            held.enter_context(alone(interrupt))
        elif job.lane == CORE:
            held.enter_context(beside(interrupt))
        plan = msgspec.structs.replace(plan, run_id=job.run_id)
        watch = held.enter_context(Watch())
        if job.sections:
            watch.attach(plan, target)
        finished = execute(plan, target, interrupt=interrupt, listener=Listener())
        if job.sections:
            sections, _ = watch.sections(finished.directory.path, finished.run)
            for each in sections:
                keep(finished.directory.path, each)
    if finished.run.status != "complete" or not finished.directory.finished:
        raise finished.error or Inconclusive(finished.run.reason or "the run is incomplete")
    return str(finished.error) if finished.error else None


if __name__ == "__main__":
    main()
