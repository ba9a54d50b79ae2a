"""Send runs to a results server: from where an earlier try has ended, until they are stored.

What is sent is the plan and the logs; the server makes the document from them anew.
"""

from __future__ import annotations

import hashlib
import time
import zlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone.documents.campaign import CampaignState
from rtstone.errors import TargetError, UsageError
from rtstone.server.arrival import normal
from rtstone.server.client.http import Refused, Server, Unreachable
from rtstone.store.intake import is_whole
from rtstone.store.layout import LOG, PLAN
from rtstone.store.rundir import logs

PARSING_S = 300.0  # how long the server may take for a run that has come
_PAUSE_S = 0.2  # after a try that came no further
_LONGEST_S = 5.0
_PASSING = {400, 404, 408, 423, 429, 500, 502, 503, 504, 507}  # statuses after which to try again


class Packed(NamedTuple):
    """A run as it is sent: the manifest, and the bytes that it declares."""

    manifest: bytes
    blob: bytes


class Pushed(NamedTuple):
    """A run on the server; ``fresh``: it was not there before."""

    run_id: str
    url: str
    fresh: bool


class _Answer(msgspec.Struct):
    """The server's answer to a manifest."""

    state: str
    url: str = ""
    upload: str = ""
    offset: int = 0


def pack(path: Path) -> Packed:
    """Return the run in a directory as it is sent.  Raises UsageError."""
    if not is_whole(path):
        raise UsageError(f"the run has not ended, {path}; push it when it has")
    plan, texts = logs(path)
    if not texts:
        raise UsageError(f"the run has no {LOG}, {path}; runs that were imported stay here")
    files = [(PLAN, normal(plan))]
    names = [LOG, *(f"wire-{number}.log" for number in range(2, len(texts) + 1))]
    files += zip(names, texts, strict=True)
    packer, blob = zlib.compressobj(), bytearray()
    for _, text in files:
        blob += packer.compress(text)
    blob += packer.flush()
    manifest = {
        "run_id": plan.run_id,
        "blob": _described(blob),
        "files": [{"name": name, **_described(text)} for name, text in files],
    }
    return Packed(msgspec.json.encode(manifest), bytes(blob))


def _described(data: bytes | bytearray) -> dict[str, object]:
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def push(server: Server, path: Path) -> Pushed:
    """Send the run in a directory, and return where it is on the server.

    Raises UsageError, Refused for what the server will never take, Unreachable if it did not
    answer, or had no room: what has come there stays.
    """
    packed = pack(path)
    with Server(server.address, timeout_s=PARSING_S, patience_s=server.patience_s) as slow:
        return _Sending(slow, packed).send(path.name)


class _Sending:
    """One run on its way."""

    def __init__(self, server: Server, packed: Packed) -> None:
        self._server, self._packed = server, packed
        self._furthest = -1
        self._end = time.monotonic() + server.patience_s
        self._pause = _PAUSE_S

    def send(self, run_id: str) -> Pushed:
        """Send it, again and again until it is stored."""
        where = self._server.address.api("uploads")
        headers = {"Content-Type": "application/json"}
        while True:
            response = self._server.request("POST", where, self._packed.manifest, headers)
            answer = self._server.checked(response).json(_Answer)
            possible = 0 <= answer.offset <= len(self._packed.blob)
            if answer.state not in {"stored", "open"} or not possible:
                raise TargetError(f"{self._server.where} answers what no results server does")
            if answer.state == "stored":
                return Pushed(run_id, answer.url, self._furthest >= 0)
            self._note_progress(answer.offset)
            if stored := self._send_rest(answer):
                return Pushed(run_id, stored.url, True)

    def _note_progress(self, offset: int) -> None:
        """Begin to wait anew if more has come than before; else wait a little.

        Raises Unreachable after as long as the server has patience for.
        """
        if offset > self._furthest:
            self._furthest, self._pause = offset, _PAUSE_S
            self._end = time.monotonic() + self._server.patience_s
            return
        if time.monotonic() + self._pause > self._end:
            raise Unreachable(f"{self._server.where}: nothing more comes through")
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_S)

    def _send_rest(self, answer: _Answer) -> _Answer | None:
        """Send what is left; return the answer when it is stored, None to try again."""
        where = self._server.address.api("uploads", answer.upload)
        headers = {"Upload-Offset": str(answer.offset), "Content-Type": "application/octet-stream"}
        rest = memoryview(self._packed.blob)[answer.offset :]
        try:
            response = self._server.once("PATCH", where, rest, headers)
        except Unreachable:
            return None  # the next answer, or its lack, says more
        if response.status == 201:
            return response.json(_Answer)
        elsewhere = response.status == 409 and "upload-offset" in response.headers
        if elsewhere or response.status in _PASSING:
            return None
        raise self._server.refusal(response)


def push_state(server: Server, state: CampaignState) -> None:
    """Send how far a campaign has come.  Raises Unreachable, Refused."""
    where = server.address.api("campaigns", state.name)
    headers = {"Content-Type": "application/json"}
    server.checked(server.request("PUT", where, msgspec.json.encode(state), headers))


def is_final(refused: Refused) -> bool:
    """Return whether a run will never be taken, whatever token there is."""
    return refused.status not in {401, 403} and refused.status < 500
