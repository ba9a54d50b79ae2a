"""A dask cluster on the loopback."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.server.killing import free_port


class Cluster:
    """A scheduler and its workers.  ``address``: of the scheduler."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self._programs: list[subprocess.Popen[bytes]] = []
        words = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        self._scheduler = self._start("scheduler", *words)
        self._await(port)

    def _start(self, part: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{part}", *words]
        with (self._folder / f"{part}-{len(self._programs)}.log").open("wb") as log:
            # A directory of its own, as of another machine.
            program = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder,
            )  # fmt: skip
        self._programs.append(program)
        return program

    def _await(self, port: int) -> None:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            assert self._scheduler.poll() is None, self.log("scheduler-0")
            time.sleep(0.05)
        raise AssertionError(self.log("scheduler-0"))

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def worker(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a worker with one thread."""
        single = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        return self._start("worker", f"tcp://{self.address}", *single, *words)

    def close(self) -> None:
        for program in self._programs:
            program.kill()
        for program in self._programs:
            program.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Run a scheduler without workers, with its files in a directory."""
    folder.mkdir()
    running = Cluster(folder)
    try:
        yield running
    finally:
        running.close()
