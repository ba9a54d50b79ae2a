"""Bundles: runs in one file that others can check, repeat and import.

A bundle is a tar archive, compressed by zstd, of a directory `rtstone-bundle`:

    README.md      how to check, read and repeat it
    bundle.json    its contents with their SHA-256 (rtstone/documents/bundle.py)
    runs/ID/FILE   plan, logs, document, explanations and sections of each run

The same runs give the same archive: nothing in it depends on who packs it, when, or from which
store.  A bundle comes from anywhere, so one is read only if each header of the archive is exactly
what `pack` writes: no links, devices, extensions, holes or other names.
"""

from __future__ import annotations

import io
import os
import re
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import IO, NamedTuple, Never

import msgspec

from rtstone.documents.bundle import SCHEMA, Bundle, BundledFile, BundledRun
from rtstone.documents.plan import Plan
from rtstone.documents.repetition import repeating, requirement
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.files import directory, opened
from rtstone.printable import line, parsed, shown
from rtstone.store.index import arrivals
from rtstone.store.intake import FILES, is_whole, refusal, staging, take_in
from rtstone.store.layout import ATTACHED, LARGEST, PLAN, RUN, RUN_ID, UNREADABLE
from rtstone.store.layout import runs as stored_runs
from rtstone.store.rundir import load, logs

ROOT = "rtstone-bundle"
CONTENTS, README = "bundle.json", "README.md"
MAGIC = b"\x28\xb5\x2f\xfd"  # of zstd
MOST = 10_000  # files of a bundle
_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1 << 20
# One thread, so that the bytes do not depend on the machine; the window that a reader then needs.
_PACK = ("zstd", "-12", "-T1", "--stdout", "--quiet")
_UNPACK = ("zstd", "--decompress", "--stdout", "--quiet", "--memory=128MB")
_INSTALL = "zstd is not installed, which bundles are compressed by (`apt-get install zstd`)"


class Differing(NamedTuple):
    """A run whose document is not what this version makes of its logs, in so many results."""

    run_id: str
    results: int


class Checked(NamedTuple):
    """A sound bundle: its contents, the bytes of its files, runs without logs, and differing ones.

    Documents of runs that other tools measured have no logs.
    """

    bundle: Bundle
    size: int
    without_logs: list[str]
    differing: list[Differing]


# ---- packing ------------------------------------------------------------------------------------


def pack(paths: Sequence[Path], version: str) -> bytes:
    """Return the bundle of the runs in these directories.  ``version``: of rtstone.

    Raises UsageError for a run that is not complete, or cannot be read.
    """
    runs: dict[str, BundledRun] = {}
    documents: dict[str, Run] = {}
    with tempfile.TemporaryFile() as archive:
        members: dict[str, bytes] = {}
        for path in paths:
            run, files = _files(path)
            if run.run_id in runs:
                continue
            runs[run.run_id], documents[run.run_id] = _described(run, files), run
            members |= {f"runs/{run.run_id}/{name}": data for name, data in files.items()}
        bundle = Bundle(rtstone=version, runs=[runs[run_id] for run_id in sorted(runs)])
        members[CONTENTS] = msgspec.json.format(msgspec.json.encode(bundle)) + b"\n"
        members[README] = _readme(bundle, documents).encode()
        for name in (README, CONTENTS, *sorted(members.keys() - {README, CONTENTS})):
            archive.write(_header(name, len(members[name])))
            archive.write(members[name] + bytes(-len(members[name]) % _BLOCK))
        archive.write(bytes(2 * _BLOCK))
        archive.seek(0)
        try:
            done = subprocess.run(_PACK, stdin=archive, capture_output=True, check=False)
        except FileNotFoundError:
            raise UsageError(_INSTALL) from None
    if done.returncode:
        raise UsageError(f"zstd cannot compress: {line(done.stderr.decode('utf-8', 'replace'))}")
    return done.stdout


