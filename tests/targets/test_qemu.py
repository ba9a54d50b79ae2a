"""The target with a fake emulator, which passes the script to the fake agent."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Target
from rtstone.errors import UsageError
from rtstone.lab import images, systems
from rtstone.lab.kernels import Kernel
from rtstone.lab.systems import split
from rtstone.measure import agent_session
from rtstone.measure.listener import Listener
from rtstone.store.index import find as find_run
from rtstone.store.rundir import RunDirectory, load
from rtstone.targets import find, process, qemu
from rtstone.targets.base import Options
from rtstone.targets.qemu import Qemu
from tests.cli.test_resume import interrupted, refused
from tests.conftest import FAKE, Cli, Fake

EMULATOR = """#!{python}
import os, subprocess, sys, time
words = sys.argv[1:]
if words == ["--version"]:
    print("QEMU emulator version {version} (Debian)")
    sys.exit()
after = lambda word: words[words.index(word) + 1]
script = after("-device").split("file=")[1].split(",")[0]
text = open(script, "rb").read()
assert text.startswith(b"#rts script\\n") and text.endswith(b"\\0")
with open({trace!r}, "ab") as trace:
    trace.write(str(os.getpid()).encode() + b"\\n" + text[12:-1])
console = open(after("-serial").removeprefix("file:"), "ab", buffering=0)
console.write({before!r})
sys.stderr.write({words!r})
listing = ["--list"] if b" list " in text else []
subprocess.run([{python!r}, "-S", "-E", {fake!r}, *listing], input=text[12:-1], stdout=console)
console.write({after!r})
if {hangs} and not listing:
    time.sleep(60)
