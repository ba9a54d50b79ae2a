"""`rtstone explain`: what it takes, prints, writes and keeps.

How a sample is explained is tested elsewhere; here each is explained by hand.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Target
from rtstone.report.parts import frame
from rtstone.store.explanations import explanations
from rtstone.store.layout import runs
from rtstone.units import file_size
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.report.explained import SENTENCE, Asked, explained_run, in_place, late, small

TARGET = Target(name="qemu:linux-6.1", detail={"icount": True, "instructions_per_s": 62_500_000})
RUN = structs.replace(explained_run(), target=TARGET)
needs_charts = pytest.mark.skipif(
    not frame.BUNDLE.exists(), reason="no charts.js; run: make charts"
)


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What an explanation is asked for; it is the same for all."""
    return in_place(monkeypatch, lambda result: small(RUN))


@pytest.fixture
def run_id(questions: Asked) -> str:
    return store_run(RUN)


def unmarked(explanation: Explanation) -> Explanation:
    """Return an explanation without what it is known again by."""
    return structs.replace(explanation, asked=None, made_by=None)


def test_the_worst_wake_up_is_explained_and_kept(cli: Cli, run_id: str, questions: Asked) -> None:
    done = cli("explain", run_id)
    assert (done.status, done.out.splitlines()[0]) == (0, SENTENCE)
    assert "dk.periodic, load syscalls: the largest maximum of 2 results" in done.err
    assert questions == [(runs() / run_id, late(RUN), "worst", "median")]
    assert f"rtstone report {run_id}" in done.out
    (explanation,), damaged = explanations(runs() / run_id, run_id)
    assert (unmarked(explanation), damaged) == (small(RUN), [])


def test_a_bench_and_its_samples(cli: Cli, run_id: str, questions: Asked) -> None:
    done = cli("explain", run_id, "sem", "--sample", "17", "--against", "p99")
    assert (done.status, done.err) == (0, "")
    ((_, result, sample, against),) = questions
    assert (result.bench, sample, against) == ("sem.wait.busy", "17", "p99")


def test_a_kept_explanation_is_not_made_again(cli: Cli, run_id: str, questions: Asked) -> None:
    first = cli("explain", run_id)
    assert "explained before" not in first.err
    again = cli("explain", run_id, "--sample", str(late(RUN).worst[0].index))
    assert "explained before; this explanation was stored with the run" in again.err
    assert (again.out, len(questions)) == (first.out, 1)


def test_another_question_is_answered_anew(cli: Cli, run_id: str, questions: Asked) -> None:
    for words in ([], ["--sample", "3"], ["--against", "p99"], ["dk.periodic", "--sample", "p99"]):
        assert "explained before" not in cli("explain", run_id, *words).err
    assert len(questions) == 4


def test_a_run_that_changed_is_explained_anew(cli: Cli, run_id: str, questions: Asked) -> None:
    cli("explain", run_id)
    (runs() / run_id / "run.json").write_bytes(
        msgspec.json.encode(structs.replace(RUN, notes=["resumed"]))
    )
    assert "explained before" not in cli("explain", run_id).err
    assert len(questions) == 2


def test_a_series_is_chosen(cli: Cli, questions: Asked) -> None:
    each = [structs.replace(late(RUN), series=f"task {n}", max=1e6 / (n + 1)) for n in range(3)]
    name = store_run(structs.replace(RUN, results=each))
    done = cli("explain", name, "--series", "task 1")
    assert [result.series for _, result, _, _ in questions] == ["task 1"]
    assert done.status == 0
    assert "dk.periodic task 0, load syscalls: the largest maximum of 3" in cli("explain", name).err
    done = cli("explain", name, "--series", "task 9")
    assert done.status == 2
    assert "unknown series 'task 9', in --series" in done.says


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["dk.periodi"], "unknown bench 'dk.periodi', of this run; did you mean 'dk.periodic'?"),
        (["posix"], "no single samples of posix"),
        (["--sample", "2000"], "no sample 2000 of dk.periodic, in --sample; it has 0 to 1999"),
        (["--sample", "p99.99"], "no p99.99 of 2000 samples"),
        (["--against", "wurst"], "bad sample 'wurst', in --against; did you mean 'worst'?"),
        (["--format", "htm"], "unknown format 'htm', in --format; did you mean 'html'?"),
    ],
)
def test_what_is_not_there(
    cli: Cli, run_id: str, questions: Asked, words: list[str], says: str
) -> None:
    done = cli("explain", run_id, *words)
    assert (done.status, done.out) == (2, "")
    assert says in done.says
    assert questions == []


