"""What a hostile client can do to a results server: python -m tests.bench.server_hostile [uploads].

First mutated uploads, most of them given to the application in this process: bytes of manifests,
of what is packed, of plans and logs; sizes, names and hashes that are wrong.  Then a server of its
own process, and requests that are slow, large, many, or without a right.  Everything is refused in
one line, nothing is stored that is no run, and memory is bounded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import socket
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec

from rtstone.cli.main import _status
from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.server.access import new_token
from rtstone.server.app import build
from rtstone.server.arrival import Arrival
from rtstone.server.limits import CONNECTIONS, HEADER_S
from rtstone.server.reconcile import verify
from rtstone.server.settings import Settings
from rtstone.server.settings_file import Limits
from rtstone.store.layout import LOG, PLAN, RUN
from tests.server.conftest import Template
from tests.server.killing import Serving, serve, token
from tests.server.pushing import Upload, arriving, files_of, send, stored, upload

WHERE = "/api/v1/p/main/uploads"
_AT_ONCE = 4  # uploads on their way
_GROWTH = 200 << 20  # bytes that memory may grow by
_ODD: tuple[Any, ...] = (
    0, -1, 10**30, 1 << 62, 1e308, "1", None, True, [], {}, [[]] * 50, "../../etc/passwd",
    "wire.log\n",
    "<script>alert(1)</script>", "wire-1.log", "plan.json\0", "a" * 5000, "\u202e", "run.json",
    "0" * 64, "F" * 64, ".", "..", "/", "con", "wire-999999.log", "\ud83d\ude00",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("uploads", type=int, nargs="?", default=100_000)
    parser.add_argument("--guesses", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rtstone-bench-", dir="/var/tmp") as folder:
        template = _template(Path(folder))
        asyncio.run(_mutated(Path(folder) / "mutated", template, options.uploads, options.seed))
        _served(Path(folder), template, options)


def _template(folder: Path) -> Template:
    os.environ["RTSTONE_HOME"] = str(folder / "home")
    words = ["run", "sched.yield", "dk.periodic", "--target", "sim", "--time", "20ms", "--quiet"]
    assert _status(words) == 0
    path = next((folder / "home" / "runs").iterdir())
    run = msgspec.json.decode((path / RUN).read_bytes(), type=Run)
    return Template(path, run, msgspec.json.decode((path / PLAN).read_bytes(), type=Plan))


def _memory(pid: int | str = "self") -> int:
    """Return how much memory a process has, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---- mutated uploads ----------------------------------------------------------------------------


