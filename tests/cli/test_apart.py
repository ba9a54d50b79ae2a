"""`rtstone run --apart` on the simulated system, where the cause is known."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from msgspec import structs
from rich.console import Console

from rtstone.documents.attribution import PartEffect, Verdict
from rtstone.report.run.attribution import findings
from rtstone.report.run.brief import brief
from rtstone.results.attribution import attributed
from rtstone.stats.evaluate import evaluate_run
from rtstone.store.index import find
from rtstone.store.rundir import load
from tests.conftest import Cli

PLANTED = """
title = "Planted"
label = "a test's own"
[cost]
read = "10ns"
add.amount = "1ns"
sem_give = "1us"
sem_try = "1us"
task_create = "1us"
[load.heavy.with.disk]
sem_give = "40us"
[load.heavy.with."cpu+network"]
sem_try = "9us"
"""
PARTS = ["cpu", "disk", "interrupt", "network", "syscall", "memory", "search"]
BENCHES = ["sem.post.nowait", "sem.try.free"]
SHORT = ["-p", "samples=20", "-p", "batch=1"]


@pytest.fixture
def target(tmp_path: Path) -> list[str]:
    file = tmp_path / "planted.toml"
    file.write_text(PLANTED)
    return ["--target", f"sim:{file}"]


def test_planted_parts_are_named(cli: Cli, target: list[str]) -> None:
    done = cli("run", *BENCHES, *target, "--load", "heavy", "--apart", *SHORT, "--json")
    apart = done.document["attribution"]
    ran = [result["load"] for result in done.document["results"] if result["bench"] == BENCHES[0]]
    assert ran == [load for block in apart["order"] for load in block]
    post, attempt = apart["cases"]
    rest = dict.fromkeys(PARTS, "not its cause")
    said = {part["part"]: part["verdict"] for part in post["parts"]}
    assert said == rest | {"disk": "causes it alone, not without it"}
    assert (post["none"], post["all"]) == (1000, 41000)
    said = {part["part"]: part["verdict"] for part in attempt["parts"]}
    assert said == rest | dict.fromkeys(["cpu", "network"], "in company only")
    assert (attempt["none"], attempt["all"]) == (1000, 10000)


def test_exact_counts_have_facts_and_no_intervals(cli: Cli, target: list[str]) -> None:
    """The simulated system counts as exactly as the lab does, in ns."""
    cli("run", *BENCHES, *target, "--load", "heavy", "--apart", *SHORT, "--json")
    run = load(find("last"))
    assert run.attribution is not None
    counts = [structs.replace(result, unit="instructions") for result in run.results]
    design = attributed(structs.replace(run.attribution, cases=[]), counts)
    run = structs.replace(run, attribution=design, results=counts)
    post, attempt = (finding.text for finding in findings(run))
    assert post == (
        "disk (alone 41 000, all but it 1 000) makes the worst case: 41 000 instructions with all "
        "parts, 1 000 without load; not its cause: cpu, interrupt, network, syscall, memory, "
        "search; exact for these 8 blocks"
    )
    assert attempt.startswith(
        "cpu (alone 1 000, all but it 1 000) and network (alone 1 000, all but it 1 000) make the "
        "worst case, but none of them alone: 10 000 instructions with all parts, "
    )
    narrow = Console(width=80, file=StringIO())
    narrow.print(*brief(evaluate_run(run), 80), sep="\n")
    assert isinstance(narrow.file, StringIO)
    text = narrow.file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "a verdict holds whichever blocks are compared" in " ".join(text.split())
    assert "95%" not in text


@pytest.mark.parametrize(
    ("verdicts", "says"),
    [
        (
            {"disk": "causes it alone"},
            "disk alone makes at least half of what the load adds to the worst case: 9.00 µs with",
        ),
        (
            {"disk": "causes it alone", "cpu": "causes it alone", "search": "undetermined"},
            "cpu and disk each alone make at least half of what the load adds to the worst case: "
            "9.00 µs with all parts, 1.00 µs without load; undetermined: search; all of this with "
            "95% confidence",
        ),
        (
            {"disk": "in company only", "cpu": "in company only", "network": "in company only"},
            "cpu, disk and network make the worst case, but none of them alone: 9.00 µs",
        ),
        ({"disk": "not without it"}, "disk is needed for the worst case: 9.00 µs"),
        ({"disk": "in company only"}, "disk makes the worst case, but only with other parts: 9.00"),
        ({"disk": "not its cause"}, "no part is shown to make the worst case: 9.00 µs with all"),
    ],
)
def test_a_sentence_claims_no_more_than_its_verdict(
    cli: Cli, target: list[str], verdicts: dict[str, Verdict], says: str
) -> None:
    cli("run", BENCHES[0], *target, "--load", "heavy", "--apart", *SHORT)
    run = load(find("last"))
    assert run.attribution is not None
    parts = [
        PartEffect(part=part, verdict=verdict, alone=None, needed=None)
        for part, verdict in sorted(verdicts.items())
    ]
    case = structs.replace(run.attribution.cases[0], parts=parts, all=9000, none=1000, whole=None)
    design = structs.replace(run.attribution, cases=[case])
    (finding,) = findings(structs.replace(run, attribution=design))
    assert finding.text.startswith(says)


def test_quiet_prints_what_each_case_says_of_the_parts_alone(cli: Cli, target: list[str]) -> None:
    done = cli("run", *BENCHES, *target, "--load", "heavy", "--apart", *SHORT, "-q")
    first, second = done.out.replace("\n  ", " ").splitlines()
    assert first.startswith("sem.post.nowait: disk makes the worst case: 41.0 µs with all parts")
    assert first.endswith("; all of this with 95% confidence")
    assert second.startswith("sem.try.free: ")
    assert cli("show", "last", "-q").out == done.out


def test_the_answer_comes_first_and_fits_80_columns(
    cli: Cli, target: list[str], tmp_path: Path
) -> None:
    done = cli("run", *BENCHES, *target, "--load", "heavy", "--apart", *SHORT)
    assert done.out.startswith(
        "sem.post.nowait: disk makes the worst case: 41.0 µs with all parts, 1.00 µs without load "
    )
    narrow = Console(width=80, file=StringIO())
    narrow.print(*brief(evaluate_run(load(find("last"))), 80), sep="\n")
    assert isinstance(narrow.file, StringIO)
    lines = narrow.file.getvalue().splitlines()
    assert "(41 times, 41 to 41); not its cause: cpu, " in " ".join(map(str.strip, lines[:3]))
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.count(" - ") > 1}
    assert rows == {
        "sem.post.nowait": ["-", "alone!", "-", "-", "-", "-", "-"],
        "sem.try.free": ["company", "-", "-", "company", "-", "-", "-"],
    }
    assert max(map(len, lines)) <= 80
    shown = cli("show", "last").out
    assert "256 single results: in --json and the report" in shown
    assert "41 times, 41 to 41" in shown
    cli("report", "last", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Parts of the load" in page
    assert "in company only" in page


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--apart takes one load to pieces; give it with --load"),
        (["--load", "heavy", "--until", "ci=5%"], "--apart compares worst cases"),
        (["--load", "min"], "load 'min' has no parts to take it to, in --apart"),
    ],
)
def test_what_has_no_sense_is_refused(
    cli: Cli, target: list[str], words: list[str], says: str
) -> None:
    done = cli("run", BENCHES[0], *target, "--apart", *words)
    assert (done.status, done.out) == (2, "")
    assert says in done.says


def test_a_model_that_knows_no_parts_gets_no_verdict(cli: Cli) -> None:
    words = ["--target", "sim:solaris-8-1rt", "--load", "heavy", "--apart", *SHORT]
    done = cli("run", "sync.test1", *words, "-p", "type=unnamed", "--json")
    (case,) = done.document["attribution"]["cases"]
    assert {part["verdict"] for part in case["parts"]} == {"undetermined"}
    assert case["lost"] == 14 * 8
