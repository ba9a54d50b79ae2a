"""The agent on FreeRTOS in QEMU: the image of each board, the contract of ports, failing cases."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence

import pytest

from rtstone.interrupt import Interrupt, bound
from rtstone.lab import systems
from rtstone.lab.ready import missing
from rtstone.measure.actions import CONTROL, TASKS
from rtstone.measure.catalogue import catalogue
from rtstone.resources import BUILT
from rtstone.targets import find
from tests.agent.choices import are_answered, every_choice
from tests.agent.speak import BUILD, Json, command_lines, pick, records
from tests.conftest import Cli

pytestmark = pytest.mark.lab

# All tests run on the first two, and with RTSTONE_LAB=all in the environment on every board; on the
# others those that share a boot, which show what a board can get wrong.
THOROUGH = ["freertos-a64", "freertos-m3"]
BOARDS = [
    *THOROUGH,
    "freertos-m4f",
    "freertos-m7",
    "freertos-m33",
    "freertos-a9",
    "freertos-rv32",
    "freertos-rv64",
]
TESTS = ["port_test.elf", "bad_cases.elf"]

# Instructions, less the reading of the counter, as in lab.md, and by how much images may
# differ: an FPU context on A64, the size of the code on the M3 (docs/guides/freertos.md).
COUNTS = {
    "freertos-a64": {"sched.yield": 143, "sem.post.higher": 333, "sync.test1": 169},
    "freertos-m3": {"sched.yield": 56, "sem.post.higher": 215, "sync.test1": 96},
    "freertos-m4f": {"sched.yield": 59, "sem.post.higher": 211, "sync.test1": 95},
    "freertos-m7": {"sched.yield": 61, "sem.post.higher": 224, "sync.test1": 110},
    "freertos-m33": {"sched.yield": 62, "sem.post.higher": 235, "sync.test1": 121},
    "freertos-a9": {"sched.yield": 79, "sem.post.higher": 283, "sync.test1": 170},
    "freertos-rv32": {"sched.yield": 141, "sem.post.higher": 282, "sync.test1": 109},
    "freertos-rv64": {"sched.yield": 160, "sem.post.higher": 301, "sync.test1": 109},
}
# Code that runs in interrupts, including the handler of rheal.il, and what it must not use.
HANDLERS = re.compile(
    r"<(service|vApplicationIRQHandler|freertos_event|freertos_soft_interrupt|board_\w+_tick|"
    r"xQueueGiveFromISR|xTaskIncrementTick|vTaskSwitchContext|FreeRTOS_Tick_Handler)>"
)
OBJDUMP = {"freertos-a64": "aarch64-linux-gnu-objdump", "freertos-a9": "arm-none-eabi-objdump"}
FPU_REGISTER = re.compile(r"[\t ,{-][vqdsbh](?:[12]?\d|3[01])(?:\.\d*[bhsdq])?[,}\s\[-]")

Session = tuple[list[Json], bytes, int]  # records, other output, exit status
Run = Callable[..., Session]
Told = Callable[[list[str]], list[Json]]


@pytest.fixture(scope="session", params=BOARDS)
def board(request: pytest.FixtureRequest) -> str:
    """Return the name of a system whose image and test images have been built."""
    name = str(request.param)
    system = systems.find(name)
    assert system.image
    if not shutil.which(system.board.emulator):
        pytest.skip(f"needs {system.board.package}")
    if not (BUILT / system.image).exists() or not (BUILD.parent / name / "Makefile").exists():
        pytest.skip("no image: make freertos builds it, and says what is missing")
    subprocess.run(
        ["cmake", "--build", BUILD.parent / name, "--target", *TESTS],
        check=True, capture_output=True,
    )  # fmt: skip
    return name


@pytest.fixture(scope="session")
def thorough(board: str) -> None:
    """Skip a test that has a boot of its own on boards where it would show nothing new."""
    if board not in THOROUGH and os.environ.get("RTSTONE_LAB") != "all":
        pytest.skip("the port is the same: RTSTONE_LAB=all runs it")


@pytest.fixture(scope="session")
def emulate(board: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run an image of the board on a script; return records, other output and exit status."""

    def run(commands: Sequence[str], image: str | None = None, timeout: float = 60) -> Session:
        script = tmp_path_factory.mktemp("freertos") / "script"
        script.write_bytes(b"#rts script\n" + command_lines(*commands) + b"\0")
        system = systems.find(board)
        path = BUILD.parent / board / image if image else BUILT / str(system.image)
        done = subprocess.run(
            bound(systems.command(system, image=path, script=script)),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=timeout, check=False,
        )  # fmt: skip
        lines = done.stdout.splitlines(keepends=True)
        protocol_lines = [line for line in lines if line.startswith(b"#rts")]
        other = b"".join(line for line in lines if not line.startswith(b"#rts"))
        return records(b"".join(protocol_lines)), other, done.returncode

    return run


