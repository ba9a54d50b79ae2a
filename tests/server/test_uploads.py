"""Runs that are sent are stored as a whole, once, and as their wire says; or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import random
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from rtstone.documents.run import Run
from rtstone.server import room
from rtstone.server.arrival import Appending, _full
from rtstone.server.client.push import Packed, pack
from rtstone.server.projects import ARRIVING, MAIN, Places
from rtstone.server.reconcile import verify
from rtstone.server.settings import Settings
from rtstone.server.settings_file import Limits
from rtstone.store.layout import PLAN, RUN
from tests.server.conftest import Template, counts
from tests.server.pushing import files_of, send, upload
from tests.server.serving import Served, serving

API = "/api/v1/p/main"


@pytest.fixture
def served(places: Places) -> Iterator[Served]:
    with serving(Settings(places.store, port=0, limits=Limits(requests=0))) as server:
        yield server


@pytest.fixture
def packed(template: Template) -> Packed:
    return pack(template.path)


def manifest(packed: Packed) -> dict[str, Any]:
    declared: dict[str, Any] = json.loads(packed.manifest)
    return declared


class Sender:
    """Sends as a client of another making would."""

    def __init__(self, served: Served, headers: dict[str, str] | None = None) -> None:
        self._client = served.client
        self._headers = headers or served.bearer("push")

    def begin(self, declared: object, api: str = API) -> httpx.Response:
        return self._client.post(f"{api}/uploads", json=declared, headers=self._headers)

    def append(self, upload: str, offset: int, data: bytes, api: str = API) -> httpx.Response:
        headers = {**self._headers, "Upload-Offset": str(offset)}
        return self._client.patch(f"{api}/uploads/{upload}", content=data, headers=headers)

    def offset(self, upload: str) -> int:
        response = self._client.head(f"{API}/uploads/{upload}", headers=self._headers)
        return int(response.headers["Upload-Offset"])

    def all(self, packed: Packed) -> httpx.Response:
        response = self.begin(manifest(packed))
        assert response.status_code == 201, response.text
        return self.append(response.json()["upload"], 0, packed.blob)


def nothing_is_stored(served: Served) -> None:
    folder = served.places.runs(MAIN)
    paths = [path for path in folder.glob("*") if path.name != ARRIVING]
    assert paths == []
    assert counts(served.database)["runs"] == 0


def test_a_run_is_made_from_its_wire(served: Served, packed: Packed, template: Template) -> None:
    done = Sender(served).all(packed)
    assert done.status_code == 201
    run_id = template.run.run_id
    assert done.json() == {"state": "stored", "url": f"{served.url}/p/main/runs/{run_id}"}
    path = served.places.run(MAIN, run_id)
    run = msgspec.json.decode((path / RUN).read_bytes(), type=Run)
    assert msgspec.structs.replace(run, duration_s=None) == msgspec.structs.replace(
        template.run, duration_s=None
    )
    assert (path / "wire.log").read_bytes() == (template.path / "wire.log").read_bytes()
    assert (path / PLAN).stat().st_nlink == 1
    assert verify(served.database, served.places) == []
    assert list((served.places.runs(MAIN) / ARRIVING).iterdir()) == []
    assert served.client.get(f"/p/main/runs/{run_id}").status_code == 200


def test_the_same_run_is_there_already_and_another_of_its_id_is_refused(
    served: Served, packed: Packed, template: Template, tmp_path: Path
) -> None:
    sender = Sender(served)
    assert sender.all(packed).status_code == 201
    again = sender.begin(manifest(packed))
    assert (again.status_code, again.json()["state"]) == (200, "stored")
    other = _copied(template, tmp_path, wire=(template.path / "wire.log").read_bytes() + b"x\n")
    refused = sender.begin(manifest(other))
    assert refused.status_code == 409
    assert "another" in refused.text
    assert counts(served.database)["runs"] == 1


def _copied(
    template: Template, folder: Path, *, wire: bytes | None = None, **plan: object
) -> Packed:
    """Return the template packed with another log or plan."""
    path = folder / "copied"
    path.mkdir()
    changed = msgspec.structs.replace(template.plan, **plan)
    (path / PLAN).write_bytes(msgspec.json.encode(changed))
    log = (template.path / "wire.log").read_bytes() if wire is None else wire
    (path / "wire.log").write_bytes(log)
    (path / RUN).write_bytes(b"{}")
    return pack(path)


def begun(sender: Sender, packed: Packed, run_id: str) -> int:
    return sender.begin(manifest(packed) | {"run_id": run_id}).status_code


def test_uploads_that_were_left_keep_nobody_out(
    served: Served, packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "OF_TOKEN", 3)
    monkeypatch.setattr(room, "OPEN", 5)
    folder = served.places.runs(MAIN) / ARRIVING
    first, second = Sender(served), Sender(served)
    assert [begun(first, packed, f"a-{n}") for n in range(9)] == [201] * 9
    assert len(list(folder.iterdir())) == 3  # the idlest of its own gave way
    assert [begun(second, packed, f"b-{n}") for n in range(2)] == [201] * 2
    assert len(list(folder.iterdir())) == 5
    assert begun(second, packed, "b-2") == 507  # those of another have not been idle for long
    monkeypatch.setattr(room, "IDLE_S", 0)
    assert begun(second, packed, "b-2") == 201
    assert len(list(folder.iterdir())) == 5
    assert first.all(packed).status_code == 201


def test_a_token_of_all_projects_has_no_more_room_by_naming_more_of_them(
    served: Served, packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "OF_TOKEN", 3)
    sender = Sender(served)
    for n in range(6):
        declared = manifest(packed) | {"run_id": f"a-{n}"}
        assert sender.begin(declared, f"/api/v1/p/team-{n}").status_code == 201
    left = [list((served.places.runs(f"team-{n}") / ARRIVING).iterdir()) for n in range(6)]
    assert [len(uploads) for uploads in left] == [0, 0, 0, 1, 1, 1]


def test_uploads_are_counted_in_bytes_too(
    served: Served, packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is to come counts, not what has come: all of it may come at once."""
    whole = manifest(packed)["blob"]["size"]
    largest = served.app.state.settings.limits.upload
    monkeypatch.setattr(room, "LARGEST_OF_TOKEN", 3.5 * whole / largest)
    monkeypatch.setattr(room, "LARGEST", 5.5 * whole / largest)
    folder = served.places.runs(MAIN) / ARRIVING
    first, second = Sender(served), Sender(served)
    assert [begun(first, packed, f"a-{n}") for n in range(9)] == [201] * 9
    assert len(list(folder.iterdir())) == 3
    assert [begun(second, packed, f"b-{n}") for n in range(2)] == [201] * 2
    refused = second.begin(manifest(packed) | {"run_id": "b-2"})
    assert (refused.status_code, "5 uploads of project main go on" in refused.text) == (507, True)
    large = {**manifest(packed), "run_id": "b-2", "blob": {"size": 2 * whole, "sha256": "0" * 64}}
    monkeypatch.setattr(room, "IDLE_S", 0)
    assert second.begin(large).status_code == 201  # two had to go for it
    assert len(list(folder.iterdir())) == 4
    assert first.all(packed).status_code == 201


