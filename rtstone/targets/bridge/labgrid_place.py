"""Hold a place of labgrid for rtstone, in the Python that labgrid is installed in.

    labgrid_place.py look|hold OPTIONS

rtstone runs this file by its path and is not imported here; it lies in a directory of its own, as
what lies beside it would be found by ``import``.  OPTIONS is a JSON object: ``place``, and ``env``,
``state`` and ``driver`` or null.

Answers are JSON objects on standard output, one a line.  ``look`` describes the place.  ``hold``
acquires it, brings it to its state, and says how its driver is reached: a control socket of ssh, or
a pseudo terminal that carries the bytes of the console.  It lets go of everything, the place last,
when its input ends, however the other side came to its end; ``lost`` says why if it had to let go
earlier.  No signal of a terminal ends it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
import tty
from contextlib import suppress
from typing import Any, NoReturn

WATCH_S = 0.5  # interval of looking whether the place is still held
RELEASE_S = 300.0  # time limit for the coordinator to take a place back
LEAVE_S = 20  # time limit for drivers to let go
READ_S = 0.02  # for which a console is read before what is to be written is looked at
PIECE = 4096  # bytes of a console at once
WORDS = 300  # characters of what others say, in an error
SHORT = 20  # bytes of a directory in which labgrid's control sockets do not become too long

ENDING = threading.Event()


class Refused(Exception):  # noqa: N818  no fault of this program
    """The place cannot be had; the text says why, and what to do."""


class Place:
    """A place, as a coordinator knows it."""

    def __init__(self, options: dict[str, Any]) -> None:
        from labgrid import Environment
        from labgrid.remote.client import ServerError, find_role_by_place, start_session

        self.name: str = options["place"]
        self.env = self.role = None
        self.board: Any = None  # labgrid's target for it
        self.acquired = False  # by this program, which has to release it
        if options["env"]:
            self.env = Environment(options["env"])
            self.role = find_role_by_place(self.env.config.get_targets(), self.name)
            if self.role is None:
                raise Refused(
                    f"no target with RemotePlace '{self.name}' in {options['env']}; add one, or "
                    "name another file by +env=FILE or LG_ENV"
                )
        self.address = os.environ.get("LG_COORDINATOR", "127.0.0.1:20408")
        if self.env:
            self.address = self.env.config.get_option("coordinator_address", self.address)
        try:
            self.session = start_session(self.address, extra={"env": self.env, "role": self.role})
        except ServerError as error:
            raise Refused(
                f"no labgrid coordinator answers at {self.address}; start it, or name another one "
                "by LG_COORDINATOR"
            ) from error
        self.me = f"{self.session.gethostname()}/{self.session.getuser()}"
        names = {
            alias: name for name, place in self.session.places.items() for alias in place.aliases
        }
        self.name = names.get(self.name, self.name)
        if self.name not in self.session.places:
            listed = ", ".join(sorted(self.session.places)) or "none"
            raise Refused(
                f"unknown place '{self.name}', at the coordinator {self.address}; known: {listed}"
            )

    @property
    def entry(self) -> Any:
        """Return what the coordinator says of it now, None if it was deleted."""
        return self.session.places.get(self.name)

    @property
    def mine(self) -> bool:
        """Whether this user of this machine may use it."""
        place = self.entry
        return bool(place and place.acquired and self.me in {place.acquired, *place.allowed})

    def look(self) -> dict[str, Any]:
        """Return its name, who else holds it, and what exports its resources."""
        exporters = {
            exporter
            for exporter, groups in self.session.resources.items()
            for group, resources in groups.items()
            for name, resource in resources.items()
            if resource.data and self.entry.hasmatch((exporter, group, resource.cls, name))
        }
        holder = None if self.mine else self.entry.acquired or None
        return {"place": self.name, "holder": holder, "exporter": ", ".join(sorted(exporters))}

    def acquire(self) -> None:
        """Acquire it, unless it is held by this user already."""
        from labgrid.remote.generated import labgrid_coordinator_pb2 as messages

        refused = ""
        if not self.entry.acquired:
            self.acquired = True  # before it is: this program may be ended at any time
            try:
                request = messages.AcquirePlaceRequest(placename=self.name)
                self._run(self.session.stub.AcquirePlace(request))
            except Exception as error:
                self.acquired, refused = False, said(error)
            self._run(self.session.sync_with_coordinator())
        if self.mine:
            return
        if refused and not self.entry.acquired:
            raise Refused(f"place '{self.name}' cannot be acquired{refused}")
        raise Refused(
            f"place '{self.name}' is held by {self.entry.acquired}; wait until it is released, or "
            f"ask for: labgrid-client -p {self.name} allow {self.me}"
        )

    def release(self) -> None:
        """Give it back if this program acquired it.

        By a connection of its own, as that of the session may be broken.
        """
        import grpc
        from labgrid.remote.generated import labgrid_coordinator_pb2 as messages
        from labgrid.remote.generated import labgrid_coordinator_pb2_grpc as services
        from labgrid.util.proxy import proxymanager

        if not self.acquired:
            return
        address = proxymanager.get_grpc_address(self.address, default_port=20408)
        request = messages.ReleasePlaceRequest(placename=self.name, fromuser=self.me)
        with grpc.insecure_channel(address) as channel:
            services.CoordinatorStub(channel).ReleasePlace(
                request, timeout=RELEASE_S, wait_for_ready=True
            )

    def target(self) -> Any:
        """Return labgrid's target for it."""
        from labgrid import Target
        from labgrid.resource.remote import RemotePlace, RemotePlaceManager

        manager = RemotePlaceManager.get()
        manager.session, manager.loop = self.session, self.session.loop
        if self.env:
            self.board = self.env.get_target(self.role)
        else:
            self.board = Target(self.name)
            RemotePlace(self.board, name=self.name)
        return self.board

    def bring_to(self, state: str | None) -> None:
        """Bring it to a state, by default to a shell if it was acquired just now.

        Who held it already may have brought it to where it is to be.
        """
        from labgrid.strategy import Strategy

        strategies = [driver for driver in self.board.drivers if isinstance(driver, Strategy)]
        if not strategies and state:
            raise Refused(
                f"place '{self.name}' has no strategy that leads to state '{state}'; name a file "
                "that has one by +env=FILE"
            )
        if not strategies or not (state or self.acquired):
            return
        state = state or "shell"
        try:
            self.board.get_strategy().transition(state)
        except Exception as error:
            raise Refused(
                f"place '{self.name}' was not brought to state '{state}'{said(error)}"
            ) from error

    def watch(self) -> None:
        """Let the session hear the coordinator, and keep the place.

        Raises Refused if the place is held no longer, SystemExit if it is not needed any more.
        """
        if ENDING.is_set():  # and what was raised then was caught by others
            raise SystemExit
        self._run(asyncio.sleep(0.01))
        if self.session.stopping.is_set():
            raise Refused(f"the coordinator at {self.address} was lost")
        holder = self.entry.acquired if self.entry else None
        if self.entry and not holder and not self.acquired:
            self.acquire()  # who held it before us has no more use for it
        elif not self.mine:
            raise Refused(
                f"place '{self.name}' was released by others"
                + (f", and is held by {holder}" if holder else "")
            )

    def _run(self, work: Any) -> Any:
        async def wait() -> Any:
            return await work

        return self.session.loop.run_until_complete(wait())