# Cases of tests that share a boot: calibrating the clock takes longer than all of them.
RHEALSTONE = [f"rheal.{name} samples=20" for name in ("ts", "pt", "il", "ss", "db", "im", "dt")]
INVERSION = [f"sync.test3 protocol={p} samples=5 loop=1000000" for p in ("none", "inherit")]
COUNTED = [f"{bench} samples=100" for bench in COUNTS["freertos-a64"]]
SLEEPS = ["dk.periodic samples=50"]
NO_NAMES = ["sem.wait.free type=named"]
BACKGROUND = ["sched.bg50.orig", "sched.bg50.half"]
FOOTPRINT = ["sys.footprint", "sync.rwlock", "sem.try.free cache=cold"]
IRQTHREAD = ["sync.irqthread samples=20 block=4000000"]
UNTIMED = ["sched.yield.pair policy=rr"]
# In instructions, shorter than a tick of any board, and longer than what the bench itself does at
# the begin of a window: with 64-bit divisions of a 32-bit processor, 69.
GAP = 72
EVENTS = ["int.latency.self samples=50"]
GAPS = ["hw.latency threshold=GAP window=5000000 width=3500000 time=20000000"]
CASES = [
    "null samples=10", *COUNTED, *RHEALSTONE, *INVERSION, *SLEEPS, *NO_NAMES, *BACKGROUND,
    *FOOTPRINT, *IRQTHREAD, *UNTIMED, *GAPS, *EVENTS,
]  # fmt: skip


@pytest.fixture(scope="session")
def session(emulate: Run, board: str) -> Session:
    """Run the catalogue and all CASES in one boot."""
    gap = GAP * 10**9 // systems.find(board).board.instructions_per_s  # ns
    cases = [case.replace("GAP", str(gap)) for case in CASES]
    return emulate(["list", *(f"case {i} {case}" for i, case in enumerate(cases))])


@pytest.fixture(scope="session")
def listed(session: Session) -> list[Json]:
    return pick(session[0], "bench")


@pytest.fixture(scope="session")
def answer_of(session: Session) -> Told:
    """Return the results and ends of some of CASES."""

    def select(cases: list[str]) -> list[Json]:
        ids = {CASES.index(case) for case in cases}
        return [r for r in session[0] if r["t"] in {"result", "end"} and r["id"] in ids]

    return select


def ends(records: Sequence[Json]) -> list[str]:
    return [r["status"] for r in pick(records, "end")]


def instructions(result: Json, board: str) -> int:
    """Return the smallest value of a result, less the overhead."""
    net = (result["min"] - result["overhead"]) / result["batch"]
    per_s = systems.find(board).board.instructions_per_s
    return round(float(net) * per_s / float(result["hz"]))


def choices_of(listed: Sequence[Json], bench: str, name: str) -> list[str]:
    """Return the choices of a parameter."""
    (table,) = [r for r in listed if r["t"] == "bench" and r["id"] == bench]
    (param,) = [p for p in table["params"] if p["name"] == name]
    return list(param["choices"])


def test_the_contract_of_ports(emulate: Run) -> None:
    _, output, status = emulate([], image="port_test.elf")
    assert (status, output) == (0, b"")


