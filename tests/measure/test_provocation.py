"""`rtstone provoke` goes on: of an interrupted measurement what is stored is not measured again."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Agent, Run, Target
from rtstone.errors import Interrupted, RtstoneError, TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure import provocation
from rtstone.measure.listener import Listener
from rtstone.measure.provocation import Design, Measured, Part
from rtstone.wire.records import Bench
from tests.stats.test_provocation import CONTROL, result, run, system

LOADS = [CONTROL, CONTROL, "load0", "load1", "load2"]
NAMES = [f"session-{number:02}" for number in range(1, len(LOADS) + 1)]
TARGET: Any = SimpleNamespace(host_conditions=dict)


def parts() -> list[Part]:
    """Return the parts of a measurement in the lab: two boots of the control, three actions."""
    return [
        Part(
            TARGET,
            Plan(
                run_id=name, session="session", created="", command=[], suite=None,
                target=Target(name="qemu:x"), keep_idle=False, listed_by="source",
                benches={"dk.periodic": Bench(id="dk.periodic")},
                cases=[Case(1, "dk.periodic", {}, load)],
            ),
            load == CONTROL,
        )
        for name, load in zip(NAMES, LOADS, strict=True)
    ]  # fmt: skip


def boot(name: str, status: str = "complete") -> Run:
    load = LOADS[NAMES.index(name)]
    stored = structs.replace(run([result(1, load, 1.0)], name), status=status)
    agent = Agent(version="", source="source", port="", os="", arch="", compiler="", flags="")
    return structs.replace(stored, session="session", agent=agent)


class Machinery:
    """What measures, and what it was asked for; ``fails``: the run that raises this."""

    def __init__(self, fails: dict[str, RtstoneError]) -> None:
        self.measured: list[str] = []
        self.resumed: list[str] = []
        self.fails = fails

    def execute(self, plan: Plan, *_: object, **__: object) -> tuple[Run, None, None]:
        self.measured.append(plan.run_id)
        if error := self.fails.get(plan.run_id):
            raise error
        return boot(plan.run_id), None, None

    def resume(self, name: str, **_: object) -> tuple[Run, None, None]:
        self.resumed.append(name)
        return boot(name), None, None


Measure = Callable[..., tuple[Measured, Machinery]]


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Measure:
    def carried_out(*earlier: Run, **fails: RtstoneError) -> tuple[Measured, Machinery]:
        machinery = Machinery({name.replace("_", "-"): error for name, error in fails.items()})
        monkeypatch.setattr(provocation, "execute", machinery.execute)
        monkeypatch.setattr(provocation, "resume", machinery.resume)
        monkeypatch.setattr(provocation, "find_run", lambda name: name)
        with Interrupt() as interrupt:
            taken = provocation.measure(
                Design(system(3, exact=True, blocks=1), parts()), interrupt=interrupt,
                listener=lambda number, total: Listener(),
                earlier={run.run_id: run for run in earlier},
            )  # fmt: skip
        return taken, machinery

    return carried_out


def test_what_is_stored_is_not_measured_again(measure: Measure) -> None:
    taken, machinery = measure(boot(NAMES[0]), boot(NAMES[1]), boot(NAMES[2], "incomplete"))
    assert (machinery.resumed, machinery.measured) == ([NAMES[2]], NAMES[3:])
    assert [run.run_id for run in taken.controls] == NAMES[:2]
    assert [run.run_id for run in taken.runs] == NAMES[2:]
    assert taken.error is None


def test_all_is_measured_where_nothing_is_stored(measure: Measure) -> None:
    _, machinery = measure()
    assert (machinery.resumed, machinery.measured) == ([], NAMES)


def test_what_ends_a_run_before_it_begins_loses_none_of_the_others(measure: Measure) -> None:
    error = Interrupted("interrupted")
    taken, machinery = measure(session_03=error)
    assert machinery.measured == NAMES[:3]
    assert (len(taken.controls), taken.runs, taken.error) == (2, [], error)
    with pytest.raises(TargetError):  # there is nothing to lose
        measure(session_01=TargetError("no emulator"))


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        (structs.replace(boot(NAMES[2]), results=[result(1, "load1", 1.0)]),
         "run session-03 is of other actions; repeat the actions, the consent and the target of"),
        (structs.replace(boot(NAMES[2]), run_id="session-06"), "run session-06 is of other action"),
        (structs.replace(boot(NAMES[2]), agent=structs.replace(boot(NAMES[2]).agent, source="x")),  # type: ignore[type-var]
         "the agent has changed since run session-03; start a new measurement"),
    ],
)  # fmt: skip
def test_another_measurement_is_not_gone_on_with(measure: Measure, stored: Run, says: str) -> None:
    with pytest.raises(UsageError, match=f"^{says}"):
        measure(stored)
