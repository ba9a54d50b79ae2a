"""`rtstone growth`: planted costs on the simulated system, from the command to the answer."""

from __future__ import annotations

from math import log2
from pathlib import Path

import pytest
from msgspec import structs

from rtstone.cli.growth import select
from rtstone.documents.growth import GrowthPair, GrowthPoint, GrowthTable
from rtstone.errors import UsageError
from rtstone.report.growth.words import answer, unclassified, unprivileged
from tests.conftest import Cli

SIZES = (1, 4, 16, 64, 256, 1024)


def model(folder: Path, **costs: str) -> str:
    every = {"read": '"10ns"', "time": '"10ns"', "switch": '"400ns"', "sleep": '"100ns"', **costs}
    lines = "\n".join(f"{name} = {cost}" for name, cost in every.items())
    path = folder / "planted.toml"
    path.write_text(
        f'title = "Planted"\nlabel = "a test\'s own"\nseed = 1\ntick = "0s"\n[cost]\n{lines}\n'
    )
    return f"sim:{path}"


def table(kind: str, cost: object) -> str:
    points = ", ".join(f'[{n}, "{cost(n)}ns"]' for n in SIZES)  # type: ignore[operator]
    return f'{{ fixed = "300ns", {kind} = [{points}] }}'


def test_planted_costs_have_their_classes(cli: Cli, tmp_path: Path) -> None:
    """Of a semaphore's waiters, of ready tasks; and nothing grows with the holes of a heap."""
    target = model(
        tmp_path,
        sem_give=table("waiters", lambda n: 7 * n),
        sem_block=table("waiters", lambda n: n * n),
        **{"yield": table("ready", lambda n: 50 * log2(n))},
        malloc='"80ns"',
    )
    words = ("growth", "give", "take", "yield", "malloc", "--target", target)
    done = cli(*words, "--json")
    assert done.status == 0, done.err
    pairs = {pair["bench"]: pair for pair in done.document["pairs"]}
    assert {bench: pair["growth"] for bench, pair in pairs.items()} == {
        "grow.give": "linear", "grow.take": "quadratic", "grow.yield": "logarithmic",
        "grow.malloc": "constant",
    }  # fmt: skip
    assert [pairs[f"grow.{name}"]["slope"] for name in ("give", "take", "yield")] == pytest.approx(
        [7, 1, 50], rel=0.03
    )
    assert done.document["exact"]
    shown = cli("growth", "--run", "last").out.splitlines()
    assert shown[0].startswith("Not constant: wait for a semaphore beside n waiters, ")
    assert "1 of 4 pairs constant, 1 logarithmic, 1 linear, 1 quadratic." in shown[0]


@pytest.mark.parametrize(
    ("sleep", "end"),
    [
        ("500us", None),  # 64 tasks are asleep after 32 ms, before which they were due
        ("4ms", "n = 1024: the tasks were not all asleep within 5 s"),
    ],
)
def test_tasks_that_fall_asleep_slowly_are_waited_for(
    cli: Cli, tmp_path: Path, sleep: str, end: str | None
) -> None:
    """Each call of a sleep takes so long.  Costs are those of tasks that fall asleep at once."""
    things = ("--over", "FIFO-sleepers-due-together", "--over", "sleepers-due-before")
    target = model(tmp_path, sleep=f'"{sleep}"')
    done = cli("growth", "wakeup", "sleep", *things, "--target", target, "--json")
    pairs = done.document["pairs"]
    assert [(pair["growth"], pair["end"]) for pair in pairs] == [("constant", end)] * 2


def test_what_a_system_lacks_is_named_once(cli: Cli) -> None:
    done = cli("growth", "fork", "malloc", "--target", "sim:default")
    assert done.status == 0, done.err
    assert done.out.startswith("Constant: 1 of 1 pair constant.")
    assert done.out.count("Not measured") == 1
    assert done.out.splitlines()[-2].endswith(": fork.")


def test_what_measures_nothing_is_undetermined(cli: Cli) -> None:
    """Each pair unsupported: one line has the reason, and the exit code is 3."""
    done = cli("growth", "fork", "--target", "sim:default")
    assert done.status == 3
    assert done.says == (
        "rtstone: sim:default: no pair was measured; fork: needs calls of POSIX, which this "
        "system does not have"
    )
    assert done.out.startswith("No pair was measured; fork: needs calls of POSIX")
    done = cli("growth", "fork", "--target", "sim:default", "--json")
    assert done.status == 3 and done.document["pairs"][0]["growth"] is None


def test_too_few_points_are_undetermined(cli: Cli) -> None:
    words = ("grow.give", "-p", "n=1,4,16", "--target", "sim:default", "-q")
    assert cli("run", *words).status == 0
    done = cli("growth", "--run", "last")
    assert done.status == 3
    assert done.says.endswith(
        "no pair has the 4 points that a class takes; give of a semaphore beside n waiters has "
        "3 points"
    )


def test_a_run_without_pairs_is_refused(cli: Cli) -> None:
    assert cli("run", "null", "--target", "sim:default", "-q").status in {0, 3}
    done = cli("growth", "--run", "last")
    assert done.status == 2 and "has no case of grow.*" in done.says
    done = cli("growth", "fork", "--run", "last")
    assert done.status == 2 and "leave out" in done.says


