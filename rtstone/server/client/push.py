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
TOKEN_REFUSED = {401, 403}  # another token may do
_ELSEWHERE = {404, 409, 423}  # of those, where another process sends the run, or has sent it


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
    where, headers = server.address.api("uploads"), {"Content-Type": "application/json"}
    furthest, pause, end = -1, _PAUSE_S, time.monotonic() + server.patience_s
    sent = False
    with Server(server.address, timeout_s=PARSING_S, patience_s=server.patience_s) as slow:
        while True:
            response = slow.request("POST", where, packed.manifest, headers)
            answer = slow.checked(response).json(_Answer)
            if answer.state not in {"stored", "open"} or not (
                0 <= answer.offset <= len(packed.blob)
            ):
                raise TargetError(f"{server.where} answers what no results server does")
            if answer.state == "stored":
                return Pushed(path.name, answer.url, sent)
            if answer.offset > furthest:  # it begins to wait anew
                furthest, pause = answer.offset, _PAUSE_S
                end = time.monotonic() + server.patience_s
            elif time.monotonic() + pause > end:
                raise Unreachable(f"{server.where}: nothing more comes through")
            else:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_S)
            url, taken = _send_rest(slow, packed.blob, answer)
            if url:
                return Pushed(path.name, url, True)
            sent |= taken


def _send_rest(server: Server, blob: bytes, answer: _Answer) -> tuple[str | None, bool]:
    """Send what is left; return the address of the run when it is stored, None to try again.

    Also whether the server may have taken any of it: not while it takes the run from another.
    """
    where = server.address.api("uploads", answer.upload)
    headers = {"Upload-Offset": str(answer.offset), "Content-Type": "application/octet-stream"}
    try:
        response = server.once("PATCH", where, memoryview(blob)[answer.offset :], headers)
    except Unreachable:
        return None, True  # the next answer, or its lack, says more
    if response.status == 201:
        return response.json(_Answer).url, True
    elsewhere = response.status == 409 and "upload-offset" in response.headers
    if elsewhere or response.status in _PASSING:
        return None, response.status not in _ELSEWHERE
    raise server.refusal(response)


def push_state(server: Server, state: CampaignState) -> None:
    """Send how far a campaign has come.  Raises Unreachable, Refused."""
    where = server.address.api("campaigns", state.name)
    headers = {"Content-Type": "application/json"}
    server.checked(server.request("PUT", where, msgspec.json.encode(state), headers))


def is_final(refused: Refused) -> bool:
    """Return whether a run will never be taken, whatever token there is."""
    return refused.status not in TOKEN_REFUSED and refused.status < 500
