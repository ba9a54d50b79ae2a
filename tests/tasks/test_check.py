"""The check as a whole: what it refuses to call schedulable, what it does not know, and why."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from rtstone.documents.tasks import (
    Chain,
    Costs,
    Need,
    Resource,
    Schedulability,
    Server,
    TaskSet,
    Use,
)
from rtstone.report.tasks.check import answer
from rtstone.tasks.analysis.check import at, check
from tests.tasks.sets import task, task_set

FREE = Costs()


def reason(tasks: TaskSet, name: str, costs: Costs = FREE) -> str:
    """Return why nothing is known of a task."""
    (item,) = [c for c in at(tasks, costs, Fraction(1))[0] if c.task == name]
    assert item.verdict == "unknown"
    return item.reason or ""


def use(name: str, after: int = 0, length: int = 1) -> Use:
    return Use(resource=name, after_ns=after, for_ns=length)


# ---- what the kernel does not do ----------------------------------------------------------------


def test_reservations_beyond_what_the_kernel_admits() -> None:
    """95% are admitted, a thousandth more is not, though no deadline would be missed."""
    for work, verdict in ((950, "holds"), (951, "fails")):
        tasks = task_set(task("a", work, 1000, policy="deadline"))
        document = check(tasks, FREE)
        assert document.verdict == verdict
        assert document.tasks[0].verdict == "holds"
    assert "the kernel admits 95%" in answer(document)
    assert check(tasks, Costs(admitted=1.0)).verdict == "holds"


def test_a_reservation_shorter_than_the_work() -> None:
    tasks = task_set(task("a", 200, 1000, policy="deadline", runtime_ns=150))
    document = check(tasks, FREE)
    assert document.verdict == "fails"
    assert "a job takes longer than its runtime" in answer(document)
    assert document.factor == 0.75


def test_throttling_may_stop_what_takes_all_its_time() -> None:
    throttled = Costs(rt_runtime_ns=950, rt_period_ns=1000)
    for work, verdict in ((9, "holds"), (10, "unknown")):
        document = check(task_set(task("a", work, 10)), throttled)
        assert document.verdict == verdict
    assert "the kernel may throttle real-time tasks" in answer(document)


# ---- what no method covers ----------------------------------------------------------------------


def test_cpus_that_some_tasks_share() -> None:
    tasks = task_set(task("a", 1, 10, 2, cpus=[0, 1]), task("b", 1, 10, 1))
    assert "beside those of CPU 0-1" in reason(tasks, "b")
    assert "beside those of CPU 0" in reason(tasks, "a")


def test_resources_of_two_cpus() -> None:
    tasks = task_set(
        task("a", 2, 10, 2, uses=[use("r")]), task("b", 2, 10, 1, uses=[use("r")], cpus=[1]),
        task("c", 2, 10, 1), resources=[Resource(name="r")],
    )  # fmt: skip
    for name in ("a", "b", "c"):  # "a" may be boosted above "c", or wait for "b"
        assert "resource 'r', which tasks of different CPUs use" in reason(tasks, name)


@pytest.mark.parametrize("protocol", ["inherit", "none", "protect"])
def test_resources_in_a_circle(protocol: Any) -> None:
    """Ceilings leave no deadlock, the others do."""
    tasks = task_set(
        task("a", 9, 100, 2, uses=[use("r", 0, 9), use("s", 1, 3)]),
        task("b", 9, 100, 1, uses=[use("s", 0, 9), use("r", 1, 3)]),
        resources=[Resource(name=name, protocol=protocol) for name in ("r", "s")],
    )  # fmt: skip
    if protocol == "protect":
        assert check(tasks, FREE).verdict == "holds"
    else:
        assert "a deadlock: 'r' and 's' are taken in a circle" in reason(tasks, "a")


def test_random_arrivals_leave_nothing_below_them() -> None:
    random = replace(task("a", 1, 100, 2), arrival="poisson")
    tasks = task_set(task("top", 1, 10, 3), random, task("b", 1, 10, 1))
    assert "the arrivals of 'a' have no least distance" in reason(tasks, "b")
    assert at(tasks, FREE, Fraction(1))[0][0].verdict == "holds"


def test_policy_other_promises_nothing() -> None:
    tasks = task_set(task("a", 1, 10, policy="other", deadline_ns=10))
    assert reason(tasks, "a") == "policy other promises no time"
    background = task_set(task("a", 1, 10, policy="other"))
    assert check(background, FREE).verdict == "holds"  # it needs nothing


def test_a_lock_without_a_protocol_that_policy_other_holds() -> None:
    tasks = task_set(
        task("a", 2, 10, 2, uses=[use("r")]), task("b", 2, 10, policy="other", uses=[use("r")]),
        resources=[Resource(name="r", protocol="none")],
    )  # fmt: skip
    assert "policy other holds" in reason(tasks, "a")
    inherits = replace(tasks, resources=[Resource(name="r", protocol="inherit")])
    assert check(inherits, FREE).verdict == "holds"


# ---- servers ------------------------------------------------------------------------------------


def served(kind: Any, period: int = 100) -> Schedulability:
    client = replace(
        task("client", 5, period, deadline_ns=period), arrival="sporadic", server="s", priority=None
    )
    server = Server(name="s", kind=kind, budget_ns=2, period_ns=10,
                    priority=None if kind == "cbs" else 5)  # fmt: skip
    return check(task_set(task("top", 2, 10, 9), client, servers=[server]), FREE)


@pytest.mark.parametrize("kind", ["polling", "deferrable", "cbs"])
def test_a_request_waits_for_its_budgets(kind: Any) -> None:
    """Just after a period began, 5 take three budgets of 2: four periods."""
    (_, client) = served(kind).tasks
    assert client.response_ns == 40
    assert (client.verdict, client.exact) == ("holds", False)
    (_, close) = served(kind, period=39).tasks
    assert "a request may come before the one before it is served" in (close.reason or "")


def test_no_method_covers_a_sporadic_server() -> None:
    assert "no method covers" in (served("sporadic").tasks[1].reason or "")


# ---- needs --------------------------------------------------------------------------------------


def with_need(measure: str, limit: float, deadline: int = 50, **members: Any) -> Schedulability:
    need = Need(measure=measure, text="x", limit=limit, **members)
    own = task("a", 10, 100, 1, needs=[need], deadline_ns=deadline, least=5)
    return check(task_set(task("top", 10, 100, 2), own), FREE)


@pytest.mark.parametrize(
    ("measure", "limit", "verdict"),
    [
        ("response.max", 20, "holds"), ("response.max", 19, "fails"),
        ("response.p99", 20, "holds"), ("response.p99", 19, "unknown"),
        ("jitter", 15, "holds"), ("jitter", 14, "unknown"), ("missed", 0.01, "holds"),
    ],
)  # fmt: skip
def test_a_need(measure: str, limit: float, verdict: str) -> None:
    """The response is 20 at most, and 5 at least."""
    assert with_need(measure, limit).verdict == verdict


@pytest.mark.parametrize(
    ("measure", "limit", "members", "verdict"),
    [("missed", 0.0, {}, "fails"), ("missed", 0.01, {}, "unknown"),
     ("weakly_hard", 1, {"within": 5}, "unknown"), ("jitter", 15, {}, "fails")],
)  # fmt: skip
def test_who_may_miss_some_does_not_need_every_deadline(
    measure: str, limit: float, members: dict[str, Any], verdict: str
) -> None:
    """The deadline of 15 is missed, how often is not known."""
    assert with_need(measure, limit, deadline=15, **members).verdict == verdict


def test_a_chain_has_a_deadline() -> None:
    tasks = task_set(
        task("a", 10, 100, 2), task("b", 10, 50, 1),
        chains=[Chain(name="c", path=["a", "b"], deadline_ns=180)],
    )  # fmt: skip
    document = check(tasks, FREE)
    (chain,) = document.chains
    assert (chain.latency_ns, chain.reaction_ns, chain.age_ns) == (80, 180, 130)
    assert (document.verdict, document.first) == ("holds", ["c"])
    late = replace(tasks, chains=[replace(tasks.chains[0], deadline_ns=179)])
    assert "chain 'c' may miss its deadline, 180 ns of 179 ns" in answer(check(late, FREE))


def test_what_takes_nothing_has_no_margin_to_name() -> None:
    document = check(task_set(task("a", 1, 10**9, policy="other")), FREE)
    assert answer(document).startswith("schedulable on a system without costs, whatever the work")


def test_what_it_assumes_is_of_this_set() -> None:
    plain = check(task_set(task("a", 1, 10, 1)), FREE)
    equal = check(task_set(task("a", 1, 10, 1), task("b", 1, 10, 1)), FREE)
    measured = check(task_set(task("a", 1, 10, 1)), Costs(from_run="r"))
    texts = [{a.text for a in document.assumptions} for document in (plain, equal, measured)]
    assert "of equal priorities, who came first goes first" in texts[1] - texts[0]
    assert any("costs that were measured" in text for text in texts[2])
    assert all(set(a.systems) == {"linux", "linux-rt", "freertos"} for a in equal.assumptions)