def test_several_systems_stand_side_by_side(cli: Cli, tmp_path: Path) -> None:
    """Measured one after the other, or stored; the first line says where classes differ."""
    linear, constant = tmp_path / "a", tmp_path / "b"
    for folder in (linear, constant):
        folder.mkdir()
    targets = (
        model(linear, sem_give=table("waiters", lambda n: 7 * n), malloc='"80ns"'),
        model(constant, sem_give='"300ns"', malloc='"80ns"'),
    )
    output = tmp_path / "growth.html"
    words = [word for target in targets for word in ("--target", target)]
    done = cli("growth", "give", "malloc", *words, "-o", str(output))
    assert done.status == 0, done.err
    assert done.out.startswith("1 of 2 pairs is of another class on sim:")
    assert "give of a semaphore beside n waiters, linear on sim:" in done.out.splitlines()[0]
    assert "How costs grow on" in output.read_text()
    shown = cli("growth", "--run", "last~1", "--run", "last", "--json")
    assert shown.status == 0
    assert shown.document["schema"] == "rtstone.growth-compared/1"
    assert [row["verdicts"] for row in shown.document["rows"]] == [["class"], ["same"]]
    done = cli("growth", "--run", "last,last")
    assert done.status == 0 and done.out.startswith("Constant: 2 of 2 pairs constant.")
    done = cli("growth", "fork", "--target", targets[0], "--target", targets[1])
    assert done.status == 3 and "no pair has a class on both" in done.says
    assert done.out.count("Not measured, needs calls of POSIX") == 1  # of both systems


def test_services_and_things_are_chosen() -> None:
    assert select(["fork"], ["maps", "pages"]) == {"grow.fork": ["maps", "pages"]}
    assert set(select(["epoll"], [])) == {"grow.epoll.all", "grow.epoll.one", "grow.epoll.add"}
    assert set(select(["wakeup"], [])) == {"grow.wakeup", "grow.wakeup.user"}
    assert set(select([], ["maps"])) == {"grow.fork", "grow.mmap"}
    for services, things in ((["forc"], []), ([], ["map"]), (["malloc"], ["maps"])):
        with pytest.raises(UsageError):
            select(services, things)


# ---- the answer ---------------------------------------------------------------------------------


def pair(bench: str, over: str, growth: str | None, slope: float | None, last: float) -> GrowthPair:
    return GrowthPair(
        bench=bench, service="wake-up", over=over, load="none", params={}, unit="instructions",
        points=[GrowthPoint(n=1, cost=6000, minima=[6000]),
                GrowthPoint(n=1024, cost=last, minima=[last])],
        growth=growth, slope=slope, low=slope, high=slope,  # type: ignore[arg-type]
    )  # fmt: skip


def growths(*pairs: GrowthPair, exact: bool = True) -> GrowthTable:
    return GrowthTable(system="x", runs=["x"], target="qemu:x", exact=exact, pairs=list(pairs))


def test_the_first_line_says_what_is_not_constant() -> None:
    herd = pair("grow.wakeup", "FIFO-sleepers-due-together", "linear", 1267, 1.3e6)
    flat = pair("grow.wakeup", "blocked-tasks", "constant", None, 6000)
    few = pair("grow.wakeup", "sleeping-tasks", None, None, 6000)
    assert answer(growths(herd, flat, few)) == (
        "Not constant: wake-up beside n FIFO sleepers due together, 1.27 k instr each; "
        "1 of 2 pairs constant, 1 linear."
    )
    assert answer(growths(flat)) == "Constant: 1 of 1 pair constant."
    ended = structs.replace(few, end="n = 4096: no memory")
    assert answer(growths(few, ended)) == (
        "No pair has the 4 points that a class takes; wake-up beside n sleeping tasks has 2 points."
    )
    assert unclassified(growths(ended)) == (
        "no pair has the 4 points that a class takes; wake-up beside n sleeping tasks has 2 points "
        "and ended at n = 4096: no memory"
    )
    free = structs.replace(few, points=[GrowthPoint(n=1, cost=0, minima=[0])])
    assert unclassified(growths(free)) == (
        "no pair has costs above 0, which a class takes; wake-up beside n sleeping tasks: 0 at "
        "n = 1"
    )
    lost = structs.replace(few, points=[], end="n = 1: the agent has died")
    assert unclassified(growths(lost)) == (
        "no pair was measured; wake-up beside n sleeping tasks: the agent has died"
    )
    assert answer(growths(flat, exact=False)) == (
        "No growth seen: 1 of 1 pair without growth seen."
    )


def test_what_any_user_can_do() -> None:
    timers = pair("grow.wakeup.user", "timers-due-together", "linear", 346, 3.6e5)
    flat = pair("grow.wakeup.user", "armed-timerfds", "constant", None, 6000)
    assert unprivileged(growths(timers, flat)) == (
        "An unprivileged process can slow the most urgent task: wake-up beside n timers due "
        "together, 346 instr each (1 of 2 ways tried)."
    )
    text = unprivileged(growths(flat))
    assert text is not None and text.startswith("No way was seen")
    assert unprivileged(growths()) is None
