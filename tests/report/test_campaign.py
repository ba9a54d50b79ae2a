"""The report of a campaign: what it says of each cell, and of what is missing."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from rtstone.documents.campaign import CampaignCell, CampaignState, Counts, Missing
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.report.campaign.page import causes, compose, progress
from rtstone.report.campaign.verdicts import MOST, judged
from rtstone.report.parts.typeset import count
from tests.conftest import Cli
from tests.report.synthetic import results, run
from tests.stats.lossy import lossy, quiet


def cell(**members: object) -> CampaignCell:
    defaults = {"target": "sim", "measure": "lab", "jobs": Counts(done=2), "runs": ["a", "b"]}
    return CampaignCell(**(defaults | members))  # type: ignore[arg-type]


def state(*cells: CampaignCell, **members: object) -> CampaignState:
    jobs = Counts(
        done=sum(c.jobs.done for c in cells), failed=sum(c.jobs.failed for c in cells),
        planned=sum(c.jobs.planned for c in cells),
    )  # fmt: skip
    return CampaignState(name="x", title="X", jobs=jobs, cells=list(cells), **members)  # type: ignore[arg-type]


def ignore(done: int, total: int) -> None:
    pass


PERIODIC = next(entry for entry in results(20) if entry.bench == "dk.periodic")


def late(missed: int, worst: float) -> Run:
    outcome = replace(
        PERIODIC, params={"period": 1_000_000}, missed=missed, max=worst, p50=worst / 2, flags=[],
        corrected=None, series="", load="none",
    )  # fmt: skip
    return run(results=[outcome], loads=[], run_id=f"{missed}-{worst}")


def test_the_verdict_on_a_cell_is_that_of_its_worst_run() -> None:
    runs = {"a": late(0, 1000.0), "b": late(3, 9000.0)}
    (outcome,) = judged(state(cell()), runs.__getitem__, ignore).cells
    assert outcome.judged
    assert (outcome.judged.grade, outcome.judged.of) == ("bad", 2)
    assert outcome.judged.verdict.startswith("Not fit for a period of 1 ms: 3 of ")
    (spread,) = outcome.judged.results
    assert (spread.p50, spread.max, spread.runs) == ((500.0, 4500.0), 9000.0, 2)
    (outcome,) = judged(state(cell(runs=["a"])), runs.__getitem__, ignore).cells
    assert outcome.judged
    assert outcome.judged.grade == "good"


def test_percentiles_of_a_cell_include_what_was_missed_and_the_page_says_how_much() -> None:
    runs = {"a": quiet(0), "b": lossy(0)}
    document = judged(state(cell()), runs.__getitem__, ignore)
    assert document.cells[0].judged
    (spread,) = document.cells[0].judged.results
    assert spread.missed == runs["b"].results[0].missed
    assert spread.n == sum(entry.results[0].n for entry in runs.values())
    assert spread.p99
    assert spread.p99[0] < 20_000
    assert spread.p99[1] > 500_000_000
    assert f"<td>{count(spread.missed or 0)}</td></tr>" in compose(document)


def test_only_the_newest_runs_are_judged_and_told() -> None:
    many = [str(number) for number in range(MOST + 5)]
    (outcome,) = judged(state(cell(runs=many)), lambda name: late(0, float(name) + 1), ignore).cells
    assert outcome.judged
    assert outcome.judged.of == MOST
    assert outcome.judged.results[0].max == MOST + 5


def test_a_run_that_cannot_be_read_is_not_judged() -> None:
    def load(name: str) -> Run:
        raise UsageError("damaged")

    assert judged(state(cell()), load, ignore).cells[0].judged is None


def test_causes_are_counted_by_target_and_reason() -> None:
    off = Missing(reason="off", jobs=2)
    outcome = state(
        cell(target="pi", jobs=Counts(failed=2), missing=[off], runs=[]),
        cell(target="pi", measure="b", jobs=Counts(failed=2), missing=[off], runs=[]),
        cell(target="qemu", jobs=Counts(unsupported=1), missing=[Missing(reason="no", jobs=1)]),
        absent={"pi5": Missing(reason="gone", jobs=7)},
    )
    assert [tuple(entry) for entry in causes(outcome)] == [
        ("no answer", "pi5", "gone", 7), ("failed", "pi", "off", 4),
        ("not supported", "qemu", "no", 1),
    ]  # fmt: skip
    assert progress(outcome).startswith("0 of 11 jobs done, 4 failed, 7 of targets that did")


def test_the_page_escapes_and_has_every_cell() -> None:
    outcome = state(
        cell(target="<b>", load="none"),
        cell(target="two", load="none", runs=[], jobs=Counts(planned=1)),
        absent={"<i>": Missing(reason="<u>", jobs=1)},
    )
    page = compose(judged(outcome, lambda name: late(0, 1000.0), ignore))
    assert "<b>" not in page
    assert "<u>" not in page
    assert all(text in page for text in ("&lt;b&gt;", "✓ fit", "not yet", "no answer", "2 of 2"))


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "page.toml"
    file.write_text('targets = ["sim"]\nmeasure = ["sched.yield"]\n[params]\nsamples = 100')
    assert "was never begun" in cli("campaign", "report", file).says
    assert cli("campaign", "run", file).status == 0
    done = cli("campaign", "report", file)
    assert done.out.startswith(f"{tmp_path}/page.html: ")
    assert "sched.yield" in (tmp_path / "page.html").read_text()
    other = tmp_path / "other.html"
    outcome = cli("campaign", "report", file, "--json", "-o", other).document
    assert outcome["cells"][0]["judged"]["results"][0]["n"] == 100
    assert "sched.yield" in other.read_text()
    (tmp_path / "page.html").write_text("mine")
    assert "page.html exists and is no page of rtstone" in cli("campaign", "report", file).says
    assert (tmp_path / "page.html").read_text() == "mine"