def test_a_run_that_was_not_traced_has_no_explanation(cli: Cli) -> None:
    measured = cli("run", "null", "-p", "samples=100", "--json").document
    done = cli("explain", measured["run_id"])
    assert (done.status, done.out) == (2, "")
    assert f"nothing was traced in run {measured['run_id']}" in done.says
    named = cli("explain", measured["run_id"], "--sample", "p50")
    assert "a trace has single samples, not 'p50', in --sample; of null it has none" in named.says


@pytest.mark.parametrize(
    "target",
    [Target(name="sim"), Target(name="import:rtla", detail={"imported": "rtla"})],
    ids=lambda target: target.name,
)
def test_a_run_that_nobody_can_explain(cli: Cli, target: Target) -> None:
    done = cli("explain", store_run(structs.replace(RUN, target=target)))
    assert (done.status, done.out) == (2, "")
    assert f"samples of run {RUN.run_id} cannot be explained" in done.says


@pytest.mark.parametrize("words", [["--json"], ["--format", "json"]])
def test_the_document_alone(cli: Cli, run_id: str, words: list[str]) -> None:
    done = cli("explain", run_id, *words)
    assert unmarked(msgspec.convert(done.document, Explanation)) == small(RUN)


FILES = {
    "why.html": (None, "<!doctype html>"),
    "why.txt": (None, SENTENCE),
    "why.json": (None, "{"),
    "a.folded": (None, "el0_svc;sys_nanosleep 60\n"),
    "trace.json": ("chrome", '{"traceEvents":'),
    "why": ("html", "<!doctype html>"),
}
NAMED = {".html": "html", ".txt": "text", ".json": "json", ".folded": "folded"}


@needs_charts
@pytest.mark.parametrize("name", FILES)
def test_files_in_each_format(cli: Cli, run_id: str, tmp_path: Path, name: str) -> None:
    path, (form, begins) = tmp_path / name, FILES[name]
    done = cli("explain", run_id, "-o", path, *(["--format", form] if form else []))
    assert (done.status, done.out) == (0, f"{path}: {file_size(path.stat().st_size)}\n")
    text = path.read_text(encoding="utf-8")
    assert text.startswith(begins)
    assert cli("explain", run_id, "--format", form or NAMED[path.suffix]).out.startswith(text)
    assert cli("explain", run_id, "-o", path, "--json").document["sentence"] == SENTENCE


def test_trace_events_go_through_a_pipe(cli: Cli, run_id: str) -> None:
    assert "traceEvents" in json.loads(cli("explain", run_id, "--format", "chrome").out)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_what_cannot_be_kept_is_shown(cli: Cli, run_id: str) -> None:
    (runs() / run_id).chmod(0o500)
    done = cli("explain", run_id)
    (runs() / run_id).chmod(0o700)
    assert (done.status, done.out.splitlines()[0]) == (0, SENTENCE)
    assert "not kept: the explanation cannot be stored" in done.err


def test_what_is_too_large_to_be_kept_is_shown(
    cli: Cli, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtstone.store.explanations.LARGEST", 100)
    done = cli("explain", run_id)
    assert (done.status, done.out.splitlines()[0]) == (0, SENTENCE)
    assert "not kept: the explanation cannot be stored" in done.err


@needs_charts
def test_the_report_shows_it(cli: Cli, run_id: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert cli("report", run_id, "-o", path).err == ""
    assert 'id="r0-why"' not in path.read_text(encoding="utf-8")
    cli("explain", run_id)
    (runs() / run_id / "explanation-0-1.json").write_text("{")
    done = cli("report", run_id, "-o", path)
    assert done.status == 0
    assert "left out: not a readable explanation-0-1.json" in done.err
    text = path.read_text(encoding="utf-8")
    assert text.count('id="r0-why"') == 1
    assert "stress-ng in recvfrom" in text
