"""A search on an emulated board: measured once, and the same each time."""

from __future__ import annotations

import os

import pytest

from rtstone.campaign import search
from rtstone.lab import ready, systems
from rtstone.store.layout import runs
from tests.conftest import Cli

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(
    ("system", "load", "seed"),
    [("linux-6.1", "syscalls", 5), ("freertos-a64", "heavy/reduced", 3)],
)
def test_a_search_goes_on_and_its_worst_is_there_again(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, system: str, load: str, seed: int
) -> None:
    if system != "freertos-a64" and os.environ.get("RTSTONE_LAB") != "all":
        pytest.skip("takes long: RTSTONE_LAB=all runs it")
    monkeypatch.setattr(search, "LOADS", (load, "of another system"))
    monkeypatch.setattr(search, "SAMPLES", 100)
    if lacking := ready.missing(systems.find(system)):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    words = ["search", "dk.periodic", "--target", f"qemu:{system}", "--seed", str(seed), "--json"]
    first = cli(*words, "--programs", "1").document
    measured = set(runs().iterdir())
    again = cli(*words, "--programs", "1").document
    assert again == first
    assert set(runs().iterdir()) == measured
    assert first["programs"] == 1
    assert first["unit"] == "instructions"
    assert [each["load"] for each in first["loads"]] == [load]
    assert 0 < first["switched"] <= first["bound"]
    listed = (first["control"], *first["loads"], *first["records"], first["least"])
    assert first["bound"] >= max(each["bound"] for each in listed)
    assert first["defects"] == []
    least, (record,) = first["least"], first["records"]
    assert first["control"]["longest"] > 0
    assert least["longest"] >= 0.95 * record["longest"]
    done = cli("run", "dk.periodic", "-p", f"samples={first['samples']}", "--target",
               f"qemu:{system}", "--load", least["load"], "--json")  # fmt: skip
    assert done.document["results"][0]["max"] == least["longest"]