sys.exit({status})
"""


def unframed(line: str) -> str:
    """Return the command of a line of a script; another line as it is."""
    return " ".join(line.split()[2:-1]) if line.startswith("#cmd ") else line


class Lab:
    """Directories of the fake emulator and image; ``lines`` is what was sent to the guest."""

    def __init__(self, directory: Path) -> None:
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.trace = directory / "emulated"

    def plays(
        self, name: str = "qemu-system-aarch64", *, version: str = "7.2.22", before: bytes = b"",
        after: bytes = b"", words: str = "", status: int = 0, hangs: bool = False,
    ) -> None:  # fmt: skip
        text = EMULATOR.format(
            python=sys.executable, fake=str(FAKE), trace=str(self.trace), version=version,
            before=before, after=after, words=words, status=status, hangs=hangs,
        )  # fmt: skip
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    @property
    def lines(self) -> list[str]:
        return [unframed(line) for line in self.trace.read_text().splitlines()]

    def alive(self) -> bool:
        pids = [line for line in self.lines if line.isdecimal()]
        return any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: Fake) -> Lab:
    fake()
    played = Lab(tmp_path)
    played.plays()
    monkeypatch.setenv("PATH", f"{played.bin}:{os.environ['PATH']}")
    built = tmp_path / "built"
    built.mkdir()
    (built / "freertos-a64.elf").write_bytes(b"an image")
    monkeypatch.setattr(qemu, "BUILT", built)
    return played


def ran(cli: Cli, *words: str) -> dict[str, Any]:
    done = cli("run", "null", "mem.memset", "--target", "qemu:freertos-a64", "--json", *words)
    assert done.status == 0, done.err
    return done.document


def test_the_guest_knows_all_commands_when_it_starts(lab: Lab, cli: Cli) -> None:
    document = ran(cli, "-p", "samples=5")
    assert [line for line in lab.lines if not line.isdecimal()] == [
        "list", "bye",
        "case 1 null samples=5", "case 2 mem.memset samples=5", "bye",
    ]  # fmt: skip
    assert [r["status"] for r in document["results"]] == ["ok", "ok"]
    assert not lab.alive()


def test_numbers_are_instructions_and_the_document_says_of_what(lab: Lab, cli: Cli) -> None:
    document = ran(cli)
    result, detail = document["results"][0], document["target"]["detail"]
    # The fake agent's ticks are ns; at shift 4 an instruction takes 16.
    assert (result["unit"], result["min"]) == ("instructions", round(100 / 16) - round(20 / 16))
    assert document["clock"]["unit"] == "instructions"
    assert (detail["system"], detail["board"]) == ("freertos-a64", "virt-a53")
    assert (detail["shift"], detail["instructions_per_s"], detail["seed"]) == (4, 62_500_000, None)
    assert (detail["icount"], detail["qemu"]) == (True, "7.2.22")
    assert "instructions, not time" in cli("show", "last").out


def test_without_counting_it_is_time_and_not_comparable(lab: Lab, cli: Cli) -> None:
    done = cli("run", "null", "--target", "qemu:freertos-a64", "--icount", "off", "--json")
    result, detail = done.document["results"][0], done.document["target"]["detail"]
    assert (result["unit"], result["min"]) == ("ns", 80)
    assert (detail["icount"], detail["instructions_per_s"], detail["seed"]) == (False, None, None)
    assert "icount is off: compares with nothing" in cli("show", "last").out
    assert done.document["target"]["name"] == "qemu:freertos-a64+icount=off"


def test_only_an_emulator_can_stop_counting(cli: Cli) -> None:
    done = cli("run", "null", "--icount", "off")
    assert (done.status, done.says) == (
        2, "rtstone: --icount applies to qemu:... targets only, not to 'local'",
    )  # fmt: skip


def test_console_noise_costs_nothing(lab: Lab, cli: Cli) -> None:
    lab.plays(before=b"[    0.1] booting\r\n", after=b"\r\nreboot: Power down\r\n")
    assert ran(cli)["status"] == "complete"


def test_a_panic_keeps_what_was_complete(lab: Lab, cli: Cli, fake: Fake) -> None:
    fake(at=2, fate="fail")
    lab.plays(
        after=b"[    2.5] Kernel panic - not syncing: Attempted to kill init!\r\n[ 3] bye\r\n"
    )
    done = cli("run", "null", "mem.memset", "dk.periodic", "--target", "qemu:freertos-a64")
    assert done.status == 4
    assert "Kernel panic - not syncing: Attempted to kill init!" in done.says
    assert "bye" not in done.says
    shown = cli("show", "last", "--json").document
    assert [r["status"] for r in shown["results"]] == ["ok", "incomplete", "incomplete"]


def test_an_emulator_that_fails_says_so_itself(lab: Lab, cli: Cli) -> None:
    lab.plays(words="qemu-system-aarch64: no machine of that name", status=1)
    done = cli("run", "null", "--target", "qemu:freertos-a64")
    assert done.status == 4
    assert "the emulated virt-a53 failed with exit status 1" in done.says
    assert "no machine of that name" in done.says


def test_a_guest_that_hangs_is_ended(
    lab: Lab, cli: Cli, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(at=2, fate="fail")
    lab.plays(hangs=True, after=b"rcu: INFO: rcu_sched self-detected stall\n")
    monkeypatch.setattr(agent_session, "PATIENCE_S", 1.0)
    monkeypatch.setattr(process, "STOP_S", 0.1)
    done = cli("run", "null", "mem.memset", "--target", "qemu:freertos-a64", "--json")
    assert done.status == 4
    assert "has been silent for 1 s; it was stopped" in done.says
    assert "self-detected stall" in done.says
    assert [r["status"] for r in done.document["results"]] == ["ok", "incomplete"]
    assert not lab.alive()


def test_ctrl_c_keeps_what_ended_and_says_what_is_lost(
    lab: Lab, cli: Cli, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emulated board takes no commands while it runs, so none that ends a case with a result."""
    fake(at=2, fate="fail")
    lab.plays(hangs=True)
    monkeypatch.setattr(process, "STOP_S", 0.1)
    started = Listener.case_started

    def strike(self: Listener, case: Case) -> None:
        started(self, case)
        if case.id == 2:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Listener, "case_started", strike)
    done = cli("run", "null", "mem.memset", "--target", "qemu:freertos-a64", "--json")
    assert done.status == 130
    reason = (
        "interrupted; 1 of 2 cases measured; mem.memset is lost, as an emulated board cannot be "
        "told to stop"
    )
    assert done.document["reason"] == reason
    assert [r["status"] for r in done.document["results"]] == ["ok", "incomplete"]
    assert f"rtstone: {reason}" in done.says
    assert not lab.alive()