class Login:
    """The place's SSHDriver, with its control socket."""

    def __init__(self, target: Any) -> None:
        import tempfile

        from labgrid.driver import SSHDriver
        from labgrid.resource import NetworkService

        if len(tempfile.gettempdir()) > SHORT:
            tempfile.tempdir = "/tmp"
        self._driver = driver_of(target, SSHDriver, SSHDriver, NetworkService)
        try:
            target.activate(self._driver)
        except Exception as error:
            service = self._driver.networkservice
            raise Refused(f"no login to {service.address}, port {service.port}{said(error)}") from (
                error
            )

    def ready(self) -> dict[str, Any]:
        """Return how it is reached."""
        return {"socket": self._driver.control}

    def serve(self, place: Place) -> NoReturn:
        """Do nothing until the place is lost."""
        while True:
            place.watch()
            time.sleep(WATCH_S)

    def close(self) -> None:
        """End the connection, so that the driver does not wait for a dead one."""
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                ["ssh", "-F", "/dev/null", "-S", self._driver.control, "-O", "exit", "target"],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False,
            )  # fmt: skip


class Console:
    """The place's console, behind a pseudo terminal."""

    def __init__(self, target: Any) -> None:
        from labgrid.driver import SerialDriver
        from labgrid.protocol import ConsoleProtocol
        from labgrid.resource import NetworkSerialPort

        self._driver = driver_of(target, ConsoleProtocol, SerialDriver, NetworkSerialPort)
        try:
            target.activate(self._driver)
        except Exception as error:
            raise Refused(f"the console cannot be opened{said(error)}") from error
        self._host, self._line = os.openpty()
        tty.setraw(self._line)
        os.fchmod(self._line, 0o600)

    def ready(self) -> dict[str, Any]:
        """Return how it is reached; ``baud``: None if its port does not say."""
        port = getattr(self._driver, "port", None)
        return {"line": os.ttyname(self._line), "baud": getattr(port, "speed", None)}

    def serve(self, place: Place) -> NoReturn:
        """Carry bytes until the place is lost."""
        from pexpect import TIMEOUT

        look = time.monotonic()
        while True:
            left = b""  # of what comes from the board
            with suppress(TIMEOUT):
                left = self._driver.read(size=PIECE, timeout=READ_S) or b""
            moved = bool(left)
            while left:
                left = left[os.write(self._host, left) :]
            if select.select([self._host], [], [], 0)[0]:  # what is said to it
                self._driver.write(os.read(self._host, PIECE))
                moved = True
            if time.monotonic() >= look:
                place.watch()
                look = time.monotonic() + WATCH_S
            elif not moved:
                time.sleep(READ_S / 4)  # not every driver waits in read()

    def close(self) -> None:
        """Hang up: the other side must not wait until the place is released."""
        os.close(self._host)
        os.close(self._line)


