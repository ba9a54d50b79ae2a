"""Files made to be expensive: long in what a reader might process repeatedly."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.formats.reading import document
from rtstone.formats.registry import reader
from rtstone.formats.source import Source

DATA = Path(__file__).parent / "data"


def lmbench(lines: int) -> bytes:
    return "".join(f"Call a{n}: 1.5 microseconds\n" for n in range(lines)).encode()


def twice(lines: int) -> bytes:
    """Return JSON with many keys, the last of which is a duplicate."""
    members = ",".join(f'"k{n}":{n}' for n in range(10 * lines))
    return f'{{"file_version":1,"x":{{{members},"k{10 * lines - 1}":0}}}}'.encode()


def commands(lines: int) -> bytes:
    """Return many beginnings of a command line without an end."""
    return b'{"file_version":1,"x":[' + b'"cmdline": "",\n' * 10 * lines + b"]}"


def samples(lines: int) -> bytes:
    return "".join(f"{0:8}:{n:8}:{n % 90:8}\n" for n in range(lines)).encode()


def statuses(lines: int) -> bytes:
    """As it prints them while it runs, ten times a second."""
    return "".join(
        f"T: 0 (  1) P:80 I:1000 C:{n:7} Min:{1:7} Act:{1:5} Avg:{1:5} Max:{1:8}\n"
        for n in range(lines)
    ).encode()


def threads(number: int) -> bytes:
    return b"".join(struct.pack("<IqqQ", n, 1, 1, 5) for n in range(number))


def rteval(buckets: int) -> bytes:
    empty_buckets = "".join(f'<bucket index="{n}" value="0"/>' for n in range(buckets))
    return re.sub(
        r"<histogram [^>]*>", lambda lines: lines[0] + empty_buckets.replace('index="', 'index="9'),
        (DATA / "rteval.xml").read_text(),
    ).encode()  # fmt: skip


# Each with its format.
LONG: list[tuple[Callable[[int], bytes], str]] = [
    (lmbench, "lmbench"), (twice, "cyclictest-json"), (commands, "cyclictest-json"),
    (samples, "cyclictest-samples"), (statuses, "cyclictest-statistics"),
    (threads, "jitterdebugger-raw"), (rteval, "rteval"),
]  # fmt: skip


def run_of(data: bytes, form: str | None = None) -> Run:
    """The run that a file makes."""
    source = Source("the file", data)
    name, records = reader(form, source)
    return document(records.read(source), source, name, ["rtstone", "import"])[1]


def read(data: bytes, form: str) -> None:
    """Read the file, which may be refused."""
    source = Source("the file", data)
    with suppress(UsageError):
        name, records = reader(form, source)
        document(records.read(source), source, name, ["rtstone", "import"])
