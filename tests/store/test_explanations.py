"""Explanations in the directories of their runs."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.explanation import Span
from rtstone.errors import StoreError
from rtstone.store import atomic, index
from rtstone.store import explanations as store
from rtstone.store.explanations import explanations, keep
from rtstone.store.layout import runs
from rtstone.store.removal import remove, size
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.report.explained import drawn, explained_run, small

RUN = explained_run()
NAME = "explanation-1-1733.json"


@pytest.fixture
def place() -> Path:
    return runs() / store_run(RUN)


def test_it_is_read_as_it_was_kept_and_a_later_one_takes_its_place(place: Path) -> None:
    assert explanations(place, RUN.run_id) == ([], [])
    first, second = small(RUN), small(RUN, sentence="because")
    assert keep(place, first) == first
    assert explanations(place, RUN.run_id).explanations == [first]
    keep(place, second)
    assert (place / NAME).exists()
    assert explanations(place, RUN.run_id) == ([second], [])
    assert not list(place.glob("*.new"))


def test_samples_and_series_have_files_of_their_own(place: Path) -> None:
    base = small(RUN)
    other = structs.replace(base.way, sample=structs.replace(base.way.sample, index=3))
    samples_explained = [
        structs.replace(base, way=other), base, structs.replace(base, series="cpu 2"),
        structs.replace(base, series="../../cpu 3"), structs.replace(base, case=7),
    ]  # fmt: skip
    for sample in samples_explained:
        keep(place, sample)
    explanation = explanations(place, RUN.run_id).explanations
    assert len(explanation) == len(samples_explained)
    assert all(sample in explanation for sample in samples_explained)
    assert [sample.case for sample in explanation] == [1, 1, 1, 1, 7]
    assert {path.name for path in place.parent.iterdir()} == {RUN.run_id}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "Input data was truncated"),
        (b"{}", "missing required field"),
        (b"\xff\xfe", "malformed"),
        (b'{"schema": "rtstone.explanation/9"}', "missing required field"),
        (b"[" * 100_000, ""),
    ],
)
def test_a_damaged_one_spoils_only_itself(place: Path, content: bytes, says: str) -> None:
    keep(place, small(RUN))
    (place / "explanation-2-5.json").write_bytes(content)
    explanation, damaged = explanations(place, RUN.run_id)
    assert explanation == [small(RUN)]
    (reason,) = damaged
    assert reason.startswith(f"not a readable explanation-2-5.json, {place}: ")
    assert says in reason


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"schema": "rtstone.explanation/9"}, "not of schema rtstone.explanation/1"),
        ({"run_id": "other"}, "of another run, other"),
        ({"way": {"segments": [{"kind": "irq", "start": 0.0, "length": -1.0}]}}, "negative length"),
        ({"way": {"stacks": [{"frames": [], "cost": 1.0}]}}, "without functions"),
        ({"way": {"stacks": [{"frames": ["f"], "cost": -1.0}]}}, "negative cost"),
        ({"way": {"spans": [[0.0, -1.0, 0, "f"]]}}, "negative length - at `$.way`"),
        ({"against": {"spans": [[0.0, 1.0, 2**60, "f"]]}}, "too deep - at `$.against`"),
    ],
)
def test_one_that_cannot_be_is_not_read(place: Path, changes: dict[str, object], says: str) -> None:
    odd = msgspec.to_builtins(small(RUN))
    for name, value in changes.items():
        odd[name] = odd[name] | value if isinstance(value, dict) else value
    (place / NAME).write_bytes(msgspec.json.encode(odd))
    explanation, (explained,) = explanations(place, RUN.run_id)
    assert explanation == []
    assert says in explained


def test_control_characters_do_not_reach_the_terminal(place: Path) -> None:
    keep(place, small(RUN))
    data = (place / NAME).read_bytes().replace(b"stress-ng in", b"\\u001b[2Jstress")
    (place / NAME).write_bytes(data)
    (explanation,) = explanations(place, RUN.run_id).explanations
    assert explanation.way.segments[4].by == "?[2Jstress recvfrom"


def test_nothing_is_written_or_read_through_a_link(place: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for name in (NAME, f"{NAME}.new"):
        (place / name).symlink_to(precious)
    os.mkfifo(place / "explanation-1-2.json")
    explanation, damaged = explanations(place, RUN.run_id)
    assert (explanation, len(damaged)) == ([], 2)
    keep(place, small(RUN))
    assert precious.read_text() == "precious"
    assert not (place / NAME).is_symlink()
    assert explanations(place, RUN.run_id).explanations == [small(RUN)]


def test_a_full_disk_leaves_the_one_that_was_there(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(place, small(RUN))

    def full(place: int, name: str, data: bytes) -> None:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=place))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "write", full)
    with pytest.raises(StoreError, match=r"cannot be stored.*No space left.*-o"):
        keep(place, small(RUN, sentence="because"))
    assert explanations(place, RUN.run_id) == ([small(RUN)], [])
    assert not list(place.glob("*.new"))


def test_the_shortest_calls_make_room_for_the_others(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples_explained = drawn(RUN)
    least = len(msgspec.json.encode(samples_explained)) - 20 * len(samples_explained.way.spans)
    monkeypatch.setattr(store, "LARGEST", least)
    removed = keep(place, samples_explained)
    assert (place / NAME).stat().st_size <= least
    assert explanations(place, RUN.run_id).explanations == [removed]
    assert 0 < len(removed.way.spans) < len(samples_explained.way.spans)
    assert removed.way.shortest > samples_explained.way.shortest
    left = {span for span in samples_explained.way.spans if span.length > removed.way.shortest}
    assert {*removed.way.spans} == left
    assert removed.way.segments == samples_explained.way.segments
    monkeypatch.setattr(store, "LARGEST", 1000)
    with pytest.raises(StoreError, match="larger than 1000 bytes"):
        keep(place, samples_explained)
    _, (explained,) = explanations(place, RUN.run_id)
    assert "larger than 1000 bytes" in explained


def test_equal_calls_end_as_well(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explanations = small(RUN)
    way = structs.replace(explanations.way, spans=[Span(n, 1, 0, "f") for n in range(10_000)])
    monkeypatch.setattr(store, "LARGEST", 50_000)
    assert keep(place, structs.replace(explanations, way=way)).way.spans == []


def test_a_run_is_removed_with_its_explanations(place: Path, cli: Cli) -> None:
    keep(place, small(RUN))
    keep(place, structs.replace(small(RUN), series="cpu 2"))
    (place / f"{NAME}.new").write_bytes(b"{")
    (place / "explanation-1.json").write_text("mine")
    occupied = sum(
        file.stat().st_size for file in place.iterdir() if file.name != "explanation-1.json"
    )
    assert size(place) == occupied
    removed = remove(place)
    assert (removed.size, removed.left) == (occupied, ["explanation-1.json"])
    assert index.entries() == []


def test_prune_takes_them_along(place: Path, cli: Cli) -> None:
    keep(place, small(RUN))
    assert cli("prune", "--keep", "0").status == 0
    assert not place.exists()
