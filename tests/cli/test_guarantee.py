from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from rtstone.store.index import entries
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.stats.recorded import latencies, run


@pytest.fixture
def promised() -> str:
    return store_run(run("20261121-promised", latencies(), latencies(load="heavy", seed=2)))


def test_the_statement_says_all_that_it_must(cli: Cli, promised: str, tmp_path: Path) -> None:
    done = cli("guarantee", promised)
    assert done.status == 0, done.err
    for part in (
        "# Guarantee of a latency", "From a request to the application: at most **",
        "exceeded at most once in 1 000 h (0.001 per hour)", "Confidence 95%",
        "80 000 samples in 2 h", "kernel.release: 6.1.0-rt", "cpu.model: a CPU", "pci:e1000e",
        "modules: none", "SCHED_FIFO at priority 98", "memory is locked", "its own driver",
        "| heavy | cpu | place=other | 1 h | 40 000 |", "drivers of third parties",
        "counts as a defect", "Measurement alone does not prove the bound",
        "dk.periodic, load heavy", "peaks over threshold",
    ):  # fmt: skip
        assert part in done.out, part
    page = tmp_path / "statement.md"
    written = cli("guarantee", promised, "-o", str(page))
    assert (written.status, written.out) == (0, f"{page}: 3 kB\n")
    assert page.read_text(encoding="utf-8") == done.out


def test_one_document(cli: Cli, promised: str) -> None:
    done = cli("guarantee", promised, "--json")
    assert done.status == 0
    document = done.document
    assert document["schema"] == "rtstone.guarantee/1"
    assert document["verdict"] == "bound"
    assert document["bound"] == max(case["worst_case"]["bound"] for case in document["cases"])


def test_without_a_bound_the_exit_code_is_3(cli: Cli) -> None:
    short = store_run(run("20261121-short", latencies(section_s=5.0)))
    done = cli("guarantee", short)
    assert done.status == 3
    assert "No guarantee of a latency: inconclusive" in done.out
    assert "no guarantee, dk.periodic under load none: measured for 5 s" in done.says
    assert cli("guarantee", short, "--json").document["bound"] is None


def test_older_runs_do_not_name_drivers(cli: Cli) -> None:
    older = structs.replace(run("20261121-older", latencies()), conditions={})
    done = cli("guarantee", store_run(older))
    assert done.out.count("not recorded") >= 3


def test_mistakes(cli: Cli, promised: str) -> None:
    other = store_run(run("20261121-other", latencies(), **{"kernel.release": "6.6"}))
    done = cli("guarantee", promised, other)
    assert done.status == 2
    assert "kernel.release (20261121-promised 6.1.0-rt, 20261121-other 6.6)" in done.says
    assert cli("guarantee", promised, "--bench", "dk.perodic").status == 2
    assert cli("guarantee", promised, "-o", "/nowhere/x.md").status == 2


def test_show_tells_how_bad_each_case_can_get(cli: Cli, promised: str) -> None:
    done = cli("show", promised, "--worst-case")
    assert done.status == 0
    assert "Linux 6.1.0-rt · 2 of 2 results with a bound" in done.out
    assert "exceeded at most once in 1 000 h (95% confidence, peaks over threshold)" in done.out
    assert "of 40 000 samples in 1 h" in done.out
    assert "+ goodness of fit: the " in done.out
    document = cli("show", promised, "--worst-case", "--json").document
    assert document["schema"] == "rtstone.worstcase/1"
    assert [case["load"] for case in document["cases"]] == ["none", "heavy"]
    short = store_run(run("20261121-short", latencies(section_s=5.0)))
    text = cli("show", short, "--worst-case").out
    assert "? dk.periodic, load none: inconclusive: measured for 5 s" in text
    assert "measure 55.0 s longer" in text


def test_a_model_has_the_worst_case_that_it_was_given_and_guarantees_nothing(cli: Cli) -> None:
    """In the worst case the interrupt costs 7.1 us there, plus what the load's tasks add."""
    words = ("int.latency.phase", "--load", "rt200", "--time", "70")
    assert cli("run", *words, "--target", "sim:rtai-24.1.8").status == 0
    (case,) = cli("show", "last", "--worst-case", "--json").document["cases"]
    estimate = case["worst_case"]
    assert estimate["observed_max"] == 9200
    assert 9200 <= estimate["bound"] < 10_000
    assert "simulated (modelled" in cli("show", "last", "--worst-case").out
    done = cli("guarantee", "last", "--bench", "int.latency.phase")
    assert done.status == 3
    assert "A model was measured." in done.out


def test_a_session_of_several_systems_is_refused_by_whatever_name(cli: Cli) -> None:
    """`last` took the third of three without a word, and the session's id was not understood."""
    targets = ("--target", "sim:ideal", "--target", "sim:linux-2.2.15")
    assert cli("run", "dk.periodic", *targets, "-p", "samples=100").status == 0
    names = sorted(entry.run_id for entry in entries())
    for name in ("last", names[0].rpartition("-")[0]):
        done = cli("guarantee", name)
        assert done.status == 2
        assert f"'{name}' is 2 runs, a guarantee is of one system; name one of {names[0]}, " in (
            done.says
        )
    assert cli("guarantee", names[0]).status == 3  # a model guarantees nothing
