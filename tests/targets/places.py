"""Places of labgrid: a coordinator and an exporter of its own, on the loopback.

Both run in the Python that `make build/labgrid/stamp` sets up, as does the bridge under test.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.agent.speak import BUILD
from tests.targets.board import POSSIBLE, Board

LABGRID = Path(__file__).parents[2] / "build" / "labgrid" / "bin"
AVAILABLE = POSSIBLE and (LABGRID.parent / "stamp").exists()
LACKING = "needs root, namespaces, openssh-server, and labgrid: make build/labgrid/stamp"
TEMPLATE = BUILD / "tests" / "template-agent"


class Places:
    """A running coordinator.  ``address``: where it listens."""

    def __init__(self, folder: Path, resources: dict[str, Any], held: ExitStack) -> None:
        self.folder, self._held = folder, held
        # An exporter's file and a coordinator's are YAML, as JSON is.
        (folder / "exporter.yaml").write_text(json.dumps(resources))
        places = {
            name: {"matches": [{"exporter": "*", "group": name, "cls": "*"}]} for name in resources
        }
        (folder / "places.yaml").write_text(json.dumps(places))
        self.address = "127.0.0.1:0"
        self.begin()
        self._start("exporter", "-c", self.address, "-n", "shelf", "exporter.yaml")
        self.wait_for("exporter", "creating poll task")

    def begin(self) -> None:
        """Start the coordinator, also once it was stopped: then at the same address."""
        self.stop = self._start("coordinator", "-l", self.address)
        self.address = self.wait_for("coordinator", r"listening on (\S+)\n")[1]

    def _start(self, program: str, *words: str) -> Callable[[], None]:
        with (self.folder / program).open("w") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", str(LABGRID / f"labgrid-{program}"), *words],
                cwd=self.folder, env=os.environ | {"PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._held.callback(process.wait)
        self._held.callback(process.kill)
        return process.kill

    def wait_for(self, program: str, pattern: str) -> re.Match[str]:
        """Wait for words of a program."""
        log = self.folder / program
        for _ in range(2000):
            if match := re.search(pattern, log.read_text()):
                return match
            time.sleep(0.01)
        raise AssertionError(log.read_text())

    def events(self) -> list[str]:
        """Return who has acquired and released what, in order."""
        log = (self.folder / "coordinator").read_text()
        return re.findall(r"^(\S+: place (?:acquired by \S+|released))$", log, re.MULTILINE)

    def client(self, *words: str, user: str = "me") -> None:
        """Run a command of labgrid-client as a user."""
        names = {"LG_COORDINATOR": self.address, "LG_HOSTNAME": "here", "LG_USERNAME": user}
        subprocess.run(
            [str(LABGRID / "labgrid-client"), *words], env=os.environ | names,
            check=True, capture_output=True,
        )  # fmt: skip

    @property
    def settings(self) -> dict[str, str]:
        """Return the environment of who uses the places."""
        return {
            "RTSTONE_LABGRID_PYTHON": str(LABGRID / "python"),
            "LG_COORDINATOR": self.address,
            "LG_HOSTNAME": "here",
            "LG_USERNAME": "me",
        }


def _console(listening: socket.socket) -> None:
    """Be a serial line in a network: whoever connects finds a board at its end."""
    with suppress(OSError):
        while True:
            connection, _ = listening.accept()
            with connection:
                line = connection.fileno()
                subprocess.run([TEMPLATE], stdin=line, stdout=line, check=False)


@contextmanager
def places(folder: Path, board: Board) -> Iterator[Places]:
    """Run a coordinator with two places: pi4, which is that board, and mcu, at a serial line."""
    with ExitStack() as held:
        line = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        held.callback(line.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=_console, args=[line], daemon=True).start()
        login = {"address": "127.0.0.1", "username": "root", "port": board.port}
        port = {"host": "127.0.0.1", "port": line.getsockname()[1], "protocol": "raw"}
        resources = {"pi4": {"NetworkService": login}, "mcu": {"NetworkSerialPort": port}}
        yield Places(folder, resources, held)
