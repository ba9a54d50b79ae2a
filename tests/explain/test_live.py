"""A sample of a traced run of the lab, explained: to the instruction, as the guest counted them.

data/traced: dk.periodic on qemu:linux-6.1 under `syscalls`, from which the records of one case and
one of its snapshots were kept.  A voluntary kernel has no point of rescheduling in what recvfrom
does there (docs/guides/lab.md): 1.26 M instructions.
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

from rtstone.documents.explanation import CAUSES, Cause, Kind
from rtstone.documents.run import Result, Run
from rtstone.errors import Inconclusive, UsageError
from rtstone.explain import live, timeline
from rtstone.explain.live import explanations, from_trace, surroundings, traced
from rtstone.explain.timeline import Around, Part, Sampled
from rtstone.report.explanation import labels
from rtstone.store.rundir import load
from rtstone.wire import records as wire

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
        match = re.fullmatch(r"#rts (\d+) (.*) [0-9a-f]{8}", line)
        assert match
        body = change(json.loads(match[2]))
        if body is not None:
            text = f"{match[1]} {json.dumps(body)}"
            lines.append(f"#rts {text} {crc32(text.encode()):08x}\n")
    (to / "wire.log").write_text("".join(lines))
    return to


def test_the_segments_are_the_sample_to_the_instruction(run: Run, result: Result) -> None:
    explanation = from_trace(TRACED, run, result, INDEX)
    way = explanation.way
    assert (way.sample.value, way.sample.raw) == (result.max, VALUE)
    assert (explanation.unit, explanation.source, explanation.lost) == ("instructions", "trace", 0)
    assert way.segments[0].start == 0
    assert all(a.start + a.length == b.start for a, b in itertools.pairwise(way.segments))
    assert sum(segment.length for segment in way.segments) == VALUE
    assert sum(stack.cost for stack in way.stacks) == VALUE
    assert sum(function.own for function in explanation.functions) == VALUE
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
    explanation = from_trace(TRACED, run, result, INDEX)
    assert explanation.sentence == (
        '1 261 569 instructions late: the thread "init", in recvfrom, kept the CPU for 1 154 939 '
        "instructions before the switch"
    )
    assert explanation.functions[0].name == "init, in recvfrom"
    assert any(
        "the median was 9 216 instructions without it, 12 800 instructions with it" in note
        for note in explanation.notes
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
    with pytest.raises(UsageError, match=r"nothing was traced .*; measure again with --trace"):
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


def test_every_snapshot_of_a_run_is_explained(run: Run, result: Result) -> None:
    (explanation,) = explanations(TRACED, run)
    assert explanation == from_trace(TRACED, run, result, INDEX)
    untraced = structs.replace(run, results=[structs.replace(r, flags=[]) for r in run.results])
    assert explanations(TRACED, untraced) == []


def test_results_of_a_traced_run_carry_a_flag(result: Result) -> None:
    assert "traced" in result.flags


# ---- where the time went, in words ---------------------------------------------------------------


def reread(
    to: Path,
    run: Run,
    result: Result,
    head: dict[str, Any],
    conditions: dict[str, Any],
    **members: Any,
) -> str:
    """Return the sentence for the same events, timed in ns, with other surroundings."""
    path = changed(to, lambda body: body | head if body["t"] == "snapshot" else body)
    bare = structs.replace(run, conditions=run.conditions | conditions)
    return from_trace(path, bare, structs.replace(result, unit="ns", **members), INDEX).sentence


STEAL = {"steal_ns": 20_000_000, "steal_span_ns": 110_000_000}
LATE = '20.2 ms late: the thread "init", in recvfrom, kept the CPU for 18.5 ms before the switch'
DOUBT = "; this may not be its doing: "


def test_what_was_taken_around_it_puts_the_answer_in_doubt(
    run: Run, result: Result, tmp_path: Path
) -> None:
    virtual = {"machine.virtual": True}
    assert reread(tmp_path / "none", run, result, {}, virtual) == LATE
    assert reread(tmp_path / "steal", run, result, STEAL, virtual) == (
        f"{LATE}{DOUBT}within 110 ms around it the hypervisor took 20 ms"
    )
    smi = {"smi": 1, "smi_span_ns": 2_000_000_000}
    assert reread(tmp_path / "smi", run, result, smi, {}) == (
        f"{LATE}{DOUBT}within 2 s up to it the firmware interrupted the CPU 1 time"
    )


def test_on_a_virtual_machine_the_sentence_ends_with_what_came_with_steal(
    run: Run, result: Result, tmp_path: Path
) -> None:
    worst = [structs.replace(sample, steal_ns=0) for sample in result.worst]
    worst[3] = structs.replace(worst[3], steal_ns=10_000_000)
    note = (
        "; steal time, which counts in steps of 10 ms, grew around "
        f"1 of 2 separate stalls (its {len(worst)} worst samples)"
    )
    for name, is_virtual, ending in (("yes", True, note), ("no", False, "before the switch")):
        conditions = {"machine.virtual": is_virtual}
        sentence = reread(tmp_path / name, run, result, {}, conditions, worst=worst)
        assert sentence == LATE + ending.removeprefix("before the switch")


def test_what_follows_from_steal_is_left_out_where_an_account_shows_it(
    run: Run, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be that nothing shows what the same sentence has just said."""
    worst = [structs.replace(sample, steal_ns=0) for sample in result.worst]
    worst[3] = structs.replace(worst[3], steal_ns=10_000_000)
    evidence = result.evidence | {"steal_near_ns": 9 * 10**6, "steal_watched_ns": 10**9}
    seen = (
        f" grew around 1 of 2 separate stalls (its {len(worst)} worst samples) and between "
        "0.9% of all readings"
    )
    virtual = structs.replace(run, conditions=run.conditions | {"machine.virtual": True})
    whole = structs.replace(result, unit="ns", worst=worst, evidence=evidence)
    sentence = from_trace(TRACED, virtual, whole, INDEX).sentence
    follows = ": no more than by chance, so nothing shows that it delayed them"
    assert sentence.startswith(LATE) and sentence.endswith(f"{seen}{follows}")
    ours = timeline.parts

    def parts(*arguments: Any, **members: Any) -> list[Part]:
        return [part._replace(cause="hypervisor") for part in ours(*arguments, **members)]

    monkeypatch.setattr(live, "parts", parts)
    sentence = from_trace(TRACED, virtual, whole, INDEX).sentence
    assert "the hypervisor took" in sentence and sentence.endswith(seen)


