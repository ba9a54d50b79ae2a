from __future__ import annotations

import pytest

from rtstone.cpus import cpu_list, cpu_set
from rtstone.errors import UsageError
from rtstone.wire.parameters import quantity, values
from rtstone.wire.records import Bench


@pytest.mark.parametrize(
    ("name", "value", "base"),
    [
        ("ballast", "33", [33]),
        ("ballast", "0,1,33", [0, 1, 33]),
        ("ballast", [0, 1], [0, 1]),
        ("time", "1ms", [10**6]),
        ("time", "50us", [50_000]),
        ("time", "50 µs", [50_000]),
        ("time", "2s", [2 * 10**9]),
        ("time", "3", [3 * 10**9]),
        ("time", 3, [3 * 10**9]),
        ("time", 0.1, [10**8]),
        ("time", "0.001", [10**6]),
        ("time", "1e-3", [10**6]),
        ("size", "16KiB", [16384]),
        ("size", "1KB", [1024]),
        ("size", "64", [64]),
        ("size", "64B,1KiB", [64, 1024]),
        ("raw", "on", [True]),
        ("raw", "0", [False]),
        ("raw", True, [True]),
        ("policy", ["fifo", "rr"], ["fifo", "rr"]),
        ("cpus", "0-2,4", ["0-2,4"]),
        ("cpus", 3, ["3"]),
        ("cpus", "all", ["all"]),
    ],
)
def test_what_people_write(ballast: Bench, name: str, value: object, base: list[object]) -> None:
    got = values(ballast, name, value)
    assert got == base
    assert [type(value) for value in got] == [type(value) for value in base]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ballast", "1025", "0 to 1024"),
        ("ballast", "-1", "0 to 1024"),
        ("ballast", "1.5", "0 to 1024"),
        ("ballast", True, "0 to 1024"),
        ("ballast", "1ms", "0 to 1024"),
        ("ballast", "", "0 to 1024"),
        ("ballast", [], "0 to 1024"),
        ("ballast", "9" * 5000, "0 to 1024"),
        ("time", "1e999999999", "0s to 10000s"),
        ("time", "nan", "0s to 10000s"),
        ("time", "1parsec", "ns, us, ms, s"),
        ("size", "2MiB", "1B to 1MiB"),
        ("policy", "fiffo", "one of fifo, rr"),
        ("raw", "maybe", "on or off"),
    ],
)
def test_bad_values_name_parameter_value_and_range(
    ballast: Bench, name: str, value: object, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        values(ballast, name, value, "quick.toml, case 3")
    text = str(error.value)
    for part in (name, message, "ctx.ballast", "quick.toml, case 3"):
        assert part in text
    assert "\n" not in text


def test_an_unknown_parameter_names_the_nearest(ballast: Bench) -> None:
    with pytest.raises(UsageError, match=r"unknown parameter 'balast'.*did you mean 'ballast'"):
        values(ballast, "balast", "1")


def test_cpu_lists() -> None:
    assert cpu_set("0-2,4") == {0, 1, 2, 4}
    for bad in ("", "a", "1-", "2-1", "1,,2", "-1", "٣", "9" * 5000):
        with pytest.raises(UsageError, match="CPU list"):
            cpu_set(bad)
    assert cpu_set("1023") == {1023}
    for large in ("1024", "0-99999", "99999-99998"):
        with pytest.raises(UsageError, match="the largest CPU number is 1023"):
            cpu_set(large)
    assert cpu_list({4, 0, 1, 2}) == "0-2,4"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("time", 10**6, "1ms"),
        ("time", 1500, "1500ns"),
        ("time", 0, "0s"),
        ("size", 16384, "16KiB"),
        ("size", 100, "100B"),
        ("raw", True, "on"),
        ("policy", "rr", "rr"),
        ("ballast", 33, "33"),
        ("cpus", None, ""),
    ],
)
def test_values_as_people_would_write_them(
    ballast: Bench, name: str, value: int | str | None, text: str
) -> None:
    param = ballast.param(name)
    assert param is not None
    assert quantity(param, value) == text
    if text:
        assert values(ballast, name, text) == [value]
