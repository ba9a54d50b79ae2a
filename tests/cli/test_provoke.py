"""`rtstone provoke`: what it refuses, what it measures on this machine, and what it prints."""

from __future__ import annotations

import os
import re
from collections import Counter
from io import StringIO
from math import log
from pathlib import Path

import pytest
from msgspec import structs
from rich.console import Console

from rtstone.cli import provoke
from rtstone.documents.provocation import Provocation, Provoked
from rtstone.documents.run import Result, Run
from rtstone.errors import Interrupted
from rtstone.measure import provocation
from rtstone.measure.actions import BY_NAME, CONTROL
from rtstone.measure.provocation import Design, Measured
from rtstone.report.provocation.text import provocation_lines
from rtstone.stats.provocation import judged
from rtstone.store.index import find
from rtstone.store.rundir import load
from tests.conftest import Cli
from tests.stats.test_provocation import boots, refused, result, run, system


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["forkss"], "unknown action 'forkss'; did you mean 'forks'?"),
        (["oom"], "allow it with --consent shared"),
        (["kprobe", "--consent", "shared"], "allow it with --consent system"),
        (["module", "--consent", "system"], "only a guest of the lab does it"),
        (["--consent", "all"], "unknown consent 'all', in --consent"),
        (
            ["--target", "sim:solaris-8-1rt"],
            "has no load provoke: only Linux and FreeRTOS",
        ),
    ],
)
def test_what_cannot_be_is_refused(cli: Cli, words: list[str], says: str) -> None:
    done = cli("provoke", *words)
    assert (done.status, done.out) == (2, "")
    assert says in done.says


@pytest.mark.machine
def test_blocks_hold_each_action_once_and_the_controls(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"SAMPLES": 20, "BLOCKS": 2, "CONTROLS": 2}.items():
        monkeypatch.setattr(provocation, name, value)
    done = cli("provoke", "pipes", "signals", "--json")
    (part,) = done.document["systems"]
    assert not part["exact"]
    assert {row["action"]["name"] for row in part["actions"]} == {"pipes", "signals"}
    (run_id,) = part["runs"]
    loads = [entry.load for entry in load(find(run_id)).results]
    for block in (loads[:4], loads[4:]):
        assert Counter(block) == {
            CONTROL.load: 2, BY_NAME["pipes"].load: 1, BY_NAME["signals"].load: 1
        }  # fmt: skip
    assert done.status in {0, 3}, done.err  # 3: on a busy machine an action may not get the CPU
    stored = cli("provoke", "--run", run_id, "--json")
    (again,) = stored.document["systems"]
    rows = [
        sorted(each["actions"], key=lambda row: row["action"]["name"]) for each in (part, again)
    ]
    assert rows[0] == rows[1]
    assert {**part, "actions": []} == {**again, "actions": []}


def test_a_target_that_supports_no_action_ends_with_3(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Provoked(action=BY_NAME[name], outcome="failed") for name in ("drop", "mount")]
    empty = structs.replace(system(0), target="local", actions=rows)
    results = [result(n, CONTROL.load, 8000) for n in range(4)]
    results += [refused(row.action.load, "no right") for row in rows]
    measured = Measured([run(results)], [], None)
    monkeypatch.setattr(provoke, "design", lambda *_, **__: Design(empty, []))
    monkeypatch.setattr(provoke, "measure", lambda *_, **__: measured)
    done = cli("provoke", "drop", "mount", "--consent", "shared")
    assert done.status == 3
    assert done.out.startswith("undetermined on local: it supports none of 2 actions")
    assert "drop: unsupported: no right" in done.out
    assert "target 'local' supports none of 2 actions, drop: no right" in done.says


