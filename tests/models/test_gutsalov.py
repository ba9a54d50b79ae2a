from __future__ import annotations

import pytest

from tests.conftest import Cli
from tests.models import differing, printed, simulate, title

MODELS = ["rtai-22.2.4", "rtai-24.1.8", "linux-2.2.15"]
TASKS = [0, 1, 33, 65, 129]
LATENCY = {
    "min": "minimal load",
    "driver": "Linux drivers (badblocks on floppy)",
    "rt200": "200 interacting RT tasks",
}
SERVICES = {
    "sem.create": "semaphore create",
    "sem.delete": "semaphore delete",
    "sem.wait.free": "wait on free semaphore",
    "sem.post.nowait": "post, no waiters",
}
BUSY_OF_LINUX = 6.9  # missing in the source: our choice


def busy(system: str, waiters: int) -> float | None:
    return printed(
        "gutsalov",
        "Table 3",
        system=system,
        metric="wait on busy semaphore",
        condition=f"queue length {waiters}",
    )


@pytest.mark.parametrize("model", MODELS)
def test_tables_1_to_3(cli: Cli, model: str) -> None:
    run = simulate(cli, model, "gutsalov", "--time", "10")
    system = title(model)
    assert not differing(
        {
            f"latency under {load}": (
                run.us("max", "int.latency.phase", load),
                printed("gutsalov", "Table 1", system=system, condition=condition),
            )
            for load, condition in LATENCY.items()
        }
    )
    assert not differing(
        {
            f"switch with {n} tasks, {policy}": (
                run.us("mean", "ctx.ballast", policy=policy, ballast=n),
                printed("gutsalov", "Table 2", system=system, condition=f"{n} ballast tasks"),
            )
            for n in TASKS
            for policy in ("fifo", "rr")
        }
    )
    assert not differing(
        {
            bench: (
                run.us("mean", bench, type="unnamed"),
                printed("gutsalov", "Table 3", system=system, metric=metric),
            )
            for bench, metric in SERVICES.items()
        }
    )
    missing = BUSY_OF_LINUX if model == "linux-2.2.15" else None
    assert not differing(
        {
            f"wait with {n} that wait": (
                run.us("mean", "sem.wait.busy", waiters=n, type="unnamed"),
                busy(system, n) or missing,
            )
            for n in TASKS
        }
    )
    assert run.constant() == {
        "ctx.ballast": model == "rtai-24.1.8",
        "sem.wait.busy": model != "rtai-22.2.4",
    }


def test_linux_wait_on_a_busy_semaphore_is_not_published() -> None:
    assert [busy("Linux-2.2.15", n) for n in TASKS] == [None] * 5
