"""The target for a serial line, over a pseudo terminal that loses and damages what it carries."""

from __future__ import annotations

import os
import re
import sys
import termios
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rtstone.errors import TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure import agent_session
from rtstone.measure import catalogue as listing
from rtstone.targets import find, serial
from rtstone.targets.base import Options
from rtstone.wire import commands
from tests.agent.speak import BUILD
from tests.conftest import Cli, Done
from tests.relay import Harm, Relay

pytestmark = pytest.mark.waits

TEMPLATE = [BUILD / "tests" / "template-agent"]
CASES = ["null", "sem.post.nowait", "sync.test3", "dk.nanosleep", "-p", "samples=100"]
IDENTITY = {"run_id", "created", "command", "target", "notes", "duration_s"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial, "HELLO_S", 0.4)
    monkeypatch.setattr(serial, "START_S", 1.5)
    monkeypatch.setattr(serial, "STOP_S", 1.0)
    monkeypatch.setattr(listing, "BYE_S", 0.3)
    monkeypatch.setattr(agent_session, "DAMAGED_S", 0.3)
    monkeypatch.setattr(agent_session, "NUDGE_S", 0.7)
    monkeypatch.setattr(commands, "RESEND_S", 0.2)


def measured(document: dict[str, Any]) -> dict[str, Any]:
    """Return all of a document but its identity."""
    return {name: value for name, value in document.items() if name not in IDENTITY}


def run(cli: Cli, relay: Relay, *options: str) -> Done:
    return cli("run", *CASES, *options, "--json", "--target", relay.target)


@pytest.fixture
def clean(cli: Cli) -> dict[str, Any]:
    with Relay(agent=TEMPLATE) as relay:
        done = run(cli, relay)
    assert done.status == 0, done.err
    assert not done.document["notes"], done.document["notes"]
    return measured(done.document)


@pytest.mark.parametrize("seed", range(3))
def test_a_bad_line_changes_no_number(cli: Cli, clean: dict[str, Any], seed: int) -> None:
    rate = 0.00003  # with more it may have to give a result up (tests.bench.serial)
    up = Harm(seed, rate, rate, rate, rate)
    down = Harm(seed + 100, *(4 * (10 * rate,)))
    with Relay(agent=TEMPLATE, up=up, down=down) as relay:
        done = run(cli, relay)
    assert up.count > 5
    assert done.status == 0, done.err
    assert measured(done.document) == clean


class Struck:
    """Harms the first records that match, as often as is said, and counts them all."""

    def __init__(self, pattern: bytes, times: int, act: Callable[[], None] | None = None) -> None:
        self.pattern, self.left, self.seen, self.act = re.compile(pattern), times, 0, act
        self.rest = b""

    def __call__(self, data: bytes) -> bytes:
        whole, newline, self.rest = (self.rest + data).rpartition(b"\n")
        return b"".join(map(self.line, (whole + newline).splitlines(keepends=True)))

    def line(self, line: bytes) -> bytes:
        if not self.pattern.search(line):
            return line
        self.seen += 1
        if self.left:
            self.left -= 1
            if self.act:
                self.act()
            return line[:20] + b"?" + line[21:]
        return line


@pytest.mark.parametrize(
    ("pattern", "times"),
    [(rb'"t":"end"', 3), (rb'"t":"(case|result)"', 4), (rb'"t":"(clock|conditions)"', 2),
     (rb'"t":"heard"', 3), (rb'"t":"bye"', 9), (rb'"t":"hello"', 2)],
)  # fmt: skip
def test_what_was_hit_is_asked_for_again(
    cli: Cli, clean: dict[str, Any], pattern: bytes, times: int
) -> None:
    up = Struck(pattern, times)
    with Relay(agent=TEMPLATE, up=up) as relay:
        done = run(cli, relay)
    assert done.status == 0, done.err
    assert measured(done.document) == clean
    assert up.seen >= 2


def test_commands_that_arrive_twice_or_damaged_are_carried_out_once(
    cli: Cli, clean: dict[str, Any]
) -> None:
    down = Struck(b"case", 2)

    def doubled(data: bytes) -> bytes:
        return b"".join(2 * line for line in down(data).splitlines(keepends=True))

    with Relay(agent=TEMPLATE, down=doubled) as relay:
        done = run(cli, relay)
    assert done.status == 0, done.err
    assert measured(done.document) == clean
    assert down.seen < 12


def test_a_line_that_is_dead_for_a_while(cli: Cli, clean: dict[str, Any]) -> None:
    until = 0.0

    def die() -> None:
        nonlocal until
        until = time.monotonic() + 1.5

    strike = Struck(rb'"t":"case","id":2', 1, die)
    with Relay(
        agent=TEMPLATE,
        up=lambda data: b"" if time.monotonic() < until else strike(data),
        down=lambda data: b"" if time.monotonic() < until else data,
    ) as relay:
        done = run(cli, relay)
    assert done.status == 0, done.err
    assert measured(done.document) == clean


