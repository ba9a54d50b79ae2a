"""An agent that speaks correctly, with correct checksums, and says what cannot be."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtstone.cli.main import _status
from rtstone.measure import agent_session, catalogue
from rtstone.targets import local
from rtstone.wire import records
from tests.conftest import Cli, Done
from tests.wire.replayed import Json, player, recorded

pytestmark = pytest.mark.machine

RUN = ("run", "null", "dk.periodic", "sched.yield", "-p", "samples=200")
# No time passes: what does not come at once never comes.
QUICKLY = {
    "PATIENCE_S": 0.5, "SILENT_S": 0.5, "HEARTBEAT_MS": 100, "NUDGE_S": 0.02, "DAMAGED_S": 0.01,
    "REPEATS": 2,
}  # fmt: skip
STATUSES = {0, 1, 2, 3, 4}
REAL = local._Agent
ABSURD: list[str] = [
    "-1", "0", "1", str(2**31), str(2**63 - 1), str(2**63), str(2**64 - 1), str(2**64), "1e308",
    "1e400", "-1e400", "NaN", "1" + 400 * "0", "0.5", "null", "true", "[]", "{}", "[[]]", '""',
    '"ok"', '"failed"', '"unsupported"', '"../../etc/passwd"',
    json.dumps("\x1b[31m\x00\r\n[bold]x[/]"),
    json.dumps("<script>alert(1)</script>"), json.dumps("x" * (1 << 20)), "[" * 10000,
    "[[0, 1]]", "[[1000000000, 1]]", "[[0, -1]]", f"[{','.join(100000 * ['0'])}]", "\udcff",
]  # fmt: skip


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """Return the records of a run of a real agent."""
    home = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(home))
        assert _status([*RUN, "--json"]) == 0
    (log,) = home.rglob("wire.log")
    return recorded(log)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the places in a JSON value; of lists, their first and last members."""
    yield path
    if isinstance(value, dict):
        for name, member in value.items():
            yield from places(member, (*path, name))
    elif isinstance(value, list):
        for at in sorted({0, len(value) - 1} & set(range(len(value)))):
            yield from places(value[at], (*path, at))


def with_text(body: Json, path: tuple[str | int, ...], text: str) -> str:
    """Return a record as JSON, with a text in place of a value in it."""
    mark = "\0here\0"
    copy = json.loads(json.dumps(body))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = mark
    return json.dumps(copy).replace(json.dumps(mark), text)


def answered(
    cli: Cli,
    records: list[Json],
    changed: dict[int, list[str]],
    home: Path,
    *words: str,
    forever: str | None = None,
) -> Done:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(home))
        for name, value in QUICKLY.items():
            patch.setattr(agent_session, name, value)
        patch.setattr(agent_session.AgentSession, "_limit_s", lambda *_: 0.05)
        patch.setattr(local, "_Agent", player(records, changed, forever, REAL))
        done = cli(*RUN, *words)
        for command in (("show", "last"), ("list", "runs")):
            shown = cli(*command)
            assert shown.status in STATUSES, (command, shown.err)
            assert "\x1b[31m" not in shown.out
    return done


def check_sound(home: Path) -> None:
    """Check that what is stored as measured adds up."""
    for run in home.rglob("run.json"):
        document = msgspec.json.decode(run.read_bytes())
        for result in document["results"]:
            if result["status"] != "ok" or not result["n"]:
                continue
            counted = sum(count for _, count in result["histogram"]) + result["overflow"]
            assert counted == result["n"]
            low, *middle, high = [
                result[name] for name in ("min", "p50", "p90", "p99", "max")
                if result[name] is not None
            ]  # fmt: skip
            assert all(low <= value <= high for value in (*middle, result["mean"]))


def test_it_is_replayed(conversation: list[Json], cli: Cli, tmp_path: Path) -> None:
    done = answered(cli, conversation, {}, tmp_path, "--json")
    assert done.status == 0, done.err
    assert {result["status"] for result in done.document["results"]} == {"ok"}


def number_of(records: list[Json], kind: str, case: int) -> int:
    return next(n for n, body in enumerate(records) if (body["t"], body.get("id")) == (kind, case))


def statuses(cli: Cli, home: Path) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(home))
        document = cli("show", "last", "--json").document
    return [result["status"] for result in document["results"]]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("samples", 9), "the agent ran dk.periodic with samples=9, where it was asked for "),
        (("bench", "null"), "the agent ran null where it was asked for dk.periodic"),
    ],
)
def test_what_was_not_asked_for_is_not_taken_for_it(
    conversation: list[Json], cli: Cli, tmp_path: Path, wrong: tuple[str, Any], says: str
) -> None:
    number = number_of(conversation, "case", 2)
    body, (name, value) = json.loads(json.dumps(conversation[number])), wrong
    (body["params"] if name in body["params"] else body)[name] = value
    done = answered(cli, conversation, {number: [json.dumps(body)]}, tmp_path)
    assert (done.status, says in done.says) == (4, True), done.err
    assert statuses(cli, tmp_path) == ["ok", "incomplete", "incomplete"]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("case", "the agent told of its end, and never that it began"),
        ("result", "the agent told of its end, and of no result"),
    ],
)
def test_a_case_without_its_record_is_not_good(
    conversation: list[Json], cli: Cli, tmp_path: Path, kind: str, says: str
) -> None:
    done = answered(cli, conversation, {number_of(conversation, kind, 2): []}, tmp_path)
    assert done.status == 3, done.err
    assert says in done.out + done.err
    assert statuses(cli, tmp_path) == ["ok", "incomplete", "ok"]