def _files(path: Path) -> tuple[Run, dict[str, bytes]]:
    """Return a run, and the files of its directory.  Raises UsageError."""
    run = load(path)
    if run.status != "complete":
        raise UsageError(
            f"run {run.run_id} is incomplete, {shown(str(path))}; `rtstone run --resume` completes "
            "one, and a bundle takes whole runs only"
        )
    if not RUN_ID.fullmatch(run.run_id):
        raise UsageError(f"no id of a run that a bundle can hold, {shown(run.run_id)}")
    files: dict[str, bytes] = {}
    try:
        with directory(path, links=True) as folder:
            for name in sorted(os.listdir(folder)):  # noqa: PTH208  no path, but what is open
                if FILES.fullmatch(name) or ATTACHED.fullmatch(name):
                    files[name] = _content(folder, name)
    except OSError as error:
        raise UsageError(f"cannot read run, {shown(str(path))}: {error.strerror}") from error
    files.setdefault(RUN, msgspec.json.encode(run))  # of one whose host died: made from its logs
    try:
        plan = msgspec.json.decode(files[PLAN])
        plan["arrival"] = 0  # its number in this store
    except KeyError as error:
        raise UsageError(f"no plan of run {run.run_id}, {shown(str(path))}") from error
    except (TypeError, *UNREADABLE) as error:
        raise UsageError(f"damaged, {shown(str(path / PLAN))}: {line(str(error))}") from error
    files[PLAN] = msgspec.json.format(msgspec.json.encode(plan))
    return run, files


