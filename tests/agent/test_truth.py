"""Every bench on the simulated system, to the tick (truth.py, truth_*.py)."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.agent.speak import UNEQUAL_SIM, listed
from tests.agent.truth import CHECKS, SIM, Agent, Check

pytestmark = pytest.mark.simulation

for path in sorted(Path(__file__).parent.glob("truth_*.py")):
    importlib.import_module(f"tests.agent.{path.stem}")

_GROWS = "tests/cli/test_growth.py plants costs that grow; others are those of other benches"
UNCHECKED = {
    **dict.fromkeys(
        (f"grow.{service}" for service in ("give", "malloc", "sleep", "take", "wakeup", "yield")),
        _GROWS,
    ),
    "int.latency.self": "the simulated system has no handler that reads a timer's counter",
    "posix.metrics": "a table of benches, without samples",
    "sys.footprint": "what is simulated takes no memory of its own",
    "sync.spin.contended": "the simulated system has one CPU",
}


ALL = sorted(
    {check for case_check in CHECKS.values() for check in case_check},
    key=lambda check: check.__name__,
)


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_what_is_reported_is_what_the_model_implies(check: Check) -> None:
    check(SIM)


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_so_it_is_where_clocks_have_units_of_their_own(check: Check) -> None:
    """The counter has 3 ticks per ns, the clock for sleeps 4."""
    check(Agent(UNEQUAL_SIM))


def test_every_bench_has_its_truth() -> None:
    assert sorted(CHECKS.keys() | UNCHECKED.keys()) == sorted(
        bench["id"] for bench in listed("bench", SIM.path)
    )
    assert not CHECKS.keys() & UNCHECKED.keys()
