"""Projects take turns at the parsers, and what is too dear is given up early."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from rtstone.server import parsing
from rtstone.server.turns import LARGE, WAITING, Turns
from rtstone.store.layout import LOG
from tests.server.conftest import Template
from tests.server.pushing import files_of, of_template, send, stored, upload
from tests.server.serving import Served
from tests.waiting import soon

SMALL, BIG = 1000, LARGE + 1


class Parsing:
    """Runs that are parsed until a test ends them; `begun` has them in their order."""

    def __init__(self) -> None:
        self.turns, self.begun = Turns(2), list[str]()
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str, size: int = SMALL) -> list[str]:
        """Have runs come, named by their project's letter; return what is parsed so far."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._parsed(name, size))
            await self.settled()
        return self.begun

    async def _parsed(self, name: str, size: int) -> None:
        async with self.turns.turn(name[0], size):
            self.begun.append(name)
            await self._ends[name].wait()

    async def end(self, *names: str) -> list[str]:
        """Have runs be done, one after the other; return what was begun since the last look."""
        before = len(self.begun)
        for name in names:
            self._ends[name].set()
            await self.settled()
        return self.begun[before:]

    async def settled(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


def playing(play: Callable[[Parsing], Coroutine[None, None, None]]) -> None:
    async def played() -> None:
        queue = Parsing()
        await play(queue)
        for task in queue.tasks.values():
            task.cancel()
        await asyncio.gather(*queue.tasks.values(), return_exceptions=True)

    asyncio.run(played())


def test_large_runs_leave_a_parser_to_small_ones() -> None:
    async def play(queue: Parsing) -> None:
        assert await queue.come("a1", "a2", "c1", size=BIG) == ["a1"]
        assert await queue.come("b1") == ["a1", "b1"]
        assert await queue.end("b1") == []  # the other parser is for small ones
        assert await queue.end("a1") == ["c1"]
        assert await queue.end("c1") == ["a2"]

    playing(play)


def test_who_pushes_many_runs_keeps_nobody_waiting() -> None:
    async def play(queue: Parsing) -> None:
        assert await queue.come(*(f"a{n}" for n in range(20))) == ["a0", "a1"]
        await queue.come("b0", "b1", "c0")
        assert await queue.end("a0") == ["b0"]
        assert await queue.end("a1") == ["c0"]
        assert await queue.end("b0", "c0") == ["b1", "a2"]  # b has had one run less
        assert await queue.end("b1", "a2") == ["a3", "a4"]

    playing(play)


def test_turns_are_by_bytes_not_by_runs() -> None:
    async def play(queue: Parsing) -> None:
        await queue.come("a0", "z0")
        await queue.come("a1", "a2", "a3", size=LARGE)
        await queue.come(*(f"b{n}" for n in range(20)), size=LARGE // 4)
        await queue.end("z0")  # frees one parser; a0 keeps the other
        order = list(queue.begun[2:])
        while len(order) < 12:
            order += await queue.end(order[-1])
        assert [name[0] for name in order] == list("babbbbabbbba"), order

    playing(play)


def test_turns_that_were_not_taken_are_not_saved_up() -> None:
    async def play(queue: Parsing) -> None:
        await queue.come(*(f"a{n}" for n in range(30)), size=LARGE)
        for number in range(20):  # a has had much, all alone
            await queue.end(f"a{number}")
        await queue.come(*(f"b{n}" for n in range(30)), size=LARGE)
        await queue.end("a20", "a21")
        order = list(queue.begun[22:])
        while len(order) < 10:
            order += await queue.end(order[len(order) - 2])
        # The two that a had begun when b came count as its first.
        assert [name[0] for name in order] == list("bbabababab"), order

    playing(play)


def test_who_comes_again_is_not_served_before_those_who_wait() -> None:
    """One that leaves and comes at once would always be new."""

    async def play(queue: Parsing) -> None:
        await queue.come("z0")  # holds a parser all along
        await queue.come("a0", size=LARGE)
        await queue.come("b0", "c0", "b1")
        assert await queue.end("a0") == ["b0"]
        await queue.come("a1")
        assert await queue.end("b0", "c0", "b1") == ["c0", "b1", "a1"]

    playing(play)


def test_a_run_that_is_given_up_leaves_its_place() -> None:
    async def play(queue: Parsing) -> None:
        await queue.come("a0", "a1", "b0", "c0")
        queue.tasks["b0"].cancel()
        with suppress(asyncio.CancelledError):
            await queue.tasks["b0"]
        assert queue.turns.waiting("b") == 0
        queue.tasks["a0"].cancel()
        await queue.settled()
        assert queue.begun == ["a0", "a1", "c0"]

    playing(play)


def test_pushes_that_wait_for_a_parser_keep_neither_readers_nor_other_projects_out(
    served: Served, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, order = threading.Event(), list[str]()
    parse = served.app.state.parser.parse

    def slow(path: Path, size: int, largest: int) -> object:
        order.append(path.name)
        assert goes_on.wait(60)
        return parse(path, size, largest)

    monkeypatch.setattr(served.app.state.parser, "parse", slow, raising=False)
    headers, waiting = served.bearer(), served.app.state.turns.waiting

    def push(name: str, project: str) -> int:
        return send(client, headers, of_template(template, name), project).status_code

    with (
        httpx.Client(base_url=served.url, trust_env=False, timeout=120) as client,
        ThreadPoolExecutor(60) as clients,
    ):
        first = [clients.submit(push, f"a-{n}", "a") for n in range(WAITING + 2)]
        assert soon(lambda: waiting("a") == WAITING)
        assert push("a-more", "a") == 503
        assert served.client.get("/p/main/").status_code == 200
        other = clients.submit(push, "b-0", "b")
        assert soon(lambda: waiting("b") == 1)
        goes_on.set()
        assert {reply.result() for reply in (*first, other)} == {201}
        # After those that two parsers had begun, and beside whoever else's turn came with its own.
        assert order.index("b-0") in {2, 3}
        assert push("a-more", "a") == 201  # all of it had come before
    assert len(stored(served.places.runs("a"))) == WAITING + 3


def test_a_log_of_more_lines_than_records_can_have_is_refused_unparsed(
    served: Served, template: Template
) -> None:
    files = files_of(template, "r-1")
    for end in (b"\n", b"\r", b"\r\n"):
        log = files[LOG] + end * (parsing.LINES + 1)
        answer = send(served.client, served.bearer(), upload("r-1", files | {LOG: log}))
        assert answer.status_code == 422
        count = parsing.LINES + 1 + files[LOG].count(b"\n")
        assert f"its logs have {count} lines, more than {parsing.LINES}" in answer.text
    assert stored(served.places.runs("main")) == set()


def test_a_run_that_takes_a_processor_too_long_is_given_up(
    served: Served, template: Template
) -> None:
    files = files_of(template, "r-1")
    log = files[LOG] + b"#rts 1 {\n" * 300_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "CPU_S", -2.0)
        answer = send(served.client, served.bearer(), upload("r-1", files | {LOG: log}))
    assert answer.status_code == 422
    assert "as long as it may for a run of this size" in answer.text
    assert send(served.client, served.bearer(), of_template(template, "r-1")).status_code == 201
