from __future__ import annotations

import pytest

from tests.conftest import Cli
from tests.models import Simulated, differing, printed, simulate, title

MODELS = ["lynxos-3.0.1", "solaris-8-1cpu", "solaris-8-2cpu", "solaris-8-1rt"]
WORK = ["add", "copy", "whet"]
ENTITIES = ["thread", "process"]


def simulated(cli: Cli, model: str, benches: str, *params: str, load: str = "none") -> Simulated:
    """Run the model, which has one CPU whatever configuration it stands for."""
    words = [word for param in ("config=1cpu", *params) for word in ("-p", param)]
    return simulate(cli, model, *benches.split(), "--load", load, *words)


def table(number: int, model: str, metric: str, stat: str, load: str = "no load") -> float | None:
    """Return a number of a table."""
    where = {"system": title(model), "metric": metric, "condition": load, "stat": stat}
    return printed("obenland", f"Table {number}", **where)


@pytest.mark.parametrize("model", MODELS)
def test_tables_8_to_10_without_load(cli: Cli, model: str) -> None:
    grid = ["work=add,copy,whet", "entity=thread,process"]
    run = simulated(cli, model, "det.response ctx.sync mq.latency", *grid)
    responses: dict[str, tuple[float | None, float | None]] = {
        f"response {work}": (
            run.us("max", "det.response", work=work) / 1000,
            table(8, model, f"response {work}", "max"),
        )
        for work in WORK
    }
    differ = differing(responses)
    if model == "lynxos-3.0.1":  # 9.9: less than the calibrated 10 ms
        ours, theirs = responses["response add"]
        assert differ.pop("response add")
        assert theirs == 9.9
        assert ours == pytest.approx(10, abs=0.01)
    assert not differ
    measures = [("ctx.sync", 9, "context switch", "max"), ("mq.latency", 10, "mq latency", "worst")]
    assert not differing(
        {
            f"{measure} {entity} {stat}": (
                run.us(ours, bench, entity=entity),
                table(number, model, f"{measure} {entity}", stat),
            )
            for bench, number, measure, worst in measures
            for entity in ENTITIES
            for ours, stat in (("mean", "avg"), ("max", worst))
        }
    )


def rate(run: Simulated, entity: str, name: str) -> float:
    figures = run.result("mq.throughput", entity=entity)["figures"]
    return float(figures[name]["value"])


@pytest.mark.parametrize("model", MODELS)
def test_throughput_of_messages_of_4_kib(cli: Cli, model: str) -> None:
    run = simulated(cli, model, "mq.throughput", "size=4KiB", "entity=thread,process")
    average = table(10, model, "mq throughput process", "avg")
    worst = table(10, model, "mq throughput process", "worst")
    assert average
    assert worst
    assert not differing({"average": (rate(run, "process", "average"), average)})
    if worst < average:
        assert rate(run, "process", "worst block") == pytest.approx(worst, abs=0.1)
    else:  # as printed: one of the two is a misreading
        assert model == "solaris-8-1cpu"
    between_threads = table(10, model, "mq throughput thread", "avg")
    assert rate(run, "thread", "average") == pytest.approx(between_threads, rel=0.05)


def verdict(run: Simulated, protocol: str) -> str:
    result = run.result("sync.test3", lock="mutex", protocol=protocol)
    if result["status"] == "unsupported":
        return "unsupported"
    (table,) = result["tables"]
    return str(table["rows"][0][0])


@pytest.mark.parametrize("model", MODELS)
def test_what_the_figures_state_without_load(cli: Cli, model: str) -> None:
    grid = ["period=1ms,10ms,100ms", "protocol=none,inherit,protect"]
    run = simulated(cli, model, "det.timer_jitter sync.test3", *grid)
    for period in (1, 10, 100):  # figure 5a: below 200 us
        assert run.us("max", "det.timer_jitter", period=period * 1000000) < 200
    lynx = model == "lynxos-3.0.1"  # figure 9: about 10 ms for this system, none for others
    assert run.us("max", "sync.test3", protocol="none") == pytest.approx(10000, rel=0.02)
    assert [verdict(run, protocol) for protocol in ("none", "inherit", "protect")] == (
        ["inverted", "unsupported", "unsupported"] if lynx else ["inverted", "bounded", "bounded"]
    )


@pytest.mark.parametrize("model", MODELS)
def test_tables_8_and_9_under_heavy_load(cli: Cli, model: str) -> None:
    """Delays are rare: the averages leave room for one largest value in 20 000."""
    blocks = simulated(cli, model, "det.response", "work=add,copy,whet", load="heavy")
    trips = simulated(cli, model, "ctx.sync", "samples=20000", load="heavy")
    differ = differing(
        {
            f"response {work}": (
                blocks.us("max", "det.response", "heavy", work=work) / 1000,
                table(8, model, f"response {work}", "max", "heavy load"),
            )
            for work in WORK
        }
    )
    if model == "lynxos-3.0.1":  # as without load: less than the calibrated 10 ms
        assert differ.pop("response add") == (pytest.approx(10, abs=0.01), 9.9)
    assert not differ
    assert not differing(
        {
            f"switch {entity} {stat}": (
                trips.us(ours, "ctx.sync", "heavy", entity=entity),
                table(9, model, f"context switch {entity}", stat, "heavy load"),
            )
            for entity in ENTITIES
            for ours, stat in (("mean", "avg"), ("max", "max"))
        }
    )


@pytest.mark.parametrize("model", MODELS)
def test_timers_under_heavy_load(cli: Cli, model: str) -> None:
    """Figure 5b: up to 10 s on Solaris without a reserved CPU, on others as without load."""
    run = simulated(cli, model, "det.timer_jitter", "period=1ms", load="heavy")
    most = run.us("max", "det.timer_jitter", "heavy")
    if model in {"solaris-8-1cpu", "solaris-8-2cpu"}:
        assert most == pytest.approx(10e6, rel=0.001)
    else:
        assert most < 200
