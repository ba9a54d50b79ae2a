"""The engine dask: jobs on workers anywhere; their runs come back as bytes and are stored here."""

from __future__ import annotations

import shutil
import tempfile
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rtstone import structures
from rtstone.campaign.dask_cluster import connect, lost, workers
from rtstone.campaign.engines import Carried, Engine, new_home
from rtstone.campaign.jobs import CORE, Job
from rtstone.campaign.work import REASON, Outcome, perform
from rtstone.errors import StoreError, TargetError
from rtstone.printable import line, parsed
from rtstone.store.intake import FILES
from rtstone.store.layout import LARGEST, regular

if TYPE_CHECKING:
    from distributed import Client

LOOK_S = 1.0  # interval of looking which workers there are


class Dask(Engine):
    """Workers of a dask cluster.

    Emulated and simulated systems are measured by any worker, any other target by one that holds a
    resource of its name.  ``owner``: begins the names of the homes here.
    """

    here = False

    def __init__(self, place: str, campaign: str, owner: str, folder: Path) -> None:
        """``place``: the scheduler's address.  Raises UsageError, TargetError."""
        self._campaign, self._owner, self._folder = campaign, owner, folder
        self._place = place
        self._client: Client = connect(place)
        self._seen = -LOOK_S
        self._workers: list[tuple[int, dict[str, float]]] = []
        self._theirs: list[Any] = []

    def _look(self) -> None:
        """Update the list of workers.  Raises TargetError if the scheduler is gone."""
        if time.monotonic() - self._seen < LOOK_S:
            return
        if self._client.status != "running":
            raise TargetError(f"the dask scheduler at {self._place} is gone; start it again")
        self._workers = workers(self._client)
        self._seen = time.monotonic()

    def slots(self) -> int:
        """Return one for each thread of a worker, and one more for each worker to have next."""
        self._look()
        return sum(threads + 1 for threads, _ in self._workers)

    def lacks(self, target: str, lane: str) -> str | None:
        """Return why no worker can take a job of this target, None if one can."""
        self._look()
        if lane == CORE:
            return None if self._workers else "no dask worker is there"
        if any(target in held for _, held in self._workers):
            return None
        return f"no dask worker holds '{target}'; start one with --resources '{target}=1'"

    def submit(self, job: Job) -> Future[Carried]:
        """Have a worker do a job."""
        held = {} if job.lane == CORE else {job.cell.target: 1}
        task = msgspec.json.encode(job)
        remote: Any = self._client.submit(
            carry_out, task, str(self._folder), pure=False, resources=held
        )
        self._theirs.append(remote)
        future: Future[Carried] = Future()
        remote.add_done_callback(lambda ended: self._take(job, ended, future))
        return future

    def _take(self, job: Job, remote: Any, future: Future[Carried]) -> None:
        """Take over the outcome of a job, in a thread of dask."""
        with suppress(ValueError):
            self._theirs.remove(remote)
        try:
            future.set_result(self._carried(job, remote))
        except BaseException as error:
            future.set_exception(error)

    def _carried(self, job: Job, remote: Any) -> Carried:
        """Return the outcome of a job, and its home.  Raises StoreError."""
        home = new_home(self._campaign, self._owner)
        try:
            outcome, files = _answer(remote.result())
        except Exception as error:  # whatever a worker sends or raises is its own
            try:
                lost(error)
            except Exception as why:
                reason = line(str(why))[:REASON]
            return Carried(Outcome(fault="defect", reason=reason), home)
        try:
            place = home / "runs" / job.run_id
            place.mkdir(parents=True)
            for name, data in files.items():
                (place / name).write_bytes(data)
        except OSError as error:
            raise StoreError(f"results cannot be stored, {home}: {error.strerror}") from error
        return Carried(outcome, home)

    def stop(self) -> None:
        """Give up all jobs; one that a worker has begun is carried out there in vain."""
        for remote in list(self._theirs):
            with suppress(Exception):
                remote.cancel()

    def close(self) -> None:
        """Leave the cluster."""
        self.stop()
        with suppress(Exception):
            self._client.close()


def _answer(sent: Any) -> tuple[Outcome, dict[str, bytes]]:
    """Return what a worker reports of a job, and the files of its run.

    Raises TypeError, ValueError, MsgspecError if it is no such answer.
    """
    outcome, files = sent
    contents = {name: data for name, data in files.items() if FILES.fullmatch(name)}
    if not all(isinstance(data, bytes) for data in contents.values()):
        raise TypeError("a file of the run is no text")
    return parsed(outcome, Outcome), contents


def carry_out(task: bytes, folder: str) -> tuple[bytes, dict[str, bytes]]:
    """Carry out a job on a worker, and return its outcome and the files of its run."""
    job = structures.decode(task, Job)
    home = Path(tempfile.mkdtemp(prefix="rtstone-job-"))
    try:
        outcome = perform(job, folder, str(home), lambda process: None)
        directory = home / "runs" / job.run_id
        files = {
            path.name: regular(path, LARGEST)
            for path in (directory.iterdir() if directory.is_dir() else ())
            if FILES.fullmatch(path.name)
        }
        return msgspec.json.encode(outcome), files
    finally:
        shutil.rmtree(home, ignore_errors=True)