def test_what_the_agent_says_of_itself(session: Session, answer_of: Told) -> None:
    records, output, status = session
    assert (status, output) == (0, b"")
    assert records[0]["port"] == "freertos"
    assert records[0]["os"].startswith("FreeRTOS V11.2")
    assert {"event", "irq_timer", "suspend", "soft_irq", "heap"} <= set(records[0]["caps"])
    benches = {r["id"] for r in pick(records, "bench")}
    assert {"sched.yield", "rheal.db", "dk.schedlat", "int.latency.self"} <= benches
    values = pick(records, "conditions")[0]["values"]
    assert (values["freertos.heap"], values["freertos.time_slicing"]) == ("heap_4", False)
    end = answer_of(CASES[:1])[-1]
    assert 0 < end["evidence"]["stack_bytes"] < end["evidence"]["heap_bytes"]


def test_counts_are_those_of_the_lab(answer_of: Told, session: Session, board: str) -> None:
    (hello,) = pick(session[0], "hello")
    if not hello["compiler"].startswith("GNU 12."):
        pytest.skip(f"the counts are of GCC 12, not of {hello['compiler']}")
    results = pick(answer_of(COUNTED), "result")
    counted = [instructions(r, board) for r in results]
    assert counted == pytest.approx(list(COUNTS[board].values()), rel=0.05)


def test_gaps_are_the_ticks_of_the_system(answer_of: Told, board: str, listed: list[Json]) -> None:
    """One every ms while the task looks, each as long as any other, and nothing else."""
    if board == "freertos-m3":
        assert "hw.latency" not in {r["id"] for r in listed}  # it is in the image of Hartstone
        return
    records, end = answer_of(GAPS)
    instruction = records["hz"] / systems.find(board).board.instructions_per_s  # in counts
    assert end["status"] == "ok"
    assert records["max"] - records["min"] <= instruction
    began = [float(row[0]) * 1000 for row in records["tables"][0]["rows"]]  # ms
    first = began[0] % 1
    # The first 3.5 ms begin anywhere, and the others at a tick, which ends the sleep before them.
    turn = 62e3 / systems.find(board).board.instructions_per_s  # of the loop, at most, in ms
    ticks = [tick for tick in range(4) if tick + first < 3.5 + 2 * turn]  # which the end may cut
    ticks += [5 * window + tick for window in (1, 2, 3) for tick in (1, 2, 3)]
    assert began == pytest.approx([tick + first for tick in ticks], abs=turn)


def test_an_event_says_how_long_ago_it_was(answer_of: Told, board: str) -> None:
    """The handler begins soon after its timer fired, or after the kernel unmasks it."""
    records = answer_of(EVENTS)
    assert ends(records) == ["ok"]
    spans = late(records, board)
    least, most = spans["handler"]
    assert 0 < least < 100
    assert most < 300
    assert spans["task"][0] > 200


CALLS = ["queue", "heap", "task"]


@pytest.fixture(scope="session")
def twice(emulate: Run) -> tuple[Session, Session]:
    """Run a load, sleeps, interrupts and long calls in two boots."""
    commands = [
        "load rt200 tasks=5", "case 1 sem.post.higher samples=100", "load none",
        "case 2 dk.periodic samples=50", "case 3 int.latency.self samples=50",
        *(f"case {i} dk.schedlat calls={kind} samples=100" for i, kind in enumerate(CALLS, 4)),
    ]  # fmt: skip
    return emulate(commands), emulate(commands)


@pytest.mark.usefixtures("thorough")
def test_two_runs_are_the_same(twice: tuple[Session, Session]) -> None:
    first, second = twice
    assert ends(first[0]) == ["ok"] * 6
    assert first == second


def test_all_of_rhealstone(answer_of: Told) -> None:
    assert ends(answer_of(RHEALSTONE)) == ["ok"] * len(RHEALSTONE)


def test_sleeps_end_at_ticks_and_releases_lie_there(answer_of: Told) -> None:
    (result,) = pick(answer_of(SLEEPS), "result")
    assert result["missed"] == 0
    assert 0 < result["max"] < 1_000_000  # ns; between ticks it would be most of a tick


