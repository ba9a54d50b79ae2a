"""How the results server answers with many runs: python -m tests.bench.server [RUNS...].

A run of suite quick on the simulated system (45 results) is varied in its values and made one of a
machine, on 40 targets; on every tenth of these the last 60 runs are slower.  Every run has a
directory.  The newest 200 runs of a target, which are those that are analysed, have documents of
their own; the older ones share 20 documents of their target, by links, and only their rows in the
index are their own.  Plans and logs are shared by all.  Rows are written by the server's own code.
How fast directories are read is told of 500 runs that share no document.  Then pages are asked for
by HTTP, 20 times each, and a mix of them many times, for the memory.  Server and client are one
process.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time, time
from typing import NamedTuple

import httpx
import msgspec
import sqlalchemy as sql

from rtstone.cli.main import _status
from rtstone.documents.run import Run
from rtstone.server.analysis import analyse_next
from rtstone.server.database import Database
from rtstone.server.indexing import IndexEntry, add, examine
from rtstone.server.projects import MAIN, Places
from rtstone.server.reconcile import rebuild, reconcile, verify
from rtstone.server.schema import metadata, targets
from rtstone.server.serving import bound_heap
from rtstone.server.settings import Settings
from rtstone.store.layout import LOG, PLAN, RUN
from tests.server.conftest import scaled
from tests.server.serving import Served, serving

_TARGETS, _VARIANTS, _OWN, _SLOWER, _TIMES = 40, 20, 200, 60, 20
_SAMPLE = 500  # runs whose directories are read
_ASKED = (
    "target=board-07", "bench=dk.periodic&load=none", "kernel=6.1.&bench=sem.post.higher",
    "flag=throttled", "label=release-1", "flag=throttled&target=board-08", "bench=nothing",
)  # fmt: skip
_YEAR_S = 365 * 86_400.0
_LIMIT_S = {"overview": 0.3, "series": 0.3, "run": 1.0, "search": 0.3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--database", help="postgresql://...: an empty database")
    parser.add_argument("--requests", type=int, default=1_000, help="for the memory")
    options = parser.parse_args()
    bound_heap()  # as `rtstone serve`
    for runs in options.runs:
        with tempfile.TemporaryDirectory(prefix="rtstone-bench-", dir="/var/tmp") as folder:
            _measure(Path(folder), runs, options.database, options.requests)


def _measure(folder: Path, runs: int, url: str | None, requests: int) -> None:
    places = Places(folder / "store")
    places.runs(MAIN).mkdir(parents=True)
    variants = list(_variants(folder))
    if url is None:
        _agreement(Places(folder / "sample"), variants)
    began = perf_counter()
    with closing(Database(url, places.store)) as database:
        before = _size(database, places)
        _fill(database, places, variants, runs)
        database.gather_statistics()  # as after a rebuild
        filled = perf_counter() - began
        began, analysed = perf_counter(), 0
        while analyse_next(database, places):
            analysed += 1
        each = (perf_counter() - began) / analysed
        size = _size(database, places) - before
        rows = ", ".join(f"{_rows(database, name)} {name}" for name in ("points", "tags", "series",
                                                                        "changes"))  # fmt: skip
    print(f"{runs} runs: made and indexed at {runs / filled:.0f} a second, {size / 1e6:.0f} MB, "
          f"{size / runs:.0f} bytes a run: {rows}; {each:.1f} s to analyse a target")  # fmt: skip
    with _quietly(places, url) as served:
        for name, addresses in _addresses(served.client):
            _time(served.client, name, addresses)
        _busy(served)
        _memory(served.client, runs, requests)


class _Variant(NamedTuple):
    """A run with other values: its document with places for what differs, and what is shared."""

    document: bytes
    shared: Path
    entries: dict[str, IndexEntry]  # by target
    links: dict[str, Path]  # the document that runs of a target share


def _variants(folder: Path) -> Iterator[_Variant]:
    """Measure a run, and yield it varied in its values; the second half are the slower ones."""
    os.environ["RTSTONE_HOME"] = str(folder / "home")
    assert _status(["run", "quick", "--target", "sim", "--quiet", "--time", "100ms"]) == 0
    source = next((folder / "home" / "runs").iterdir())
    run = msgspec.json.decode((source / RUN).read_bytes(), type=Run)
    assert run.agent
    assert run.clock
    run = msgspec.structs.replace(
        run, run_id="@run", created="@created", conditions={"kernel.release": "@kernel"},
        agent=msgspec.structs.replace(run.agent, port="linux"),
        clock=msgspec.structs.replace(run.clock, source="tsc"),
        target=msgspec.structs.replace(run.target, name="local", called="@target", detail={}),
    )  # fmt: skip
    chance = random.Random(1)
    for number in range(_VARIANTS):
        by = chance.gauss(1.0, 0.02) * (1.0 if number < _VARIANTS // 2 else 1.3)
        varied = msgspec.structs.replace(
            run, results=[scaled(result, by) for result in run.results]
        )
        shared = folder / "variants" / f"v-{number}"
        shared.mkdir(parents=True)
        for name in (PLAN, LOG):
            shutil.copy(source / name, shared / name)  # a file has at most 65 000 names
        variant = _Variant(msgspec.json.encode(varied), shared, {}, {})
        for target in map(_target, range(_TARGETS)):
            text = _document(variant, "r", target, "6.0.0-rt", 0.0)
            (shared / RUN).write_bytes(text)
            variant.entries[target] = examine(shared, 0.0)
            variant.links[target] = shared / target
            variant.links[target].write_bytes(text)
        yield variant


def _target(number: int) -> str:
    return f"board-{number % _TARGETS:02}"


def _kernel(number: int) -> str:
    return f"6.{number // 5000 % 12}.{number % 7}-rt"


def _document(variant: _Variant, run_id: str, target: str, kernel: str, begun: float) -> bytes:
    members = {"@run": run_id, "@target": target, "@kernel": kernel,
            "@created": datetime.fromtimestamp(begun, UTC).isoformat()}  # fmt: skip
    text = variant.document
    for place, value in members.items():
        text = text.replace(f'"{place}"'.encode(), f'"{value}"'.encode())
    return text


def _place(folder: Path, variant: _Variant, run_id: str) -> Path:
    """Make the directory of a run, without its document."""
    path = folder / run_id
    path.mkdir()
    for name in (PLAN, LOG):
        os.link(variant.shared / name, path / name)
    return path


def _fill(database: Database, places: Places, variants: list[_Variant], runs: int) -> None:
    folder, now = places.runs(MAIN), time()
    numbers, half = iter(range(runs)), len(variants) // 2
    while batch := list(itertools.islice(numbers, 500)):
        entries = []
        for number in batch:
            target, age = _target(number), (runs - number) // _TARGETS  # in runs of the target
            slower = number % 10 == 7 and age < min(_SLOWER, runs // _TARGETS // 2)
            variant = variants[number // _TARGETS % half + half * slower]
            run_id, begun = f"r-{number:06}", now - _YEAR_S * (runs - number) / runs
            entries.append(_varied(variant.entries[target], number, run_id, begun))
            path = _place(folder, variant, run_id)
            if age > _OWN:
                os.link(variant.links[target], path / RUN)
            else:
                text = _document(variant, run_id, target, _kernel(number), begun)
                (path / RUN).write_bytes(text)
        with database.writing() as connection:
            add(connection, database.project(connection, MAIN), entries)


def _varied(variant: IndexEntry, number: int, run_id: str, begun: float) -> IndexEntry:
    """Return what is indexed of a run, as of another one on its target."""
    kernel, created = _kernel(number), datetime.fromtimestamp(begun, UTC).isoformat()
    row = {**variant.row, "run_id": run_id, "created": created, "begun": begun, "arrived": begun,
           "kernel": kernel}  # fmt: skip
    tags = {tag for tag in variant.tags if tag[0] != "kernel"} | {("kernel", kernel)}
    if number % 1000 == 7:
        tags |= {("flag", "throttled"), ("label", f"release-{number // 1000}")}
    return IndexEntry(row, tags, variant.series)


def _agreement(places: Places, variants: list[_Variant]) -> None:
    """Tell how fast runs are taken up from their directories, and the index is proved."""
    folder = places.runs(MAIN)
    folder.mkdir(parents=True)
    for number in range(_SAMPLE):
        variant, run_id = variants[number % len(variants)], f"r-{number:06}"
        text = _document(variant, run_id, _target(number), _kernel(number), time() - number)
        (_place(folder, variant, run_id) / RUN).write_bytes(text)
    with closing(Database(None, places.store)) as database:
        for name, step in (("taken up", reconcile), ("made anew", rebuild), ("proved", verify)):
            began, busy = perf_counter(), process_time()
            seconds = step(database, places)
            took, busy = perf_counter() - began, process_time() - busy
            print(f"{name}: {_SAMPLE / took:.0f} runs a second, {1000 * busy / _SAMPLE:.1f} ms of "
                  "CPU each")  # fmt: skip
        assert seconds == []


def _rows(database: Database, name: str) -> int:
    with database.reading() as connection:
        query = sql.select(sql.func.count()).select_from(metadata.tables[name])
        return int(connection.execute(query).scalar_one())


def _size(database: Database, places: Places) -> int:
    if database.engine.dialect.name == "postgresql":
        with database.reading() as connection:
            query = sql.text("SELECT pg_database_size(current_database())")
            return int(connection.execute(query).scalar_one())
    return sum(path.stat().st_size for path in places.store.glob("server.db*"))


@contextmanager
def _quietly(places: Places, url: str | None) -> Iterator[Served]:
    """Serve the store without work in the background, whose rows would not agree with the files."""
    from rtstone.server import background

    background.Background.start = lambda self: None  # type: ignore[method-assign]
    background.Background.stop = lambda self: None  # type: ignore[method-assign]
    with serving(Settings(places.store, port=0, database=url)._replace()) as served:
        yield served


def _addresses(client: httpx.Client) -> Iterator[tuple[str, list[str]]]:
    """Yield what is asked for; of runs another one each time, as pages that were made are kept."""
    overview = client.get("/p/main/overview.json", timeout=60).json()
    slower = client.get("/p/main/series.json?target=board-07", timeout=60).json()["changes"]
    key = max(slower, key=lambda target: slower[target])
    last = sorted(target["last"]["run_id"] for target in overview["targets"])
    yield "overview", ["/p/main/"]
    yield "series", [f"/p/main/series/{key}"]
    yield "run", [f"/p/main/runs/{run}" for run in last[: _TIMES + 1]]
    yield "run, again", [f"/p/main/runs/{last[0]}"]
    yield "compare", [f"/p/main/compare?run={a}&run={b}" for a, b in itertools.pairwise(last)]
    yield "search, all", ["/p/main/search"]
    for page in _ASKED:
        yield f"search, {page}", [f"/p/main/search?{page}"]
    yield "metrics", ["/p/main/metrics"]
    yield "feed", ["/p/main/feed.atom"]


def _time(client: httpx.Client, name: str, addresses: list[str]) -> None:
    endless = itertools.cycle(addresses)
    first, *times = [_once(client, next(endless)) for _ in range(_TIMES + 1)]
    limit = _LIMIT_S.get(name.partition(",")[0])
    limit_text = f"   (limit {1000 * limit:.0f})" if limit else ""
    print(f"  {name:45} first {1000 * first:6.0f}  median {1000 * statistics.median(times):6.0f}  "
          f"most {1000 * max(times):6.0f} ms{limit_text}")  # fmt: skip


def _busy(served: Served) -> None:
    """Tell how long the overview takes while the server analyses targets."""
    with served.database.writing() as connection:
        connection.execute(sql.update(targets).values(dirty=time()))
    over = threading.Event()

    def work() -> None:
        while not over.is_set() and analyse_next(served.database, served.places):
            pass

    worker = threading.Thread(target=work)
    worker.start()
    _time(served.client, "overview, while targets are analysed", ["/p/main/"])
    over.set()
    worker.join()


def _once(client: httpx.Client, address: str) -> float:
    began = perf_counter()
    response = client.get(address, timeout=120)
    took = perf_counter() - began
    assert response.status_code == 200, response.text[:200]
    return took


def _memory(client: httpx.Client, runs: int, requests: int) -> None:
    """Tell how the memory of the process grows over many requests of different pages."""
    chance, sizes = random.Random(1), []
    for number in range(requests + 1):
        if number % max(1, requests // 10) == 0:
            sizes.append(_resident())
        run = f"/p/main/runs/r-{runs - 1 - chance.randrange(min(runs, 2000)):06}"
        views = ("/p/main/", f"/p/main/search?target=board-{chance.randrange(40):02}", run,
                 f"{run}/run.json", "/p/main/series.json?target=board-07", "/p/main/campaigns",
                 "/p/main/feed.atom")  # fmt: skip
        client.get(chance.choice(views), timeout=60)
    figures_text = " ".join(f"{size / 1e6:.0f}" for size in sizes)
    print(f"  memory over {requests} requests: {figures_text} MB")


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
