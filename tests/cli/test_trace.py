"""`rtstone run --trace`: what is asked of the agent, and who cannot do it."""

from __future__ import annotations

import pytest
from msgspec import structs

from rtstone.documents.plan import Trace
from rtstone.measure.agent_session import script
from rtstone.store.index import find
from rtstone.store.rundir import logs
from tests.conftest import Cli, Fake


def test_the_agent_is_told_before_the_first_case(fake: Fake, cli: Cli) -> None:
    assert cli("run", "null", "--trace", "above=50us").status == 0
    plan, (log,) = logs(find("last"))
    assert plan.trace == Trace(above_ns=50_000, keep=4)
    heard = [line.split(b'"text": "')[1].split(b'"')[0] for line in log.splitlines()
             if b'"heard"' in line]  # fmt: skip
    assert heard.index(b"trace 50000 4") < next(
        n for n, command in enumerate(heard) if command.startswith(b"case ")
    )
    assert next(iter(script(plan, plan.cases))) == "trace 50000 4"
    stacked = structs.replace(plan, trace=structs.replace(plan.trace, stacks=True))
    assert next(iter(script(stacked, plan.cases))) == "trace 50000 4 stacks"


def test_nothing_is_said_of_it_unless_asked(fake: Fake, cli: Cli) -> None:
    assert cli("run", "null").status == 0
    plan, (log,) = logs(find("last"))
    assert plan.trace is None
    assert b"trace 5" not in log
    assert not any(command.startswith("trace") for command in script(plan, plan.cases))


def test_an_agent_that_cannot_trace_measures_nothing(fake: Fake, cli: Cli) -> None:
    fake(traceless=True)
    done = cli("run", "null", "--trace", "worst")
    assert done.status == 4
    assert "target 'local' cannot trace, as it is no Linux; leave out --trace" in done.says


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--trace", "most"], "write above=50us, or worst"),
        (["--trace", "worst", "--until", "ci=2%"], "leave out --until"),
        (["--trace", "worst", "--resume", "last"], "leave out --trace"),
    ],
)
def test_what_is_refused(fake: Fake, cli: Cli, options: list[str], says: str) -> None:
    assert cli("run", "null").status == 0
    done = cli("run", *([] if "--resume" in options else ["null"]), *options)
    assert done.status == 2
    assert says in done.says
