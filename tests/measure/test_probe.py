"""What targets with names answer: all that is shown is what their agents say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rtstone.measure import probe
from rtstone.store.index import entries
from tests.conftest import Cli
from tests.measure.box import Box

ASKED = ("list", "targets", "--probe")
Names = Callable[[dict[str, str]], None]


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Names:
    """Return what gives names to targets."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)

    def write(addresses: dict[str, str]) -> None:
        text = "".join(f"[{name}]\naddress = '{address}'\n" for name, address in addresses.items())
        (tmp_path / "rtstone-targets.toml").write_text(text)

    return write


def test_what_each_target_answers(
    named: Names, boxes: dict[str, dict[str, Any]], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "ANSWER_S", 1.0)
    rt = {"kernel.release": "6.1.0-rt", "kernel.version": "#1 SMP PREEMPT_RT @0"}
    boxes["well"] = {"conditions": rt, "sched": "fifo", "locked": True}
    boxes["user"] = {"sched": "other", "locked": False}
    boxes["dying"] = {"at": 1, "fate": "kill"}
    boxes["hung"] = {"at": 1, "fate": "hang"}
    boxes["old"] = {"wire_version": 1}
    boxes["gone"] = {"away": True}
    boxes["busy"] = {"there": ["the agent of user 0 (process 7)"]}
    names = {name: f"box:{name}" for name in boxes} | {"model": "sim:rmos3-pc1", "bad": "shs:host"}
    named(names)
    done = cli(*ASKED, "--json")
    assert done.status == 0
    rows = {row["name"]: row for row in done.document["targets"]}
    assert {name: row["address"] for name, row in rows.items()} == names
    answers = {name: row["answers"] for name, row in rows.items()}
    assert answers == dict.fromkeys(names, False) | dict.fromkeys(
        ("well", "user", "busy", "model"), True
    )
    assert rows["well"]["kernel"] == "6.1.0-rt PREEMPT_RT"
    assert [rows[name]["rights"] for name in ("well", "user")] == [
        "real-time", "without real-time scheduling and locked memory",
    ]  # fmt: skip
    assert (rows["model"]["clock"], rows["model"]["hz"]) == ("simulated", 10**9)
    messages = {
        "dying": "the agent was killed by SIGKILL",
        "hung": "no answer in 1 s",
        "old": "the agent uses wire version 1, rtstone needs ",
        "gone": "box:gone does not answer",
        "busy": "in use: the agent of user 0 (process 7)",
        "bad": "unknown target 'shs'",
    }
    for name, error in messages.items():
        assert error in rows[name]["error"], name
    assert all(rows[name]["error"] is None for name in names.keys() - messages)
    assert "box:busy" not in Box.affinities, "its agent was started"
    assert not entries()


def test_a_line_for_each_target(named: Names, boxes: dict[str, dict[str, Any]], cli: Cli) -> None:
    boxes["gone"] = {"away": True}
    named({"pc": "sim:rmos3-pc1", "away": "box:gone"})
    head, *lines = cli(*ASKED).out.splitlines()
    assert head.split() == ["name", "target", "answers", "system", "rights", "clock"]
    assert [line.split("  ")[0].split()[0] for line in lines] == ["pc", "away"]
    assert "simulated 1000 MHz" in lines[0]
    assert "no, box:gone does not answer" in lines[1]


def test_what_is_not_asked(named: Names, cli: Cli) -> None:
    none = cli(*ASKED)
    assert (none.status, none.out) == (2, "")
    assert "no target has a name; write one into " in none.says
    assert "rtstone-targets.toml" in none.says
    assert "write `rtstone list targets --probe`" in cli("list", "--probe").says
    assert "--since selects runs" in cli(*ASKED, "--since", "2h").says
