"""How the results server answers with many runs: python -m tests.bench.server [RUNS...].

A store of 40 targets is made of 20 variants of a run of suite quick on the simulated system (45
results): every run has a directory, whose files are links to those of its variant, and rows in the
index that are varied from the variant's.  Then pages are asked for by HTTP, 20 times each.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter, time
from typing import Any

import httpx
import msgspec

from rtstone.cli.main import _status
from rtstone.documents.run import Run
from rtstone.server.analysis import analyse_next
from rtstone.server.database import Database
from rtstone.server.indexing import Found, add, examine
from rtstone.server.places import MAIN, Places
from rtstone.server.settings import Settings
from rtstone.store.places import LOG, PLAN, RUN
from tests.server.conftest import scaled
from tests.server.serving import Served, serving

_TARGETS, _VARIANTS, _TIMES = 40, 20, 20
_ASKED = (
    "target=board-07", "bench=dk.periodic&load=none", "kernel=6.1.&bench=sem.post.higher",
    "flag=throttled", "label=release-1", "flag=throttled&target=board-08", "bench=nothing",
)  # fmt: skip
_YEAR_S = 365 * 86_400.0
_LIMIT_S = {"overview": 0.3, "series": 0.3, "run": 1.0, "search": 0.3}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("runs", type=int, nargs="*", default=[1_000, 10_000])
    asked.add_argument("--database", help="postgresql://...: an empty database")
    asked.add_argument("--requests", type=int, default=1_000, help="for the memory")
    told = asked.parse_args()
    for runs in told.runs:
        with tempfile.TemporaryDirectory(prefix="rtstone-bench-", dir="/var/tmp") as folder:
            _one(Path(folder), runs, told.database, told.requests)


def _one(folder: Path, runs: int, url: str | None, requests: int) -> None:
    places = Places(folder / "store")
    places.runs(MAIN).mkdir(parents=True)
    variants = list(_variants(folder))
    began = perf_counter()
    with closing(Database(url, places.store)) as database:
        _fill(database, places, variants, runs)
        filled = perf_counter() - began
        began, analysed = perf_counter(), 0
        while analysed < 3 and analyse_next(database, places):
            analysed += 1
        each = (perf_counter() - began) / max(analysed, 1)
        size = _size(database, places)
    print(f"{runs} runs: indexed at {runs / filled:.0f} a second, {size / 1e6:.0f} MB of index, "
          f"{each:.1f} s to analyse a target")  # fmt: skip
    with _quietly(places, url) as served:
        for name, address in _addresses(served.client):
            _time(served.client, name, address)
        _memory(served.client, requests)


def _variants(folder: Path) -> Iterator[tuple[Path, Found]]:
    """Measure a run, and yield it varied in its values, with what is indexed of each."""
    os.environ["RTSTONE_HOME"] = str(folder / "home")
    assert _status(["run", "quick", "--target", "sim", "--quiet", "--time", "100ms"]) == 0
    source = next((folder / "home" / "runs").iterdir())
    run = msgspec.json.decode((source / RUN).read_bytes(), type=Run)
    chance = random.Random(1)
    for number in range(_VARIANTS):
        path = folder / "variants" / f"v-{number}"
        path.mkdir(parents=True)
        by = chance.gauss(1.0, 0.02)
        varied = msgspec.structs.replace(run, results=[scaled(one, by) for one in run.results])
        (path / RUN).write_bytes(msgspec.json.encode(varied))
        for name in (PLAN, LOG):
            shutil.copy(source / name, path / name)  # a file has at most 65 000 names
        yield path, examine(path, 0.0)


def _fill(database: Database, places: Places, variants: list[Any], runs: int) -> None:
    folder, now = places.runs(MAIN), time()
    numbers = iter(range(runs))
    while some := list(itertools.islice(numbers, 500)):
        found = []
        for number in some:
            path, one = variants[number % len(variants)]
            begun = now - _YEAR_S * (runs - number) / runs
            found.append(_varied(one, number, begun))
            there = folder / f"r-{number:06}"
            there.mkdir()
            for name in (PLAN, LOG, RUN):
                os.link(path / name, there / name)
        with database.writing() as connection:
            add(connection, database.project(connection, MAIN), found)


def _varied(of: Found, number: int, begun: float) -> Found:
    """Return what is indexed of a run, as of another one on one of the targets."""
    target = f"board-{number % _TARGETS:02}"
    kernel = f"6.{number // 5000 % 12}.{number % 7}-rt"
    row = {**of.row, "run_id": f"r-{number:06}", "begun": begun, "arrived": begun,
           "series_target": target, "target": target, "kernel": kernel}  # fmt: skip
    kept = {tag for tag in of.tags if tag[0] not in ("target", "kernel")}
    tags = kept | {("target", target), ("kernel", kernel)}
    if number % 1000 == 7:
        tags |= {("flag", "throttled"), ("label", f"release-{number // 1000}")}
    series = [
        ({**told, "key": f"{hash((target, told['key'])) & (1 << 64) - 1:016x}", "target": target},
         points)
        for told, points in of.series
    ]  # fmt: skip
    return Found(row, tags, series)


def _size(database: Database, places: Places) -> int:
    if database.engine.dialect.name == "postgresql":
        import sqlalchemy as sql

        with database.reading() as connection:
            query = sql.text("SELECT pg_database_size(current_database())")
            return int(connection.execute(query).scalar_one())
    return sum(one.stat().st_size for one in places.store.glob("server.db*"))


@contextmanager
def _quietly(places: Places, url: str | None) -> Iterator[Served]:
    """Serve the store without work in the background, whose rows would not agree with the files."""
    from rtstone.server import background

    background.Background.start = lambda self: None  # type: ignore[method-assign]
    background.Background.stop = lambda self: None  # type: ignore[method-assign]
    with serving(Settings(places.store, port=0, database=url)._replace()) as served:
        yield served


def _addresses(client: httpx.Client) -> Iterator[tuple[str, str]]:
    targets = client.get("/p/main/overview.json", timeout=60).json()["targets"]
    target = targets[7]["name"]
    listed = client.get("/p/main/series.json", params={"target": target}, timeout=60)
    key = listed.json()["series"][-1]["key"]
    run = targets[7]["last"]["run_id"]
    yield "overview", "/p/main/"
    yield "series", f"/p/main/series/{key}"
    yield "run", f"/p/main/runs/{run}"
    yield "search, all", "/p/main/search"
    for asked in _ASKED:
        yield f"search, {asked}", f"/p/main/search?{asked}"
    yield "metrics", "/p/main/metrics"
    yield "feed", "/p/main/feed.atom"


def _time(client: httpx.Client, name: str, address: str) -> None:
    first, *times = [_once(client, address) for _ in range(_TIMES + 1)]
    limit = _LIMIT_S.get(name.partition(",")[0])
    told = f"   (limit {1000 * limit:.0f})" if limit else ""
    print(f"  {name:45} first {1000 * first:6.0f}  median {1000 * statistics.median(times):6.0f}  "
          f"most {1000 * max(times):6.0f} ms{told}")  # fmt: skip


def _once(client: httpx.Client, address: str) -> float:
    began = perf_counter()
    found = client.get(address, timeout=120)
    took = perf_counter() - began
    assert found.status_code == 200, found.text[:200]
    return took


def _memory(client: httpx.Client, requests: int) -> None:
    """Tell how the memory of the process grows over many requests of different pages."""
    chance, before = random.Random(1), 0
    for number in range(requests):
        if number == requests // 10:
            before = _resident()
        run = f"/p/main/runs/r-{chance.randrange(900):06}"
        views = ("/p/main/", "/p/main/search?target=board-01", run, "/p/main/campaigns")
        client.get(chance.choice(views), timeout=60)
    print(f"  memory: {before / 1e6:.0f} MB after {requests // 10} requests, "
          f"{_resident() / 1e6:.0f} MB after {requests}")  # fmt: skip


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
