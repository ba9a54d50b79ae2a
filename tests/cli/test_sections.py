"""`rtstone sections`: what it prints, and how it ends.

How sections are found is tested elsewhere; here they are written by hand.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

import rtstone.explain.sections
from rtstone.documents.run import Result, Run
from rtstone.documents.sections import Bound, SectionsOfRun, Term
from rtstone.interrupt import Interrupt
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.report.explained import explained_run, late
from tests.stats.test_section_gate import DOCUMENT

BOUND = Bound(longest=900, sentence="Bound: 900", terms=[], seen=800, sample=3, switched=40)


@pytest.fixture
def run_id() -> str:
    return store_run(explained_run())


def in_place(monkeypatch: pytest.MonkeyPatch, bound: Bound, while_masked: int = 0) -> None:
    """Let these be the sections of every run."""
    result = late(explained_run())
    document = structs.replace(
        DOCUMENT, run_id=explained_run().run_id, case=result.case, params=result.params,
        load=result.load, bound=bound, while_masked=while_masked, sentence="Longest: 300",
    )  # fmt: skip

    def sections_of(
        directory: Path, run: Run, result: Result, *, interrupt: Interrupt
    ) -> SectionsOfRun:
        return document

    monkeypatch.setattr(rtstone.explain.sections, "sections_of", sections_of)


def test_the_bound_is_the_second_line(
    cli: Cli, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_place(monkeypatch, BOUND)
    done = cli("sections", run_id)
    assert (done.status, done.out.splitlines()[:2]) == (0, ["Longest: 300", "Bound: 900"])
    assert cli("sections", run_id, "--json").document["bound"]["longest"] == 900


@pytest.mark.parametrize("json", [False, True])
def test_a_defect_ends_with_3(
    cli: Cli, run_id: str, monkeypatch: pytest.MonkeyPatch, *, json: bool
) -> None:
    in_place(monkeypatch, structs.replace(BOUND, above=2), while_masked=1)
    done = cli("sections", run_id, *(["--json"] if json else []))
    assert done.status == 3
    assert "1 interrupt came while interrupts were held to be masked; 2 wake-ups took" in done.says
    assert "longer until the first switch than the bound: a defect of rtstone" in done.says
    assert done.out.startswith("{" if json else "Longest: 300")


def test_it_is_beside_the_estimates(cli: Cli, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part = Term(part="blocked", longest=900, n=1, added=True, begin=["f", "g"])
    in_place(monkeypatch, structs.replace(BOUND, terms=[part]))
    before = cli("show", run_id, "--worst-case")
    assert "until the first switch" not in before.out
    assert cli("sections", run_id).status == 0
    shown = cli("show", run_id, "--worst-case")
    line = "at most 900 instructions (of what ran), most of it from f > g; longest seen 800"
    assert f"until the first switch to its task: {line}" in shown.out
    document = cli("show", run_id, "--worst-case", "--json").document
    (composed,) = [case["composed"] for case in document["cases"] if case["composed"]]
    assert composed == {"longest": 900, "seen": 800, "most_of_it": "f > g"}
    stated = cli("guarantee", run_id)
    assert "until the first switch |" in stated.out
    assert f"| {line.partition(' >')[0]} " in stated.out


def test_a_contradicted_bound_is_not_shown(
    cli: Cli, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Term(part="blocked", longest=900, n=1, added=True)
    in_place(monkeypatch, structs.replace(BOUND, terms=[part], above=1))
    assert cli("sections", run_id).status == 3
    assert "until the first switch" not in cli("show", run_id, "--worst-case").out


def test_the_bound_is_a_gate(cli: Cli, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_place(monkeypatch, BOUND)
    assert cli("check", run_id, "--limit", "sections bound<=900").status == 0
    assert cli("check", run_id, "--limit", "sections bound<=899").status == 1
    in_place(monkeypatch, structs.replace(BOUND, above=2))
    assert cli("check", run_id, "--limit", "sections bound<=900").status == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--target", "sim:ose-like"], "seen from within an emulated board"),
        (["--target", "qemu:linux-6.1+icount=off"], "that counts instructions"),
        (["--target", "sim:ose-like", "--target", "sim"], "--sections is for a single run"),
        (["--resume", "last"], "leave out --sections"),
    ],
)
def test_a_run_that_cannot_be_watched_is_refused(cli: Cli, words: list[str], says: str) -> None:
    names = [] if "--resume" in words else ["dk.periodic"]
    done = cli("run", *names, "--sections", *words)
    assert (done.status, done.out) == (2, "")
    assert says in done.says
    assert len(done.err.strip().splitlines()) == 1
