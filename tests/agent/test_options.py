"""posix.options against what Python and the compiler see, and with reduced privileges."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agent.rights import as_root, limited, unprivileged
from tests.agent.speak import case, figures

pytestmark = pytest.mark.machine

PROFILES = ("51", "52", "53", "54")


def rows(options_table: dict[str, Any], title: str) -> list[dict[str, str]]:
    table = next(t for t in options_table["tables"] if t["title"] == title)
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def options(options_table: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {row["option"]: row for row in rows(options_table, "Options")}


@pytest.fixture(scope="module")
def options_table() -> dict[str, Any]:
    results, end = case("posix.options")
    assert end["status"] == "ok", end["reason"]
    return results[0]


def test_no_object_of_a_probe_is_left(options_table: dict[str, Any]) -> None:
    assert options(options_table)["MESSAGE_PASSING"]["probe"] == "works"
    places = ("/dev/shm", "/dev/mqueue")
    assert not [path for place in places for path in Path(place).glob("*rtstone-*.probe")]
    assert not list(Path("/tmp").glob("rtstone-??????"))


def test_there_are_no_samples(options_table: dict[str, Any]) -> None:
    assert (options_table["n"], options_table["min"], options_table["hist"]) == (0, None, [])
    assert options_table["ended"] is None


def test_sysconf_is_what_python_sees(options_table: dict[str, Any]) -> None:
    checked = 0
    for name, row in options(options_table).items():
        key = "SC_2_VERSION" if name == "POSIX.2" else f"SC_{name}"
        if key in os.sysconf_names:
            assert row["sysconf"] == str(os.sysconf(key)), name
            checked += 1
    assert checked >= 15
    for row in rows(options_table, "Limits"):
        if (key := f"SC_{row['limit']}") in os.sysconf_names:
            value = os.sysconf(key)
            assert row["value"] == ("none" if value < 0 else str(value)), key


def expanded(macros: list[str]) -> list[str]:
    """Return what the preprocessor expands each name to; itself if it is not defined."""
    source = "#include <unistd.h>\n" + "".join(f"@ {macro}\n" for macro in macros)
    done = subprocess.run(
        ["gcc", "-D_GNU_SOURCE", "-E", "-P", "-x", "c", "-"], input=source,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line[1:].strip() for line in done.stdout.splitlines() if line.startswith("@")]


def test_macros_are_what_the_compiler_sees(options_table: dict[str, Any]) -> None:
    table = {name: row for name, row in options(options_table).items() if row["macro"] != "-"}
    names = ["_POSIX2_VERSION" if name == "POSIX.2" else f"_POSIX_{name}" for name in table]
    seen = ["unset" if text in names else text for text in expanded(names)]
    assert [row["macro"] for row in table.values()] == seen
    assert "200809L" in seen


def judged_again(options_table: dict[str, Any]) -> None:
    """Derive profiles and figures from the table of options."""
    table = options(options_table)
    values = figures(options_table)
    profiles = rows(options_table, "Profiles")
    for profile, said in zip(PROFILES, profiles[:4], strict=True):
        names = [n for n, row in table.items() if profile in row["asked for by PSE (2003)"]]
        missing = [n for n in names if table[n]["supported"] != "yes"]
        assert said["missing"] == ", ".join(missing)
        assert said["satisfied"] == ("no" if missing else "yes")
        assert values[f"PSE{profile} options asked for"] == len(names)
        assert values[f"PSE{profile} options there"] == len(names) - len(missing)
    for row in table.values():
        works = row["probe"] == "works"
        announced = row["sysconf"] == "-" or int(row["sysconf"]) > 0
        if announced and works:
            assert row["supported"] == "yes"
        elif announced and row["sysconf"] != "-":
            assert row["supported"] == "partial"
        else:
            assert row["supported"] == ("works, not announced" if works else "no")


def test_profiles_follow_from_the_options(options_table: dict[str, Any]) -> None:
    judged_again(options_table)
    editions = [row["edition of 1003.13"][:4] for row in rows(options_table, "Profiles")]
    assert editions == ["2003"] * 4 + ["1998"] * 4


def nothing_to_lock_or_to_queue() -> None:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))


@as_root
def test_what_is_announced_but_does_not_work_is_partial(
    copy: Path, options_table: dict[str, Any]
) -> None:
    answers = unprivileged(
        copy, ["case 1 posix.options"], [], preexec_fn=nothing_to_lock_or_to_queue,
        kinds=("result",),
    )  # fmt: skip
    poor = answers[0]
    judged_again(poor)
    for name in ("MESSAGE_PASSING", "MEMLOCK", "MEMLOCK_RANGE", "PRIORITY_SCHEDULING",
                 "THREAD_PRIORITY_SCHEDULING", "RAW_SOCKETS"):  # fmt: skip
        rich_row, row = options(options_table)[name], options(poor)[name]
        assert (row["macro"], row["sysconf"]) == (rich_row["macro"], rich_row["sysconf"])
        assert (rich_row["supported"], row["supported"]) == ("yes", "partial"), name
    assert "(mqd_t)-1: " in options(poor)["MESSAGE_PASSING"]["probe"]
    assert options(poor)["SEMAPHORES"]["supported"] == "yes"
    partial = sum(row["supported"] == "partial" for row in options(poor).values())
    assert figures(poor)["announced, but the probe failed"] == partial >= 6
    pse52 = rows(poor, "Profiles")[1]
    assert "MESSAGE_PASSING" in pse52["missing"]
    assert "MESSAGE_PASSING" not in rows(poor, "Profiles")[0]["missing"]  # PSE51 has none


@as_root
def test_without_files_the_profiles_that_ask_for_them_are_not_satisfied(copy: Path) -> None:
    """Besides threads, the profiles of 1998 require processes and files."""
    answers = unprivileged(
        copy, ["case 1 posix.options"], [], kinds=("result",),
        preexec_fn=limited(resource.RLIMIT_FSIZE, 0),
    )  # fmt: skip
    satisfied = [row["satisfied"] for row in rows(answers[0], "Profiles")[4:]]
    assert satisfied == ["yes", "no", "yes", "no"]  # no file can be written
