"""The pytest plug-in, as used by the tests of other projects."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rtstone.store.index import entries
from tests.conftest import Fake
from tests.stats.test_gate import entry


@pytest.fixture(autouse=True)
def _started_quickly(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start pytest without a plug-in whose import takes three quarters of the start-up time."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")


def test_a_failed_test_shows_what_was_measured(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import rtstone

        def wake_up():
            return rtstone.run("dk.periodic", target="sim", samples=1000, load="rt200")

        def test_too_late():
            assert wake_up().max < rtstone.ns(950)

        def test_in_time():
            assert wake_up().max < rtstone.us(9)
        """
    )
    done = pytester.runpytest_inprocess("--junitxml=out.xml")
    done.assert_outcomes(passed=1, failed=1)
    failed, passed = (entry.run_id for entry in entries())
    done.stdout.fnmatch_lines(
        [
            "E *assert 1.* µs < 950 ns",
            "E *where 1.* µs = <dk.periodic, load rt200 on sim: n 1 000 in 1.00 s, p50 *>.max",
            "*- rtstone <dk.periodic, load rt200 on sim: *-*",
            "sim: Small RTOS, simulated (rtstone's own: no real system); *",
            f"stored in *{failed}; a page of it: *",
            "dk.periodic, load rt200: distribution of 1 000 samples",
            "*1 |█*",
            "worst samples:",
            "* µs  sample *, * after the start",
        ]
    )
    assert done.stdout.str().count("worst samples:") == 1
    properties = ET.parse("out.xml").getroot().iter("property")
    assert [(p.get("name"), p.get("value")) for p in properties] == [
        ("rtstone run", failed), ("rtstone run", passed),
    ]  # fmt: skip


def test_an_unfit_target_is_skipped_if_asked_and_nothing_else_is(
    pytester: pytest.Pytester, fake: Fake
) -> None:
    fake(sched="other", locked=False)
    pytester.makepyfile(
        """
        import rtstone

        def test_without_rights():
            assert rtstone.run("null").p50 < rtstone.s(1)

        def test_too_few():
            assert rtstone.run("null").accept("no_rt").p9999 < rtstone.s(1)
        """
    )
    done = pytester.runpytest_inprocess("-rs", "--rtstone-unfit=skip")
    done.assert_outcomes(skipped=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*Inconclusive: p9999 needs n >= 100 000*",
            "SKIPPED * ran without real-time scheduling; *",
        ]
    )


def test_a_budget_for_all_that_the_fixture_measures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("period", ["1ms", "2ms", "3ms", "4ms"])
        def test_wake_up(rtstone_run, period):
            assert rtstone_run("dk.periodic", samples=1000, period=period).missed == 0
        """
    )
    limits = {"1ms": 'max = "901ns"', "2ms": 'max = "899ns"', "3ms": 'p9999 = "901ns"'}
    budget = [
        entry(limit, f'params = {{ period = "{period}" }}', 'loads = ["none", "rt200"]')
        for period, limit in limits.items()
    ]
    Path("b.toml").write_text("".join([*budget, entry("missed = 0", bench="hart.PH.1")]))
    done = pytester.runpytest_inprocess("--rtstone-target=sim", "--rtstone-budget=b.toml")
    done.assert_outcomes(passed=2, failed=2)
    assert {entry.target for entry in entries()} == {"sim"}
    done.stdout.fnmatch_lines(
        [
            "- failed        dk.periodic period=2ms, load none: max 900 ns, n 1 000, 2.00 s, *",
            "[?] inconclusive  dk.periodic period=3ms, load none: p99.99 unknown, n 1 000, *",
            "rtstone: nothing was measured for b.toml, case 4 (hart.PH.1)",
        ]
    )
    assert done.stdout.str().count("nothing was measured") == 1


def test_limits_without_a_budget(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("bench", ["wakeup", "sem.wait.free"])
        def test_it(rtstone_run, bench):
            rtstone_run(bench, samples=1000)
        """
    )
    limits = ["wakeup max<=901ns", "sem.* max<=0ns", "hart.PH.1 missed<=0"]
    options = [f"--rtstone-limit={limit}" for limit in limits]
    done = pytester.runpytest_inprocess("--rtstone-target=sim", *options)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "- failed *sem.wait.free, load none: max *",
            "rtstone: nothing was measured for --rtstone-limit 'hart.PH.1 missed<=0' (hart.PH.1)",
        ]
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rtstone-limit=wakeup"], "no limit, in --rtstone-limit 'wakeup'; write one such as"),
        (["--rtstone-limit=sections critical<=9"], "a limit of sections repeats the run; check it"),
        (
            ["--rtstone-limit=wakeup p50<=1s", "--rtstone-budget=b.toml"],
            "--rtstone-limit is a limit without a budget; add it to the file",
        ),
    ],
)
def test_bad_limits(pytester: pytest.Pytester, options: list[str], says: str) -> None:
    pytester.makepyfile("def test_it(rtstone_run): pass")
    Path("b.toml").write_text(entry('p50 = "1us"'))
    done = pytester.runpytest_inprocess(*options)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines([f"*{says}*"])


