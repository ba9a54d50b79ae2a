"""Uploads as tests send them: manifests made by hand, and a relay that cuts connections."""

from __future__ import annotations

import hashlib
import shutil
import socket
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec

from rtstone.documents.plan import Plan
from rtstone.store import layout as stores
from tests.server.conftest import Template


def another(template: Template, run_id: str, folder: Path) -> Path:
    """Return a copy of the template with another id, its document made by the same wire."""
    path = folder / run_id
    path.mkdir(parents=True)
    plan = msgspec.structs.replace(template.plan, run_id=run_id)
    (path / stores.PLAN).write_bytes(msgspec.json.format(msgspec.json.encode(plan)))
    shutil.copy(template.path / stores.LOG, path / stores.LOG)
    run = msgspec.structs.replace(template.run, run_id=run_id)
    (path / stores.RUN).write_bytes(msgspec.json.encode(run))
    return path


class Upload(NamedTuple):
    """An upload made by hand: what is declared, and what is sent."""

    manifest: dict[str, Any]
    blob: bytes

    @property
    def files(self) -> list[dict[str, Any]]:
        files: list[dict[str, Any]] = self.manifest["files"]
        return files


def described(data: bytes) -> dict[str, Any]:
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def upload(run_id: str, files: dict[str, bytes], blob: bytes | None = None) -> Upload:
    """Return an upload of these files; ``blob``: what is sent instead of them."""
    blob = zlib.compress(b"".join(files.values())) if blob is None else blob
    declared = [{"name": name, **described(data)} for name, data in files.items()]
    return Upload({"run_id": run_id, "blob": described(blob), "files": declared}, blob)


def of_template(template: Template, run_id: str) -> Upload:
    return upload(run_id, files_of(template, run_id))


def files_of(template: Template, run_id: str, **members: Any) -> dict[str, bytes]:
    plan: Plan = msgspec.structs.replace(template.plan, run_id=run_id, arrival=0, **members)
    text = msgspec.json.format(msgspec.json.encode(plan))
    return {stores.PLAN: text, stores.LOG: (template.path / stores.LOG).read_bytes()}


def send(
    client: httpx.Client, headers: dict[str, str], parcel: Upload, project: str = "main"
) -> httpx.Response:
    """Send an upload in one go, and return the last answer."""
    where = f"/api/v1/p/{project}/uploads"
    begun = client.post(where, json=parcel.manifest, headers=headers)
    if begun.status_code != 201:
        return begun
    answer = begun.json()
    at = {"Upload-Offset": str(answer["offset"])}
    rest = parcel.blob[answer["offset"] :]
    return client.patch(f"{where}/{answer['upload']}", content=rest, headers=headers | at)


def stored(folder: Path) -> set[str]:
    """Return what is in a directory of runs, uploads on their way left out."""
    with suppress(FileNotFoundError):
        return {path.name for path in folder.iterdir() if path.name != ".arriving"}
    return set()


def arriving(folder: Path) -> list[str]:
    """Return the uploads that are on their way."""
    with suppress(FileNotFoundError):
        return sorted(path.name for path in (folder / ".arriving").iterdir())
    return []


# ---- a relay that cuts --------------------------------------------------------------------------


class Cutting:
    """Passes connections on, and cuts each after so many bytes of the client's."""

    def __init__(self, to: int, every: int = 64 << 10) -> None:
        self.every, self.to, self.cuts = every, to, 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        address = ("127.0.0.1", self.to)
        with client, suppress(OSError), socket.create_connection(address) as server:
            back = threading.Thread(target=self._back, args=(server, client), daemon=True)
            back.start()
            left = self.every
            with suppress(OSError):
                while left and (data := client.recv(min(left, 1 << 14))):
                    server.sendall(data)
                    left -= len(data)
            self.cuts += not left
            for end in (server, client):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            back.join()

    @staticmethod
    def _back(server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 14):
                client.sendall(data)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()


@contextmanager
def cutting(to: int, every: int = 64 << 10) -> Iterator[Cutting]:
    relay = Cutting(to, every)
    try:
        yield relay
    finally:
        relay.close()