def driver_of(target: Any, kind: Any, usual: Any, resource: Any) -> Any:
    """Return the target's driver of that kind; if it has none, the usual one for its resource."""
    if any(isinstance(driver, kind) for driver in target.drivers):
        return target.get_driver(kind, activate=False)
    try:
        target.get_resource(resource)
    except Exception as error:
        raise Refused(
            f"the place has no {resource.__name__} that could be used; see `labgrid-client show`, "
            f"and whether its exporter runs{said(error)}"
        ) from error
    return usual(target, name=None)


def said(error: BaseException) -> str:
    """Return what an error says, and what others said to whoever raised it."""
    texts: list[str] = []
    seen = error
    while True:
        details, printed = getattr(seen, "details", None), getattr(seen, "stdout", None)
        words = [details()] if callable(details) else printed or [seen or type(seen).__name__]
        texts.append(
            " ".join(w.decode(errors="replace") if type(w) is bytes else str(w) for w in words)
        )
        if seen.__cause__ is None:
            return f"; labgrid said: {' '.join(' '.join(texts).split())[:WORDS]}"
        seen = seen.__cause__


def hold(options: dict[str, Any], answer: Any) -> None:
    """Hold a place until the other side, or the place, has gone."""
    place = Place(options)
    driver: Login | Console | None = None
    try:
        place.acquire()
        place.watch()
        target = place.target()
        place.bring_to(options["state"])
        place.watch()
        driver = Login(target) if options["driver"] == "ssh" else Console(target)
        answer({**place.look(), **driver.ready()})
        driver.serve(place)
    except Exception as error:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the answer may make the other side leave
        answer({"lost" if driver else "error": text(error)})
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            leave(driver, place.board)
        finally:
            place.release()


def leave(driver: Login | Console | None, target: Any) -> None:
    """Let go of a target within LEAVE_S, as whoever is next must not wait for this one."""

    def late(number: int, frame: object) -> NoReturn:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(LEAVE_S)
    try:
        if driver:
            driver.close()
        if target:
            target.cleanup()
    except Exception:
        logging.exception("the place was not left in order")
    finally:
        signal.alarm(0)


def text(error: BaseException) -> str:
    """Return an error in words."""
    return str(error) if isinstance(error, Refused) else f"labgrid failed{said(error)}"


def end(number: int, frame: object) -> NoReturn:
    """Begin to end this program, once."""
    signal.signal(number, signal.SIG_IGN)
    ENDING.set()
    raise SystemExit


def end_with(file: int) -> None:
    """End this program when a file does."""

    def wait() -> None:
        while os.read(file, PIECE):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def main(task: str, options: str) -> None:
    """Do the task.  Neither labgrid nor what it starts gets hold of our input and output."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    words, requests = os.dup(1), os.dup(0)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    end_with(requests)

    def answer(members: dict[str, Any]) -> None:
        with suppress(OSError):  # nobody hears it
            os.write(words, json.dumps(members).encode() + b"\n")

    try:
        try:
            import labgrid  # noqa: F401
        except ImportError as error:
            raise Refused(f"{sys.executable} has no labgrid ({error})") from error
        if task == "look":
            answer(Place(json.loads(options)).look())
        else:
            hold(json.loads(options), answer)
    except Exception as error:
        answer({"error": text(error)})


if __name__ == "__main__":
    main(*sys.argv[1:])
