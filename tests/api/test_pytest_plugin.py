"""The pytest plug-in, as a team's own tests meet it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rtstone.store.index import entries
from tests.conftest import Fake
from tests.stats.test_gate import entry


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
            "Small RTOS, simulated (rtstone's own: no real system) *",
            f"stored in *{failed}",
            "dk.periodic, load rt200: distribution of 1 000 samples",
            "*90? ns to * #*# *",
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
            "- failed        dk.periodic, load none: max 900 ns, n 1 000, 2.00 s, *",
            "[?] inconclusive  dk.periodic, load none: p99.99 unknown, n 1 000, 3.00 s, *",
            "rtstone: nothing was measured for b.toml, case 4 (hart.PH.1)",
        ]
    )
    assert done.stdout.str().count("nothing was measured") == 1


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
