"""Runs on their way into the store: what has come of each so far, on disk.

    runs/.arriving/ID/manifest.json  what is to come, as the client declared it
    runs/.arriving/ID/blob           what has come of it; its size is the offset
    runs/.arriving/ID/token          the id of the token that began it
    runs/.arriving/ID/RUN_ID/        the run directory, while it is unpacked and parsed

ID is a hash of project and manifest: whoever sends the same again continues where it ended, on any
server of the store.  Who appends holds a lock on the blob.  All files are opened through the
directory's descriptor and never through a link.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import msgspec

from rtstone import structures
from rtstone.documents.plan import Plan
from rtstone.errors import StoreError, UsageError
from rtstone.files import directory
from rtstone.printable import parsed
from rtstone.server.projects import ARRIVING, Places
from rtstone.server.settings_file import Limits
from rtstone.store import atomic
from rtstone.store.intake import is_whole
from rtstone.store.layout import LARGEST, LOG, PLAN, RUN_ID, UNREADABLE, lock, regular

ID = re.compile(r"[0-9a-f]{32}")
MANIFEST, BLOB, TOKEN = "manifest.json", "blob", "token"
FILES = 1000  # of a run: its plan, its log and those of its resumptions
_STEP = 1 << 20  # bytes that are unpacked at a time
_DENSEST = 1040  # zlib packs no more bytes into one

Size = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the run."""

    name: Annotated[str, msgspec.Meta(pattern=r"\A(plan\.json|wire(-[1-9][0-9]{0,3})?\.log)\Z")]
    size: Size
    sha256: Hash


class Blob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bytes that are sent: the files in their order, one after the other, packed by zlib."""

    size: Size
    sha256: Hash


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The declaration of an upload: its run, its bytes, its files."""

    run_id: Annotated[str, msgspec.Meta(pattern=rf"\A{RUN_ID.pattern}\Z")]
    blob: Blob
    files: list[File]

    def id(self, project: str) -> str:
        """Return the id of the upload."""
        identity = project.encode() + b"\0" + msgspec.json.encode(self)
        return hashlib.sha256(identity).hexdigest()[:32]

    def fault(self) -> str:
        """Return what is wrong with it, an empty text if nothing is."""
        count = len(self.files)
        names = [PLAN, LOG, *(f"wire-{n}.log" for n in range(2, min(count, FILES)))][:count]
        if count < 2 or [file.name for file in self.files] != names:
            return f"the files are not {PLAN}, {LOG}, wire-2.log and so on, at most {FILES}"
        if not self.blob.size:
            return "nothing is to come"
        if self.unpacked > self.blob.size * _DENSEST:
            return "so much cannot have been packed into so little"
        return ""

    def too_large(self, limits: Limits) -> str:
        """Return which limit it exceeds, an empty text if none."""
        if self.blob.size > limits.upload:
            return f"it has {self.blob.size} bytes, more than the {limits.upload} of an upload"
        if self.unpacked > limits.run:
            return f"it has {self.unpacked} bytes unpacked, more than the {limits.run} of a run"
        return ""

    @property
    def unpacked(self) -> int:
        """The size of all files in bytes."""
        return sum(file.size for file in self.files)


def normal(plan: Plan) -> bytes:
    """Return a plan as it is sent: without its number of arrival, as each store gives its own."""
    plan = msgspec.structs.replace(plan, arrival=0)
    return msgspec.json.format(msgspec.json.encode(plan))


class Other(UsageError):  # noqa: N818  no fault of the program
    """There is another run of that id."""


def is_stored(places: Places, project: str, manifest: Manifest) -> bool:
    """Return whether the run is in the store.

    False also if only its plan differs: another version of rtstone may have written it, which is
    seen when it has come.  Raises Other if another run has its id.
    """
    path = places.run(project, manifest.run_id)
    if not path.exists():
        return False
    if not is_whole(path):
        raise Other(f"run {manifest.run_id} goes on in the store of the server")
    plan, *logs = manifest.files
    names = [log.name for log in logs]
    next_log = path / f"wire-{len(names) + 1}.log"
    try:
        same = not next_log.exists() and all(
            hashlib.sha256(regular(path / log.name, LARGEST)).hexdigest() == log.sha256
            for log in logs
        )
    except OSError:
        same = False
    if not same:
        raise Other(f"there is another run {manifest.run_id}, with other results")
    try:
        stored_plan = normal(parsed(regular(path / PLAN, LARGEST), Plan))
    except (OSError, *UNREADABLE) as error:
        raise Other(f"there is a damaged run {manifest.run_id}") from error
    return hashlib.sha256(stored_plan).hexdigest() == plan.sha256


