"""`rtstone check --explain`: which samples are explained, and what is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

import rtstone.explain.explain
from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Result, Run
from rtstone.errors import TargetError
from rtstone.store.explanations import explanations
from rtstone.store.layout import runs
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.report.explained import SENTENCE, Asked, explained_run, in_place, late, small
from tests.stats.test_gate import entry

RUN = explained_run()
WHY = f"why dk.periodic, load syscalls: sample 1 733, {SENTENCE}"


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What an explanation is asked for; of the wrong result there is none."""

    def explain(result: Result) -> Explanation:
        return structs.replace(
            small(RUN), case=result.case, load=result.load, bench=result.bench,
            params=result.params,
            sentence=SENTENCE if result == late(RUN) else f"of case {result.case}",
        )  # fmt: skip

    return in_place(monkeypatch, explain)


def checked(cli: Cli, tmp_path: Path, run: Run, limits: str, *words: str) -> tuple[str, int, str]:
    """Check a run, and return where it is kept, the exit code and the output."""
    path = tmp_path / "budget.toml"
    path.write_text(limits)
    name = store_run(run)
    done = cli("check", name, "--budget", path, "--explain", *words)
    return name, done.status, done.out


def test_the_worst_sample_of_what_failed_is_explained_and_kept(
    cli: Cli, tmp_path: Path, questions: Asked
) -> None:
    most = max(r.max or 0 for r in RUN.results if r.load == "none" and r.bench == "dk.periodic")
    assert most < (late(RUN).max or 0)
    limits = entry(f'max = "{most + 1:.0f} instr"', 'p50 = "1M instr"')
    name, status, out = checked(cli, tmp_path, RUN, limits)
    assert status == 1
    assert questions == [(runs() / name, late(RUN), "worst", "median")]
    assert WHY in out.splitlines()
    assert out.splitlines()[0].startswith("- failed: 4 checks, 1 failed")
    (explanation,) = explanations(runs() / name, name).explanations
    assert explanation.sentence == SENTENCE


def test_what_passes_is_not_explained(cli: Cli, tmp_path: Path, questions: Asked) -> None:
    _, status, out = checked(cli, tmp_path, RUN, entry('max = "1G instr"'))
    assert (status, questions) == (0, [])
    assert "why" not in out


def many() -> Run:
    """Return a run with seven cases, each later than the one before it."""
    cases = [
        structs.replace(late(RUN), case=number, load=f"l{number}", max=1e6 * (number + 1))
        for number in range(7)
    ]
    return structs.replace(RUN, results=cases)


def test_the_five_worst_of_many(cli: Cli, tmp_path: Path, questions: Asked) -> None:
    name, _, out = checked(cli, tmp_path, many(), entry('max = "10 instr"', 'p99 = "1 instr"'))
    assert [result.case for _, result, _, _ in questions] == [6, 5, 4, 3, 2]
    assert "2 more cases exceeded limits and were not explained" in out
    done = cli("check", name, "--budget", tmp_path / "budget.toml", "--explain", "--json")
    assert [cause["case"] for cause in done.document["causes"]] == [6, 5, 4, 3, 2]
    assert [cause["sentence"] for cause in done.document["causes"]][:2] == [
        "of case 6",
        "of case 5",
    ]
    assert done.document["causes_left"] == 2
    assert "causes" in cli("schema", "check").out


@pytest.mark.parametrize("option", ["--markdown", "--junit"])
def test_the_summaries_of_ci_have_them(
    cli: Cli, tmp_path: Path, questions: Asked, option: str
) -> None:
    limits, file = entry('max = "10k instr"', 'loads = ["syscalls"]'), tmp_path / "summary"
    checked(cli, tmp_path, RUN, limits, option, str(file))
    assert "sample 1 733" in file.read_text()


def test_a_run_without_a_trace_says_how_to_get_one(cli: Cli, tmp_path: Path) -> None:
    measured = cli("run", "null", "-p", "samples=100", "--json").document
    path = tmp_path / "budget.toml"
    path.write_text(entry('accept = ["no_rt", "other_run", "page_faults", "throttled"]',
                          'max = "0ns"', bench="null"))  # fmt: skip
    done = cli("check", measured["run_id"], "--budget", path, "--explain")
    (why,) = [line for line in done.out.splitlines() if line.startswith("not explained")]
    assert f"nothing was traced in run {measured['run_id']}" in why
    assert "measure again with --trace worst" in why
    assert done.status == 1


def test_a_lab_that_is_not_ready_leaves_the_verdict(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explain(*_: object, **__: object) -> Explanation:
        raise TargetError("no QEMU")

    monkeypatch.setattr(rtstone.explain.explain, "explain", explain)
    _, status, out = checked(cli, tmp_path, RUN, entry('max = "10 instr"'))
    assert status == 1
    assert out.count("not explained: no QEMU") == 1


def test_a_draft_explains_nothing(cli: Cli, tmp_path: Path) -> None:
    done = cli("check", store_run(RUN), "--explain", "--write-budget", tmp_path / "b.toml")
    assert done.status == 2
    assert "leave out --explain" in done.says