def _bytes(rng: random.Random, data: bytes) -> bytes:
    """Return data some bytes of which are others, more, or fewer."""
    spoilt = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(spoilt) or 1)
        spoilt[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
    return bytes(spoilt)


def _wrong_manifest(rng: random.Random, upload: Upload) -> bytes:
    """Return a manifest with something else somewhere."""
    manifest = json.loads(json.dumps(upload.manifest))
    place: Any = manifest
    while True:
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        place[key] = rng.choice(_ODD)
        break
    return json.dumps(manifest).encode()


def _mutation(rng: random.Random, template: Template, run_id: str) -> tuple[bytes, bytes, str]:
    """Return what is told and sent, and what kind of mutation it is."""
    files = files_of(template, run_id)
    good, chance = upload(run_id, files), rng.random()
    manifest = json.dumps(good.manifest).encode()
    if chance < 0.45:
        return _bytes(rng, manifest), good.blob, "bytes of the manifest"
    if chance < 0.80:
        return _wrong_manifest(rng, good), good.blob, "a member of the manifest"
    if chance < 0.90:
        return manifest, _bytes(rng, good.blob), "what was sent"
    if chance < 0.95:
        changed = upload(run_id, files, _bytes(rng, good.blob))
    elif chance < 0.96:
        bomb = zlib.compress(b"".join(files.values()) + bytes(20_000_000))
        changed = upload(run_id, files, bomb)
    else:
        name = PLAN if chance < 0.985 else LOG
        changed = upload(run_id, files | {name: _bytes(rng, files[name])})
        return json.dumps(changed.manifest).encode(), changed.blob, f"{name}, told as it is"
    return json.dumps(changed.manifest).encode(), changed.blob, "what is packed, told as it is"


async def _mutated(store: Path, template: Template, number: int, seed: int) -> None:
    app = build(Settings(store, limits=Limits(requests=0)))
    rng, kinds, taken = random.Random(seed), Counter[str](), set[str]()
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
    async with app.router.lifespan_context(app):
        value = new_token(app.state.database, "hostile", "push", "main")
        headers = {"Authorization": f"Bearer {value}"}
        folder, left = store / "runs", iter(range(number))
        begin, before, waiting = time.monotonic(), 0, [0]

        async def work() -> None:
            nonlocal before
            for n in left:
                run_id = f"r-{n}"
                kind, name, waits = await _sent(client, headers, _mutation(rng, template, run_id))
                if waits:  # a day passes: only so many may wait, and others are to be tried
                    waiting[0] += 1
                    Arrival.by_id(app.state.places, "main", waits).drop()
                kinds[kind] += 1
                taken.update({name} if name else ())
                if n == number // 10:
                    before = _memory()
                if n % 500 == 0:  # a run is there before its answer
                    unknown = stored(folder) - taken
                    assert len(unknown) < _AT_ONCE, unknown

        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
        took, grown = time.monotonic() - begin, _memory() - before
        assert stored(folder) == taken
        print(f"{number} mutated uploads in {took:.0f} s: {len(taken)} are runs and stored, "
              "the others refused; memory grew by "
              f"{grown / 1e6:.0f} MB after the first tenth")  # fmt: skip
        for kind, count in sorted(kinds.items()):
            print(f"  {kind}: {count}")
        print(f"  {waiting[0]} uploads waited for bytes that never came")
        assert arriving(folder) == []
        app.state.background.settle()
        assert verify(app.state.database, app.state.places) == []
        assert grown < _GROWTH


async def _sent(
    client: httpx.AsyncClient, headers: dict[str, str], request: tuple[bytes, bytes, str]
) -> tuple[str, str, str]:
    """Send an upload; return its kind with what came of it.

    And the run that was stored, and the upload that waits for more.
    """
    method, blob, kind = request
    number = ""
    response = await client.post(WHERE, content=method, headers=headers)
    if response.status_code == 201:
        begun = response.json()
        offset = begun["offset"]
        at = {"Upload-Offset": str(offset)}
        number = begun["upload"]
        where = f"{WHERE}/{number}"
        response = await client.patch(where, content=blob[offset:], headers=headers | at)
    assert response.status_code in {200, 201, 204, 400, 409, 413, 422}, (
        response.status_code,
        response.text,
    )
    if response.status_code in {200, 201}:
        return f"{kind}: stored", response.json()["url"].rpartition("/")[2], ""
    assert response.status_code == 204 or response.text.count("\n") == 1, response.text
    waits = response.status_code in {204, 413} and bool(number)
    return f"{kind}: {response.status_code}", "", number if waits else ""


# ---- a server -----------------------------------------------------------------------------------


def _served(folder: Path, template: Template, options: argparse.Namespace) -> None:
    store = folder / "store"
    tokens = {
        "push": token(store), "read": token(store, "--scope", "read"),
        "other": token(store, "--project", "other"),
    }  # fmt: skip
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with serve(store, folder / "log", "--read", "token") as server:
        url = f"http://127.0.0.1:{server.port}"
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            bearer = {k: {"Authorization": f"Bearer {v}"} for k, v in tokens.items()}
            assert server.process
            pid = server.process.pid
            for title, step in _steps(server, client, bearer, template, options).items():
                before, begin = _memory(pid), time.monotonic()
                said = step()
                grown = _memory(pid) - before
                print(f"{title}: {said}; {time.monotonic() - begin:.1f} s, "
                      f"memory {grown / 1e6:+.0f} MB to {_memory(pid) / 1e6:.0f} MB")  # fmt: skip
                assert grown < _GROWTH, title
                assert stored(store / "runs") == set(), title
            honest = upload("honest", files_of(template, "honest"))
            end = time.monotonic() + 60
            while (response := send(client, bearer["push"], honest)).status_code == 429:
                assert time.monotonic() < end
                time.sleep(0.5)
            assert response.status_code == 201, response.text
        assert server.end() == 0
    assert stored(store / "runs") == {"honest"}
    print("afterwards an honest run is stored, and nothing else")


def _steps(
    server: Serving, client: httpx.Client, bearer: dict[str, dict[str, str]],
    template: Template, options: argparse.Namespace,
) -> dict[str, Callable[[], str]]:  # fmt: skip
    return {
        "bombs": lambda: _bombs(client, bearer["push"], template),
        "large bodies": lambda: _large(client, bearer["push"]),
        "scopes and projects crossed": lambda: _crossed(client, bearer, template),
        "idle connections": lambda: _idle(server, options.connections),
        "slow requests": lambda: _slow(server, bearer["push"], template),
        "guessed tokens": lambda: _guessed(client, options.guesses),
    }


def _bombs(client: httpx.Client, headers: dict[str, str], template: Template) -> str:
    """Send what packs to a thousandth: zeros, and zeros in a plan or log that is told so."""
    zeros = bytes(250 << 20)
    files = files_of(template, "bomb")
    sent = [
        upload("bomb", files, zlib.compress(zeros)),
        upload("bomb", files | {LOG: zeros}),
        upload("bomb", {PLAN: b"[" * (50 << 20), LOG: b""}),
        upload("bomb", {PLAN: b'{"a":' * (20 << 20), LOG: b""}),
    ]
    statuses = [send(client, headers, answer).status_code for answer in sent]
    assert set(statuses) <= {400, 413, 422}, statuses
    return f"refused with {statuses}"


def _large(client: httpx.Client, headers: dict[str, str]) -> str:
    statuses = []
    for text in (b"[" * 250_000, b'{"a":' * 50_000, b"9" * 250_000, b'"' + b"a" * (64 << 20)):
        for method, where in (("POST", WHERE), ("PUT", "/api/v1/p/main/campaigns/night")):
            with suppress(httpx.TransportError):  # it may hang up on what is too large
                response = client.request(method, where, content=text, headers=headers)
                statuses.append(response.status_code)
    assert set(statuses) <= {400, 413}, statuses
    return f"refused with {sorted(set(statuses))}"


def _crossed(client: httpx.Client, bearer: dict[str, dict[str, str]], template: Template) -> str:
    crossed = upload("crossed", files_of(template, "crossed"))
    statuses = [send(client, headers, crossed).status_code for headers in ({}, bearer["read"])]
    statuses += [send(client, bearer["other"], crossed).status_code]
    statuses += [
        client.delete("/api/v1/p/main/runs/x", headers=h).status_code for h in bearer.values()
    ]
    statuses += [client.get(path).status_code for path in ("/", "/p/main/", "/metrics")]
    assert set(statuses) <= {401, 403}, statuses
    return f"{len(statuses)} requests refused"


def _idle(server: Serving, number: int) -> str:
    """Open many connections that say nothing, and see how long another client waits."""
    slowest, over = 0.0, threading.Event()

    def ask() -> None:
        nonlocal slowest
        while not over.wait(0.05):
            begin = time.monotonic()
            response = httpx.get(
                f"http://127.0.0.1:{server.port}/healthz", trust_env=False, timeout=60
            )
            assert response.status_code == 200
            slowest = max(slowest, time.monotonic() - begin)

    honest = threading.Thread(target=ask)
    with ExitStack() as held:
        honest.start()
        held.callback(honest.join)
        held.callback(over.set)
        idle = []
        for n in range(2 * number):
            connection = held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            if n % 2:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            idle.append(connection)
        time.sleep(HEADER_S + 2)
        closed = sum(_is_closed(connection) for connection in idle)
    assert closed == len(idle), f"{len(idle) - closed} of {len(idle)} are still open"
    return (
        f"all {len(idle)} were closed within {HEADER_S:.0f} s, at most {CONNECTIONS} were open; "
        f"meanwhile another client waited {1000 * slowest:.0f} ms at most"
    )


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _slow(server: Serving, headers: dict[str, str], template: Template) -> str:
    """Drip bodies and heads, a byte a second, until they are ended."""
    files = files_of(template, "slow")
    manifest = json.dumps(upload("slow", files).manifest).encode()
    lines = [f"POST {WHERE} HTTP/1.1", "Host: localhost", f"Content-Length: {len(manifest)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join([*lines, "", ""]).encode()
    begin, ended = time.monotonic(), list[float]()
    with ExitStack() as held:
        address = ("127.0.0.1", server.port)
        connections = [held.enter_context(socket.create_connection(address)) for _ in range(20)]
        for n, connection in enumerate(connections):
            connection.sendall(head if n % 2 else head[:20])
        while connections and time.monotonic() - begin < 90:
            for connection in list(connections):
                try:
                    connection.sendall(b" ")
                    gone = _is_closed(connection) or connection.recv(0) is None
                except OSError:
                    gone = True
                if gone:
                    connections.remove(connection)
                    ended.append(time.monotonic() - begin)
            time.sleep(1.0)
        assert not connections, f"{len(connections)} still go on"
    return f"20 ended, the last after {max(ended):.0f} s"


def _guessed(client: httpx.Client, number: int) -> str:
    statuses = Counter[int]()
    rng = random.Random(1)
    for _ in range(number):
        value = f"rts_{rng.randbytes(6).hex()}_{'A' * 43}"
        response = client.post(WHERE, headers={"Authorization": f"Bearer {value}"})
        statuses[response.status_code] += 1
    assert statuses.keys() <= {401, 429}, statuses
    return f"{statuses[401]} were not valid, {statuses[429]} too many at a time"


if __name__ == "__main__":
    main()