def test_mutexes_inherit_and_binary_semaphores_do_not(answer_of: Told) -> None:
    first = [{f[0]: f[1] for f in r["figures"]} for r in pick(answer_of(INVERSION), "result")]
    assert [f["M ran before H had the resource"] > 0 for f in first] == [True, False]


@pytest.mark.usefixtures("thorough")
def test_channels(emulate: Run, listed: list[Json], board: str) -> None:
    """Each kind that the image offers works; the small image offers only those that it has."""
    kinds = choices_of(listed, "ipc.receive", "mechanism")
    large = ["notification", "message_buffer", "queue_set"]
    assert kinds == ["queue", "mailbox", *(large if board != "freertos-m3" else [])]
    benches = [f"ipc.{b} mechanism={k}" for k in kinds for b in ("send", "receive", "srsr")]
    records, _, _ = emulate([f"case {i} {b} size=64 samples=20" for i, b in enumerate(benches)])
    assert ends(records) == ["ok"] * len(benches)


@pytest.mark.usefixtures("thorough")
def test_every_choice_of_every_parameter(emulate: Run, listed: list[Json]) -> None:
    commands = every_choice(listed)
    records, output, status = emulate(commands, timeout=600)
    assert (status, output) == (0, b"")
    are_answered(commands, records)


@pytest.mark.usefixtures("thorough")
def test_a_case_that_hangs_is_ended_and_the_next_one_runs(emulate: Run, board: str) -> None:
    """Likewise after cases that measure nothing: they have failed."""
    names = ["none", "hang", "none", "wait", "none", "silent", "idle", "none"]
    commands = [f"case {i} bad.{name}" for i, name in enumerate(names)]
    records, _, status = emulate(commands, image="bad_cases.elf")
    assert status == 0
    assert ends(records) == ["ok", "failed", "ok", "failed", "ok", "failed", "failed", "ok"]
    reasons = [r["reason"] for r in pick(records, "end")]
    assert "no progress" in reasons[1]
    assert reasons[5:7] == ["it gave up without a reason", "it ended without a sample"]
    good = pick(records, "result")
    assert len({instructions(r, board) for r in good}) == 1  # removed tasks do not slow the others


def late(records: Sequence[Json], board: str) -> dict[str, tuple[int, int]]:
    """Return the smallest and largest lateness of each series, in instructions."""
    per_s = systems.find(board).board.instructions_per_s
    return {
        r["series"]: (round(r["min"] * per_s / r["hz"]), round(r["max"] * per_s / r["hz"]))
        for r in records
        if r["t"] == "result"
    }


@pytest.mark.usefixtures("thorough")
def test_a_message_is_copied_with_interrupts_masked(emulate: Run, board: str) -> None:
    """The longest delay grows with the message, by the cost of copying a byte."""
    sizes = [64, 512, 2048]
    options = "calls=queue samples=500"
    records, _, _ = emulate(
        [f"case {i} dk.schedlat {options} size={s}" for i, s in enumerate(sizes)]
    )
    spans = [late([r], board)["queue"] for r in pick(records, "result")]
    assert len({least for least, _ in spans}) == 1  # if it falls outside the call
    small, middle, large = (most for _, most in spans)
    a_byte = {"freertos-a64": 0.156, "freertos-m3": 0.5625}.get(board)
    if a_byte is None:
        pytest.skip("what copying a byte costs is known of two boards")
    assert (middle - small) / (512 - 64) == pytest.approx(a_byte, rel=0.1)
    assert (large - middle) / (2048 - 512) == pytest.approx(a_byte, rel=0.1)


@pytest.mark.usefixtures("thorough")
def test_long_calls_of_every_kind(twice: tuple[Session, Session], board: str) -> None:
    results = [r for r in pick(twice[0][0], "result") if r["id"] >= 4]
    spans = late(results, board)
    assert list(spans) == CALLS
    assert all(least < most < 5 * least for least, most in spans.values())
    assert all(r["n"] == 100 and r["figures"][0][1] > 100 for r in results)