def test_a_second_end_changes_nothing(conversation: list[Json], cli: Cli, tmp_path: Path) -> None:
    number = number_of(conversation, "end", 2)
    first = json.dumps(conversation[number])
    second = json.dumps(conversation[number] | {"status": "failed", "reason": "no"})
    done = answered(cli, conversation, {number: [first, second]}, tmp_path)
    assert done.status == 0, done.err
    assert statuses(cli, tmp_path) == ["ok", "ok", "ok"]


def test_the_same_progress_for_ever_is_not_waited_for(
    conversation: list[Json], cli: Cli, tmp_path: Path
) -> None:
    same = json.dumps({"t": "progress", "id": 2, "n": 7})
    number = number_of(conversation, "end", 2)
    done = answered(cli, conversation, {number: []}, tmp_path, forever=same)
    assert done.status == 4, done.err
    assert "should have ended long ago, and the agent has reported the same progress" in done.says
    assert statuses(cli, tmp_path) == ["ok", "incomplete", "incomplete"]


def test_a_list_without_an_end_is_not_taken_in(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "LIST_BYTES", 1 << 20)
    endless = (
        "import itertools, zlib\n"
        "for n in itertools.count():\n"
        '    text = b\'%d {"t": "bench", "id": "b%d"}\' % (n, n)\n'
        "    print(f'#rts {text.decode()} {zlib.crc32(text):08x}')\n"
    )
    (tmp_path / "endless.py").write_text(endless)
    done = cli("run", "null", "--target", f"exec:{sys.executable} {tmp_path}/endless.py")
    assert done.status == 4, done.err
    assert "the list of benches has no end" in done.says


RESULT: Json = {
    "t": "result", "id": 1, "series": "", "hz": 10**9, "n": 3, "sum": 12, "min": 2, "max": 7,
    "bits": 7, "hist": [[2, 1], [3, 1], [7, 1]], "worst": [[7, 2, 30], [3, 1, 20]],
    "trace": {"ticks": 100, "rows": [[0, 2, 2, 5, 3], [4, 1, 7, 7, 7]]},
    "blocks": {"samples": 1, "max": [2, 3, 7]},
    "batches": {"lines": [3], "rows": [[2, 5, 1], [1, 7, 1]]},
    "missed": 1, "omitted": {"n": 1, "sum": 9, "min": 9, "max": 9, "hist": [[9, 1]]},
}  # fmt: skip
WRONG = [
    {"n": 4}, {"sum": 13}, {"sum": 11}, {"min": 3}, {"min": -2}, {"max": 8}, {"max": None},
    {"overflow": 1}, {"hist": [[2, 1], [3, 1], [7, 2]]}, {"hist": [[3, 1], [2, 1], [7, 1]]},
    {"hist": [[2, 1], [3, 1], [3, 0], [7, 1]]}, {"hist": [[2, 2], [7, 1]]},
    {"worst": [[6, 2, 30]]}, {"worst": [[7, 2, 30], [8, 1, 20]]}, {"worst": [[7, 3, 30]]},
    {"worst": [[7, 2, 30], [3, 2, 20]]}, {"worst": [[7, 2, -1]]},
    {"worst": [[7, 0, 1], [3, 1, 1], [2, 2, 1], [2, 3, 1]]},
    {"trace": {"ticks": 100, "rows": [[0, 2, 2, 5, 3]]}},
    {"trace": {"ticks": 100, "rows": [[4, 2, 2, 5, 3], [0, 1, 7, 7, 7]]}},
    {"trace": {"ticks": 100, "rows": [[0, 2, 4, 5, 3], [4, 1, 7, 7, 7]]}},
    {"blocks": {"samples": 2, "max": [2, 3]}}, {"blocks": {"samples": 1, "max": [8]}},
    {"batches": {"lines": [3], "rows": [[2, 5, 3], [1, 7, 1]]}}, {"missed": 0}, {"missed": None},
    {"omitted": {"n": 1, "sum": 9, "min": 9, "max": 9}}, {"hz": 10**15},
]  # fmt: skip


def test_what_adds_up_is_taken() -> None:
    records.decode_body(json.dumps(RESULT).encode())


@pytest.mark.parametrize("wrong", WRONG, ids=json.dumps)
def test_what_does_not_add_up_is_malformed(wrong: Json) -> None:
    with pytest.raises(msgspec.ValidationError):
        records.decode_body(json.dumps(RESULT | wrong).encode())


@settings(
    max_examples=60, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(data=st.data())
def test_one_field_is_another(
    conversation: list[Json],
    cli: Cli,
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    number = data.draw(st.integers(0, len(conversation) - 1))
    body = conversation[number]
    path = data.draw(st.sampled_from(list(places(body))[1:]))
    text = data.draw(st.sampled_from(ABSURD))
    home = tmp_path_factory.mktemp("absurd")
    done = answered(cli, conversation, {number: [with_text(body, path, text)]}, home)
    assert done.status in STATUSES, done.err
    assert "Traceback" not in done.err
    check_sound(home)
