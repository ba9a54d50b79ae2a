"""Two systems under Xen: what it is given, what it prints, and a boot."""

from __future__ import annotations

import struct
import subprocess
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from rtstone.errors import TargetError
from rtstone.interrupt import bound
from rtstone.lab import kernels, systems, xen
from rtstone.lab.ready import missing
from rtstone.resources import BUILT
from rtstone.targets.xen import Console
from rtstone.wire import records
from rtstone.wire.reader import Reader, Record
from tests.agent.speak import command_lines
from tests.conftest import Cli

NAME = "xen/freertos-a64+linux-6.1"
LIMIT_S = 60
IMAGE = BUILT / "freertos-a64-xen.elf"


# ---- what Xen is given -------------------------------------------------------------------------


def parsed(blob: bytes) -> dict[str, Any]:
    """Return the nodes of a device tree as dictionaries, and its properties as bytes."""
    magic, total, start, names, _, version, _, _, _, size = struct.unpack_from(">10I", blob)
    assert (magic, total, version) == (0xD00DFEED, len(blob), 17)
    at, stack = start, [dict[str, Any]()]
    while at < start + size:
        (token,) = struct.unpack_from(">I", blob, at)
        at += 4
        if token == 1:
            name = blob[at : blob.index(b"\0", at)]
            at += len(name) // 4 * 4 + 4
            stack[-1][name.decode()] = node = dict[str, Any]()
            stack.append(node)
        elif token == 2:
            stack.pop()
        elif token == 3:
            length, offset = struct.unpack_from(">II", blob, at)
            key = names + offset
            stack[-1][blob[key : blob.index(b"\0", key)].decode()] = blob[at + 8 : at + 8 + length]
            at += 8 + (length + 3) // 4 * 4
    assert len(stack) == 1
    return stack[0][""]  # type: ignore[no-any-return]


def test_the_device_tree_names_the_files_of_the_domains() -> None:
    first = xen.Domain(128, b"k" * 5, arguments="one")
    second = xen.Domain(512, b"kernel", b"ramdisk")
    files = xen.modules([first, second])
    tree = parsed(xen.device_tree([first, second], ["sched=credit"], 1024))
    assert struct.unpack(">4I", tree["memory@40000000"]["reg"]) == (0, 0x40000000, 0, 1 << 30)
    chosen = tree["chosen"]
    assert chosen["xen,xen-bootargs"] == b"sched=credit\0"
    parts = {}
    for domain in ("domU1", "domU2"):
        assert chosen[domain]["compatible"] == b"xen,domain\0"
        for name, node in chosen[domain].items():
            if name.startswith("module@"):
                high, address, _, size = struct.unpack(">4I", node["reg"])
                assert (high, f"{address:x}") == (0, name.removeprefix("module@"))
                parts[address] = node["compatible"].split(b"\0")[0], size
    assert list(parts.values()) == [
        (b"multiboot,kernel", 5), (b"multiboot,kernel", 6), (b"multiboot,ramdisk", 7),
    ]  # fmt: skip
    assert {address: size for address, (_, size) in parts.items()} == {
        address: len(data) for address, data in files.items()
    }
    assert struct.unpack(">2I", chosen["domU2"]["memory"]) == (0, 512 << 10)  # KiB


@pytest.mark.skipif(not IMAGE.exists(), reason="`make freertos` builds the image")
def test_an_image_begins_at_its_entry_and_holds_script_and_delay() -> None:
    image = xen.image(IMAGE, b"a script", 7)
    first, _, offset, size, _ = struct.unpack_from("<IIQQQ", image)
    (entry,) = struct.unpack_from("<Q", IMAGE.read_bytes(), 0x18)
    assert image[56:60] == b"ARM\x64"
    assert first == 0x14000000 | (entry - 0x40000000) // 4  # b
    assert offset == 0
    assert len(image) < 2 << 20 < 96 << 20 < size < 128 << 20  # its heap, in the domain's memory
    assert struct.unpack_from("<I8s", image, 0xFFC) == (7, b"a script")
    with pytest.raises(TargetError, match="run fewer cases at a time"):
        xen.image(IMAGE, bytes(1 << 20), 0)


# ---- what Xen prints -----------------------------------------------------------------------------


def printed(domain: int, text: bytes) -> bytes:
    """Print like Xen for a domain: a line in pieces of 126 bytes, and whatever is left."""
    out = b""
    while len(text) > 126 or (len(text) == 126 and not text.endswith(b"\n")):
        out += b"(XEN) DOM%d: %s\r\n" % (domain, text[:126])
        text = text[126:]
    return out + (b"(XEN) DOM%d: %s\r\n" % (domain, text.rstrip(b"\n")))


def record(number: int, json: str) -> bytes:
    body = f"{number} {json}"
    return f"#rts {body} {zlib.crc32(body.encode()):08x}\n".encode()


@pytest.mark.parametrize("length", [1, 125, 126, 127, 251, 252, 253, 5000])
def test_lines_are_put_together_again(length: int) -> None:
    line = b"x" * length + b"\n"
    console = Console("linux-6.1", "none")
    banner = b"(XEN) Brought up 1 CPUs\r\n"
    assert (
        console.feed(banner + printed(1, line) + printed(1, b"end\n")) == banner + line + b"end\n"
    )


