"""The file of a task set: what it may say, and one line for each way of being wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtstone import resources
from rtstone.documents.tasks import Need, TaskSet, Use, Work
from rtstone.errors import UsageError
from rtstone.tasks.file import MOST_TASKS, load
from rtstone.tasks.writing import toml_text
from tests.conftest import Cli

TASK = '[[task]]\nname = "a"\nperiod = "10ms"\nwork = "1ms"\npriority = 5\n'
MUTEX = '[[resource]]\nname = "m"\n'


def read(tmp_path: Path, text: str) -> TaskSet:
    path = tmp_path / "set.toml"
    path.write_text(text)
    return load(path)


def test_the_new_file_is_read(tmp_path: Path) -> None:
    tasks = load(resources.path("tasks", "new.toml"))
    control, sense, act, log = tasks.tasks
    assert tasks.quantum_ns == 100_000_000
    assert control.work == Work(least_ns=60_000, most_ns=200_000)
    assert control.uses == [Use(resource="bus", after_ns=50_000, for_ns=20_000)]
    assert control.needs == [
        Need(measure="missed", text="0", limit=0.0),
        Need(measure="response.p999", text="700us", limit=700_000.0),
        Need(measure="jitter", text="750us", limit=750_000.0),
    ]
    assert (act.arrival, tasks.waker("act"), tasks.source("act")) == ("woken", "sense", sense)
    assert (log.arrival, log.server, log.priority) == ("poisson", "background", None)
    assert [tasks.deadline_ns(task) for task in tasks.tasks] == [
        800_000,
        5_000_000,
        2_000_000,
        None,
    ]


def test_all_that_a_file_may_say(tmp_path: Path) -> None:
    (tmp_path / "b.hist").write_text("# measured\n180us 9120\n\n250us 3 # late\n90us 0\n")
    text = """
        schema = "rtstone.tasks/1"
        quantum = "5ms"
        [[task]]
        name = "b"
        sporadic = "min 5ms"
        jitter = "20us"
        histogram = "b.hist"
        policy = "rr"
        priority = 7
        cpu = "1-2"
        needs = { weakly_hard = "2 in 100", missed = "1.5%" }
        [[task]]
        name = "c"
        period = "10ms"
        offset = "0s"
        kwi = 12.5
        policy = "deadline"
        runtime = "2ms"
        cpu = 3
        [[task]]
        name = "d"
        period = 1
        work = "60..200us"
        policy = "other"
    """
    b, c, d = read(tmp_path, text).tasks
    assert b.work.histogram == [(180_000, 9120), (250_000, 3)]
    assert (b.work.least_ns, b.work.most_ns, b.cpus, b.jitter_ns) == (
        180_000,
        250_000,
        [1, 2],
        20_000,
    )
    assert [need.within for need in b.needs] == [None, 100]
    assert b.needs[0].limit == 0.015
    assert (c.work, c.offset_ns, c.runtime_ns) == (Work(kwi=12.5), 0, 2_000_000)
    assert (d.period_ns, d.work.least_ns) == (10**9, 60_000)


WRONG = {
    "no file": (None, "cannot read task set"),
    "no tasks": ('title = "x"', "no tasks"),
    "unknown key": (TASK + "perod = 1", "unknown key 'perod', in task 'a', .*'period'"),
    "unknown table": ("[[tsk]]", "unknown key 'tsk'.*'task'"),
    "unknown policy": (TASK + 'policy = "fiffo"', "unknown policy 'fiffo'.*'fifo'"),
    "other schema": ('schema = "rtstone.tasks/2"\n' + TASK, "schema is"),
    "no name": ("[[task]]\nperiod = 1", "no name of task 1"),
    "equal names": (TASK + TASK, "two tasks are named 'a'"),
    "period 0": (TASK.replace("10ms", "0s"), "'period' is 0, in task 'a'.*make it longer"),
    "negative period": (TASK.replace("10ms", "-1ms"), "bad time '-1ms', period of task 'a'"),
    "no time": (TASK.replace('"10ms"', "true"), "'period' is not a number or text"),
    "no time of a need": (TASK + "needs = { response.p99 = true }", "'response.p99' is no time"),
    "work 0": (TASK.replace("1ms", "0s"), "'work' is 0"),
    "no work": (TASK.replace("work", "# work"), "no work, in task 'a'"),
    "two works": (TASK + "kwi = 3", "both work and kwi"),
    "bad range": (TASK.replace('"1ms"', '"2ms..1ms"'), "write the least first"),
    "two arrivals": (TASK + 'sporadic = "min 1ms"', "both 'period' and 'sporadic'"),
    "bad arrivals": (TASK.replace('period = "10ms"', 'sporadic = "5ms"'), "bad arrivals '5ms'"),
    "no priority": (TASK.replace("priority = 5", ""), "no priority, in task 'a'"),
    "priority 100": (TASK.replace("= 5", "= 100"), "bad priority '100'"),
    "priority true": (TASK.replace("= 5", "= true"), "'priority' is not a number or text"),
    "priority in words": (TASK.replace("= 5", '= "rmm"'), "bad priority 'rmm'"),
    "priority and other": (TASK + 'policy = "other"', "a priority with policy other"),
    "runtime and fifo": (TASK + 'runtime = "1ms"', "a runtime with policy fifo"),
    "two kinds of priority": (
        TASK + TASK.replace('"a"', '"b"').replace("= 5", '= "rm"'), "priorities by a number and rm"
    ),
    "offset of sporadic": (
        TASK.replace('period = "10ms"', 'sporadic = "min 1ms"') + 'offset = "1ms"',
        "an offset without a period",
    ),
    "bad CPU": (TASK + 'cpu = "x"', "bad CPU list 'x'.*task 'a'"),
    "unknown resource": (TASK + 'uses = [{ resource = "m", for = "1us" }]', "unknown resource 'm'"),
    "held too long": (
        TASK + 'uses = [{ resource = "m", after = "1ms", for = "1us" }]\n' + MUTEX,
        "'m' is held beyond the work",
    ),
    "held in part together": (
        TASK + 'uses = [{ resource = "m", for = "5us" }, '
        '{ resource = "n", after = "2us", for = "5us" }]\n' + MUTEX + MUTEX.replace('"m"', '"n"'),
        "'m' and 'n' are held in part together",
    ),
    "taken twice": (
        TASK + 'uses = [{ resource = "m", for = "5us" }, '
        '{ resource = "m", after = "2us", for = "1us" }]\n' + MUTEX,
        "'m' is taken while it is held",
    ),
    "queue held": (
        TASK + 'uses = [{ resource = "m", for = "5us" }]\n' + MUTEX + 'kind = "queue"',
        "queue 'm' cannot be held",
    ),
    "semaphore with inheritance": (
        TASK + MUTEX + 'kind = "semaphore"\nprotocol = "inherit"',
        "protocol inherit of a semaphore, which nobody owns",
    ),
    "statistic": (TASK + 'needs = { response.p98 = "1ms" }', "unknown statistic 'p98'"),
    "share": (TASK + 'needs = { missed = "2" }', "bad share '2'"),
    "weakly hard": (TASK + 'needs = { weakly_hard = "5 in 5" }', "bad number of misses '5 in 5'"),
    "nobody wakes": (TASK.replace('period = "10ms"', ""), "nothing releases task 'a'"),
    "chain of one": (TASK + '[[chain]]\nname = "c"\npath = ["a"]', "bad path, in chain 'c'"),
    "unknown task": (TASK + '[[chain]]\nname = "c"\npath = ["a", "bb"]', "unknown task 'bb'"),
    "chain in a circle": (
        TASK + TASK.replace('"a"', '"b"') + '[[chain]]\nname = "c"\npath = ["a", "b", "a"]',
        "a cycle: 'a' comes twice in chain 'c'",
    ),
    "tasks in a circle": (
        TASK.replace('period = "10ms"', "")
        + TASK.replace('period = "10ms"', "").replace('"a"', '"b"')
        + '[[chain]]\nname = "c"\npath = ["a", "b"]\n[[chain]]\nname = "d"\npath = ["b", "a"]',
        "a cycle of tasks that wake each other, 'a', 'b', 'a'",
    ),
    "two wakers": (
        TASK + TASK.replace('"a"', '"b"')
        + TASK.replace('"a"', '"c"').replace('period = "10ms"', "")
        + '[[chain]]\nname = "c"\npath = ["a", "c"]\n[[chain]]\nname = "d"\npath = ["b", "c"]',
        "'a' and 'b' wake task 'c'",
    ),
    "deadline above period": (
        TASK.replace("priority = 5", 'policy = "deadline"\ndeadline = "11ms"'),
        "a deadline above the period with policy deadline, in task 'a'.*the kernel refuses it",
    ),
    "runtime above deadline": (
        TASK.replace("priority = 5", 'policy = "deadline"\nruntime = "11ms"'),
        "a runtime above the deadline",
    ),
    "budget above period": (
        TASK + '[[server]]\nname = "s"\nkind = "polling"\nbudget = "2ms"\nperiod = "1ms"',
        "a budget above the period, in server 's'",
    ),
    "unknown server": (TASK.replace("priority = 5", 'server = "s"'), "unknown server 's'"),
    "priority beside server": (TASK + 'server = "s"', "'priority' beside server 's'"),
    "held by a server's": (
        TASK.replace("priority = 5", 'server = "s"\nuses = [{ resource = "m", for = "1us" }]')
        + MUTEX + '[[server]]\nname = "s"\nkind = "cbs"\nbudget = "1ms"\nperiod = "1ms"',
        "a task of server 's' holds a resource",
    ),
    "no budget": (TASK + '[[server]]\nname = "s"\nkind = "polling"', "no 'budget', in server 's'"),
    "many tasks": (
        "\n".join(TASK.replace('"a"', f'"t{number}"') for number in range(10_000)),
        f"10 000 tasks, in .*; at most {MOST_TASKS} can be analysed",
    ),
    "no histogram": (TASK.replace("work", "histogram"), "cannot read .*1ms, histogram of task 'a'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_one_line(name: str, tmp_path: Path, cli: Cli) -> None:
    text, message = WRONG[name]
    path = tmp_path / "set.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    done = cli("tasks", "check", str(path))
    assert (done.status, done.out) == (2, "")
    assert done.says


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "an empty histogram"), ("1us\n", "bad line '1us'"), ("1us x\n", "bad line '1us x'"),
     ("1parsec 2\n", "bad time '1parsec'"), ("\xff\xfe", "bad line|not a histogram")],
)  # fmt: skip
def test_a_wrong_histogram_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "h").write_text(text)
    with pytest.raises(UsageError, match=message):
        read(tmp_path, TASK.replace('work = "1ms"', 'histogram = "h"'))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    tasks = load(resources.path("tasks", "new.toml"))
    (tmp_path / "again.toml").write_text(toml_text(tasks))
    assert load(tmp_path / "again.toml") == tasks


def test_a_deadline_above_the_period_is_no_fault_of_fixed_priorities(
    tmp_path: Path, cli: Cli
) -> None:
    """It is covered by busy periods."""
    path = tmp_path / "set.toml"
    path.write_text(TASK + 'deadline = "15ms"')
    assert cli("tasks", "check", str(path)).status == 0