@pytest.mark.usefixtures("thorough")
def test_the_least_priority_leaves_a_level_below_the_case(emulate: Run, listed: list[Json]) -> None:
    """Time-sharing tasks (bg50) have a lower priority than the task that reports that all wait."""
    (null,) = [r for r in listed if r["t"] == "bench" and r["id"] == "null"]
    least = next(p["min"] for p in null["params"] if p["name"] == "prio")
    assert least == 12  # time sharing has level 1, and the case uses 10 levels below its own
    records, _, _ = emulate(
        ["load bg50 tasks=2", f"case 1 sem.post.lower prio={least} samples=20",
         f"case 2 sem.post.lower prio={least - 1} samples=20"]
    )  # fmt: skip
    assert ends(records) == ["ok", "failed"]


@pytest.mark.usefixtures("thorough")
def test_a_load_that_was_silenced_goes_on_when_its_periods_do(emulate: Run) -> None:
    """det.response pauses loads to calibrate; a resumed task misses no future period."""
    records, _, _ = emulate(["load heavy/reduced", "case 1 det.response samples=20 block=1000000"])
    (end,) = pick(records, "end")
    assert end["status"] == "ok"
    missed = {k["component"]: k["missed"] for k in end["load"]}
    assert set(missed) == {"cpu", "interrupt", "syscall", "memory"}
    assert all(count < 10_000 for count in missed.values()), missed


@pytest.mark.usefixtures("thorough")
def test_a_load_without_memory_for_it_is_unsupported(emulate: Run, board: str) -> None:
    """Eight blocks of up to 64 KiB are more than the heap of a Cortex-M, and less than others'."""
    records, _, _ = emulate(["load heavy/reduced block=65536", "case 1 null samples=5"])
    (loaded,) = pick(records, "loaded")
    if board.startswith("freertos-m"):
        assert loaded["status"] == "unsupported"
        assert loaded["reason"].startswith("component memory: no memory for a block of ")
    else:
        assert loaded["status"] == "ok"


@pytest.mark.parametrize("fault", ["fault", "deep"])
def test_a_fault_is_one_line_and_a_status(emulate: Run, fault: str) -> None:
    records, output, status = emulate([f"case 1 bad.{fault}"], image="bad_cases.elf")
    assert status == 1
    assert output.strip().startswith(b"rtstone: ")
    assert len(output.strip().splitlines()) == 1
    assert not ends(records)