def test_a_bad_budget(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(rtstone_run): pass")
    Path("b.toml").write_text(entry('p98 = "1us"'))
    done = pytester.runpytest_inprocess("--rtstone-budget=b.toml")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*--rtstone-budget: unknown key 'p98', in b.toml, case 1; did you*"])


def test_tests_that_measure_nothing_load_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_something_else():
            loaded = {name for name in sys.modules if name.startswith("rtstone.")}
            assert loaded == {"rtstone.pytest_plugin"}
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_what_fixtures_measured_is_in_the_report_of_every_test_that_uses_them(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import pytest, rtstone

        @pytest.fixture(scope="module")
        def shared():
            return rtstone.run("sem.wait.free", target="sim", samples=100)

        @pytest.fixture
        def own():
            return rtstone.run("dk.periodic", target="sim", samples=100)

        @pytest.fixture
        def bad():
            assert rtstone.run("clk.overhead", target="sim", samples=100).n == 0

        def test_first(shared, own):
            assert shared.n == own.n == 0

        def test_second(shared):
            assert shared.n == 0

        def test_neither():
            assert False

        def test_setup(bad):
            pass
        """
    )
    done = pytester.runpytest_subprocess("--junitxml=out.xml")
    done.assert_outcomes(failed=3, errors=1)
    heads = [line for line in done.outlines if line.startswith("-") and "- rtstone <" in line]
    assert [line.partition("<")[2].partition(",")[0] for line in heads] == [
        "clk.overhead", "sem.wait.free", "dk.periodic", "sem.wait.free",  # errors come first
    ]  # fmt: skip
    runs = {entry.benches: entry.run_id for entry in entries()}
    properties = {
        case.get("name"): [p.get("value") for p in case.iter("property")]
        for case in ET.parse("out.xml").getroot().iter("testcase")
    }
    assert properties == {
        "test_first": [runs["sem.wait.free"], runs["dk.periodic"]],
        "test_second": [runs["sem.wait.free"]],
        "test_neither": [],
        "test_setup": [runs["clk.overhead"]],
    }


def test_a_fixture_that_finds_the_target_unfit(pytester: pytest.Pytester, fake: Fake) -> None:
    fake(sched="other", locked=False)
    pytester.makepyfile(
        """
        import pytest, rtstone

        @pytest.fixture(scope="module")
        def late():
            return rtstone.run("null").p50

        def test_one(late):
            pass

        def test_two(late):
            pass
        """
    )
    pytester.runpytest_inprocess("--rtstone-unfit=skip").assert_outcomes(skipped=2)
    pytester.runpytest_inprocess().assert_outcomes(errors=2)


def test_workers_tell_which_entries_of_the_budget_nothing_was_measured_for(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        def test_a(rtstone_run):
            assert rtstone_run("dk.periodic", samples=100).missed == 0

        def test_b(rtstone_run):
            assert rtstone_run("sem.wait.free", samples=100).n == 100
        """
    )
    benches = ("dk.periodic", "sem.wait.free", "hart.PH.1")
    Path("b.toml").write_text("".join(entry('max = "1s"', bench=bench) for bench in benches))
    done = pytester.runpytest_subprocess(
        "-n", "2", "--dist", "loadscope", "--rtstone-target=sim", "--rtstone-budget=b.toml"
    )
    done.assert_outcomes(passed=2)
    warned = [line for line in done.outlines if "nothing was measured" in line]
    assert warned == ["rtstone: nothing was measured for b.toml, case 3 (hart.PH.1)"]


def test_workers_measure_one_after_the_other(pytester: pytest.Pytester, fake: Fake) -> None:
    """Each agent logs its start and its end; none starts while another one runs."""
    fake()
    pytester.makepyfile(
        """
        import os, time
        from pathlib import Path
        import pytest, rtstone, rtstone.api

        @pytest.mark.parametrize("number", range(6))
        def test_it(number, monkeypatch):
            start = rtstone.api.start

            def noted(*given, **more):
                with open(Path(__file__).parent / "notes", "a") as notes:
                    print("+", os.getpid(), file=notes, flush=True)
                    time.sleep(0.2)
                    found = start(*given, **more)
                    print("-", os.getpid(), file=notes, flush=True)
                return found

            monkeypatch.setattr(rtstone.api, "start", noted)
            assert rtstone.run("null").n
        """
    )
    done = pytester.runpytest_subprocess("-n", "2")
    done.assert_outcomes(passed=6)
    notes = [line.split() for line in (pytester.path / "notes").read_text().splitlines()]
    assert len({worker for _, worker in notes}) == 2
    assert [sign for sign, _ in notes] == ["+", "-"] * 6
    assert all(note[1] == other[1] for note, other in zip(notes[::2], notes[1::2], strict=True))
