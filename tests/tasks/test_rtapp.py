"""Files of rt-app: what is read and written, and that nothing is left out in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rtstone import resources
from rtstone.documents.tasks import Chain, Resource, TaskSet, Use, Work
from rtstone.errors import UsageError
from rtstone.tasks import rtapp
from rtstone.tasks.file import load

TIMER = {"ref": "unique", "period": 1000, "mode": "absolute"}
FIFO = {"policy": "SCHED_FIFO", "priority": 20, "cpus": [1]}


def read(tmp_path: Path, threads: Any, **settings: Any) -> rtapp.Converted:
    path = tmp_path / "set.json"
    path.write_text(json.dumps({"tasks": threads, "global": settings}))
    return rtapp.load(path)


def test_a_periodic_task_with_a_lock(tmp_path: Path) -> None:
    thread = FIFO | {
        "delay": 300, "run0": 50, "lock0": "m", "run1": 20, "unlock0": "m", "run2": 30,
        "timer": TIMER,
    }  # fmt: skip
    tasks, left = read(tmp_path, {"control": thread}, pi_enabled=True, duration=5)
    (task,) = tasks.tasks
    assert (task.name, task.arrival, task.period_ns, task.offset_ns) == (
        "control", "periodic", 1_000_000, 300_000,
    )  # fmt: skip
    assert task.work == Work(least_ns=100_000, most_ns=100_000)
    assert task.uses == [Use(resource="m", after_ns=50_000, for_ns=20_000)]
    assert (task.policy, task.priority, task.cpus) == ("fifo", 20, [1])
    assert tasks.resources == [Resource(name="m", protocol="inherit")]
    assert left == ["global: duration: how rt-app runs the set"]


def test_tasks_that_wake_each_other_are_chains(tmp_path: Path) -> None:
    threads = {
        "a": FIFO | {"run": 10, "sem_post": "go", "timer": TIMER},
        "b": FIFO | {"sem_wait": "go", "run": 20, "resume": "c"},
        "c": FIFO | {"run": 30, "suspend": ""},
    }
    tasks, left = read(tmp_path, threads)
    assert tasks.chains == [
        Chain(name="a to b", path=["a", "b"]),
        Chain(name="b to c", path=["b", "c"]),
    ]
    assert [task.arrival for task in tasks.tasks] == ["periodic", "woken", "woken"]
    assert left == ["task 'c': where in its events it begins"]


def test_instances_phases_and_sleeps(tmp_path: Path) -> None:
    threads = {
        "many": FIFO | {"instance": 2, "run": 10, "timer": TIMER},
        "phases": FIFO | {"phases": {
            "light": {"loop": 9, "run": 10, "timer": TIMER},
            "heavy": {"loop": 2, "run": 70, "timer": TIMER},
        }},
        "sleeper": {"cpus": [1], "run": 10, "sleep": 90},
        "forked": {"instance": 0, "run": 10, "sleep": 90},
    }  # fmt: skip
    tasks, left = read(tmp_path, threads)
    assert [task.name for task in tasks.tasks] == ["many-0", "many-1", "phases", "sleeper"]
    assert tasks.task("phases").work == Work(least_ns=10_000, most_ns=70_000)
    sleeper = tasks.task("sleeper")
    assert (sleeper.arrival, sleeper.period_ns, sleeper.policy) == ("sporadic", 100_000, "other")
    assert any("which phase follows which" in item for item in left)
    assert any("sleeps 90 us after each job" in item for item in left)
    assert any("task 'forked': it has no instance" in item for item in left)


def test_reservations(tmp_path: Path) -> None:
    thread = {"policy": "SCHED_DEADLINE", "dl-runtime": 200, "dl-period": 1000, "dl-deadline": 800,
              "cpus": [0, 1], "run": 100, "timer": TIMER}  # fmt: skip
    (task,) = read(tmp_path, {"d": thread}).set.tasks
    assert (task.policy, task.runtime_ns, task.deadline_ns) == ("deadline", 200_000, 800_000)
    assert task.cpus == [0, 1]


def test_all_that_is_left_out_is_named(tmp_path: Path) -> None:
    thread = {
        "policy": "SCHED_BATCH", "priority": -5, "loop": 3, "util_min": 5, "taskgroup": "/a",
        "run": 10, "timer": {"ref": "tick", "period": 100},
    }  # fmt: skip
    left = read(tmp_path, {"t": thread}, logdir="x").left
    words = ("logdir", "SCHED_BATCH", "nice value", "3 loops", "util_min", "taskgroup",
             "timer starts anew", "timer 'tick' may be shared", "any CPU")  # fmt: skip
    for word in words:
        assert any(word in item for item in left), word


REFUSED = {
    "barrier": ({"run": 1, "barrier": "x", "timer": TIMER}, "a barrier, 'barrier'"),
    "memory": ({"mem0": 100, "timer": TIMER}, "work on memory, 'mem0'"),
    "fork": ({"run": 1, "fork": "x", "timer": TIMER}, "starting tasks"),
    "no end": ({"run": 1}, "a task that never waits"),
    "no work": ({"timer": TIMER}, "a job without work"),
    "two waits": ({"run0": 1, "sleep": 1, "run1": 1, "timer": TIMER}, "waiting twice for time"),
    "held": ({"lock": "m", "run": 1, "timer": TIMER}, "holding 'm' from job to job"),
    "not held": ({"run": 1, "unlock": "m", "timer": TIMER}, "giving back 'm'"),
    "unknown": ({"exec": 1, "timer": TIMER}, "'exec'"),
    "phases": (
        {"phases": {"a": {"run": 1, "timer": TIMER}, "b": {"loop": 2, "run": 1, "sleep": 3}}},
        "phases that differ",
    ),
    "period 0": ({"run": 1, "timer": {"period": 0}}, "'period' is 0"),
    "no time": ({"run": "1", "timer": TIMER}, "bad time for 'run'"),
    "bad priority": (FIFO | {"priority": 0, "run": 1, "timer": TIMER}, "bad priority 0"),
    "bad policy": ({"policy": "SCHED_X", "run": 1, "timer": TIMER}, "unknown policy 'SCHED_X'"),
    "bad CPUs": ({"cpus": ["x"], "run": 1, "timer": TIMER}, "bad CPUs"),
    "many": ({"instance": 10_000, "run": 1, "timer": TIMER}, "10000 instances"),
    "reservation": (
        {"policy": "SCHED_DEADLINE", "dl-runtime": 1, "dl-period": 7, "run": 1, "timer": TIMER},
        "a reservation with a period other than the task's",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_changes_the_answer_is_refused_by_name(name: str, tmp_path: Path) -> None:
    thread, message = REFUSED[name]
    with pytest.raises(UsageError, match=message) as caught:
        read(tmp_path, {"odd": thread})
    assert "task 'odd'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"tasks": 3}', '{"tasks": {}}', "{" * 100_000]
)
def test_what_is_no_file_of_rt_app(text: str, tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=str(path)):
        rtapp.load(path)


def test_the_json_of_workgen() -> None:
    """Comments, commas before a bracket, keys without a value, and equal keys."""
    text = """{ /* a "comment" */ "a" : { "run" : 1, "run" : 2, "suspend", },
        "b" : ["x", "y",], // "c": 1
        "u/*" : { "suspend" } }"""
    assert json.loads(rtapp.strict(text), object_pairs_hook=list) == [
        ("a", [("run", 1), ("run", 2), ("suspend", "")]), ("b", ["x", "y"]),
        ("u/*", [("suspend", "")]),
    ]  # fmt: skip


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    tasks = load(resources.path("tasks", "new.toml"))
    written = rtapp.write(tasks)
    path = tmp_path / "set.json"
    path.write_text(written.text)
    again = rtapp.load(path).set
    assert [(t.name, t.arrival, t.period_ns, t.priority, t.uses) for t in again.tasks] == [
        (t.name, t.arrival, t.period_ns, t.priority, t.uses) for t in tasks.tasks if not t.server
    ]
    assert [t.work.most_ns for t in again.tasks] == [200_000, 500_000, 300_000]
    assert again.chains == [Chain(name="sense to act", path=["sense", "act"])]
    words = ("deadline", "needs", "less work", "'log', as a whole", "server 'background'", "lost")
    for word in words:
        assert any(word in item for item in written.left), word


def test_nested_locks_and_fractions_of_a_microsecond(tmp_path: Path) -> None:
    text = """
        [[task]]
        name = "a"
        period = "1ms"
        work = "100500ns"
        priority = "rm"
        uses = [{ resource = "m", after = "10us", for = "50us" },
                { resource = "n", after = "20us", for = "30us" }]
        [[resource]]
        name = "m"
        protocol = "protect"
        [[resource]]
        name = "n"
    """
    path = tmp_path / "set.toml"
    path.write_text(text)
    written = rtapp.write(load(path))
    events = json.loads(written.text)["tasks"]["a"]
    order = [key.rstrip("0123456789") for key in events if key[-1].isdigit()]
    assert order == ["run", "lock", "run", "lock", "run", "unlock", "run", "unlock", "run", "timer"]
    assert sum(value for key, value in events.items() if key.startswith("run")) == 101
    for word in ("protocol protect", "priority rm, which is 1 here", "rounded up to us"):
        assert any(word in item for item in written.left)


def test_random_arrivals_cannot_be_written() -> None:
    tasks = load(resources.path("tasks", "new.toml"))
    alone = TaskSet(title="", quantum_ns=1, tasks=[tasks.task("log")])
    with pytest.raises(UsageError, match="no task can be written"):
        rtapp.write(alone)


def chains(converted: rtapp.Converted) -> dict[str, tuple[list[str], int | None]]:
    return {chain.name: (chain.path, chain.deadline_ns) for chain in converted.set.chains}


def test_a_task_that_wakes_another_before_its_end_is_two(tmp_path: Path) -> None:
    threads = {
        "a": FIFO | {"run0": 10, "sem_post": "go", "run1": 30, "timer": TIMER},
        "b": FIFO | {"sem_wait": "go", "run": 20},
    }
    converted = read(tmp_path, threads)
    tasks = {task.name: task for task in converted.set.tasks}
    assert [(name, task.arrival, task.work.most_ns) for name, task in tasks.items()] == [
        ("a", "periodic", 10_000), ("a.2", "woken", 30_000), ("b", "woken", 20_000),
    ]  # fmt: skip
    assert (tasks["a.2"].priority, tasks["a.2"].cpus) == (20, [1])
    # A reaction is a period and the responses: what remains is the thread's deadline.
    assert chains(converted) == {
        "a to b": (["a", "b"], None), "a to a.2": (["a", "a.2"], None),
        "a to its end": (["a", "a.2"], 2_000_000),
    }  # fmt: skip
    assert "a.2" in " ".join(converted.left)
    assert "a to its end" not in chains(
        read(tmp_path, {name: thread | {"policy": "SCHED_OTHER", "priority": 0}
                        for name, thread in threads.items()}))  # fmt: skip


def test_an_answer_that_is_awaited(tmp_path: Path) -> None:
    """By a condition variable, whose mutex is held only while the task waits."""
    wait = {"ref": "c", "mutex": "m"}
    threads = {
        "a": FIFO | {"run0": 10, "lock": "m", "sync": wait, "unlock": "m", "run1": 30,
                     "timer": TIMER},
        "b": FIFO | {"lock0": "m", "wait": wait, "unlock0": "m", "run": 20, "lock1": "m",
                     "signal": "c", "unlock1": "m"},
    }  # fmt: skip
    converted = read(tmp_path, threads)
    assert [task.name for task in converted.set.tasks] == ["a", "a.2", "b"]
    assert chains(converted) == {
        "a to b": (["a", "b"], None), "b to a.2": (["b", "a.2"], None),
        "a to its end": (["a", "b", "a.2"], 2_000_000),
    }  # fmt: skip
    assert converted.set.resources == []
    assert "task 'b': that a signal is lost if nobody awaits it" in converted.left


def test_a_thread_without_work_is_a_timer(tmp_path: Path) -> None:
    tick = {"timer": TIMER}
    threads: dict[str, Any] = {
        "tick": {"phases": {"p1": {"resume": "a"} | tick, "p2": {"loop": 4} | tick}},
        "a": FIFO | {"run": 10, "suspend": "a"},
    }
    converted = read(tmp_path, threads)
    (task,) = converted.set.tasks
    assert (task.arrival, task.period_ns) == ("periodic", 5_000_000)
    assert "task 'tick': it does no work; what it wakes is periodic" in converted.left
    with pytest.raises(UsageError, match="a task and a timer that both wake 'a'"):
        read(tmp_path, threads | {"b": FIFO | {"run": 1, "resume": "a", "timer": TIMER}})
    threads["other"] = {"resume": "a", "timer": TIMER}
    with pytest.raises(UsageError, match="two timers that wake 'a'"):
        read(tmp_path, threads)


@pytest.mark.parametrize(
    ("thread", "construct"),
    [
        ({"run0": 1, "sem_wait": "go", "run1": 1, "timer": TIMER}, "awaiting 'go' after work"),
        ({"lock": "m", "run0": 1, "sem_post": "x", "run1": 1, "unlock": "m", "timer": TIMER},
         "with 'm' held"),
        ({"lock": "m", "run0": 1, "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "run1": 1,
          "timer": TIMER}, "work with 'm' before awaiting it"),
        ({"policy": "SCHED_DEADLINE", "dl-runtime": 10, "dl-period": 1000, "run0": 1,
          "sem_post": "x", "run1": 1, "timer": TIMER}, "a reservation of a thread"),
        ({"run": 1, "sleep": 5, "timer": TIMER}, "waiting twice for time"),
        ({"run": 1, "timer": TIMER, "sem_wait": "go"}, "waiting twice before a job"),
    ],
)  # fmt: skip
def test_what_no_order_of_tasks_says_is_refused(
    tmp_path: Path, thread: dict[str, Any], construct: str
) -> None:
    other = FIFO | {"run": 1, "sem_post": "go", "timer": TIMER}
    with pytest.raises(UsageError, match=construct):
        read(tmp_path, {"a": FIFO | thread, "b": other})


def test_a_signal_that_several_await_is_refused(tmp_path: Path) -> None:
    waits = FIFO | {"lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 1}
    threads = {"a": FIFO | {"run": 1, "signal": "c", "timer": TIMER}, "b": waits, "d": waits}
    with pytest.raises(UsageError, match="several that await condition c"):
        read(tmp_path, threads)