def test_a_board_that_starts_anew_ends_the_run_and_cases_are_kept(
    cli: Cli, clean: dict[str, Any]
) -> None:
    strike = Struck(rb'"t":"end","id":2', 1)
    with Relay(agent=TEMPLATE, up=strike) as relay:
        strike.act = relay.boot
        done = run(cli, relay)
    assert done.status == 4
    assert "has started anew" in done.says
    results = done.document["results"]
    assert results[0] == clean["results"][0]
    assert [result["status"] for result in results] == ["ok", *3 * ["incomplete"]]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("/dev/ttyS0,115201", "no rate of a serial line, '115201'"),
        ("/dev/ttyS0,", "no rate of a serial line, ''"),
        ("ttyS0", "is named by its path, such as /dev/ttyUSB0"),
        ("/dev/ttyS0,9600+dtr=1", "dtr is one of yes, no, not '1'"),
        ("/dev/ttyS0+dtr=yes+dtr=no", "dtr is given twice"),
        ("/dev/ttyS0+reset=", "reset needs a value"),
    ],
)
def test_arguments_that_make_no_sense(argument: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        find(f"serial:{argument}")


def test_a_line_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, message in [("absent", "is the board plugged in"), ("file", "not a serial line")]:
        with pytest.raises(TargetError, match=message):
            find(f"serial:{tmp_path / name}").start(Options())


def test_two_hosts_do_not_share_a_line() -> None:
    with (
        Relay(agent=TEMPLATE) as relay,
        find(relay.target).start(Options()),
        pytest.raises(TargetError, match="in use by another program"),
    ):
        find(relay.target).start(Options())


def test_the_line_is_given_back_as_it_was(tmp_path: Path) -> None:
    host, line = os.openpty()
    try:
        before = termios.tcgetattr(line)
        with pytest.raises(TargetError, match="nothing came within"):
            find(f"serial:{os.ttyname(line)},9600").start(Options())
        assert termios.tcgetattr(line) == before
    finally:
        os.close(host)
        os.close(line)


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (b"U-Boot 2023.01\r\nLinux version 6.1\r\nlogin: \r\n", "what came ends: U-Boot"),
        (bytes(range(128, 256)), "is 9600 the rate of the board"),
        (b'#rts 5 {"t":"log"} 00000000\n', "all it says is damaged"),
        (b'#rts 0 {"t":"hello","wire":1,"agent":"0","source":"0","port":"x","os":"x","arch":"x",'
         b'"compiler":"x","flags":"x"} CRC\n', "wire version 1"),
    ],
)  # fmt: skip
def test_what_came_instead_of_an_answer_is_told(says: bytes, message: str) -> None:
    covered = says.partition(b"#rts ")[2].rpartition(b" ")[0]
    says = says.replace(b"CRC", b"%08x" % zlib.crc32(covered))
    board = [sys.executable, "-S", "-E", "-c", f"import os; os.read(0, 1); os.write(1, {says!r})"]
    with Relay(agent=board, baud=9600) as relay:
        began = time.monotonic()
        with pytest.raises(TargetError, match=message):
            find(relay.target).start(Options())
    assert time.monotonic() - began < 60


def test_a_command_resets_the_board_first(tmp_path: Path) -> None:
    with Relay(agent=TEMPLATE) as relay:
        with find(f"{relay.target}+reset=echo a+b,c >{tmp_path}/reset").start(Options()):
            assert (tmp_path / "reset").read_text() == "a+b,c\n"
        with pytest.raises(TargetError, match="exit status 3: echo no probe; exit 3; its output"):
            find(f"{relay.target}+reset=echo no probe; exit 3").start(Options())


def test_a_large_record_on_a_slow_line_is_no_silence(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last record takes seconds, and silence may last for 0.7 s."""
    down = Struck(b"again", 0)
    with Relay(agent=TEMPLATE, down=down) as relay:
        relay.baud = None
        strike = Struck(rb'"t":"case"', 0, None)

        def slow(data: bytes) -> bytes:
            if strike(data) and strike.seen:
                relay.baud = 4000
            return data

        relay.up = slow
        done = cli("run", "dk.nanosleep", "-p", "samples=20", "--json", "--target", relay.target)
    assert done.status == 0, done.err
    assert down.seen == 0


def test_what_a_slow_line_has_to_carry_is_told(cli: Cli) -> None:
    with Relay(agent=TEMPLATE) as relay:
        done = cli("run", "null", "-p", "samples=20000", "-p", "raw=1", "--target", relay.target)
    assert done.err.splitlines()[0] == (
        "1 case, about 12 s; about 126 kB at 11 520 B/s: 11 s of it"
    )


def test_a_case_that_the_agent_ended_by_itself_is_no_complete_run(cli: Cli) -> None:
    """On this system the time of a sleeping task passes at once, and so does its lease."""
    with Relay(agent=TEMPLATE) as relay:
        done = cli(
            "run", "dk.nanosleep", "-p", "samples=0", "--time", "1000h", "--yes", "--json",
            "--target", relay.target,
        )  # fmt: skip
    assert done.status == 4
    assert "had not heard its host for longer than promised" in done.says
    assert done.document["results"][0]["n"] > 0


def test_a_list_is_whole_although_its_echo_was_lost() -> None:
    """The agent echoes the second `list` after the tables, of which it had lost some."""
    with Relay(agent=TEMPLATE) as relay, Interrupt() as interrupt:
        clean = listing.catalogue(find(relay.target), interrupt)
        hurt = [Struck(rb'"text":"list"', 1), Struck(rb'"t":"bench"', 20)]
        relay.up = lambda data: hurt[1](hurt[0](data))
        assert listing.catalogue(find(relay.target), interrupt) == clean
    assert hurt[0].seen > 1