def test_an_upload_that_is_cut_goes_on_where_it_ended(served: Served, packed: Packed) -> None:
    sender, step = Sender(served), len(packed.blob) // 7
    begun = sender.begin(manifest(packed)).json()
    assert begun["offset"] == 0
    at = 0
    while at + step < len(packed.blob):
        assert sender.append(begun["upload"], at, packed.blob[at : at + step]).status_code == 204
        at += step
        assert sender.offset(begun["upload"]) == at
        assert sender.begin(manifest(packed)).json() == {**begun, "offset": at}
        wrong = sender.append(begun["upload"], at - 1, b"x")
        assert (wrong.status_code, wrong.headers["Upload-Offset"]) == (409, str(at))
        nothing_is_stored(served)
    assert sender.append(begun["upload"], at, packed.blob[at:]).status_code == 201


def test_what_was_told_is_what_has_to_come(served: Served, packed: Packed) -> None:
    sender = Sender(served)
    begun = sender.begin(manifest(packed)).json()
    longer = sender.append(begun["upload"], 0, packed.blob + b"x")
    assert longer.status_code == 413
    damaged = bytearray(packed.blob)
    damaged[len(damaged) // 2] ^= 1
    fresh = sender.begin(manifest(packed)).json()
    response = sender.append(fresh["upload"], fresh["offset"], bytes(damaged[fresh["offset"] :]))
    assert response.status_code == 422
    assert "SHA-256" in response.text
    nothing_is_stored(served)
    assert sender.all(packed).status_code == 201


def test_a_bomb_is_refused_before_it_is_unpacked(served: Served, packed: Packed) -> None:
    declared = manifest(packed)
    bomb = zlib.compress(bytes(64 << 20), 9)
    declared["blob"] = {"size": len(bomb), "sha256": hashlib.sha256(bomb).hexdigest()}
    sender = Sender(served)
    upload = sender.begin(declared).json()["upload"]
    assert sender.append(upload, 0, bomb).status_code == 422
    declared["files"][1]["size"] = 1 << 30
    assert sender.begin(declared).status_code in (400, 413)
    declared["files"][1]["size"] = 300 << 20
    declared["blob"]["size"] = 1 << 20
    assert sender.begin(declared).status_code == 413
    nothing_is_stored(served)


@pytest.mark.parametrize(("member", "value"), [
    ("run_id", "../x"), ("run_id", "a/b"), ("run_id", ""), ("run_id", ".hidden"),
    ("run_id", "a" * 151),
    ("run_id", "<script>"), ("run_id", "a\x00"), ("run_id", 7), ("files", []), ("files", None),
    ("files", [{"name": "plan.json", "size": 1, "sha256": "0" * 64}]),
    ("files", 2 * [{"name": "plan.json", "size": 1, "sha256": "0" * 64}]),
    ("files", [{"name": "../plan.json", "size": 1, "sha256": "0" * 64},
               {"name": "wire.log", "size": 1, "sha256": "0" * 64}]),
    ("files", [{"name": "plan.json", "size": -1, "sha256": "0" * 64},
               {"name": "wire.log", "size": 1, "sha256": "0" * 64}]),
    ("files", [{"name": "plan.json", "size": 10**30, "sha256": "0" * 64},
               {"name": "wire.log", "size": 1, "sha256": "0" * 64}]),
    ("files", [{"name": "plan.json", "size": 1, "sha256": "zz"},
               {"name": "wire.log", "size": 1, "sha256": "0" * 64}]),
    ("blob", {"size": 0, "sha256": "0" * 64}), ("blob", {}), ("extra", 1),
])  # fmt: skip
def test_a_bad_manifest_is_refused_in_a_line(
    served: Served, packed: Packed, member: str, value: object
) -> None:
    response = Sender(served).begin({**manifest(packed), member: value})
    assert response.status_code == 400
    assert response.text.count("\n") == 1
    nothing_is_stored(served)


def test_a_plan_of_another_run_or_of_nothing_is_refused(
    served: Served, template: Template, tmp_path: Path
) -> None:
    sender = Sender(served)
    for number, packed in enumerate((
        _copied(template, _folder(tmp_path, 0), run_id="another"),
        _copied(template, _folder(tmp_path, 1), wire=b"no records\n"),
        _copied(template, _folder(tmp_path, 2), wire=b""),
    )):  # fmt: skip
        declared = manifest(packed) | ({"run_id": template.run.run_id} if number == 0 else {})
        upload = sender.begin(declared)
        if upload.status_code == 201:
            response = sender.append(upload.json()["upload"], 0, packed.blob)
            assert response.status_code == 422, response.text
            assert str(served.places.store) not in response.text
    nothing_is_stored(served)


def _folder(path: Path, number: int) -> Path:
    folder = path / str(number)
    folder.mkdir()
    return folder


@pytest.mark.parametrize(("hours", "status"), [(-1, 201), (23, 201), (25, 422), (8_000_000, 422)])
def test_a_run_of_a_time_to_come_is_refused(
    served: Served, template: Template, hours: int, status: int
) -> None:
    created = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    parcel = upload("ahead", files_of(template, "ahead", created=created))
    answer = send(served.client, served.bearer("push"), parcel)
    assert answer.status_code == status
    assert ("set the clock" in answer.text) is (status == 422)
    stored = served.client.get("/p/main/runs/ahead/run.json").status_code == 200
    assert stored is (status == 201)


def test_mutated_uploads_are_refused_or_stored_as_their_wire_says(
    served: Served, packed: Packed, template: Template
) -> None:
    """Plan and log are changed at random; nothing else than a sound run is ever stored."""
    chance, sender = random.Random(20), Sender(served)
    plain = [(template.path / name).read_bytes() for name in (PLAN, "wire.log")]
    refused = 0
    for number in range(60):
        files = [bytearray(file) for file in plain]
        for _ in range(chance.randrange(1, 4)):
            file = chance.choice(files)
            at = chance.randrange(len(file))
            file[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        blob = zlib.compress(b"".join(files), 1)
        declared = manifest(packed) | {
            "blob": {"size": len(blob), "sha256": hashlib.sha256(blob).hexdigest()},
            "files": [
                {"name": name, "size": len(file), "sha256": hashlib.sha256(file).hexdigest()}
                for name, file in zip((PLAN, "wire.log"), files, strict=True)
            ],
        }  # fmt: skip
        begun = sender.begin(declared)
        done = sender.append(begun.json()["upload"], 0, blob) if begun.status_code == 201 else begun
        assert done.status_code in (200, 201, 400, 409, 422), (number, done.text)
        refused += done.status_code >= 400
        if done.status_code >= 400:
            assert done.text.count("\n") == 1
    assert refused > 20
    assert counts(served.database)["runs"] <= 1
    served.settled()
    assert verify(served.database, served.places) == []


def test_a_full_disk_keeps_what_has_come_and_the_upload_goes_on(
    served: Served, packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = Sender(served)
    begun = sender.begin(manifest(packed)).json()
    half = len(packed.blob) // 2
    append, room = Appending.append, half

    def full(self: Appending, data: bytes) -> None:
        fitting = data[: room - self.offset]
        append(self, fitting)
        if len(fitting) < len(data):
            raise _full(OSError(28, os.strerror(28)))

    monkeypatch.setattr(Appending, "append", full)
    response = sender.append(begun["upload"], 0, packed.blob)
    assert (response.status_code, sender.offset(begun["upload"])) == (507, half)
    assert "No space left" in response.text
    nothing_is_stored(served)
    monkeypatch.undo()
    assert sender.append(begun["upload"], half, packed.blob[half:]).status_code == 201


def test_two_servers_share_an_upload(places: Places, packed: Packed, postgres: str) -> None:
    settings = Settings(places.store, port=0, database=postgres, limits=Limits(requests=0))
    with serving(settings) as left_server, serving(settings) as right_server:
        headers, half = left_server.bearer("push"), len(packed.blob) // 2
        first, second = Sender(left_server, headers), Sender(right_server, headers)
        upload = first.begin(manifest(packed)).json()["upload"]
        first.append(upload, 0, packed.blob[:half])
        assert second.offset(upload) == half
        assert second.append(upload, half, packed.blob[half:]).status_code == 201
        run_id = manifest(packed)["run_id"]
        assert left_server.client.get(f"/p/main/runs/{run_id}").status_code == 200
        assert first.begin(manifest(packed)).status_code == 200
        assert counts(left_server.database)["runs"] == 1


def test_a_deleted_run_stays_deleted(served: Served, packed: Packed) -> None:
    sender = Sender(served)
    assert sender.all(packed).status_code == 201
    run = f"{API}/runs/{manifest(packed)['run_id']}"
    assert served.client.delete(run, headers=served.bearer("push")).status_code == 403
    assert served.client.delete(run, headers=served.bearer("admin")).status_code == 204
    assert sender.begin(manifest(packed)).status_code == 410
    nothing_is_stored(served)
    assert counts(served.database)["audit"] >= 2


def test_projects_are_apart(served: Served, packed: Packed) -> None:
    lab = Sender(served, served.bearer("push", "lab"))
    assert lab.begin(manifest(packed)).status_code == 403
    begun = lab.begin(manifest(packed), "/api/v1/p/lab")
    assert begun.status_code == 201
    upload = begun.json()["upload"]
    assert Sender(served).append(upload, 0, packed.blob).status_code == 404
    assert lab.append(upload, 0, packed.blob, "/api/v1/p/lab").status_code == 201
    assert not served.places.run(MAIN, manifest(packed)["run_id"]).exists()
    assert (served.places.run("lab", manifest(packed)["run_id"]) / PLAN).exists()