def _content(folder: int, name: str) -> bytes:
    """Return a regular file of a directory, not through a link.  Raises OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, f"{name} is no regular file")
        return file.read()


def _described(run: Run, files: Mapping[str, bytes]) -> BundledRun:
    digests = {
        name: BundledFile(size=len(data), sha256=sha256(data).hexdigest())
        for name, data in sorted(files.items())
    }
    return BundledRun(
        run_id=run.run_id, created=run.created, name=run.name, target=run.target.title,
        suite=run.suite, command=run.command, agent=run.agent.version if run.agent else None,
        source=run.agent.source if run.agent else None, files=digests,
    )  # fmt: skip


def _header(name: str, size: int) -> bytes:
    """Return the header of a member of the archive.  Raises UsageError if its name is too long."""
    member = tarfile.TarInfo(f"{ROOT}/{name}")
    member.size, member.mode = size, 0o644
    try:
        return member.tobuf(tarfile.USTAR_FORMAT)
    except ValueError as error:
        raise UsageError(f"a bundle cannot hold {shown(name)}: {error}") from error


def _readme(bundle: Bundle, documents: Mapping[str, Run]) -> str:
    """Return what a person reads first: how to check, read and repeat the runs.

    ``documents``: of the runs, by their ids.
    """
    noun = "1 run with its" if len(bundle.runs) == 1 else f"{len(bundle.runs)} runs, each with its"
    lines = [
        "# Runs of rtstone", "",
        f"{noun} plan and logs, bundled by rtstone {bundle.rtstone}. "
        f"`{CONTENTS}` lists the files with their SHA-256.", "",
        "## To check and read them", "",
        "    rtstone bundle --check FILE.tar.zst    # files, and documents against logs",
        "    rtstone import FILE.tar.zst            # into your own store",
        "    rtstone report RUN                     # a page", "",
        "In a run's directory are `plan.json`, what was requested with all parameters; `wire.log`,",
        "the lines of the agent as they came; `run.json`, the results that follow from these two;",
        "an `explanation-*.json` for each sample that was explained; and a `sections-*.json` for",
        "each case of which it was asked what nothing could preempt.", "",
        "## To repeat them", "",
        "Install the version of rtstone that is given, whose agent has the given hash of its",
        "source, and run the command on the system. On a simulated system the numbers are the same",
        "again; on an emulated board they are with what is named beside the command. On any other,",
        "`rtstone compare RUN YOURS` says what differs, the conditions too.",
    ]  # fmt: skip
    for run in bundle.runs:
        called = f"{run.run_id} ({run.name})" if run.name else run.run_id
        origin = (
            f"rtstone {run.agent}, agent's whole source {run.source}"
            if run.agent
            else "another tool"
        )
        document = documents[run.run_id]
        command = " ".join(map(_quoted, repeating(document, documents.values()))) or "not recorded"
        facts = [f"{run.created} on {run.target}, measured by {origin}.", "", f"    {command}"]
        needed = requirement(document)
        lines += ["", f"### {called}", "", *facts, *(["", shown(needed)] if needed else [])]
    return "\n".join(lines) + "\n"


def _quoted(word: str) -> str:
    from shlex import quote

    return quote(shown(word))


# ---- reading ------------------------------------------------------------------------------------


def is_bundle(path: Path) -> bool:
    """Return whether a file begins as a bundle.  One that cannot be read does not."""
    try:
        with opened(path) as file:
            if file.read(len(MAGIC)) != MAGIC:
                return False
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            process = subprocess.Popen(
                _UNPACK, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
    except (OSError, ValueError):
        return False
    with process:
        assert process.stdout
        begin = process.stdout.read(len(ROOT) + 1)
        process.kill()
    return begin == f"{ROOT}/".encode()


def check(path: Path) -> Checked:
    """Check a bundle: its archive, its digests, its runs, and their documents against their logs.

    Raises UsageError for one that is damaged, or no bundle.
    """
    with tempfile.TemporaryDirectory(prefix="rtstone-bundle-") as place:
        bundle, size = _unpack(path, Path(place))
        without_logs, differing = [], []
        for run in bundle.runs:
            folder = Path(place, run.run_id)
            plan, texts = logs(folder)
            if not any(texts):  # an imported run has an empty one
                without_logs.append(run.run_id)
            elif number := _differing(load(folder), plan, texts):
                differing.append(Differing(run.run_id, number))
    return Checked(bundle, size, without_logs, differing)


def _differing(run: Run, plan: Plan, texts: list[bytes]) -> int:
    """Return in how many results a document differs from what this version makes of the logs."""
    from rtstone.results.assembly import replay

    first, *later = texts
    again = replay(plan, first, *later)
    pairs = zip(run.results, again.results, strict=False)
    return sum(a != b for a, b in pairs) + abs(len(run.results) - len(again.results))


def take(path: Path) -> list[tuple[BundledRun, bool]]:
    """Take the runs of a bundle into the store; return each with whether it is new there.

    Raises UsageError if the bundle is not sound, and then takes none, or StoreError.
    """
    place = Path(tempfile.mkdtemp(dir=staging(), prefix="bundle-"))
    try:
        bundle, _ = _unpack(path, place)
        for run in bundle.runs:
            stored = stored_runs() / run.run_id
            if is_whole(stored) and load(stored).results != load(place / run.run_id).results:
                raise UsageError(
                    f"run {run.run_id} is stored with other results than in {shown(str(path))}; "
                    f"remove it first: rtstone rm {run.run_id}"
                )
        return [(run, take_in(place / run.run_id, arrivals() + 1)) for run in bundle.runs]
    finally:
        rmtree(place, ignore_errors=True)


def _unpack(path: Path, place: Path) -> tuple[Bundle, int]:
    """Write the runs of a bundle below a directory, checked; return its contents and their size.

    Raises UsageError.
    """
    sizes: dict[str, BundledFile] = {}
    contents = b""
    name = shown(str(path))
    with _decompressed(path) as stream:
        for member, data in _members(stream, name):
            sizes[member] = BundledFile(size=len(data), sha256=sha256(data).hexdigest())
            if member == CONTENTS:
                contents = data
            elif match := _MEMBER.fullmatch(member):
                (place / match[1]).mkdir(exist_ok=True)
                with (place / match[1] / match[2]).open("xb") as file:
                    file.write(data)
            elif member != README:
                _refuse(name, f"a file that bundles do not have, {shown(member[:100])}")
    bundle = _contents(contents, name)
    listed = {
        f"runs/{run.run_id}/{file}": digest
        for run in bundle.runs
        for file, digest in run.files.items()
    }
    held = {member: digest for member, digest in sizes.items() if member not in {CONTENTS, README}}
    for member in sorted(listed.keys() | held.keys()):
        if member not in held:
            _refuse(name, f"{shown(member)} is listed and not there")
        if member not in listed:
            _refuse(name, f"{shown(member)} is there and not listed")
        if listed[member] != held[member]:
            _refuse(name, f"{shown(member)} has another SHA-256 than is listed")
    for run in bundle.runs:
        if fault := refusal(place / run.run_id):
            _refuse(name, f"run {shown(run.run_id)}: {fault}")
    return bundle, sum(digest.size for digest in sizes.values())


# As FILES and ATTACHED have them, in the directory of a run.
_MEMBER = re.compile(
    rf"runs/({RUN_ID.pattern})/((?:{FILES.pattern})|(?:{ATTACHED.pattern}))", re.ASCII
)


def _contents(data: bytes, name: str) -> Bundle:
    if not data:
        _refuse(name, f"it has no {CONTENTS}")
    try:
        bundle = parsed(data, Bundle)
    except UNREADABLE as error:
        _refuse(name, f"not a readable {CONTENTS}: {error}")
    if bundle.schema != SCHEMA:
        _refuse(name, f"it is of schema {bundle.schema}, not {SCHEMA}", "use a newer rtstone")
    ids = [run.run_id for run in bundle.runs]
    if not ids or len(set(ids)) < len(ids) or not all(map(RUN_ID.fullmatch, ids)):
        _refuse(name, "it lists no run, one twice, or what is no id of one")
    return bundle


@contextmanager
def _decompressed(path: Path) -> Iterator[IO[bytes]]:
    """Give the archive in a bundle as it is decompressed.  Raises UsageError."""
    name = shown(str(path))
    try:
        with opened(path) as file:
            if file.read(len(MAGIC)) != MAGIC:
                _refuse(name, "it is not compressed by zstd")
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            process = subprocess.Popen(
                _UNPACK, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
    except FileNotFoundError as error:
        if error.filename == _UNPACK[0]:
            raise UsageError(_INSTALL) from None
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
    with process:
        assert process.stdout and process.stderr
        try:
            yield process.stdout
        except UsageError:
            if process.stdout.read(1):  # else zstd ended, which may be why
                process.kill()
                raise
            if not process.wait():
                raise
        except BaseException:
            process.kill()
            raise
        reason = line(process.stderr.read(1000).decode("utf-8", "replace"))
    if process.returncode:
        _refuse(name, f"damaged: {reason.rpartition(' : ')[2]}")


def _members(stream: IO[bytes], name: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each member of an archive that `pack` could have written.

    Raises UsageError for any other.
    """
    room, names = LARGEST, set[str]()
    while True:
        block = _exactly(stream, _BLOCK, name)
        if block == bytes(_BLOCK):
            break
        member, size = _parsed(block, name)
        if member in names or len(names) == MOST:
            _refuse(name, f"it has {shown(member)} twice, or more than {MOST} files")
        names.add(member)
        room -= size
        if room < 0:
            _refuse(name, f"more than {LARGEST} bytes")
        padded = _exactly(stream, size + -size % _BLOCK, name)
        if padded[size:].strip(b"\0"):
            _refuse(name, "bytes between its files")
        yield member, padded[:size]
    if stream.read(_BLOCK) != bytes(_BLOCK) or stream.read(1):
        _refuse(name, "bytes after its end")


def _parsed(block: bytes, name: str) -> tuple[str, int]:
    """Return name and size of a member by its header, which `pack` would write the same."""
    try:
        first, prefix = (part.split(b"\0")[0].decode() for part in (block[:100], block[345:500]))
        size = int(block[124:136].rstrip(b"\0 "), 8)
        member = "/".join(filter(None, (prefix, first))).removeprefix(f"{ROOT}/")
        same = size >= 0 and _header(member, size) == block
    except (ValueError, UsageError):
        same = False
    if not same:
        _refuse(name, "a member that is no plain file of a bundle")
    return member, size


def _exactly(stream: IO[bytes], size: int, name: str) -> bytes:
    """Return so many bytes, read in pieces: what is declared need not be there."""
    out = io.BytesIO()
    while out.tell() < size:
        piece = stream.read(min(size - out.tell(), _PIECE))
        if not piece:
            _refuse(name, "it ends too early")
        out.write(piece)
    return out.getvalue()


def _refuse(name: str, reason: str, advice: str = "get it again from its source") -> Never:
    raise UsageError(f"no sound bundle, {name}: {reason}; {advice}")