@pytest.mark.machine
def test_what_this_machine_cannot_do_is_unsupported(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.cpu_count() != 2:
        pytest.skip("needs a machine of two CPUs, of which none is switched off")
    for name, value in {"SAMPLES": 20, "BLOCKS": 1, "CONTROLS": 1}.items():
        monkeypatch.setattr(provocation, name, value)
    done = cli("provoke", "hotplug", "--consent", "system")
    assert done.status == 3
    assert "hotplug: unsupported: " in done.out
    assert "fewer than three CPUs are online" in done.out


def planted(unit: str) -> Provocation:
    """Return two systems in which forks delay most, and one action did not run."""
    lab = unit == "instructions"
    names = ["forks", "herd", "membarrier", "netns", "hotplug"]
    design = system(0, exact=lab, blocks=1 if lab else provocation.BLOCKS)
    rows = [Provoked(action=BY_NAME[name], outcome="failed") for name in names]
    design.actions.extend(rows)
    results: list[Result] = []
    for block in range(design.blocks):
        for number in range(provocation.CONTROLS):
            results.append(result(len(results), CONTROL.load, 8000 + block + number, unit=unit))
        for name, p99 in zip(names[:4], (100_000, 1_900_000, 8000, 7000), strict=True):
            results.append(result(len(results), BY_NAME[name].load, p99, unit=unit))
    return Provocation(systems=[judged(design, CONTROL.load, [run(results)])] * 2)


def test_two_stored_runs_stand_side_by_side(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["forks", "herd", "locks"]

    def measured(name: str) -> list[Run]:
        worst = {"stock": (200_000.0, 90_000.0, 9000.0), "rt": (10_000.0, 20_000.0, 9000.0)}[name]
        loads = [BY_NAME[action].load for action in names]
        renamed = dict(zip([f"load{n}" for n in range(len(names))], loads, strict=True))
        return [
            structs.replace(boot, results=[
                structs.replace(entry, load=renamed.get(entry.load, entry.load))
                for entry in boot.results
            ])
            for boot in boots(worst, f"qemu:{name}")
        ]  # fmt: skip

    monkeypatch.setattr(provoke, "members", measured)
    done = cli("provoke", "--run", "stock", "--run", "rt")
    assert done.status == 0
    head, table, *_ = done.out.split("\n\n")
    assert " ".join(head.split()) == (
        "on qemu:stock avoid these two: forks, herd; 2 of 3 actions delay the wake-up beyond the "
        "controls on qemu:rt avoid this one: herd; 1 of 3 actions delays the wake-up beyond the "
        "controls qemu:rt against qemu:stock: of 3 actions 2 delayed it beyond the controls: 1 "
        "gone (forks), 1 left (herd)"
    )
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines()[1:]}
    assert rows == {
        "forks": ["200", "k", "!", "10.0", "k", "20"],
        "herd": ["90.0", "k", "!", "20.0", "k", "!", "4.5"],
        "locks": ["9.00", "k", "9.00", "k", "1"],
        "controls": ["8.00", "k", "8.00", "k", "1"],
    }  # fmt: skip
    both = cli("provoke", "--run", "stock", "--run", "rt", "--json").document["systems"]
    assert [each["target"] for each in both] == ["qemu:stock", "qemu:rt"]
    assert [row["outcome"] for row in both[1]["actions"]] == ["beyond", "within", "within"]


def test_the_same_command_goes_on_with_a_session(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the ids of the stored runs, which it hands on, and what is stored then is shown."""
    stored = boots([100_000.0])[:-1]
    every = boots([100_000.0])
    row = Provoked(action=BY_NAME["herd"], outcome="failed")
    every[-1] = structs.replace(
        every[-1], results=[structs.replace(every[-1].results[0], load=row.action.load)]
    )
    sessions: list[str] = []

    def design(*_: object, session: str) -> Design:
        sessions.append(session)
        return Design(structs.replace(system(0, exact=True, blocks=1), actions=[row]), [])

    def measure(*_: object, earlier: dict[str, Run], **__: object) -> Measured:
        assert list(earlier) == [boot.run_id for boot in stored]
        return Measured(every[-1:], every[:-1], Interrupted("interrupted"))

    monkeypatch.setattr(provoke, "members", lambda name: stored)
    monkeypatch.setattr(provoke, "design", design)
    monkeypatch.setattr(provoke, "measure", measure)
    done = cli("provoke", "herd", "--resume", "session-03")
    assert (done.status, sessions) == (130, ["session"])
    assert done.out.startswith("on planted avoid this one: herd;")
    assert "the same command with --resume session goes on with it" in done.err
    words = ["--target", "local", "--target", "sim:solaris-8-1rt", "--resume", "session"]
    assert cli("provoke", *words).status == 2


def test_a_stored_run_leaves_nothing_to_choose(cli: Cli) -> None:
    done = cli("provoke", "herd", "--run", "last")
    assert (done.status, done.out) == (2, "")
    assert "--run shows stored runs as they are; leave out what else is to measure" in done.says


def test_the_page_has_the_answer_and_a_bar_for_each_measurement(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second = boots([200_000.0], "qemu:stock"), boots([20_000.0], "qemu:rt")
    (row,) = [boot.results[0] for boot in first if boot.results[0].load != CONTROL.load]
    for boot in (*first, *second):
        if boot.results[0].load == row.load:
            boot.results[0] = structs.replace(boot.results[0], load=BY_NAME["herd"].load)
    monkeypatch.setattr(provoke, "members", {"stock": first, "rt": second}.__getitem__)
    output = tmp_path / "page.html"
    assert cli("provoke", "--run", "stock", "--run", "rt", "-o", str(output)).status == 0
    page = output.read_text()
    assert "What delays a wake-up on qemu:stock and qemu:rt" in page
    assert "of 1 action 1 delayed it beyond the controls: 1 left (herd)" in page
    assert "herd: while 200 sleeping processes wake up together, a wake-up took " in page
    widths = [float(each) for each in re.findall(r'"bar-fill +" style="width: ([\d.]+)%', page)]
    shares = [log(value / 8000) / log(200_000 / 8000) for value in (8000, 8000, 200_000, 20_000)]
    assert widths == pytest.approx([100 * share for share in shares], abs=0.1)
    alone = cli("provoke", "--run", "stock", "--json", "-o", str(output))
    assert alone.status == 0 and "on qemu:stock avoid this one: herd" in output.read_text()


@pytest.mark.parametrize("unit", ["ns", "instructions"])
def test_the_answer_comes_first_and_fits_80_columns(unit: str) -> None:
    narrow = Console(width=80, file=StringIO())
    narrow.print(*provocation_lines(planted(unit), 80), sep="\n")
    assert isinstance(narrow.file, StringIO)
    lines = narrow.file.getvalue().splitlines()
    assert " ".join(map(str.strip, lines[:3])).startswith(
        "on planted avoid these two: herd, forks; 2 of 4 actions delay the wake-up beyond the "
        "controls (1 not measured)"
    )
    assert max(map(len, lines)) <= 80
    assert "…" not in narrow.file.getvalue()
    text = " ".join(line.strip() for line in lines)
    assert "herd: while 200 sleeping processes wake up together, " in text
    assert "hotplug: not measured: the measurement ended before it" in text