def test_pieces_of_two_domains_may_alternate() -> None:
    first, second = (printed(n, b"%d" % n * 200 + b"\n").splitlines(keepends=True) for n in (1, 2))
    console = Console("linux-6.1", "none")
    mixed = b"".join(a + b for a, b in zip(first, second, strict=True))
    assert (
        console.feed(mixed[:150]) + console.feed(mixed[150:])
        == b"1" * 200 + b"\n" + b"2" * 200 + b"\n"
    )


RATE = '{"component":"exit","unit":"processes","achieved":%s,"window_s":3,"alive":%s}'
LOADED = '{"t":"loaded","load":"exit","status":"%s","reason":"no room"}'
END = '{"t":"end","id":%d,"status":"ok","load":[%s]}'
CASE = '{"t":"case","id":%d,"bench":"dk.periodic","params":{}}'
WORKING = RATE % (2.5, "true")
OURS = '{"t":"case","id":1,"bench":"null","params":{}}'


def company(*message: str) -> bytes:
    return b"".join(printed(2, record(n, json)) for n, json in enumerate(message))


def test_the_agent_may_measure_while_the_load_runs() -> None:
    console = Console("linux-6.1", "exit")
    assert not console.feed(company(LOADED % "ok", END % (1, WORKING), CASE % 2))
    assert console.feed(printed(1, record(0, OURS))) == record(0, OURS)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([LOADED % "ok"], "load 'exit' was not running in time in linux-6.1"),
        ([LOADED % "failed"], "load 'exit' does not run in linux-6.1: no room"),
        ([LOADED % "ok", END % (1, ""), CASE % 2], "load 'exit' does not run in linux-6.1, be"),
        ([END % (1, RATE % (0, "true")), CASE % 2], "load 'exit' does not run in linux-6.1, be"),
        ([END % (1, RATE % (9, "false")), CASE % 2], "load 'exit' does not run in linux-6.1, be"),
        ([END % (1, WORKING), CASE % 2, END % (2, WORKING)], "linux-6.1 has ended its part: ok"),
    ],
)
def test_a_load_that_does_not_run_makes_no_result(lines: list[str], says: str) -> None:
    console = Console("linux-6.1", "exit")
    with pytest.raises(TargetError, match=says):
        console.feed(company(*lines) + printed(1, record(0, OURS)))


# ---- targets -----------------------------------------------------------------------------------


def test_a_plus_sign_may_be_part_of_a_name() -> None:
    assert systems.split(NAME) == (NAME, [])
    assert systems.split(f"{NAME}+beside=exit+seed=2") == (NAME, ["beside=exit", "seed=2"])
    assert systems.split("linux-6.1+seed=2") == ("linux-6.1", ["seed=2"])
    assert systems.split("xen/linux-6.1") == ("xen/linux-6.1", [])


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("xen/freertos-a64+linux-6.2", "unknown lab system 'xen/freertos-a64'; did you mean"),
        ("linux-6.1+beside=exit", "unknown word 'beside'"),
        (f"{NAME}+beside=", "beside needs a value"),
    ],
)
def test_what_no_target_is(cli: Cli, target: str, says: str) -> None:
    done = cli("run", "null", "--target", f"qemu:{target}")
    assert done.status == 2
    assert says in done.says


@pytest.mark.lab
def test_freertos_measures_in_a_domain(tmp_path: Path) -> None:
    """Alone, which takes a second; tests/lab/test_repeat.py boots both."""
    system = systems.find(NAME)
    if lacking := missing(system):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    script = command_lines(
        "case 1 int.latency.self samples=100", "case 2 dk.periodic samples=100", "bye"
    )
    domain = xen.domain(system, script, xen.Setting(1, icount=True), settle_ms=5)
    console, tree = tmp_path / "console", tmp_path / "tree"
    tree.write_bytes(xen.device_tree([domain], xen.ARGUMENTS, systems.MEMORY))
    ((address, data),) = xen.modules([domain]).items()
    (tmp_path / "image").write_bytes(data)
    hypervisor = kernels.find(kernels.XEN, system.board.arch)
    command = systems.command(
        system, image=hypervisor.image, tree=tree, modules={address: tmp_path / "image"},
        serial=f"file:{console}",
    )  # fmt: skip
    with subprocess.Popen(bound(command)) as emulator:  # Xen does not end with its domains
        try:
            end = time.monotonic() + LIMIT_S
            while b'"bye"' not in _of_domain(console) and time.monotonic() < end:
                assert emulator.poll() is None
                time.sleep(0.1)
        finally:
            emulator.kill()
    parts = [item.body for line in _of_domain(console).splitlines() for item in Reader().feed(line)
             if isinstance(item, Record)]  # fmt: skip
    ends = [(body.id, body.status) for body in parts if isinstance(body, records.End)]
    assert ends == [(1, "ok"), (2, "ok")]
    results = [body for body in parts if isinstance(body, records.Result)]
    assert [(r.series, r.n) for r in results] == [("handler", 100), ("task", 100), ("", 100)]
    (conditions,) = (body.values for body in parts if isinstance(body, records.Conditions))
    assert (conditions["board"], conditions["guest.settled_ms"]) == ("virt-a53-xen", 5)


def _of_domain(console: Path) -> bytes:
    """Return what a domain has printed whose lines end in a piece that is not full."""
    text = console.read_bytes() if console.exists() else b""
    pieces = [line.partition(b"DOM1: ")[2] for line in text.split(b"\r\n") if b"DOM1: " in line]
    return b"".join(piece + b"\n" * (len(piece) < 126) for piece in pieces)
