"""`rtstone check`: runs checked against budgets, from the file to the exit code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.check import Check
from rtstone.documents.run import Figure, Result, Run, Slope
from rtstone.report.check.text import power
from rtstone.stats.budget import LIMIT
from rtstone.stats.comparison.conditions import counted
from rtstone.store.layout import runs
from tests.conftest import Cli
from tests.report import synthetic
from tests.report.synthetic import HOSTILE
from tests.stats import lab
from tests.stats.test_gate import FLAT, entry, result, run

SIM = ("run", "dk.periodic", "sem.wait.free", "--target", "sim", "-p", "samples=200")


def stored(document: Run, run_id: str = "one") -> str:
    """Store a run as if it had been measured."""
    path = runs() / run_id
    path.mkdir(parents=True)
    text = msgspec.json.encode(structs.replace(document, run_id=run_id))
    (path / "run.json").write_bytes(text)
    (path / "plan.json").touch()
    return str(path)


@pytest.fixture
def budget(tmp_path: Path) -> Any:
    """Write a budget file with these entries."""

    def written(*entries: str, head: str = "") -> Path:
        path = tmp_path / "budget.toml"
        path.write_text("\n".join([head, *entries]))
        return path

    return written


def mixed() -> list[Result]:
    """Return a run with a result for each verdict, given the limits of MIXED."""
    return [
        result(FLAT, missed=1),
        result(FLAT, load="heavy", missed=0),
        result(status="failed", reason="it died", load=HOSTILE),
    ]


MIXED = (entry("missed = 0"), entry('p50 = "5us"', 'loads = ["heavy"]'))


# ---- exit codes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "status", "word"),
    [
        ('p50 = "6us"', 0, "+ passed"),
        ('p50 = "4us"', 1, "- failed"),
        ('p50 = "5us"', 3, "? inconclusive"),
        ('p9999 = "6s"', 3, "? inconclusive"),
    ],
)
def test_the_exit_code_is_the_verdict(
    cli: Cli, budget: Any, limit: str, status: int, word: str
) -> None:
    done = cli("check", stored(run(result(FLAT))), "--budget", budget(entry(limit)))
    assert done.status == status
    assert done.err == ""
    summary, check = (line for line in done.out.splitlines() if not line.startswith("note: "))
    assert summary.startswith(f"{word}: 1 check")
    assert check.startswith(word)
    assert "n 10 000, 10.0 s, limit" in check
    assert "load none" in check


def test_what_needs_attention_comes_first(cli: Cli, budget: Any) -> None:
    done = cli("check", stored(run(*mixed())), "--budget", budget(*MIXED))
    assert done.status == 1
    verdicts = [line.split("  ")[0].strip() for line in done.out.splitlines() if line[1] == " "]
    assert verdicts[0].startswith("- failed: 4 checks, 1 failed, 1 not measured, 1 inconclusive")
    assert verdicts[1:] == ["- failed", "! not measured", "? inconclusive", "+ passed"]


def test_no_largest_sample_without_the_time_it_was_seen_in(cli: Cli, budget: Any) -> None:
    untimed = run(result(FLAT, evidence={}))
    done = cli("check", stored(untimed), "--budget", budget(entry('max = "1s"', 'p50 = "1s"')))
    assert "max 10.0 µs, n 10 000, time not recorded, limit" in done.out
    assert "n 10 000, limit" in done.out  # of the median


def test_json_is_one_document(cli: Cli, budget: Any) -> None:
    done = cli("check", stored(run(*mixed())), "--budget", budget(*MIXED), "--json")
    assert done.status == 1
    assert done.document["schema"] == "rtstone.check/1"
    assert [c["verdict"] for c in done.document["checks"]] == [
        "failed", "passed", "not measured", "inconclusive",
    ]  # fmt: skip
    assert done.document["verdict"] == "failed"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[case]", "not a TOML file"),
        ("", "no cases, in budget"),
        ('schema = "rtstone.budget/2"', "schema is 'rtstone.budget/2', not rtstone.budget/1"),
        ('titel = "x"', "unknown key 'titel'"),
        ("baseline = 3\n" + entry('max = "1s"'), "an item of 'baseline' is not text"),
        ('inconclusive = "skip"', "unknown word 'skip', for inconclusive"),
        ("case = [3]", "a case is not a table"),
        ("[[case]]\np99 = '1us'", "no bench named"),
        (entry(), "no limits"),
        (entry('p98 = "1us"'), "did you mean 'p9"),
        (entry('load = ["x"]', "missed = 0"), "did you mean 'loads'?"),
        (entry("p99 = 50"), "write a quantity with its unit"),
        (entry('p99 = "50"'), "write a quantity with its unit"),
        (entry('p99 = "50um"'), "write a quantity with its unit"),
        (entry('p99 = "50%"'), "write a quantity with its unit"),
        (entry('p99 = "+5us"'), "has a sign, in"),
        (entry('p99 = "- 5us"'), "write a quantity with its unit"),
        (entry('p99 = "-5us"'), "write '5us', or a share of the baseline such as '-10%'"),
        (entry('min = "-5k instr"'), "write '5k instr', or a share"),
        (entry('slope = "+5ns"'), "write '5ns', or a share of the baseline such as '+10%'"),
        (entry('bound = "+5us"'), "has a sign"),
        (entry('missed = "+5"'), "has a sign"),
        (entry('figures = { x = ">= +5us" }'), "has a sign"),
        (entry('figures = { x = ">= -5us" }'), "has a sign"),
        (entry('p99 = "50us/KiB"'), "write a quantity with its unit"),
        (entry("p99 = true"), "'p99' is not a number or text"),
        (entry("p99 = [true]"), "bad limit 'True' of p99"),
        (entry('p99 = ">= 50us"'), "can have an upper limit only"),
        (entry('p99 = ""'), "bad limit '' of p99"),
        (entry('p99 = "nan us"'), "bad limit"),
        (entry("missed = 0.5"), "write a count"),
        (entry("missed = -1"), "write a count"),
        (entry('missed = "+10%"'), "write a count"),
        (entry("missed = 0", 'accept = ["no_rights"]'), "unknown flag 'no_rights'"),
        (entry("missed = 0", "loads = [1]"), "an item of 'loads' is not text"),
        (entry('bound = "+10%"'), "a bound can have an absolute limit only"),
        (entry("missed = 0", "exceedance_per_hour = 1"), "exceedance_per_hour without a bound"),
        (entry('bound = "1us"', "exceedance_per_hour = 0"), "bad exceedance_per_hour '0'"),
        (entry('p50 = "1us"', "predicted_for_n = 0"), "bad predicted_for_n '0'"),
        (entry('p50 = "1us"', "predicted_for_n = 1.5"), "is not a whole number"),
        (entry('figures = { x = "many" }'), "bad limit 'many' of x"),
        (entry("missed = 0", bench="dk.periodi"), "did you mean 'dk.periodic'?"),
        (entry("missed = nan"), "'NaN' for 'missed' is no finite number"),
        (entry("missed = 1e400"), "for 'missed' is no finite number"),
        (entry("p99 = [-inf]"), "for 'p99' is no finite number"),
        (entry("missed = 0", "params = { period = 1e999999999 }"), "is no finite number"),
        (entry("missed = " + 5000 * "9"), "not a TOML file"),
        (entry("missed = 0x" + 5000 * "f"), "a number of more than 64 bits for 'missed'"),
        (entry('p50 = "1e400us"'), "the limit '1e400us' of p50 is not finite"),
        (entry('p50 = "1e300s"'), "the limit '1e300s' of p50 is not finite"),
        (entry('p50 = "+1e400%"'), "the limit '+1e400%' of p50 is not finite"),
        (entry('figures = { x = "1e400" }'), "the limit '1e400' of x is not finite"),
        (entry('bound = "1us"', "exceedance_per_hour = 1e-400"), "bad exceedance_per_hour"),
    ],
)
def test_a_bad_budget_ends_with_2(cli: Cli, budget: Any, text: str, says: str) -> None:
    done = cli("check", stored(run(result(FLAT, missed=0))), "--budget", budget(text))
    assert (done.status, done.out) == (2, "")
    assert says in done.says
    assert "budget.toml" in done.says


@pytest.mark.parametrize("text", ["1{}1", "1{}/", "1 {}1", "{}", "<={}", "1/{}/"])
@pytest.mark.parametrize("letter", [" ", "1", "a", "a ", "1 ", "e1"])
def test_what_is_no_limit_is_refused_without_trying_all_ways_to_read_it(
    text: str, letter: str
) -> None:
    """A text four times as long takes about four times the time, not sixteen times or more."""

    def taken(length: int) -> float:
        tried = text.format(letter * length)
        begin = process_time()
        for _ in range(20):
            LIMIT.fullmatch(tried)
        return process_time() - begin

    assert min(taken(8000) for _ in range(3)) < 10 * min(taken(2000) for _ in range(3)) + 0.01


@pytest.mark.parametrize("margin", ["1e999999999%", "1e300%", "100001%", "nan%", "-5%"])
def test_a_margin_is_a_share(cli: Cli, tmp_path: Path, margin: str) -> None:
    name = stored(run(result(FLAT)))
    done = cli("check", name, "--write-budget", tmp_path / "new.toml", "--margin", margin)
    assert (done.status, done.out) == (2, "")
    assert f"bad margin '{margin}'" in done.says


def test_other_mistakes_end_with_2(cli: Cli, budget: Any, tmp_path: Path) -> None:
    name = stored(run(result(FLAT)))
    good = budget(entry('max = "1s"'))
    for arguments, says in [
        (["check", name], "no limit to check"),
        (["check", "nothing", "--budget", good], "no run 'nothing'"),
        (["check", name, "--budget", tmp_path / "none.toml"], "cannot read budget"),
        (["check", name, "--budget", good, "--baseline", "nothing"], "no run 'nothing'"),
        (["check", name, "--budget", good, "--junit", "/proc/x"], "rtstone: cannot write "),
    ]:
        done = cli(*arguments)
        assert (done.status, done.out) == (2, "")
        assert says in done.says


# ---- baselines ----------------------------------------------------------------------------------


def test_a_baseline_is_named_in_the_file_or_on_the_command_line(
    cli: Cli, budget: Any, tmp_path: Path
) -> None:
    now = stored(run(result(FLAT)), "now")
    stored(run(result([v / 2 for v in FLAT])), "half")
    stored(run(result([v / 2 for v in FLAT])), "other")
    limit = entry('p50 = "+10%"')
    done = cli("check", now, "--budget", budget(limit, head='baseline = "half"'))
    assert done.status == 3
    assert "the baseline is a single run" in done.out
    assert "4 baseline runs more may settle it; a shift of 300% or more would have" in done.out
    done = cli("check", now, "--budget", budget(limit, head='baseline = ["half", "other"]'))
    assert done.status == 1
    assert "limit <= +10%: 2.75 µs, the baseline 2.50 µs; 82% over" in done.out
    assert "baseline half, other" in done.out
    file = budget(limit, head='baseline = ["kept", "other"]')
    (runs() / "half").rename(tmp_path / "kept")  # beside the budget
    assert cli("check", now, "--budget", file).status == 1
    two = ("--baseline", stored(run(result(FLAT)), "again"),
           "--baseline", stored(run(result(FLAT)), "third"))  # fmt: skip
    done = cli("check", now, "--budget", file, *two)
    assert done.status == 0
    assert "a shift of 11% or more would have failed" in done.out  # rounded up


# ---- other formats ------------------------------------------------------------------------------


def junit(cli: Cli, budget: Any, tmp_path: Path, policy: str) -> ET.Element:
    file = budget(*MIXED, head=f'title = "a\\u0001 & b"\ninconclusive = "{policy}"')
    out = tmp_path / "out.xml"
    done = cli("check", stored(run(*mixed()), policy), "--budget", file, "--junit", out)
    assert done.status == 1
    return ET.parse(out).getroot()


@pytest.mark.parametrize(
    ("policy", "elements"),
    [
        ("inconclusive", ["failure", None, "error", "failure"]),
        ("pass", ["failure", None, "error", "skipped"]),
        ("fail", ["failure", None, "failure", "failure"]),
    ],
)
def test_junit(
    cli: Cli, budget: Any, tmp_path: Path, policy: str, elements: list[str | None]
) -> None:
    root = junit(cli, budget, tmp_path, policy)
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert suite.get("name") == "a? & b"
    tests = suite.findall("testcase")
    words = ["failure", "error", "skipped"]
    tags = [next((c.tag for c in test if c.tag in words), None) for test in tests]
    assert tags == elements
    assert [suite.get(f"{word}s" if word != "skipped" else word) for word in words] == [
        str(elements.count(word)) for word in words
    ]
    assert suite.get("tests") == "4"
    assert len({test.get("name") for test in tests}) == 4
    assert {test.get("classname") for test in tests} == {"dk.periodic"}
    assert float(tests[0].get("time") or "") == 10
    failure = tests[0].find("failure")
    assert failure is not None
    assert "missed 1 activations, n 10 000, 10.0 s, limit <= 0" in failure.get("message", "")


def test_times_of_junit_are_those_measured(cli: Cli, budget: Any, tmp_path: Path) -> None:
    """Each limit of a case, and each of its series, is a test; the case was measured once."""
    cpus = [result(FLAT, missed=0, series=f"CPU {k}") for k in (0, 1)]
    document = run(*cpus, result(FLAT, missed=0, load="heavy"))
    file, out = budget(entry('p50 = "6us"\np99 = "9ms"\nmax = "1s"')), tmp_path / "out.xml"
    cli("check", stored(document), "--budget", file, "--junit", out)
    (suite,) = root = ET.parse(out).getroot()
    times = [float(test.get("time") or "") for test in suite.findall("testcase")]
    assert (len(times), sum(times), max(times)) == (9, 20, 10)
    assert root.get("time") == suite.get("time") == "20.000"


def test_markdown(cli: Cli, budget: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    cli("check", stored(run(*mixed())), "--budget", budget(*MIXED), "--markdown", out)
    text = out.read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [row.split("|")[1].strip() for row in rows] == [
        "", "---", "- failed", "! not measured", "? inconclusive", "", "---", "+ passed",
    ]  # fmt: skip
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}
    assert "<img" not in text
    assert "<details><summary>1 check passed</summary>" in text


def test_what_would_have_failed_is_in_each_format(cli: Cli, budget: Any, tmp_path: Path) -> None:
    """p50 of FLAT is 5000 with 98 below it: 5300 and 98 or more fail; 3/10 000 losses show."""
    now = stored(run(result(FLAT, missed=0)), "now")
    before = [stored(run(result(FLAT)), f"before-{k}") for k in (1, 2)]
    limits = entry('p50 = ["5.3us", "+10%"]', "missed = 0", 'max = "20us"')
    file, xml, md = budget(limits), tmp_path / "out.xml", tmp_path / "out.md"
    names = [word for name in before for word in ("--baseline", name)]
    words = ("check", now, "--budget", file, *names)
    done = cli(*words, "--junit", xml, "--markdown", md)
    assert done.status == 0
    for sentence in (
        "5.40 µs or more would have failed", "a shift of 11% or more would have failed",
        "a loss of 1 in 3 338 or more would have failed",
        "samples above it, 1 in 3 338 or more, would have shown",
    ):  # fmt: skip
        assert sentence in done.out
        assert sentence in xml.read_text()
        assert sentence in md.read_text()
    shares = {c["limit"]: c["detectable"] for c in cli(*words, "--json").document["checks"]}
    assert shares["<= +10%"] == pytest.approx(0.1, abs=1e-6)
    assert shares["<= 5.3us"] == pytest.approx(5398 / 5000 - 1, abs=3e-4)
    assert shares["<= 0"] == pytest.approx(1 - 0.05 ** (1 / 10_000))


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"detectable": 0.0361}, "a shift of 3.7% or more would have failed"),
        ({"detectable": 2.5}, "a shift of 250% or more would have failed"),
        ({"detectable": -0.05}, "less than 5% better would have failed"),
        ({"detectable": 0.001, "what": "missed"}, "a loss of 1 in 1 000 more would have failed"),
        ({"detectable": 0.1, "verdict": "failed"}, None),
        ({"detectable": None}, None),
    ],
)
def test_what_would_have_failed_against_earlier_runs(
    members: dict[str, Any], sentence: str | None
) -> None:
    check = Check(bench="b", load="none", what="p50", limit="not worse", verdict="passed")
    assert power(structs.replace(check, **members)) == sentence


def test_the_summary_has_no_empty_words(cli: Cli) -> None:
    now = stored(run(result(FLAT)), "now")
    before = [stored(run(result(FLAT)), f"before-{k}") for k in range(3)]
    done = cli("check", now, *(word for name in before for word in ("--baseline", name)))
    first = done.out.splitlines()[0]
    assert first.endswith("; run now on local, baseline before-0, before-1, before-2")


# ---- on a system with known costs ---------------------------------------------------------------


def test_limits_just_above_and_just_below_what_the_model_says(cli: Cli, budget: Any) -> None:
    document = cli(*SIM, "--load", "none", "--load", "rt200", "--json").document
    late, free = (
        next(r for r in document["results"] if (r["bench"], r["load"]) == (bench, "none"))
        for bench in ("dk.periodic", "sem.wait.free")
    )
    for limits, status in [
        ((f'p50 = "{late["p50"]}ns"', "missed = 0"), 0),
        ((f'p50 = "{late["p50"] - 1}ns"', "missed = 0"), 1),
        ((f'max = "{late["max"]}ns"',), 0),
        ((f'max = "{late["max"] - 0.5}ns"',), 1),
    ]:
        file = budget(entry(*limits, 'loads = ["none"]'))
        assert cli("check", "last", "--budget", file).status == status
    file = budget(entry(f'mean = "{free["mean"]}ns"', bench="sem.*"))
    assert cli("check", "last", "--budget", file).status == 0


# ---- a budget from a run ------------------------------------------------------------------------


def breakdown(name: str) -> Result:
    return result(bench="hart.PH.1", figures={name: Figure(value=71.3, unit="%")})


def slopes() -> Run:
    slope = Slope(
        bench="dk.periodic", load="none", over="size", params={"period": 2_000_000},
        points=[(1, 1), (2, 2), (3, 3)], slope=-1, ci95=(-2, 0.5), unit="ns per B", constant=True,
    )  # fmt: skip
    falling = structs.replace(slope, params={"period": 3_000_000}, ci95=(-2, -0.5))
    points = [
        result(FLAT, params={"size": size, "period": period}, flags=["no_rt"])
        for size in (1, 2, 3)
        for period in (2_000_000, 3_000_000)
    ]
    return run(*points, slopes=[slope, falling])


@pytest.mark.parametrize("margin", ["0%", "20%", "300 %"])
@pytest.mark.parametrize(
    "measured",
    [
        lambda: run(*mixed()),
        lambda: run(result(FLAT, flags=["no_rt", "other_run"])),
        lambda: run(result(FLAT[:12]), result([7.0], load="one")),
        lambda: run(result([0.0] * 2000), result([-3.0] * 2000, load="below")),
        lambda: run(result([1e12 + v for v in FLAT])),
        lambda: run(breakdown("breakdown utilisation")),
        lambda: run(breakdown("no breakdown up to")),
        lambda: run(result(FLAT[:5], batch=4, max=None), result(FLAT, load="x")),
        slopes,
        lambda: synthetic.run(2000, slopes=[]),
        synthetic.unprivileged,
        synthetic.instructions,
        lambda: lab.study((1,))[0],
        lambda: structs.replace(lab.study((1,))[1], benches=[]),
    ],
)
def test_a_run_keeps_the_budget_that_is_drafted_from_it(
    cli: Cli, tmp_path: Path, measured: Callable[[], Run], margin: str
) -> None:
    drafted_from = measured()
    name, file = stored(drafted_from), tmp_path / "drafted.toml"
    drafted = cli("check", name, "--write-budget", file, "--margin", margin)
    assert drafted.status == 0
    assert drafted.err.startswith("warning: drafted from one run") != counted(drafted_from)
    done = cli("check", name, "--budget", file, "--json")
    assert done.err == ""
    assert {c["verdict"] for c in done.document["checks"]} == {"passed"}
    assert done.status == 0


def scaled(times: float, number: int) -> str:
    """Store a run under two loads with values scaled by a factor."""
    loads = {f"x{k}": [times * k * v for v in FLAT] for k in (1, 2)}
    results = [result(values, load=load, missed=0) for load, values in loads.items()]
    return stored(run(*results), f"scaled-{number}")


def test_a_drafted_limit_leaves_what_runs_differ_by_and_the_margin(
    cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "drafted.toml"
    names = [scaled(t, k) for k, t in enumerate((0.99, 1.0, 1.01, 1.0, 1.0))]
    drafted = cli("check", *names, "--write-budget", file, "--margin", "50%")
    assert (drafted.status, drafted.err) == (0, "")
    for number, (worse, status) in enumerate([(1.4, 0), (2.0, 1)], 10):
        done = cli("check", scaled(worse, number), "--budget", file)
        assert done.status == status
        assert done.out.count("- failed  ") == 4 * status  # p50 and p99 under each load


def test_from_one_run_the_limits_are_wide_and_it_says_so(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "drafted.toml"
    drafted = cli("check", scaled(1.0, 0), "--write-budget", file)
    assert "name five runs of the same system" in drafted.err
    assert "p50 = " in file.read_text()
    assert not re.search("^p99", file.read_text(), re.MULTILINE)
    for number, (worse, status) in enumerate([(3.0, 0), (6.0, 1)], 10):
        assert cli("check", scaled(worse, number), "--budget", file).status == status


def test_what_scatters_too_far_is_not_limited(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "drafted.toml"
    names = [scaled(t, k) for k, t in enumerate((1.0, 4.0, 1.5))]
    refused = cli("check", *names, "--write-budget", file)
    assert refused.status == 0
    text = file.read_text()
    assert "no limit would hold" in text
    assert refused.err.startswith("warning: no latency is limited: the runs differ too much for")
    assert text.count("# no latency is limited: the runs differ too much") == 2  # loads
    assert not re.search("^p[59]", text, re.MULTILINE)


def test_what_cannot_be_drafted(cli: Cli, tmp_path: Path) -> None:
    name, file = stored(run(*mixed()[2:])), tmp_path / "new.toml"
    two = stored(run(*mixed()), "two")
    (tmp_path / "old.toml").touch()
    mistakes: list[tuple[list[str | Path], str]] = [
        ([name, "--write-budget", file], "no valid result"),
        ([two, "--write-budget", tmp_path / "old.toml"], "file exists"),
        ([two, "--write-budget", file, "--margin", "20"], "write a share such as 20%"),
        ([two, "--write-budget", file, "--junit", "x"], "leave out --junit"),
        ([two, "--margin", "20%"], "--margin applies only with --write-budget"),
        ([two, "--write-budget", "/proc/x.toml"], "rtstone: cannot write "),
    ]
    for arguments, says in mistakes:
        done = cli("check", *arguments)
        assert (done.status, done.out) == (2, "")
        assert says in done.says
        assert not file.exists()
