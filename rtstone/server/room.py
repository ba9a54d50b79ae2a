"""Open uploads: how many there may be, of how many bytes, and which of them give way.

Whoever has a token can begin uploads and leave them; these must keep nobody else out, nor fill the
disk.  A client whose upload was ended begins it anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import time
from typing import NamedTuple

from rtstone.errors import RtstoneError, StoreError
from rtstone.server.arrival import BLOB, ID, TOKEN, Arrival
from rtstone.server.projects import ARRIVING, Places
from rtstone.store.layout import regular
from rtstone.units import size

OPEN, OF_TOKEN = 1000, 100  # uploads at a time, of a project and of a token; the idlest gives way
LARGEST, LARGEST_OF_TOKEN = 64, 16  # of the largest size: how many bytes those may be
IDLE_S = 60.0  # after which an upload gives way to those of other tokens
KEPT_S = 86400.0  # that nothing came of
_LONGEST = 100  # characters of a token's id


class Upload(NamedTuple):
    """An upload that is open.

    ``token``: the id of that which began it.  ``size``: bytes that were declared, packed, of which
    ``come`` have come.  ``latest``: when the last came, in s since 1970.  ``parsed``: whether it
    was given to a parser.
    """

    path: Path
    token: str
    size: int
    come: int
    latest: float
    parsed: bool

    @property
    def whole(self) -> bool:
        """Return whether all of it has come, so that it waits for a parser unless it has one."""
        return 0 < self.size <= self.come

    @property
    def reserved(self) -> int:
        """The bytes that it has or may still have."""
        return max(self.size, self.come)


def uploads(places: Places, project: str) -> list[Upload]:
    """Return the uploads of a project that are open, the idlest first."""
    folder, arriving = places.runs(project) / ARRIVING, list[Upload]()
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            if not ID.fullmatch(path.name):
                continue
            arrival = Arrival(path)
            manifest, token, latest = arrival.manifest(), "", 0.0
            with suppress(OSError):
                token = regular(path / TOKEN, _LONGEST).decode("ascii", "replace")
            declared = manifest.blob.size if manifest else 0
            for name in (".", BLOB):  # the directory's time if there is no blob yet
                with suppress(OSError):
                    latest = (path / name).lstat().st_mtime
            parsed = manifest is not None and (path / manifest.run_id).is_dir()
            arriving.append(Upload(path, token, declared, arrival.offset(), latest, parsed))
    return sorted(arriving, key=lambda upload: upload.latest)


def make_room(places: Places, project: str, token: str, coming: int, largest: int) -> None:
    """End the idlest uploads until another one has room.

    ``coming``: its bytes.  ``largest``: how many bytes any upload may have.  Raises StoreError if
    none of them is idle.
    """
    arriving = uploads(places, project)
    own = [  # of a token of all projects in each of them
        upload for name in places.projects() for upload in uploads(places, name)
        if upload.token == token
    ]  # fmt: skip
    own.sort(key=lambda upload: upload.latest)
    gone = _ended(
        own, coming, OF_TOKEN, LARGEST_OF_TOKEN * largest, idle=time(), whose="of this token"
    )
    _ended(
        [upload for upload in arriving if upload not in gone], coming, OPEN, LARGEST * largest,
        idle=time() - IDLE_S, whose=f"of project {project}",
    )  # fmt: skip


def _ended(
    arriving: Sequence[Upload], coming: int, most: int, largest: int, *, idle: float, whose: str
) -> list[Upload]:
    """End uploads, the idlest first, until another has room; return them.

    ``most``: how many may be open, of ``largest`` bytes.  ``idle``: one to which nothing came since
    this time, in s, gives way.  Raises StoreError.
    """
    number, total = len(arriving), sum(upload.reserved for upload in arriving)
    gone = []
    for upload in arriving:
        if number < most and total + coming <= largest:
            break
        if not _swept(Arrival(upload.path), idle):
            raise StoreError(
                f"{number} uploads {whose} go on, of {size(total)}; at most {most} may, of "
                f"{size(largest)}; try again when some have ended"
            )
        gone.append(upload)
        number, total = number - 1, total - upload.reserved
    return gone


def sweep(places: Places, project: str) -> int:
    """Remove uploads to which nothing came for a day, and return how many."""
    limit, gone = time() - KEPT_S, 0
    with suppress(OSError):
        for path in (places.runs(project) / ARRIVING).iterdir():
            if path.name.startswith(".gone-"):
                shutil.rmtree(path, ignore_errors=True)
            elif ID.fullmatch(path.name) and path.lstat().st_mtime < limit:
                gone += _swept(Arrival(path), limit)
    return gone


def _swept(arrival: Arrival, limit: float) -> bool:
    with suppress(OSError, RtstoneError):
        if (arrival.path / BLOB).exists() and (arrival.path / BLOB).lstat().st_mtime >= limit:
            return False
        with arrival.appending() as held:
            if held is None and (arrival.path / BLOB).exists():
                return False
            arrival.drop()
            return True
    return False
