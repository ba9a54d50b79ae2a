"""A real `rtstone serve` that is killed again and again, while clients push through a relay."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rtstone.server.client.address import address
from rtstone.server.client.http import Server, Unreachable
from rtstone.server.client.push import Pushed, push

RTSTONE = str(Path(sys.executable).parent / "rtstone")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Serving:
    """A server of a store, on a port that it has again after it was killed.

    ``kind``: how a command begins that runs where the server is to run.
    """

    def __init__(self, store: Path, log: Path, *words: str, kind: Sequence[str] = ()) -> None:
        self.port, self._store, self._log, self._words = free_port(), store, log, words
        self._kind = kind
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, within_s: float = 300.0) -> None:
        """Start it, and again if it ends at once, as it does while its disk is full."""
        end = time.monotonic() + within_s
        while not self._started(end):
            assert time.monotonic() < end, self._log.read_text()[-2000:]
            time.sleep(0.2)

    def _started(self, end: float) -> bool:
        listen = f"127.0.0.1:{self.port}"
        words = ["serve", "--store", str(self._store), "--listen", listen, *self._words]
        with self._log.open("ab") as to:
            self.process = subprocess.Popen(
                [*self._kind, RTSTONE, *words], stdin=subprocess.DEVNULL, stdout=to, stderr=to,
                start_new_session=True,
            )  # fmt: skip
        while time.monotonic() < end and self.process.poll() is None:
            with (
                suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port)) as connection,
            ):
                connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
                if connection.recv(1):  # only now it handles signals
                    return True
            time.sleep(0.01)
        return False

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Have it end by itself, and return its exit status."""
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def serve(store: Path, log: Path, *words: str, kind: Sequence[str] = ()) -> Iterator[Serving]:
    server = Serving(store, log, *words, kind=kind)
    server.start()
    try:
        yield server
    except Exception as error:
        status = server.process.poll() if server.process else None
        error.add_note(f"the server: exit status {status}; its log ends: {log.read_text()[-1000:]}")
        raise
    finally:
        if server.process and server.process.poll() is None:
            server.kill()


def token(store: Path, *words: str) -> str:
    store.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [RTSTONE, "token", "new", "pusher", "--store", str(store), *words],
        capture_output=True, text=True, check=True, env=os.environ,
    )  # fmt: skip
    return done.stdout.strip()


class Clients(NamedTuple):
    """What clients that pushed at once have in the end."""

    pushed: list[Pushed]
    faults: list[str]


def push_all(port: int, paths: Sequence[Path], clients: int, patience_s: float) -> Clients:
    """Push runs by so many clients at once, each again and again until the server has it."""
    left, results = list(paths), Clients([], [])
    alone = threading.Lock()

    def work() -> None:
        while True:
            with alone:
                if not left:
                    return
                path = left.pop()
            end = time.monotonic() + patience_s
            while True:
                try:
                    with Server(address(f"http://127.0.0.1:{port}"), patience_s=2.0) as server:
                        results.pushed.append(push(server, path))
                    break
                except Unreachable as error:  # as when it is queued, and pushed once more
                    if time.monotonic() > end:
                        results.faults.append(f"{path.name}: {error}")
                        break
                except Exception as error:
                    results.faults.append(f"{path.name}: {error!r}")
                    break

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def kill_again_and_again(
    server: Serving, over: threading.Event, kills: int, mean_s: float, seed: int
) -> int:
    """Kill the server at so many random moments, or until ``over``; return at how many."""
    rng = random.Random(seed)
    for number in range(kills):
        if over.wait(rng.expovariate(1 / mean_s)):
            return number
        server.kill()
        server.start()
    return kills
