"""The commands `tasks`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rtstone.documents.run import Figure, Result, Run, Target
from rtstone.documents.tasks_run import TasksRun
from rtstone.report.parts import frame
from rtstone.store.layout import RUN
from rtstone.wire.records import Bench, Param
from tests.conftest import Cli
from tests.report.test_html import Reader

CONTROL = """
[[task]]
name = "control"
period = "1ms"
deadline = "800us"
work = "{work}"
priority = 90

[[task]]
name = "log"
period = "10ms"
work = "2ms"
priority = 10
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "set.toml"
    path.write_text(text)
    return str(path)


def test_a_new_file_is_checked(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("tasks", "new")
    assert (done.status, done.err) == (0, "")
    assert "rtstone tasks check tasks.toml" in done.out
    again = cli("tasks", "new")
    assert again.status == 2 and "file exists, tasks.toml" in again.says
    done = cli("tasks", "check", "tasks.toml")
    assert done.status == 0
    assert (
        done.out.splitlines()[0]
        == "schedulable on a system without costs, by a margin of 133% (control is first to miss)"
    )
    for part in (
        "sensor to valve",
        "stock Linux",
        "no bound",
        "its arrivals have no least distance",
    ):
        assert part in done.out


def test_the_answer_comes_first(cli: Cli, tmp_path: Path) -> None:
    """What holds, by what margin, and what does not, with what it holds."""
    done = cli("tasks", "check", written(tmp_path, CONTROL.format(work="500us")))
    assert done.status == 0
    assert (
        done.out.splitlines()[0]
        == "schedulable on a system without costs, by a margin of 42.9% (log is first to miss)"
    )
    done = cli("tasks", "check", written(tmp_path, CONTROL.format(work="900us")))
    assert done.status == 1
    assert done.out.splitlines()[0] == (
        "not schedulable: control misses its deadline, 900 µs of 800 µs; and 2 more; it holds with "
        "88.9% of the work"
    )


def test_three_times_what_there_is(cli: Cli, tmp_path: Path) -> None:
    done = cli("tasks", "check", written(tmp_path, CONTROL.format(work="2800us")))
    assert done.status == 1
    assert "300% of the CPU is asked for" in done.out


def test_what_is_not_known_is_no_answer(cli: Cli, tmp_path: Path) -> None:
    text = CONTROL.format(work="100us").replace('period = "1ms"', 'sporadic = "poisson 1ms"')
    done = cli("tasks", "check", written(tmp_path, text))
    assert done.status == 3
    assert done.out.startswith(
        "not known to be schedulable: control may miss its deadline, its arrivals have no least "
        "distance; and 1 more; with less work it is no better"
    )


def test_the_document(cli: Cli, tmp_path: Path) -> None:
    done = cli("tasks", "check", written(tmp_path, CONTROL.format(work="500us")), "--json")
    document = done.document
    assert document["schema"] == "rtstone.schedulability/1"
    assert (document["verdict"], document["first"]) == ("holds", ["log"])
    control, log = document["tasks"]
    assert (control["response_ns"], control["exact"], control["slack_ns"]) == (
        500_000,
        True,
        300_000,
    )
    assert log["response_ns"] == 4_000_000
    assert document["set"]["tasks"][0]["deadline_ns"] == 800_000


def test_the_margin_is_where_it_ends(cli: Cli, tmp_path: Path) -> None:
    """Work by the factor holds, and a ten-thousandth more does not."""
    factor = cli(
        "tasks", "check", written(tmp_path, CONTROL.format(work="500us")), "--json"
    ).document["factor"]  # fmt: skip
    for scale, status in ((factor, 0), (factor + 0.0002, 1)):
        text = CONTROL.format(work=f"{round(500_000 * scale)}ns").replace(
            '"2ms"', f'"{round(2_000_000 * scale)}ns"'
        )
        assert cli("tasks", "check", written(tmp_path, text)).status == status


@pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts")
def test_the_page(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    file = written(tmp_path, CONTROL.format(work="900us"))
    done = cli("tasks", "check", file, "-o", page, "--json")
    assert (done.status, done.document["verdict"]) == (1, "fails")
    assert str(page) in done.err
    read = Reader(page.read_text())
    assert read.attributes("src") == []
    text = " ".join(page.read_text().split())
    for part in ("not schedulable: control misses its deadline", "900 µs of 800 µs (late)",
                 "longest response as a share of the deadline", "PREEMPT_RT"):  # fmt: skip
        assert part in text


# ---- costs --------------------------------------------------------------------------------------


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """Return a run with a switch of 1 us, a timer of 2 us, and a release of 50 us at most."""
    periodic = Bench(
        id="dk.periodic", title="", source="", params=[Param(name="period", type="duration")]
    )
    results = [
        Result(case=1, bench="sched.yield.pair", params={}, load="none", status="ok", n=1000,
               p50=1000.0, unit="ns"),
        Result(case=2, bench="posix.timer.arm", params={}, load="none", status="ok", n=1000,
               p50=2000.0, unit="ns"),
        Result(case=3, bench="dk.periodic", params={}, load="heavy", status="ok", n=1000,
               p50=3000.0, max=50_000.0, unit="ns"),
        Result(case=4, bench="hart.raw", params={}, load="none", status="ok", n=10, unit="ns",
               figures={"raw speed": Figure(value=4000.0, unit="KWIPS")}),
    ]  # fmt: skip
    run = Run(run_id="r1", created="2026-11-21T03:15:00+00:00", status="complete",
              target=Target(name="local"), results=results, benches=[periodic])  # fmt: skip
    path = tmp_path / "run"
    path.mkdir()
    (path / RUN).write_bytes(msgspec.json.encode(run))
    return path


def test_costs_inflate_the_work(cli: Cli, tmp_path: Path, measured: Path) -> None:
    """Two switches and a timer a job, and the release before the response."""
    file = written(tmp_path, CONTROL.format(work="500us"))
    document = cli("tasks", "check", file, "--costs-from", measured, "--json").document
    costs = document["costs"]
    assert (costs["switch_ns"], costs["timer_ns"], costs["release_ns"]) == (1000, 2000, 50_000)
    assert costs["from_run"] == "r1"
    control, _ = document["tasks"]
    assert control["response_ns"] == 500_000 + 2 * 1000 + 2000 + 50_000
    assert not control["exact"]
    text = cli("tasks", "check", file, "--costs-from", measured).out
    assert "release: the largest of dk.periodic, 50 µs, n = 1 000, load heavy" in text
    assert "tick: unknown" in text


def test_work_in_kwi_takes_the_time_of_the_target(cli: Cli, tmp_path: Path, measured: Path) -> None:
    text = CONTROL.format(work="500us").replace('work = "500us"', "kwi = 2")
    file = written(tmp_path, text)
    done = cli("tasks", "check", file)
    assert done.status == 2 and "work of task 'control' is in KWI" in done.says
    document = cli("tasks", "check", file, "--costs-from", measured, "--json").document
    assert document["set"]["tasks"][0]["work"]["most_ns"] == 500_000


def test_a_run_without_costs_is_refused(cli: Cli, tmp_path: Path) -> None:
    run = Run(
        run_id="r2",
        created="2026-11-21T03:15:00+00:00",
        status="complete",
        target=Target(name="local"),
        results=[],
    )
    path = tmp_path / "run"
    path.mkdir()
    (path / RUN).write_bytes(msgspec.json.encode(run))
    file = written(tmp_path, CONTROL.format(work="500us"))
    done = cli("tasks", "check", file, "--costs-from", path)
    assert done.status == 2 and "no costs in run r2, in --costs-from" in done.says


# ---- rt-app -------------------------------------------------------------------------------------


def test_to_rt_app_and_back(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, CONTROL.format(work="500us"))
    out = tmp_path / "set.json"
    done = cli("tasks", "convert", file, "-o", out)
    assert (done.status, done.err) == (0, "not in set.json: task 'control': deadline\n")
    assert cli("tasks", "check", out).out.splitlines()[0].startswith("schedulable")
    back = tmp_path / "back.toml"
    assert cli("tasks", "convert", out, "-o", back).status == 0
    assert cli("tasks", "check", back).status == 0
    wrong = cli("tasks", "convert", file, "-o", tmp_path / "set.xml")
    assert wrong.status == 2 and "write a name that ends in .toml or .json" in wrong.says


SET = """
[[task]]
name = "control"
period = "1ms"
deadline = "800us"
work = "{work}"
priority = 90
offset = "0s"

[[task]]
name = "log"
period = "10ms"
work = "2ms"
priority = 10
offset = "0s"
{rest}
"""


def test_a_run_answers_first(cli: Cli, tmp_path: Path) -> None:
    held = written(tmp_path, SET.format(work="500us", rest=""))
    done = cli("tasks", "run", held, "--target", "sim:exact", "--time", "100ms")
    assert done.status == 0
    assert done.out.splitlines()[0] == (
        "All needs held in 100 ms on sim:exact: 2 tasks, 110 jobs, none missed; control's largest "
        "response was 500 µs, 300 µs below its deadline."
    )
    assert "job 0 of log took 4 ms: 2 ms control, 2 ms its own work" in done.out
    done = cli("tasks", "run", held, "--target", "sim:exact", "--time", "100ms", "--json")
    document = msgspec.json.decode(done.out, type=TasksRun)
    assert (document.outcome, document.tasks[1].response.max_ns) == ("holds", 4_000_000)
    assert cli("show", document.run_id).status == 0
    late = written(tmp_path, SET.format(work="900us", rest=""))
    done = cli("tasks", "run", late, "--target", "sim:exact", "--time", "100ms")
    assert done.status == 1
    assert done.out.startswith("Not all needs held in 100 ms on sim:exact: control missed 100 of")


def test_too_few_jobs_do_not_tell(cli: Cli, tmp_path: Path) -> None:
    text = SET.format(work="500us", rest='needs = { missed = "1%" }')
    done = cli("tasks", "run", written(tmp_path, text), "--target", "sim:exact", "--time", "1")
    assert done.status == 3
    assert "log has 100 jobs of at least 1 000 jobs that it takes for its share" in done.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('server = "s"\n[[server]]\nname = "s"\nkind = "polling"\nbudget = "1ms"\n'
         'period = "9ms"\npriority = 3', "no target has servers"),
        ('uses = [{ resource = "r", for = "1ms" }]\n[[resource]]\nname = "r"\n'
         'protocol = "ceiling"', "protocol ceiling of resource 'r': no target has it"),
        ('cpu = "0-1"', "task 'log' may move between CPUs 0 to 1"),
        ("cpu = 1", "CPU 1 is not available"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_by_name(
    cli: Cli, tmp_path: Path, text: str, words: str
) -> None:
    source = SET.format(work="500us", rest=text)
    if "server" in text:
        source = source.replace('priority = 10\noffset = "0s"\n', "")
    done = cli("tasks", "run", written(tmp_path, source), "--target", "sim:exact")
    assert done.status in {2, 3}
    assert words in done.says and done.says.count("\n") == 0
