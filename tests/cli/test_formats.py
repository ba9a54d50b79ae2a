from __future__ import annotations

import csv
import json
import os
import re
import shutil
from pathlib import Path

import pytest

import rtstone
from rtstone.documents.run import Result, Run
from rtstone.store.layout import runs
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.formats.long import DATA
from tests.formats.test_export import own
from tests.report.test_html import Reader
from tests.stats.runs import run as timed


def periodic(name: str, load: str, late: float = 90_000.0) -> Run:
    """Return a run of a periodic task of 1 ms."""
    result = Result(
        case=1, bench="dk.periodic", params={"period": 1_000_000}, load=load, status="ok", n=1000,
        min=20_000.0, mean=20_070.0, max=late, missed=0,
        histogram=[(20_000.0, 999), (late, 1)],
    )  # fmt: skip
    return timed([result], name)


def test_an_imported_run_is_a_run(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", DATA / "cyclictest-2.4-quote.json", DATA / "jitterdebugger-0.3-ns.json")
    assert done.status == 0 and [line.split(": ")[1] for line in done.out.splitlines()] == [
        "cyclictest 2.40, 2 results, n 7 980", "jitterdebugger 0.3, 2 results, n 400",
    ]  # fmt: skip
    shown = cli("show", "last~1")
    assert shown.status == 0
    for part in (
        "import:cyclictest: cyclictest 2.40, Linux 6.18.44-fc-v669",
        "Times are as reported by cyclictest",
        "Load: unknown", "interval=250us thread 0", "beyond: ", "missed: ",
        "note: the command line in the file was not valid JSON; it was escaped",
    ):  # fmt: skip
        assert part in shown.out
    assert "net of the clock" not in shown.out
    listed = cli("list", "runs", "--json").document["runs"]
    assert [(row["target"], row["ok"]) for row in listed] == [
        ("import:cyclictest", 2), ("import:jitterdebugger", 2),
    ]  # fmt: skip
    page = tmp_path / "page.html"
    assert cli("report", "last", "last~1", "-o", page).status == 0
    assert "cyclictest" in page.read_text()
    assert "is complete" in cli("run", "--resume", "last").says


def test_one_document(cli: Cli) -> None:
    done = cli("import", "--json", DATA / "rteval.xml")
    assert done.status == 0 and done.document["schema"] == "rtstone.run/1"
    assert cli("show", "last", "--json").document == done.document
    assert "name one file" in cli("import", "--json", DATA / "rteval.xml", "-").says


def test_a_directory_is_one_command(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("rteval.xml", "lmbench.txt", "cyclictest-2.4-H.json"):
        shutil.copy(DATA / name, tmp_path / "deep" / "er")
    (tmp_path / "notes").write_text("of no tool\n")
    (tmp_path / ".hidden").write_bytes((DATA / "rteval.xml").read_bytes())
    (tmp_path / "link").symlink_to(DATA / "rteval.xml")
    os.mkfifo(tmp_path / "pipe")
    done = cli("import", tmp_path)
    assert done.status == 0, done.err
    assert done.out.splitlines()[0] == "3 imported; 1 of no known format"
    assert len(cli("list", "runs", "--json").document["runs"]) == 3
    cut = (DATA / "rteval.xml").read_bytes()[:600]
    (tmp_path / "cut.xml").write_bytes(cut)
    again = cli("import", tmp_path)
    assert again.status == 2
    lines = again.out.splitlines()
    assert lines[0] == "3 stored before; 1 refused; 1 of no known format"
    assert any("cut.xml: refused: the file is cut short" in line for line in lines)
    assert len(cli("list", "runs", "--json").document["runs"]) == 3
    for words in (["--json"], ["--name", "x"]):
        assert "a directory" in cli("import", tmp_path, *words).says
    (tmp_path / "empty").mkdir()
    assert "no file in" in cli("import", tmp_path / "empty").says


def test_the_same_bytes_in_two_files_are_one_run(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        shutil.copy(DATA / "lmbench.txt", tmp_path / name)
    assert cli("import", tmp_path).out.splitlines()[0] == "1 imported; 1 stored before"
    assert cli("import", tmp_path / "a.txt", tmp_path / "b.txt").out.count("stored before") == 2
    assert len(cli("list", "runs", "--json").document["runs"]) == 1


def test_the_same_bytes_are_one_run(cli: Cli) -> None:
    first = cli("import", DATA / "lmbench.txt").out.partition(":")[0]
    assert cli("import", DATA / "lmbench.txt").out.startswith(f"{first}: lmbench, 9 results, n 0, ")
    assert cli("import", "--json", DATA / "lmbench.txt").document["run_id"] == first
    other = cli("import", DATA / "lmbench.txt", "--load", "busy").out.partition(":")[0]
    assert other != first  # it says something else
    assert cli("rm", first, "--yes").status == 0
    assert cli("import", DATA / "lmbench.txt").out.partition(":")[0] not in {first, other}


def test_what_a_person_knows_of_a_file(cli: Cli) -> None:
    words = ("--name", "bench-7", "--load", "stress-ng --cpu 4", "--host", "board7")
    assert cli("import", DATA / "cyclictest-2.4-H.txt", *words).status == 0
    document = cli("show", "bench-7", "--json").document
    assert {result["load"] for result in document["results"]} == {"stress-ng --cpu 4"}
    assert document["conditions"]["machine.host"] == "board7"
    taken = cli("import", DATA / "cyclictest-2.4-h.txt", "--name", "bench-7")
    assert taken.status == 2 and "name 'bench-7' is taken" in taken.says
    several = cli("import", DATA / "lmbench.txt", DATA / "rteval.xml", "--name", "x")
    assert several.status == 2 and "name one file" in several.says


def test_what_the_file_says_itself_stays(cli: Cli) -> None:
    words = ("--load", "other", "--host", "other", "--json")
    document = cli("import", DATA / "rteval.xml", *words).document
    assert {result["load"] for result in document["results"]} == {"rteval"}
    assert document["conditions"]["machine.host"] != "other"


def test_imports_compare_with_their_like_alone(cli: Cli) -> None:
    assert cli("import", DATA / "cyclictest-2.4-H.txt", DATA / "cyclictest-2.4-h.txt").status == 0
    done = cli("compare", "last", "last~1")
    assert done.status == 0
    assert "net of the clock" not in done.out.lower() and "rights" not in done.out
    name = store_run(own())
    done = cli("compare", name, "last")
    assert done.status == 2 and "no bench in common" in done.says


@pytest.fixture
def two_hosts(cli: Cli, tmp_path: Path) -> Path:
    """Import a file of the same name from two hosts, and return the folder."""
    text = (DATA / "cyclictest-2.4-H.txt").read_text()
    for host, end in (("rack1", "\n"), ("rack2", "\n\n")):  # other bytes are another run
        folder = tmp_path / host
        folder.mkdir()
        (folder / "before.txt").write_text(text + end)
        assert cli("import", folder / "before.txt", "--host", host).status == 0
    return tmp_path


def test_columns_of_imports_name_the_file_and_the_host(cli: Cli, two_hosts: Path) -> None:
    compared = cli("compare", "last~1", "last", "--json").document
    assert [c["label"] for c in compared["columns"]] == ["before.txt (rack1)", "before.txt (rack2)"]
    (host,) = [d for d in compared["differences"] if d["aspect"] == "host"]
    assert [holds["value"] for holds in host["values"]] == ["rack1", "rack2"]
    shutil.copy(DATA / "cyclictest-2.4-H.txt", two_hosts / "after.txt")
    assert cli("import", two_hosts / "after.txt").status == 0
    compared = cli("compare", "last~1", "last", "--json").document
    assert [c["label"] for c in compared["columns"]] == ["before.txt", "after.txt"]


def test_what_settles_a_comparison_of_imports(cli: Cli, two_hosts: Path, tmp_path: Path) -> None:
    """No target is measured again: there is none."""
    says = cli("compare", "last~1", "last").out
    assert "import the files and name those runs" in says and "rtstone run" not in says
    assert "--run" not in says and "import:" not in says
    assert "--floor RUN,RUN,RUN" in says
    runs = []
    for number in range(3):  # and what is advised works
        path = tmp_path / f"again-{number}.txt"
        path.write_text((two_hosts / "rack1" / "before.txt").read_text() + "\n" * (2 + number))
        assert cli("import", path, "--host", "rack1", "--name", f"again-{number}").status == 0
        runs.append(f"again-{number}")
    settled = cli("compare", "last~4", "last~3", "--floor", ",".join(runs))
    assert settled.status == 0 and "unknown how far" not in settled.out


def test_below_the_first_bucket_nothing_is_zero(cli: Cli, tmp_path: Path) -> None:
    """Such a value is below the bucket's width; no limit within a bucket passes or fails."""
    path = tmp_path / "small.txt"
    path.write_text(
        "# Histogram\n" + "".join(f"{us:06} {n:06}\n" for us, n in ((0, 90), (1, 8), (3, 2)))
        + "# Total: 000000100\n# Min Latencies: 00000\n# Avg Latencies: 00000\n"
        "# Max Latencies: 00003\n"
        "# Histogram Overflows: 00000\n# Histogram Overflow at cycle number:\n# Thread 0:\n"
    )  # fmt: skip
    assert cli("import", path).status == 0
    for shown in (cli("show", "last").out, cli("compare", kept_again(cli, path), "last~1").out):
        assert "<1 µs" in shown and "p50 0 ns" not in shown and "0 ns  0 ns" not in shown
    page = tmp_path / "page.html"
    assert cli("report", "last", "-o", page).status == 0
    reader = Reader(page.read_text())
    assert "<1\u202fµs" in json.dumps(reader.data, ensure_ascii=False).replace("\xa0", "\u202f")
    drafted = tmp_path / "drafted.toml"
    assert cli("check", "last", "--write-budget", drafted).status == 0
    assert 'p50 = "1.2us"' in drafted.read_text()  # not 0: the next median may be 1 us
    budget = tmp_path / "budget.toml"
    verdicts = {}
    for limit in ("0ns", "500ns", "1us", "3us", "3500ns", "4us"):
        budget.write_text(
            'schema = "rtstone.budget/1"\n[[case]]\nbench = "cyclictest"\n'
            f'p50 = "{limit}"\nmax = "{limit}"\n'
        )
        checks = cli("check", "last", "--budget", budget, "--json").document["checks"]
        verdicts[limit] = [check["verdict"] for check in checks]
    assert verdicts == {
        "0ns": ["inconclusive", "failed"], "500ns": ["inconclusive", "failed"],
        # Below the maximum, what the tool may have hidden can be above a limit.
        "1us": ["inconclusive", "failed"], "3us": ["passed", "passed"],  # as the tool prints it
        "3500ns": ["passed", "inconclusive"], "4us": ["passed", "passed"],
    }  # fmt: skip


def kept_again(cli: Cli, path: Path) -> str:
    """Import a file once more, as other bytes, and return the run's name."""
    again = path.with_name("again.txt")
    again.write_text(path.read_text() + "\n")
    assert cli("import", again, "--name", "again").status == 0
    return "again"


def test_all_files_or_none(cli: Cli, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("# Histogram\n000001 x\n")
    done = cli("import", DATA / "lmbench.txt", bad)
    assert (done.status, done.out) == (2, "")
    assert done.says == (
        f"rtstone: count 'x' is not a whole number from 0, in {bad} line 2; import the file "
        "as the tool wrote it"
    )
    assert not runs().exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("import",), "Missing argument 'FILE...'"),
        (("import", "nowhere"), "cannot read nowhere: No such file or directory"),
        (("import", DATA / "lmbench.txt", "--format", "rtl"), "did you mean 'rtla'?"),
        (("import", DATA / "lmbench.txt", "--format", "rtla"), "no '# RTLA timerlat histogram'"),
        (("export", "last", "--format", "csv"), "no run 'last'"),
        (("export", "last"), "Missing option '--format'"),
    ],
)
def test_refused(cli: Cli, arguments: tuple[str | Path, ...], says: str) -> None:
    done = cli(*arguments)
    assert done.status == 2 and says in done.says and done.out == ""


def test_export(cli: Cli, tmp_path: Path) -> None:
    name = store_run(own())
    done = cli("export", name, "--format", "cyclictest-json", "-o", tmp_path / "a.json")
    assert (done.status, done.out) == (0, f"{tmp_path / 'a.json'}: 973 B\n")
    assert "not in the file: thread 0: 1 negative sample\n" in done.err
    assert json.loads((tmp_path / "a.json").read_text())["thread"]["0"]["cycles"] == 102
    assert cli("import", tmp_path / "a.json").status == 0
    assert "did you mean 'csv'" in cli("export", name, "--format", "cvs").says
    assert "cannot write" in cli("export", name, "--format", "csv", "-o", tmp_path / "a/b").says
    assert "empty file name" in cli("export", name, "--format", "csv", "-o", "").says


def test_an_export_has_period_and_load_so_that_it_compares_again(cli: Cli, tmp_path: Path) -> None:
    """With what was measured elsewhere by the same period, under the same load."""
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for number, file in enumerate(files):
        measured = periodic(f"r{number}", load="heavy", late=90_000.0 + number)
        done = cli("export", store_run(measured), "--format", "cyclictest-json", "-o", file)
        assert done.status == 0
    assert cli("import", *files).status == 0
    done = cli("compare", "last~1", "last", "--json")
    assert done.status == 0, done.says
    (row,) = done.document["rows"]
    assert (row["params"], row["load"]) == ({"interval": 1_000_000}, "heavy")
    assert [cell["missed"] for cell in row["cells"]] == [0, 0]


def test_an_import_beside_a_run_is_drawn_or_its_statistics_stand_beside_it(
    cli: Cli, tmp_path: Path
) -> None:
    """No suite is at fault: tools measure by procedures of their own."""
    name = store_run(periodic("mine", load="none"))
    cli("import", DATA / "cyclictest-2.4-h.txt")
    done = cli("compare", name, "last")
    assert done.status == 2 and "suite" not in done.says
    drawn = re.search(r"`\S*rtstone (plot \S+ \S+)` draws both", done.says)
    assert drawn, done.says
    statistics = tmp_path / "statistics.txt"
    statistics.write_text(
        "T: 0 ( 1234) P:99 I:1000 C:  10000 Min:      2 Act:    5 Avg:    6 Max:      40\n"
    )
    assert cli("import", statistics).status == 0
    done = cli("compare", name, "last")
    assert "their worst, beside each other: local, dk.periodic, load none: n 1 000" in done.says
    assert "; statistics.txt, cyclictest, load unknown: n 10 000, min 2.00 µs" in done.says
    assert "plot" not in done.says


def test_of_an_import_without_a_load_it_is_said_how_to_name_it(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes((DATA / "cyclictest-2.4-h.txt").read_bytes() + b"\n")
    assert cli("import", DATA / "cyclictest-2.4-h.txt", "--load", "none").status == 0
    assert cli("import", file).status == 0
    done = cli("compare", "last~1", "last")
    assert "no load in common, in cyclictest-2.4-h.txt, a.txt: cyclictest under load" in done.says
    assert "import FILE --load NAME` names it" in done.says


def test_single_samples_of_a_run(cli: Cli, tmp_path: Path) -> None:
    cli("run", "ctx.ballast", "--target", "sim", "-p", "raw=on", "-p", "samples=600")
    done = cli("export", "last", "--format", "samples", "-o", tmp_path / "samples.csv")
    assert done.status == 0 and done.out.startswith(f"{tmp_path / 'samples.csv'}: ")
    with (tmp_path / "samples.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == rtstone.load().samples().tolist()
    assert [row["sample"] for row in rows] == [str(number) for number in range(600)]
    worst = rtstone.load().result.worst[0]
    assert float(rows[worst.index]["at_s"]) == worst.at_s
    cli("import", DATA / "cyclictest-2.4-h.txt")
    done = cli("export", "last", "--format", "samples")
    assert (done.status, done.out) == (2, "")
    assert "no single samples in run" in done.says