def test_a_counter_that_is_not_the_clock_is_told(board: str) -> None:
    """Without counting instructions the one of RISC-V is the host's."""
    system = systems.find(board)
    if not system.board.counts_always:
        pytest.skip("the counter of this board is a clock in any case")
    command = systems.command(system, image=BUILT / str(system.image), icount=False)
    done = subprocess.run(
        bound(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stdout.strip().startswith(b"rtstone: mcycle does not count ns")


def test_names_that_do_not_exist_are_unsupported(answer_of: Told) -> None:
    (end,) = pick(answer_of(NO_NAMES), "end")
    assert end["status"] == "unsupported"
    assert end["reason"]


def test_background_tasks_need_slices_and_only_the_second_test_cpu_times(
    answer_of: Told, board: str
) -> None:
    if board == "freertos-m3":
        pytest.skip("its benches have an image of their own there")
    reasons = [end["reason"] for end in pick(answer_of(BACKGROUND), "end")]
    assert reasons[0].startswith("needs round_robin: no time slicing in this image, ")
    assert reasons[1].startswith("needs cpu_time: no run-time statistics in this image, ")
    assert all("freertos-a64-rr" in reason for reason in reasons)


def test_the_image_with_slices_has_round_robin_and_cpu_times(cli: Cli) -> None:
    """Fifty tasks get a tick each in turn, and half of their work takes half of the CPU time."""
    system = systems.find("freertos-a64-rr")
    if lacking := missing(system):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    benches = ("sched.bg50.orig", "sched.bg50.half")
    words = ("-p", "work=10ms", "-p", "policy=rr", "-p", "samples=2", "--json")
    document = cli("run", *benches, "--target", "qemu:freertos-a64-rr", *words).document
    assert [r["status"] for r in document["results"]] == ["ok"] * 2
    orig, half = document["results"]
    tick = system.board.instructions_per_s / 1000
    figures = [{name: f["value"] for name, f in r["figures"].items()} for r in (orig, half)]
    assert 48 * tick < orig["min"] <= orig["max"] < 49 * tick
    assert figures[0]["hand-overs from first to last stamp"] == 49
    assert figures[0]["tasks that ran out of order"] == 0
    # The 25th ends in the last round of slices, in which the others still have half of theirs.
    assert 9 * 50 * tick < half["min"] <= half["max"] < 11 * 50 * tick
    assert figures[1]["tasks that had ended at the half"] == 25
    work = figures[1]["CPU time of the work among the others"]
    assert work == pytest.approx(10 * tick, rel=0.05)
    again = ("run", benches[1], "--target", "qemu:freertos-a64-rr", "-p", "warmup=2", *words)
    (warm,) = cli(*again).document["results"]
    assert warm["figures"] == half["figures"]  # counts of the samples only


def test_bintime_reads_the_counter_where_no_library_has_a_clock(cli: Cli) -> None:
    """Without a parameter, as a suite runs it; between two readings a tick is the longest time."""
    system = systems.find("freertos-a64")
    if lacking := missing(system):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    words = ("--target", "qemu:freertos-a64", "--time", "50ms", "--json")
    (counter,) = cli("run", "det.bintime", *words).document["results"]
    assert (counter["status"], counter["params"]["clock"]) == ("ok", "counter")
    assert counter["min"] < 100 < counter["max"] < 1000
    (library,) = cli("run", "det.bintime", "-p", "clock=library", *words).document["results"]
    assert library["reason"] == "no clock but the counter"


@pytest.mark.parametrize("policy", ["fifo", "rr"])
def test_a_slice_that_ends_is_no_yield(cli: Cli, policy: str) -> None:
    """No span is negative, or that of two switches."""
    system = systems.find("freertos-a64-rr")
    if lacking := missing(system):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    words = ("-p", f"policy={policy}", "--time", "1", "--json")
    run = cli("run", "sched.yield.pair", "--target", "qemu:freertos-a64-rr", *words).document
    (pair,) = run["results"]
    assert pair["status"] == "ok"
    assert pair["figures"]["switches nobody asked for"]["value"] > 100
    assert pair["max"] < 2 * pair["min"]


def test_handlers_use_no_fpu_register(board: str) -> None:
    if board not in OBJDUMP:
        pytest.skip("the board has no FPU, or handlers that save what they use of it")
    image = BUILT / str(systems.find(board).image)
    dump = [OBJDUMP[board], "-d", "--no-show-raw-insn", str(image)]
    listing = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    assert FPU_REGISTER.search(listing)  # in the agent's tasks
    seen = set()
    for function in listing.split("\n\n"):
        if match := HANDLERS.search(function.partition("\n")[0]):
            seen.add(match[1])
            assert not FPU_REGISTER.search(function), function
    assert {"service", "vApplicationIRQHandler", "xQueueGiveFromISR"} <= seen


def test_hartstone_has_an_image_of_its_own(cli: Cli) -> None:
    """The board's first image names it and has everything else of the catalogue."""
    if lacking := missing(systems.find("freertos-m3-hart")):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    short = ("-p", "duration=100ms", "-p", "samples=20", "--time", "300ms", "--json")
    here = cli("run", "hart.PH.1", "dk.periodic", "--target", "qemu:freertos-m3", *short).document
    statuses = {r["bench"]: (r["status"], r["reason"]) for r in here["results"]}
    assert statuses["hart.PH.1"] == ("unsupported", "Hartstone is in the image freertos-m3-hart")
    assert statuses["dk.periodic"] == ("ok", None)
    document = cli("run", "hart.PH.1", "--target", "qemu:freertos-m3-hart", *short).document
    assert [r["status"] for r in document["results"]] == ["ok"]
    every, most, rest = (
        set(catalogue(find(f"qemu:{name}"), Interrupt()).benches)
        for name in ("freertos-a64", "freertos-m3", "freertos-m3-hart")
    )
    apart = ("det.bintime", "dk.latencytest", "grow.", "hart.", "hw.", "iso.", "posix.metrics",
             "sched.bg50.", "sync.irqthread", "tasks.")  # fmt: skip
    assert most == {bench for bench in every if not bench.startswith(apart)}
    neither = ("grow.", "iso.", "tasks.")
    assert {bench for bench in every - most if not bench.startswith(neither)} <= rest


def test_the_footprint_is_that_of_the_image(answer_of: Told) -> None:
    records = answer_of(FOOTPRINT)
    assert ends(records) == ["ok", "unsupported", "unsupported"]
    counted = [{name: value for name, value, _ in r["figures"]} for r in pick(records, "result")]
    assert 90_000 < counted[0]["image"] < 400_000
    assert 0 < counted[0]["of it in use"] < counted[0]["heap"]
    reasons = [r["reason"] for r in pick(records, "end")]
    assert reasons[1] == "needs rwlock: no read-write locks"
    assert reasons[2].startswith("needs cold_cache: ")


def test_requests_wait_for_an_urgent_task(answer_of: Told, board: str, listed: list[Json]) -> None:
    if board == "freertos-m3":
        assert "sync.irqthread" not in {r["id"] for r in listed}  # it is in the image of Hartstone
        return
    records = answer_of(IRQTHREAD)
    assert ends(records) == ["ok"]
    figures = {name: value for name, value, _ in pick(records, "result")[0]["figures"]}
    assert figures["served within H's block"] == 0
    assert figures["delay by each interrupt"] > 0


def test_a_case_that_gives_up_before_its_first_sample_has_no_timed_section(answer_of: Told) -> None:
    """That of a case before it was told once."""
    (end,) = pick(answer_of(UNTIMED), "end")
    assert end["status"] == "unsupported"
    assert end["reason"].startswith("policy=rr: no time slicing in this image, ")
    assert end["evidence"]["section_ns"] is None


# ---- what other tasks do ------------------------------------------------------------------------


def has_provoke(board: str) -> bool:
    """Return whether the board's image has room for loads provoke and actions."""
    return board != "freertos-m3"


def offered(records: Sequence[Json]) -> list[str]:
    """Return the actions of load provoke that an agent lists."""
    (load,) = [r for r in pick(records, "load") if r["id"] == "provoke"]
    (param,) = [p for p in load["params"] if p["name"] == "action"]
    return list(param["choices"])


def test_the_catalogue_of_tasks_is_that_of_the_agent(session: Session, board: str) -> None:
    if not has_provoke(board):
        assert not {"provoke", "actions"} & {r["id"] for r in pick(session[0], "load")}
        return
    catalogue = [CONTROL.name, *(action.name for action in TASKS)]
    small = board.startswith("freertos-m")  # no RAM for the task of timers
    assert offered(session[0]) == [n for n in catalogue if n != "softtimers" or not small]


def beside(loads: Sequence[str], case: str) -> list[str]:
    """Return commands that measure a case beside each load, and what the heap has after each."""
    return [
        command
        for i, load in enumerate(loads)
        for command in (f"load {load}", f"case {2 * i} {case}", "load none",
                        f"case {2 * i + 1} sys.footprint")
    ]  # fmt: skip


def heaps(records: Sequence[Json]) -> set[float]:
    """Return the bytes of the heap that are in use after each load."""
    results = [r for r in pick(records, "result") if r["id"] % 2]
    return {v for r in results for name, v, _ in r["figures"] if name == "of it in use"}


@pytest.mark.usefixtures("thorough")
def test_every_action_of_tasks_works_and_leaves_nothing(
    emulate: Run, session: Session, board: str
) -> None:
    if not has_provoke(board):
        pytest.skip("its image has no room for the load")
    loads = [f"provoke action={name}" for name in offered(session[0])]
    loads.append("actions steps=" + ",".join(f"{n}@{i}00us" for i, n in enumerate(SMALL_STEPS)))
    records, output, status = emulate(beside(loads, "dk.periodic samples=300"), timeout=300)
    assert (status, output) == (0, b"")
    loaded = [r["status"] for r in pick(records, "loaded") if r["load"] != "none"]
    assert loaded == ["ok"] * len(loads)
    measured = [r for r in pick(records, "end") if r["id"] % 2 == 0]
    assert [r["status"] for r in measured] == ["ok"] * len(loads)
    assert all(rate["alive"] and rate["achieved"] > 0 for r in measured for rate in r["load"])
    assert len(heaps(records)) == 1


SMALL_STEPS = ["events*2", "sleepers*2", "heap*4", "tasks*1"]


@pytest.mark.usefixtures("thorough")
def test_a_delay_grows_with_the_tasks_that_wake_up_at_once(emulate: Run, board: str) -> None:
    """The tick's handler makes one after the other ready, in as many instructions each."""
    if not has_provoke(board):
        pytest.skip("its image has no room for the load")
    sizes = [8, 16, 32]
    loads = [f"provoke action=sleepers n={n}" for n in sizes]
    records, _, _ = emulate(beside(loads, "dk.periodic samples=300"), timeout=300)
    results = [r for r in pick(records, "result") if r["id"] % 2 == 0]
    small, middle, large = (late([r], board)[""][1] for r in results)
    each = (large - middle) / (32 - 16)
    assert (middle - small) / (16 - 8) == pytest.approx(each, rel=0.05)
    assert 20 < each < 150


@pytest.mark.usefixtures("thorough")
def test_a_step_comes_at_its_time_of_the_cycle(emulate: Run, board: str) -> None:
    """In cycles of five periods a step just before a release delays it, and one after it never."""
    if not has_provoke(board):
        pytest.skip("its image has no room for the load")
    per_us = systems.find(board).board.instructions_per_s / 1e6
    woken = 60 * 32 / per_us  # µs in which 32 tasks are made ready, or more
    steps = [f"events*32@{round(5000 - woken / 2)}us", "events*32@4300us"]
    loads = [f"actions every=5000000 steps={step}" for step in steps]
    records, _, _ = emulate(beside(loads, "dk.periodic samples=300"), timeout=300)
    results = [r for r in pick(records, "result") if r["id"] % 2 == 0]
    before, after = (late([r], board)[""][1] for r in results)
    assert before > 700
    assert before > 1.7 * after


@pytest.mark.usefixtures("thorough")
def test_what_the_heap_has_no_room_for_is_unsupported(emulate: Run, board: str) -> None:
    if not has_provoke(board):
        pytest.skip("its image has no room for the load")
    many = ",".join(f"{name}*64@{i}us" for i, name in enumerate(["events", "notify", "waiters"]))
    records, _, _ = emulate(beside([f"actions steps={many}"], "null samples=5"), timeout=300)
    loaded = pick(records, "loaded")[0]
    if board.startswith("freertos-m"):
        assert loaded["status"] == "unsupported"
        step, _, reason = loaded["reason"].removeprefix("component actions: ").partition(": ")
        assert step in many.split(",")
        assert reason == "174 KiB of the heap of 232 KiB stay free for cases"
    else:
        assert loaded["status"] == "ok"


@pytest.mark.usefixtures("thorough")
@pytest.mark.parametrize(
    ("steps", "reason"),
    [("events", "no step: 'events'"), ("forks@1us", "no step: 'forks@1us'"),
     ("events*1025@1us", "no step: 'events*1025@1us'"),
     ("spin@1us,events@4937us", "after the end of the cycle: 'events@4937us'")],
)  # fmt: skip
def test_what_is_no_program_of_tasks_is_refused(
    emulate: Run, board: str, steps: str, reason: str
) -> None:
    if not has_provoke(board):
        pytest.skip("its image has no room for the load")
    (loaded,) = pick(emulate([f"load actions steps={steps}"])[0], "loaded")
    assert loaded["status"] == "unsupported"
    assert reason in loaded["reason"]
