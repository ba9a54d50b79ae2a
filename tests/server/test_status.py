"""`serve --status` says whether a server is well, from its store alone."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sql

from rtstone.server import status as module
from rtstone.server.answers.webhooks import TRIES
from rtstone.server.database import FILE, Database
from rtstone.server.projects import Places
from rtstone.server.schema import deliveries
from tests.conftest import Cli
from tests.server.conftest import Copied, Template
from tests.server.pushing import of_template, send
from tests.server.serving import Served


def shown(cli: Cli, store: Path, *words: str) -> tuple[int, list[str]]:
    done = cli("serve", "--status", "--store", str(store), *words)
    return done.status, [line.strip() for line in done.out.splitlines()]


def test_a_server_that_runs_is_well_and_shows_what_each_project_and_token_has(
    served: Served, template: Template, cli: Cli
) -> None:
    headers = served.bearer()
    assert send(served.client, headers, of_template(template, "r-1"), "lab").status_code == 201
    half = of_template(template, "r-2")
    where = "/api/v1/p/lab/uploads"
    number = served.client.post(where, json=half.manifest, headers=headers).json()["upload"]
    sent = half.blob[: len(half.blob) // 2]
    at = {"Upload-Offset": "0"}
    served.client.patch(f"{where}/{number}", content=sent, headers=headers | at)
    status, lines = shown(cli, served.places.store)
    assert (status, lines[0].partition(":")[0]) == (0, "well")
    assert "1 run of " in lines[0]
    lab = next(line.split() for line in lines if line.startswith("lab"))
    assert lab[1:3] == ["1", "1"]
    assert "1:" in lab
    token = headers["Authorization"].split("_", 2)
    mine = next(line for line in lines if line.startswith(token[1]))
    assert "a push token" in mine
    assert token[2] not in "".join(lines)
    assert any("100 of a token" in line for line in lines)


def test_it_changes_nothing(places: Places, copied: Copied, cli: Cli) -> None:
    Database(None, places.store).close()
    copied("r-1")
    before = {path: path.read_bytes() for path in places.store.rglob("*") if path.is_file()}
    assert shown(cli, places.store)[0] == 0
    after = {path: path.read_bytes() for path in places.store.rglob("*") if path.is_file()}
    assert before == {path: text for path, text in after.items() if path in before}


def test_a_run_that_nobody_parses_is_seen(
    served: Served, template: Template, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    parcel, headers = of_template(template, "r-1"), served.bearer()
    begun = served.client.post("/api/v1/p/main/uploads", json=parcel.manifest, headers=headers)
    blob = served.places.runs("main") / ".arriving" / begun.json()["upload"] / "blob"
    blob.write_bytes(parcel.blob)
    status, lines = shown(cli, served.places.store)
    assert status == 0
    assert "1 run at the parsers or waiting for one" in lines[0]
    monkeypatch.setattr(module, "LONG_S", -1.0)
    status, lines = shown(cli, served.places.store)
    assert (status, "1 run of project main came and nobody parsed it" in lines[0]) == (1, True)


def test_what_is_not_well_is_said_first(
    places: Places, copied: Copied, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied("r-1")
    status, lines = shown(cli, places.store)
    assert (status, "not well: no database" in lines[0]) == (1, True)
    assert any(line.split()[:3] == ["main", "1", "-"] for line in lines)
    with_message = Database(None, places.store)
    with with_message.writing() as connection:
        row = {"hook": "chat", "body": "", "made": 0.0, "tries": TRIES, "next": 0.0}
        connection.execute(sql.insert(deliveries), row)
    with_message.close()
    assert "1 message to webhook chat did not get through" in shown(cli, places.store)[1][0]
    monkeypatch.setattr("os.statvfs", lambda path: _Disk())
    assert "4 KiB are free, less than the" in shown(cli, places.store)[1][0]
    with closing(sqlite3.connect(places.store / FILE, isolation_level=None)) as other:
        other.execute("UPDATE rtstone_versions SET tables = 999")
    assert "a newer rtstone has made the database (version 999)" in shown(cli, places.store)[1][0]
    shutil.copy(__file__, places.store / FILE)
    status, lines = shown(cli, places.store)
    assert (status, "file is not a database" in lines[0]) == (1, True)


class _Disk:
    f_bavail, f_bfree, f_frsize, f_files, f_ffree = 1, 1, 4096, 0, 0


def test_a_store_that_is_not_there_is_refused(tmp_path: Path, cli: Cli) -> None:
    done = cli("serve", "--status", "--store", str(tmp_path / "no"))
    assert (done.status, done.err.count("\n")) == (2, 1)
