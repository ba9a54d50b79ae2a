"""The prose of the publication has few numbers; its models give these and no others."""

from __future__ import annotations

import pytest

from tests.conftest import Cli
from tests.models import printed, simulate, title

STOCK, TIMESYS, PREEMPT, BELOW = (
    "linux-2.4.7-redhat", "linux-2.4.7-timesys", "linux-2.4.18-preempt", "rtlinux",
)  # fmt: skip
LOADS = ["copy", "read", "write", "proc", "x11"]
UNDER = [word for load in LOADS for word in ("--load", load)]
MS = 1000  # us


@pytest.mark.parametrize("model", [STOCK, TIMESYS, PREEMPT])
def test_a_sleep_takes_10_ms_longer_than_was_asked_for(cli: Cli, model: str) -> None:
    """Within the two readings of the clock between a wake-up and the next sleep."""
    added = printed("dankwardt", "part 3 prose", metric="nanosleep extra delay")
    assert added == 10
    run = simulate(cli, model, "dk.nanosleep", "-p", "samples=100")
    for stat in ("min", "p50", "max"):
        assert run.us(stat, "dk.nanosleep") == pytest.approx(added * MS, abs=1)


@pytest.mark.parametrize("load", LOADS)
def test_under_any_load_the_stock_kernel_is_100_ms_late(cli: Cli, load: str) -> None:
    run = simulate(cli, STOCK, "dk.periodic", "-p", "samples=5000", "--load", load)
    assert run.us("max", "dk.periodic", load) == pytest.approx(100 * MS + 10 * MS, abs=10 * MS)
    assert run.us("p50", "dk.periodic", load) < 10 * MS


@pytest.mark.parametrize("model", [TIMESYS, PREEMPT])
def test_of_preemptible_kernels_no_latency_is_printed(cli: Cli, model: str) -> None:
    done = cli("run", "dk.periodic", "--load", "copy", "--target", f"sim:{model}", "--json")
    (result,) = done.document["results"]
    assert result["status"] == "unsupported"
    assert result["reason"] == "load copy: the model says nothing of this load"
    assert title(model) in {"TimeSys Linux 3.0 (2.4.7)", "Love/MontaVista preempt (2.4.18)"}


def test_a_kernel_below_linux_is_late_by_at_most_30_us(cli: Cli) -> None:
    run = simulate(cli, BELOW, "dk.periodic", "-p", "samples=2000", *UNDER, "--load", "none")
    idle = run.us("max", "dk.periodic")
    assert idle < 1
    for load in LOADS:
        assert 29 < run.us("max", "dk.periodic", load) - idle <= 30


@pytest.mark.parametrize("model", [STOCK, TIMESYS, PREEMPT, BELOW])
def test_time_passes_where_a_task_calls_the_kernel_without_pause(cli: Cli, model: str) -> None:
    """Services of which no number is printed must take some time, or nobody would ever wake up."""
    done = cli("run", "dk.schedlat", "--time", "0.1", "--target", f"sim:{model}", "--json")
    assert done.status == 0, done.err
    assert all(result["n"] for result in done.document["results"])


def test_a_load_of_one_publication_is_none_of_another(cli: Cli) -> None:
    for model, load in (("solaris-8-1cpu", "copy"), (STOCK, "heavy")):
        done = cli("run", "dk.periodic", "--load", load, "--target", f"sim:{model}", "--json")
        (result,) = done.document["results"]
        assert (result["status"], result["reason"]) == (
            "unsupported", f"load {load}: the model says nothing of this load",
        )  # fmt: skip
