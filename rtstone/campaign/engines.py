"""Engines: what carries out jobs, here or elsewhere."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

from rtstone.campaign.job_table import folder
from rtstone.campaign.jobs import Job
from rtstone.campaign.owners import is_dead
from rtstone.campaign.work import Outcome, perform
from rtstone.errors import StoreError
from rtstone.store.intake import staging

MOST_BESIDE = 256  # jobs of other machines that this one attends to at the same time


class Carried(NamedTuple):
    """The outcome of a job, and the home of its run, which is the caller's to remove."""

    outcome: Outcome
    home: Path


class Engine(ABC):
    """Something that carries out jobs."""

    here: ClassVar[bool] = True  # its jobs disturb what is measured on this machine

    @abstractmethod
    def slots(self) -> int:
        """Return how many emulated or simulated systems can be measured at once."""

    def lacks(self, target: str, lane: str) -> str | None:
        """Return why no job of a target can be carried out now, None if one can."""
        return None

    @abstractmethod
    def submit(self, job: Job) -> Future[Carried]:
        """Begin a job.  The future raises StoreError if nothing can be stored."""

    @abstractmethod
    def stop(self) -> None:
        """Ask all jobs to end early."""

    @abstractmethod
    def close(self) -> None:
        """End everything that was begun."""


class Local(Engine):
    """Processes on this machine.  ``owner``: begins the names of their homes."""

    def __init__(self, campaign: str, owner: str, folder: Path) -> None:
        self._campaign, self._owner, self._folder = campaign, owner, folder
        self._cpus = len(os.sched_getaffinity(0))
        self._threads = ThreadPoolExecutor(self._cpus + MOST_BESIDE, "rtstone job")
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopping = False

    def slots(self) -> int:
        """Return one for each CPU that may be used."""
        return self._cpus

    def submit(self, job: Job) -> Future[Carried]:
        """Begin a job in a process of its own."""
        return self._threads.submit(self._carry_out, job)

    def _carry_out(self, job: Job) -> Carried:
        home = new_home(self._campaign, self._owner)
        own: list[subprocess.Popen[bytes]] = []

        def started(process: subprocess.Popen[bytes]) -> None:
            with self._lock:
                self._processes.add(process)
                own.append(process)
                if self._stopping:
                    _signal(process)

        try:
            return Carried(perform(job, str(self._folder), str(home), started), home)
        finally:
            with self._lock:
                self._processes.difference_update(own)

    def stop(self) -> None:
        """Send all of them SIGTERM."""
        with self._lock:
            self._stopping = True
            for process in self._processes:
                _signal(process)

    def close(self) -> None:
        """Kill what still runs."""
        with self._lock:
            self._stopping = True
            for process in self._processes:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
        self._threads.shutdown(wait=True, cancel_futures=True)


def _signal(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        process.send_signal(signal.SIGTERM)


def new_home(campaign: str, owner: str) -> Path:
    """Return a new directory for a run to be made in.  Raises StoreError."""
    place = staging() / campaign
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{owner}-", dir=place))
    except OSError as error:
        raise StoreError(f"results cannot be stored, {place}: {error.strerror}") from error


def drop_left(campaign: str) -> None:
    """Remove the homes of runs that were not taken in, and whose owners are gone."""
    with suppress(OSError):
        for home in (staging() / campaign).iterdir():
            if is_dead(folder(campaign), home.name.partition("-")[0]):
                drop(home)


def drop(home: Path) -> None:
    """Remove the home of a run, as far as possible."""
    shutil.rmtree(home, ignore_errors=True)