def test_an_emulated_machine_has_no_hypervisor(run: Run, result: Result) -> None:
    """Its processor says that there is one."""
    lab = structs.replace(run, conditions=run.conditions | {"machine.virtual": True})
    explanation = from_trace(TRACED, lab, result, INDEX)
    assert explanation.sentence.startswith("1 261 569 instructions late: the thread")
    assert {segment.cause for segment in explanation.way.segments} == {"code"}
    assert not any("hypervisor" in note for note in explanation.notes)


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        ("hypervisor", 'the hypervisor took 15 ms of it, while '
         'the thread "as", in read, had the CPU'),
        ("firmware", 'the firmware took 15 ms of it (SMI), while '
         'the thread "as", in read, had the CPU'),
        ("outside", '15 ms passed outside of this system: the thread "as", in read, had the CPU, '
         "which cannot hold an interrupt back"),
    ],
)  # fmt: skip
def test_what_went_elsewhere_is_nobodys_cost(
    run: Run, result: Result, monkeypatch: pytest.MonkeyPatch, cause: Cause, says: str
) -> None:
    def parts(_: object, sample: Sampled, *__: object, **___: object) -> list[Part]:
        kinds: list[tuple[int, Kind, str, Cause]] = [
            (5, "softirq", "RCU", "code"), (7, "irq-delay", "as, in read", cause),
            (3, "softirq", "RCU", "code"), (8, "blocking", "as, in read", cause),
        ]  # fmt: skip
        at, slices = sample.due, []
        for ms, kind, by, where in kinds:
            slices.append(Part(at, at + ms * 1_000_000, kind, by, where))
            at = slices[-1].end
        return slices

    monkeypatch.setattr(live, "parts", parts)
    gap = structs.replace(result, bench="hw.latency", unit="ns", max=3e6)
    traced_ = structs.replace(run, results=[*run.results, gap])
    explanation = from_trace(TRACED, traced_, structs.replace(result, unit="ns"), INDEX)
    assert explanation.sentence == f"20.2 ms long: {says}"
    assert {function.name: function.own for function in explanation.functions} == {
        CAUSES[cause]: 15e6,
        "RCU": 8e6,
    }
    assert [segment.cause for segment in explanation.way.segments] == ["code", cause] * 2
    seen = "hw.latency of this run saw gaps of up to 3 ms" in explanation.notes
    assert seen == (cause != "hypervisor")
    names = [part.name for part in labels.parts(explanation.way.segments)]
    assert names[:2] == ["softirq", f"interrupt delivered late: {CAUSES[cause]}"]


def test_the_surroundings_are_what_conditions_and_snapshot_say() -> None:
    head = wire.Snapshot(id=1, series="", index=0, value=1, due=0, stamp=1, cpu=0, page=4096,
                         bytes=0, at=0, data="", steal_ns=5, smi=2)  # fmt: skip
    conditions: dict[str, Any] = {"cpu.idle_latency_us": 133}
    for config, irq_time in ((["CONFIG_IRQ_TIME_ACCOUNTING=y"], True), ([], False), (None, None)):
        around = surroundings(conditions | {"kernel.config": config}, head, closed=False)
        assert around == Around(virtual=True, steal_ns=5, smi=2, idle_exit_ns=133_000,
                               irq_time=irq_time)  # fmt: skip
    none = structs.replace(head, steal_ns=None, smi=None)
    assert surroundings({}, none, closed=False) == Around()
    assert surroundings({"machine.virtual": True}, none, closed=False).virtual
    assert surroundings({"machine.virtual": True}, head, closed=True).virtual is False