def test_an_emulator_has_no_file_that_could_be_left(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with find("qemu:freertos-a64").start(Options(catalogue=True)) as link:
        assert b'"hello"' in (link.read(5) or b"")
        assert list(place.iterdir()) == []
        assert sum(str(place) in name for name in _open()) >= 2  # script and console
    assert not any(str(place) in name for name in _open())
    assert not lab.alive()


def _open() -> list[str]:
    """Return the names of all files that this process has open."""
    names = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor of the directory itself
            names.append(str(link.readlink()))
    return names


def test_no_room_for_the_emulators_files(
    lab: Lab, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    done = cli("run", "null", "--target", "qemu:freertos-a64")
    assert (done.status, "cannot write a temporary file for the emulator" in done.says) == (4, True)


def test_a_missing_emulator(lab: Lab, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(lab.bin.parent / "built"))
    done = cli("run", "null", "--target", "qemu:freertos-a64", "--json")
    assert done.status == 4
    assert done.says == (
        "rtstone: qemu-system-aarch64 is not installed; install it with: "
        "apt-get install qemu-system-arm"
    )
    assert json.loads(done.out)["results"] == []


def test_an_emulator_that_is_too_old(lab: Lab, cli: Cli) -> None:
    lab.plays(version="6.1.0")
    done = cli("run", "null", "--target", "qemu:freertos-a64")
    assert done.status == 4
    assert "version 6.1.0; the lab needs 7.2 or later" in done.says


def test_an_image_that_was_not_built(lab: Lab, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "built" / "freertos-a64.elf").unlink()
    done = cli("run", "null", "--target", "qemu:freertos-a64")
    assert done.status == 4
    assert "freertos-a64.elf; run `rtstone lab build freertos-a64`" in done.says


def test_one_command_builds_what_all_targets_of_a_session_lack(
    lab: Lab, cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "built" / "freertos-a64.elf").unlink()
    names = ("freertos-a64", "freertos-a64-rr")
    done = cli("run", "null", *(word for name in names for word in ("--target", f"qemu:{name}")))
    assert done.status == 4
    assert done.err.count("run `rtstone lab build freertos-a64 freertos-a64-rr`") == 2


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("qemu", "needs an argument"),
        ("qemu:", "needs an argument"),
        ("qemu:freertos-a46", "freertos-a64"),
        ("qemu:linux-6.1+seed=x", "seed is a whole number below"),
        ("qemu:linux-6.1+seed=99999999999", "seed is a whole number below"),
        ("qemu:freertos-rv32+icount=off", "virt-rv32 has a right clock only while instructions"),
        ("qemu:freertos-a64+icount=no", "icount is one of on, off, not 'no'"),
        ("qemu:freertos-a64+sed=1", "unknown word 'sed'"),
        ("qemu:freertos-a64+seed=1", "freertos-a64 uses no random numbers"),
        ("qemu:linux-6.1+smp=2", "boards of the lab have one CPU"),
        ("qemu:linux-6.1+hz=1000", "a kernel's HZ is chosen when it is built: `rtstone lab build"),
        ("qemu:linux-6.1+mem=127", "mem is a whole number of MiB from 128 to 4096, not '127'"),
        ("qemu:linux-6.1+mem=4097", "mem is a whole number of MiB from 128 to 4096, not '4097'"),
        ("qemu:linux-6.1+mem=1G", "mem is a whole number of MiB from 128 to 4096, not '1G'"),
        ("qemu:freertos-m3+mem=256", "freertos-m3 has fixed memory; +mem is for a Linux"),
        ("qemu:xen/linux-6.1+freertos-a64+mem=256", "+freertos-a64 has fixed memory; +mem is"),
        (
            "qemu:linux-6.1+device=scren",
            "unknown device 'scren', in target 'qemu:linux-6.1+device=",
        ),
        ("qemu:linux-6.1+device=", "unknown device ''"),
        ("qemu:riscv/linux-unstable+device=screen", "virt-riscv64 cannot have device screen, whi"),
        ("qemu:freertos-a64+device=screen", "freertos-a64 has no devices on request; +device is"),
        ("qemu:xen/linux-6.1+freertos-a64+device=screen", "+freertos-a64 has no devices on requ"),
        ("qemu:linux-6.1+device=screen+device=screen", "device is given twice"),
        ("qemu:linux-6.1@x", "'x' is no version of a kernel of Debian's, as 6.1.0-50 or"),
        ("qemu:freertos-m3@6.1.0-50", "freertos-m3 has no versions: it is no kernel of Debian's"),
        ("qemu:linux-6.1+seed=1+seed=2", "seed is given twice"),
        ("qemu:linux-6.1+append= ", "append is one or more words of the kernel's command line"),
        ("qemu:linux-6.1+append=a\tb", "printable ASCII characters"),
        (f"qemu:linux-6.1+append={1001 * 'a'}", "of at most 1000"),
        ("qemu:linux-6.1+append=nosmt rdinit=/bin/sh", "'rdinit' is given by the lab itself"),
        ("qemu:q35/linux-6.1+append=preempt=full", "'preempt' is given by the lab itself"),
        ("qemu:freertos-a64+append=nosmt", "freertos-a64 has no kernel command line"),
        ("qemu:freertos-a64+preempt=full", "freertos-a64 has only one preemption model"),
        ("qemu:q35/linux-6.1+preempt=rt", "preempt is one of none, voluntary, full, not 'rt'"),
    ],
)
def test_what_is_no_target(spec: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        find(spec)
    assert says in str(refused.value)


def test_words_for_the_kernel_are_a_part_of_what_is_measured() -> None:
    plain, extended = (find(f"qemu:linux-6.1{words}") for words in ("", "+append=nosmt a=b,c"))
    assert isinstance(plain, Qemu)
    assert isinstance(extended, Qemu)
    assert extended._words() == f"{plain._words()} nosmt a=b,c"


def test_the_memory_of_a_guest_is_a_part_of_what_is_measured() -> None:
    for name in ("linux-6.1", "q35/linux-6.1", "riscv/linux-unstable", "linux-6.12@6.12.57+deb13"):
        plain, small = (find(f"qemu:{name}{words}") for words in ("", "+mem=256"))
        assert isinstance(plain, Qemu)
        assert isinstance(small, Qemu)
        assert small._words() == plain._words().replace("-m 512 ", "-m 256 ")
        assert small._words() != plain._words()


def test_only_a_counted_linux_is_too_slow_for_packets() -> None:
    """And only on a board whose virtual clock is that slow beside its instructions."""
    assert "62.5 million instructions" in Qemu("linux-6.1").beyond()["heavy"]
    for fast in ("linux-6.1+icount=off", "q35/linux-6.1", "freertos-a64"):
        assert not Qemu(fast).beyond()


def test_every_system_is_listed_under_the_name_that_it_has() -> None:
    names = [listed.argument for listed in qemu.Qemu.listed()]
    assert names[-1] == "kernel=FILE"
    assert {find(f"qemu:{name}").name for name in names[:-1]} == {f"qemu:{n}" for n in names[:-1]}
    assert set(systems.every()) == {split(name)[0] for name in names[:-1]}


# ---- what must not change when a run is resumed -------------------------------------------------


@pytest.mark.parametrize("part", ["version", "program", "image"])
def test_an_interrupted_run_goes_on_in_the_same_emulator(lab: Lab, cli: Cli, part: str) -> None:
    ran(cli)
    path = interrupted(find_run("last"))
    image = lab.bin.parent / "built" / "freertos-a64.elf"
    if part == "image":
        image.write_bytes(b"another image")
    else:
        lab.plays(version="8.0.0" if part == "version" else "7.2.22", before=b"\n")
    messages = {
        "version": "the version of QEMU was 7.2.22, is 8.0.0",
        "program": "the emulator's program was",
        "image": "the image was",
    }
    assert messages[part] in refused(cli, path)
    image.write_bytes(b"an image")
    lab.plays()
    assert cli("run", "--resume", path).status == 0
    assert [result.status for result in load(path).results] == ["ok", "ok"]


@pytest.mark.parametrize("part", ["kernel", "initial file system"])
def test_an_interrupted_run_goes_on_with_the_same_kernel(
    lab: Lab, cli: Cli, plan: Plan, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    kernel, agent = lab.bin.parent / "Image", lab.bin.parent / "agent"
    image = bytes(56) + b"ARM\x64" + b"Linux version 6.1.0 (me)"
    kernel.write_bytes(image)
    agent.write_bytes(b"an agent")
    monkeypatch.setitem(images.AGENTS, "aarch64", agent)
    place = find(f"qemu:kernel={kernel}")
    began = Target(name=place.name, detail=dict(place.detail()))
    directory = RunDirectory(structs.replace(plan, target=began, surroundings={}))
    directory.close()
    if part == "kernel":
        kernel.write_bytes(image + b"of another build")
        assert "the kernel's file was" in refused(cli, directory.path)
    else:
        agent.write_bytes(b"another agent")
        assert "the initial file system was" in refused(cli, directory.path)
    assert not lab.trace.exists()  # this is detected without starting anything


def test_the_size_of_the_kernel_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = tmp_path / "agent"
    agent.write_bytes(b"an agent")
    monkeypatch.setitem(images.AGENTS, "aarch64", agent)
    image = tmp_path / "vmlinuz"
    image.write_bytes(b"k" * 1234)
    target = Qemu("linux-6.1")
    kernel = Kernel("linux-6.1", "aarch64", image, (), "6.1", None, "00" * 32)
    target.__dict__ |= {"kernel": kernel, "version": "7.2"}  # it would look for the file
    assert target.detail()["kernel_bytes"] == 1234
