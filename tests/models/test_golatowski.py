from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rtstone.targets.model import find
from tests.conftest import Cli
from tests.models import differing, printed, simulate, title

MODELS = ["rmos3-pc1", "rmos3-windows", "lynx-486", "sorix"]
COMPONENTS = {
    "rheal.il": "interrupt latency",
    "rheal.ts": "task switch",
    "rheal.pt": "preemption",
    "rheal.im": "intertask message latency",
    "rheal.ss": "semaphore shuffling",
    "rheal.db": "deadlock breaking",
}


def test_ph_1_shows_the_time_base(cli: Cli, tmp_path: Path) -> None:
    """Sleeps end at ticks of 10 ms: releases that others have between them come late, and soon."""
    text = find("sorix").path.read_text()
    free = tmp_path / "free.toml"
    free.write_text(text.replace('tick = "10ms"', 'tick = "0s"'))
    reached = {}
    for name in ("sorix", str(free)):
        run = simulate(cli, name, "hart.PH.1", "-p", "duration=2s", "-p", "set=sei", "--time", "0")
        figures = run.result("hart.PH.1")["figures"]
        reached[name] = figures["breakdown utilisation"]["value"]
        assert figures["raw speed"]["value"] == pytest.approx(5000, rel=0.01)  # kwi = 200 us
    assert reached["sorix"] < reached[str(free)] / 2


def test_systems_of_one_hardware_compute_at_one_speed() -> None:
    speeds = {
        tomllib.loads(find(name).path.read_text())["cost"]["kwi"]["amount"] for name in MODELS
    }
    assert speeds == {"200us"}


@pytest.mark.parametrize("model", MODELS)
def test_table_1_in_both_forms_and_its_sum(cli: Cli, model: str) -> None:
    run = simulate(cli, model, "rhealstone")
    pairs: dict[str, tuple[float | None, float | None]] = {}
    values = [
        printed("golatowski", "Table 1", system=title(model), metric=metric)
        for metric in COMPONENTS.values()
    ]
    for result in run.document["results"]:
        bench, params = result["bench"], result["params"]
        if bench not in COMPONENTS:
            continue
        value = printed("golatowski", "Table 1", system=title(model), metric=COMPONENTS[bench])
        if value is None:  # printed as n.e.
            assert (result["status"], result["n"]) == ("unsupported", 0)
            continue
        assert result["status"] == "ok"
        pairs[f"{bench} {params['form']} {params.get('variant')}"] = result["mean"] / 1000, value
    assert len(pairs) == {"rmos3-pc1": 14, "rmos3-windows": 14, "lynx-486": 10, "sorix": 8}[model]
    assert not differing(pairs)
    total = run.result("rheal.sum_time", form="sampled", variant="rtems")
    assert ("partial" in total["flags"]) == (None in values)
    determined = [value for value in values if value is not None]
    assert total["figures"]["sum of times"]["value"] == pytest.approx(sum(determined), abs=0.05)
