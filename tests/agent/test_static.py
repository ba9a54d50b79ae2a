"""The static agents of other architectures, run by an emulator of their processors."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from rtstone.resources import architecture
from tests.agent.speak import QUICK, Json, listed, pick, talk

ROOT = Path(__file__).parents[2]


class Machine(NamedTuple):
    """An architecture, as its emulator and its compiler call it."""

    emulator: str
    compiler: str
    clock: str  # the clock that the agent chooses there


MACHINES = {
    "aarch64": Machine("qemu-aarch64", "aarch64-linux-gnu", "cntvct"),
    # In this emulator CNTVCT of ARMv7 faults, as under a kernel that keeps it from programs.
    "armv7": Machine("qemu-arm", "arm-linux-gnueabihf", "vdso"),
    "riscv64": Machine("qemu-riscv64", "riscv64-linux-gnu", "rdtime"),
}
UNIT_TESTS = ("text_test", "wire_test", "recorder_test", "options_test")

# Facts of a machine; below -L the emulator finds files that the agent looks for at /.
TIMEBASE = "proc/device-tree/cpus/timebase-frequency"
CACHE = "sys/devices/system/cpu/cpu0/cache/index0/size"


def build(name: str, goal: Sequence[str]) -> str:
    """Build, and return the path of the emulator; skip where one of the tools is missing."""
    machine = MACHINES[name]
    emulator = shutil.which(machine.emulator) or shutil.which(f"{machine.emulator}-static")
    if not emulator or not shutil.which(f"{machine.compiler}-gcc"):
        pytest.skip(f"needs gcc-{machine.compiler} with its libc, and qemu-user")
    done = subprocess.run(goal, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return emulator


def emulated(name: str, folder: Path, *options: str | Path) -> Path:
    """Return a program that runs the agent of an architecture."""
    emulator = build(name, ["make", "--silent", f"agent-{name}"])
    agent = architecture(name)
    assert agent
    program = folder / f"agent-{name}"
    program.write_text(f'#!/bin/sh\nexec {emulator} {" ".join(map(str, options))} '
                       f'{agent.agent} "$@"\n')  # fmt: skip
    program.chmod(0o755)
    return program


def plant(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


@pytest.fixture(scope="module", params=MACHINES)
def static(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    plant(folder / CACHE, b"64K\n")
    return emulated(request.param, folder, "-L", folder)


def without_texts(bench: Json) -> Json:
    """Remove the texts from a bench's table: a static agent leaves them to the local one."""
    params = [param | {"help": ""} for param in bench["params"]]
    return bench | {"params": params} | dict.fromkeys(("title", "source", "help"), "")


def test_the_same_benches(static: Path) -> None:
    own = [without_texts(bench) for bench in listed("bench")]
    assert [without_texts(bench) for bench in listed("bench", static)] == own


@pytest.mark.parametrize("options", [(), (QUICK,)], ids=["counter", "vdso"])
def test_it_measures_with_its_counter_and_without(static: Path, options: tuple[str, ...]) -> None:
    """Without, every place in the program that reads it has been replaced."""
    name = static.name.removeprefix("agent-")
    if options and MACHINES[name].clock == "vdso":
        pytest.skip("it never has the counter")
    benches = ["null", "dk.nanosleep", "clk.overhead"]
    benches += [bench["id"] for bench in listed("bench") if bench["id"].startswith("sem.")]
    # The clock is a system call's, with its own layout; and code is called, a line at a time: to
    # an emulator each is new, so that a sample takes a tenth of a second.
    benches += ["det.bintime clock=syscall", "sem.try.free cache=cold"]
    commands = [
        f"case {i} {bench} samples={2 if bench.endswith('cold') else 20} warmup=0"
        for i, bench in enumerate(benches)
    ]
    records = talk(commands, *options, agent=static)
    (clock,) = pick(records, "clock")
    assert clock["source"] == ("vdso" if options else MACHINES[name].clock)
    assert clock["hz"] >= 1_000_000
    ends = pick(records, "end")
    assert [end["id"] for end in ends] == list(range(len(benches)))
    for bench, end in zip(benches, ends, strict=True):
        if end["status"] == "unsupported":  # where nobody may be real-time
            assert "real-time" in end["reason"], bench
        else:
            assert end["status"] == "ok", (bench, end["reason"])
    results = {benches[r["id"]]: r for r in pick(records, "result")}
    assert results["null"]["n"] == 20
    assert results["sem.try.free cache=cold"]["n"] == 2
    assert 1e-6 <= results["dk.nanosleep"]["min"] / clock["hz"] < 1
    assert 1 <= results["det.bintime clock=syscall"]["max"] < 1_000_000_000  # ns


