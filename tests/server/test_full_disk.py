"""A server whose disk is full says so, loses nothing, and goes on when there is room again."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
import sqlalchemy as sql

from rtstone.server import projects
from rtstone.server.background import Background
from rtstone.server.database import Database
from rtstone.server.projects import Places
from rtstone.server.settings import Settings
from tests.server import killing, pushing
from tests.server.conftest import Template
from tests.server.serving import Served
from tests.waiting import soon

SIZE = 8 << 20  # bytes of the disk
FULL = "the disk of the server is full; nothing that is stored is lost; make room there\n"
MOUNTED = 'mount -t tmpfs -o size="$1" none "$2" && echo mounted && exec sleep infinity'


class Disk(NamedTuple):
    """A small disk that is mounted in a mount namespace of its own.

    ``kind``: how a command begins that runs there.  ``place``: where it lies for those commands;
    ``reached``: for this process.
    """

    kind: list[str]
    place: Path
    reached: Path

    def fill(self, free: int) -> None:
        """Fill it until so many bytes are free."""
        disk = os.statvfs(self.reached)
        with (self.reached / "ballast").open("ab") as file:
            if (room := disk.f_bavail * disk.f_frsize - free) > 0:
                os.posix_fallocate(file.fileno(), file.tell(), room)

    def make_room(self) -> None:
        (self.reached / "ballast").unlink()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run rtstone there."""
        command = [*self.kind, killing.RTSTONE, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter"))):
        pytest.skip("only root can mount a small disk, with unshare and nsenter (util-linux)")
    place = tmp_path / "disk"
    place.mkdir()
    holder = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTED, "sh", str(SIZE),
         str(place)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout and holder.stderr
    try:
        if not holder.stdout.readline():
            pytest.skip(f"no small disk can be mounted: {' '.join(holder.stderr.read().split())}")
        own = f"/proc/{holder.pid}"
        yield Disk(["nsenter", f"--mount={own}/ns/mnt"], place, Path(f"{own}/root{place}"))
    finally:
        holder.kill()
        holder.communicate()


def test_a_full_disk_is_named_and_nothing_is_lost(
    disk: Disk, template: Template, tmp_path: Path
) -> None:
    store = disk.place / "store"
    (disk.reached / "store").mkdir()
    created = disk.run("token", "new", "pusher", "--store", str(store))
    headers = {"Authorization": f"Bearer {created.stdout.strip()}"}
    log = tmp_path / "log"
    with killing.serve(store, log, kind=disk.kind) as server:
        url = f"http://127.0.0.1:{server.port}"
        with closing(httpx.Client(base_url=url, trust_env=False, timeout=60)) as client:
            first, second = (pushing.of_template(template, name) for name in ("one", "two"))
            assert pushing.send(client, headers, first).status_code == 201

            disk.fill(1 << 17)  # room for SQLite, and not for what comes
            large = pushing.upload("large", {"plan.json": b"{}", "wire.log": os.urandom(1 << 20)})
            refused = pushing.send(client, headers, large)
            assert refused.status_code == 507
            assert re.fullmatch(r"[^\n]*No space left on device[^\n]*\n", refused.text)

            # Again, as work in the background may have had journals of the database meanwhile.
            assert soon(lambda: disk.fill(0) or client.get("/healthz").status_code != 200)
            for send in (second, large):
                refused = pushing.send(client, headers, send)
                assert (refused.status_code, refused.text) == (507, FULL)
            for path in ("/healthz", "/p/main/", "/p/main/runs/one", "/p/main/runs/one.json"):
                response = client.get(path)
                assert (response.status_code, response.text) == (503, FULL), path
            page = client.get("/p/main/", headers={"Accept": "text/html"})
            assert page.status_code == 503
            assert FULL.strip() in " ".join(page.text.split())

            server.kill()
            done = disk.run("serve", "--store", str(store), "--listen", "127.0.0.1:0")
            assert done.returncode == 4
            assert re.fullmatch(r"rtstone: [^\n]*disk is full[^\n]*make room[^\n]*\n", done.stderr)

            disk.make_room()
            server.start()
            assert client.get("/healthz").text == "ok\n"
            assert pushing.send(client, headers, second).status_code == 201
            for name in ("one", "two"):
                assert client.get(f"/p/main/runs/{name}").status_code == 200
        assert "Traceback" not in log.read_text()
        assert server.end() == 0
    assert pushing.stored(disk.reached / "store" / "runs") == {"one", "two"}
    verified = disk.run("serve", "--verify", "--store", str(store))
    assert verified.stdout == "index and run directories agree\n"


def test_a_disk_that_is_nearly_full_is_named_while_pages_can_be_made(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert served.client.get("/healthz").status_code == 200
    monkeypatch.setattr(projects, "FULL", 1 << 62)
    response = served.client.get("/healthz")
    assert (response.status_code, response.text) == (503, FULL)
    assert served.client.get("/p/main/").status_code == 200


def test_work_in_the_background_names_a_full_disk_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once each round: a traceback for each would fill the log's disk as well."""
    database = Database(None, tmp_path)
    try:
        places, settings = Places(tmp_path), Settings(store=tmp_path)
        background = Background(database, places, settings)

        def fails(error: str) -> None:
            raise sql.exc.OperationalError("INSERT", {}, sqlite3.OperationalError(error))

        assert not background._do("keeping the index", lambda: fails("disk I/O error"))
        with monkeypatch.context() as patched:
            patched.setattr(projects, "FULL", 1 << 62)
            assert not background._do("keeping the index", lambda: fails("disk I/O error"))
        assert not background._do("delivering", lambda: fails("database or disk is full"))
    finally:
        database.close()
    defect, *full = caplog.records
    assert defect.exc_info
    assert [(record.getMessage(), record.exc_info) for record in full] == [
        (f"{action} has failed: {FULL.strip()}", None)
        for action in ("keeping the index", "delivering")
    ]