class Arrival:
    """An upload that is not complete."""

    def __init__(self, path: Path) -> None:
        """``path``: its directory."""
        self.path = path

    @classmethod
    def by_id(cls, places: Places, project: str, number: str) -> Arrival:
        """Return the upload with an id.  Raises UsageError for what is no id."""
        if not ID.fullmatch(number):
            raise UsageError("no such upload")
        return cls(places.runs(project) / ARRIVING / number)

    def begin(self, manifest: Manifest, token: str) -> None:
        """Begin it, or continue it.  Raises StoreError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.mkdir(exist_ok=True, mode=0o700)
            with directory(self.path) as place:
                atomic.replace(place, MANIFEST, msgspec.json.encode(manifest))
                atomic.replace(place, TOKEN, token.encode())
                flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(BLOB, flags, 0o600, dir_fd=place))
        except OSError as error:
            raise _full(error) from error

    def manifest(self) -> Manifest | None:
        """Return its manifest, None if there is no such upload (any more)."""
        with suppress(OSError, msgspec.MsgspecError), directory(self.path) as place:
            handle = os.open(MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
            with os.fdopen(handle, "rb") as file:
                return structures.decode(file.read(_STEP), Manifest)
        return None

    def offset(self) -> int:
        """Return how many bytes have come."""
        try:
            return (self.path / BLOB).lstat().st_size
        except OSError:
            return 0

    @contextmanager
    def appending(self) -> Iterator[Appending | None]:
        """Lock it, to append to it; None if somebody else does, or it has just ended."""
        try:
            with directory(self.path) as place:
                flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
                handle = os.open(BLOB, flags, dir_fd=place)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise _full(error) from error
        try:
            held = lock(handle) and os.fstat(handle).st_nlink > 0
            yield Appending(self.path, handle) if held else None
        finally:
            os.close(handle)

    def drop(self) -> None:
        """Remove it."""
        # Renamed first: what is removed half is no upload.
        gone = self.path.with_name(f".gone-{self.path.name}")
        shutil.rmtree(gone, ignore_errors=True)
        with suppress(OSError):
            self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


class Appending:
    """An upload that this process has locked."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path, self._handle = path, handle
        self.offset = os.lseek(handle, 0, os.SEEK_END)

    def append(self, data: bytes | bytearray) -> None:
        """Append bytes; those that the disk has room for stay.  Raises StoreError."""
        rest = memoryview(data)
        try:
            while rest:
                done = os.write(self._handle, rest)
                self.offset += done
                rest = rest[done:]
        except OSError as error:
            raise _full(error) from error

    def fits(self, blob: Blob) -> bool:
        """Sync it to disk, and return whether it has the declared bytes.  Raises StoreError."""
        try:
            os.fsync(self._handle)
            os.lseek(self._handle, 0, os.SEEK_SET)
            digest = hashlib.sha256()
            while data := os.read(self._handle, _STEP):
                digest.update(data)
        except OSError as error:
            raise _full(error) from error
        return self.offset == blob.size and digest.hexdigest() == blob.sha256

    @contextmanager
    def unpacked(self, manifest: Manifest) -> Iterator[Path]:
        """Unpack the run directory for the block, with exactly the files that were declared.

        Raises UsageError if it has others, StoreError.
        """
        place = self._path / manifest.run_id
        shutil.rmtree(place, ignore_errors=True)  # of a server that was killed
        try:
            try:
                place.mkdir(mode=0o755)
                os.lseek(self._handle, 0, os.SEEK_SET)
                source = _Unpacked(self._handle)
                with directory(place) as folder:
                    for file in manifest.files:
                        _write(source, folder, file)
                    os.fsync(folder)
                source.end()
            except OSError as error:
                raise _full(error) from error
            except zlib.error as error:
                raise UsageError("what was sent is not packed by zlib") from error
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


class _Unpacked:
    """The unpacked bytes of a blob, a bounded piece at a time."""

    def __init__(self, handle: int) -> None:
        self._handle, self._stream, self._rest = handle, zlib.decompressobj(), b""

    def read(self, most: int) -> bytes:
        """Return up to ``most`` bytes, none at the end."""
        while not self._stream.eof:
            if not self._rest:
                self._rest = os.read(self._handle, 1 << 16)
            data = self._stream.decompress(self._rest, most)
            ended = not self._rest
            self._rest = self._stream.unconsumed_tail
            if data or ended:
                return data
        return b""

    def end(self) -> None:
        """Check that nothing follows what was read.  Raises UsageError."""
        if self.read(1):
            raise UsageError("the upload unpacks to more bytes than its manifest declares")
        if not self._stream.eof:
            raise UsageError("the upload ends before all that its manifest declares")
        if self._stream.unused_data or os.read(self._handle, 1):
            raise UsageError("bytes follow the end of what was packed")


def _write(source: _Unpacked, folder: int, file: File) -> None:
    """Write the next file of the unpacked bytes, synced to disk.  Raises UsageError, OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    digest, left = hashlib.sha256(), file.size
    with os.fdopen(os.open(file.name, flags, 0o644, dir_fd=folder), "wb") as to:
        while left:
            data = source.read(min(left, _STEP))
            if not data:
                raise UsageError(f"{file.name} has fewer bytes than the manifest declares")
            digest.update(data)
            to.write(data)
            left -= len(data)
        to.flush()
        os.fsync(to.fileno())
    if digest.hexdigest() != file.sha256:
        raise UsageError(f"{file.name} has another SHA-256 than the manifest declares")


def _full(error: OSError) -> StoreError:
    return StoreError(f"runs cannot be stored: {error.strerror}; what has come stays")
