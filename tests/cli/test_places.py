"""Where nothing can be stored, as there is no home."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from tests.conftest import Cli

FILE = next((Path(__file__).parents[1] / "formats" / "data").glob("cyclictest*.json"))
NO_PLACE = "no place for {}: this user has neither HOME nor an entry in passwd; name one with {}\n"


@pytest.fixture(autouse=True)
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(uid: int) -> pwd.struct_passwd:
        raise KeyError(f"uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", none)
    for name in ("HOME", "RTSTONE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "words",
    [("show", "last"), ("run", "null", "--target", "sim", "--time", "1ms"), ("trend", "null")],
)
def test_a_place_for_results_has_to_be_named(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.endswith(f"rtstone: {NO_PLACE.format('results', 'RTSTONE_HOME')}")


def test_a_place_for_kernels_has_to_be_named(cli: Cli) -> None:
    done = cli("lab", "list")
    assert done.err == f"rtstone: {NO_PLACE.format('kernels', 'XDG_CACHE_HOME')}"


def test_what_is_converted_needs_no_place(cli: Cli) -> None:
    done = cli("import", "--json", str(FILE))
    assert done.status == 0
    assert done.document["results"]
    assert done.err == f"rtstone: not stored: {NO_PLACE.format('results', 'RTSTONE_HOME')}"