def clock_told(agent: Path) -> tuple[Json, list[Json]]:
    records = talk(["case 1 null samples=20"], agent=agent)
    (clock,) = pick(records, "clock")
    return clock, pick(records, "log")


def test_the_frequency_of_riscv_is_the_device_trees_unless_that_is_wrong(tmp_path: Path) -> None:
    """The emulator has the counter of this machine."""
    agent = emulated("riscv64", tmp_path, "-L", tmp_path)
    record, (log,) = clock_told(agent)
    assert log["level"] == "info"
    assert "timebase-frequency of the device tree is not there" in log["text"]
    assert f"the counter's {record['hz']} Hz are measured" in log["text"]
    rounded = round(record["hz"], -4) + 1  # nobody measures that
    for size in (4, 8):
        if rounded.bit_length() <= 8 * size:
            plant(tmp_path / TIMEBASE, rounded.to_bytes(size, "big"))
            clock, logs = clock_told(agent)
            assert (clock["source"], clock["hz"], logs) == ("rdtime", rounded, [])
    plant(tmp_path / TIMEBASE, (10_000_000).to_bytes(4, "big"))
    clock, (log,) = clock_told(agent)
    assert log["level"] == "warn"
    assert "device tree says that the counter has 10000000 Hz, but it has " in log["text"]
    assert abs(clock["hz"] / rounded - 1) < 0.01


def test_the_frequency_of_aarch64_is_its_registers_unless_that_is_wrong(tmp_path: Path) -> None:
    """QEMU's counter has 62.5 MHz, since version 9 1 GHz; what is planted is in its register."""
    clock, logs = clock_told(emulated("aarch64", tmp_path))
    assert (clock["source"], logs) == ("cntvct", [])
    assert clock["hz"] in {62_500_000, 1_000_000_000}
    clock, (log,) = clock_told(emulated("aarch64", tmp_path, "-cpu", "max,cntfrq=600000000"))
    assert log["level"] == "warn"
    says = r"CNTFRQ_EL0 says that the counter has (\d+) Hz, but it has (99\d|100\d)\d{6}\b"
    register = re.search(says, log["text"])
    assert register and register[1] in {"62500000", "600000000"}
    assert abs(clock["hz"] / 1e9 - 1) < 0.01


def test_sizes_beyond_32_bits_are_not_cut_off_there(tmp_path: Path) -> None:
    """They would be 0 and 1 GiB: the first budget would keep no block at all."""
    agent = emulated("armv7", tmp_path)
    case = "mem.malloc.large samples=40 warmup=0"
    commands = [
        f"case 1 {case} budget={16 << 20}",
        f"case 2 {case} budget={4 << 30}",
        f"load unmap size={5 << 30}",
        "case 3 null",
    ]
    some_end, all_of_them, refused = pick(talk(commands, QUICK, agent=agent), "end")
    assert some_end["status"] == all_of_them["status"] == "ok"
    if some_end["evidence"]["locked"]:  # every page that is new to the process is a fault
        assert all_of_them["evidence"]["minflt"] >= some_end["evidence"]["minflt"]
    assert refused["status"] == "unsupported"
    assert f"{5 << 30} bytes: Cannot allocate memory" in refused["reason"]


@pytest.mark.parametrize(
    ("name", "programs"), [("armv7", UNIT_TESTS), ("aarch64", ("clock_test",))]
)
def test_unit_tests(name: str, programs: Sequence[str]) -> None:
    folder = ROOT / "build" / f"agent-{name}"
    build(name, ["make", "--silent", f"agent-{name}"])
    emulator = build(name, ["cmake", "--build", str(folder), "--target", *programs])
    for program in programs:
        done = subprocess.run(
            [emulator, "-L", f"/usr/{MACHINES[name].compiler}", folder / "tests" / program],
            capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
        assert done.returncode == 0, (program, done.stdout, done.stderr)
