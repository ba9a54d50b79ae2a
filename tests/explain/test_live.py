"""A sample of a traced run of the lab, explained: to the instruction, as the guest counted them.

data/traced: dk.periodic on qemu:linux-6.1 under `syscalls`, from which the records of one case and
one of its snapshots were kept.  A voluntary kernel has no point of rescheduling in what recvfrom
does there (docs/lab.md): 1.26 M instructions.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from msgspec import structs

from rtstone.documents.run import Result, Run
from rtstone.errors import Inconclusive, UsageError
from rtstone.explain.live import from_trace, traced
from rtstone.store.rundir import load

TRACED = Path(__file__).parent / "data" / "traced"
INDEX, VALUE = 103, 1_261_569


@pytest.fixture(scope="module")
def run() -> Run:
    return load(TRACED)


@pytest.fixture
def result(run: Run) -> Result:
    return run.results[0]


def changed(to: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Path:
    """Return a copy of the run whose records were changed, or left out."""
    shutil.copytree(TRACED, to)
    lines = []
    for line in (TRACED / "wire.log").read_text().splitlines():
        found = re.fullmatch(r"#rts (\d+) (.*) [0-9a-f]{8}", line)
        assert found
        body = change(json.loads(found[2]))
        if body is not None:
            text = f"{found[1]} {json.dumps(body)}"
            lines.append(f"#rts {text} {crc32(text.encode()):08x}\n")
    (to / "wire.log").write_text("".join(lines))
    return to


def test_the_segments_are_the_sample_to_the_instruction(run: Run, result: Result) -> None:
    found = from_trace(TRACED, run, result, INDEX)
    way = found.way
    assert (way.sample.value, way.sample.raw) == (result.max, VALUE)
    assert (found.unit, found.source, found.lost) == ("instructions", "trace", 0)
    assert way.segments[0].start == 0
    assert all(a.start + a.length == b.start for a, b in itertools.pairwise(way.segments))
    assert sum(segment.length for segment in way.segments) == VALUE
    assert sum(stack.cost for stack in way.stacks) == VALUE
    assert sum(function.own for function in found.functions) == VALUE
    assert [(s.kind, s.start, s.by) for s in way.segments[:5]] == [
        ("irq-delay", 0, "init, in recvfrom"),
        ("handler", 597, "arch_timer (interrupt 11)"),
        ("wakeup", 2387, None),
        ("handler", 4434, "arch_timer (interrupt 11)"),
        ("blocking", 5537, "init, in recvfrom"),
    ]
    assert [s.kind for s in way.segments[-2:]] == ["switch", "return"]
    assert {s.by for s in way.segments if s.kind == "softirq"} == {"TIMER", "NET_RX"}


def test_the_answer_and_what_tracing_costs(run: Run, result: Result) -> None:
    found = from_trace(TRACED, run, result, INDEX)
    assert found.sentence == (
        "1 261 569 instructions late: the thread init, in recvfrom, kept the CPU for 1 154 939 "
        "instructions before the switch"
    )
    assert found.functions[0].name == "init, in recvfrom"
    assert any(
        "the median was 9 216 instructions without it, 12 800 instructions with it" in note
        for note in found.notes
    )


def test_a_preemptible_kernel_would_have_switched_at_once(run: Run, result: Result) -> None:
    """The same events mean something else there, as nothing had forbidden preemption."""
    full = structs.replace(run, conditions={"kernel.preempt_dynamic": "none voluntary (full)"})
    kinds = {segment.kind for segment in from_trace(TRACED, full, result, INDEX).way.segments}
    assert "blocking" not in kinds


def test_only_samples_with_a_snapshot_are_explained(
    run: Run, result: Result, tmp_path: Path
) -> None:
    assert traced(TRACED, result) == [INDEX]
    with pytest.raises(UsageError, match=r"no snapshot was kept of sample 7 .* those of 103"):
        from_trace(TRACED, run, result, 7)
    none = changed(tmp_path / "r", lambda body: None if body["t"] == "snapshot" else body)
    with pytest.raises(UsageError, match=r"nothing was traced .* --trace worst"):
        from_trace(none, run, result, INDEX)
    with pytest.raises(UsageError, match="nothing was traced"):
        from_trace(TRACED, run, structs.replace(result, series="other"), INDEX)


def test_a_snapshot_without_a_part_or_its_marker_explains_nothing(
    run: Run, result: Result, tmp_path: Path
) -> None:
    lost = changed(tmp_path / "lost", lambda body: None if body.get("at") == 3072 else body)
    with pytest.raises(Inconclusive, match="damaged on its way"):
        from_trace(lost, run, result, INDEX)

    def without_marker(body: dict[str, Any]) -> dict[str, Any]:
        if body["t"] == "snapshot":
            data = base64.b64decode(body["data"]).replace(b"rtstone 103", b"rtstone 104")
            body["data"] = base64.b64encode(data).decode()
        return body

    with pytest.raises(Inconclusive, match="lacks the agent's marker"):
        from_trace(changed(tmp_path / "marker", without_marker), run, result, INDEX)


def test_events_that_the_kernel_lost_are_told(run: Run, result: Result, tmp_path: Path) -> None:
    def losing(body: dict[str, Any]) -> dict[str, Any]:
        if body["t"] == "snapshot":
            body["stats"] = body["stats"].replace("dropped events: 0", "dropped events: 12")
        return body

    assert from_trace(changed(tmp_path / "r", losing), run, result, INDEX).lost == 12


def test_results_of_a_traced_run_carry_a_flag(result: Result) -> None:
    assert "traced" in result.flags
