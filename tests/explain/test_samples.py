"""Samples are found in a recording by where the recorder counts them."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest

from rtstone.errors import TargetError
from rtstone.explain import samples
from rtstone.explain.recording import RECORD, Kind, Recording, Request, Span, merged
from rtstone.wire import records as wire
from rtstone.wire.buckets import index_of

BITS = 7
BASE = 0x20001000
WIDTH = 4
WARMUP = 2
VALUES = [300, 40, 41, 900, 40, 40, 77, 40, 350, 40]  # ticks


def recorded(
    values: list[int], *, parts: int = 1, stamped: bool = True, trials: int = 3
) -> tuple[Recording, list[int]]:
    """Return a recording of one case, and the instruction of each sample's last stamp.

    A sample takes as many instructions as ticks.  If it begins at a stamp, the counter is also read
    once more before it is counted, as some benches do.  Parts of the recorder take turns.
    """
    rows: list[tuple[int, int, int, int]] = [(100, samples.COMMAND, 0, Kind.ENTERED)]
    ends, at = [], 1000

    def take(number: int, value: int) -> None:
        nonlocal at
        if stamped:
            rows.append((at, 0x400000, 0, Kind.STAMPED))
        ends.append(at + value)
        rows.append((at + value, 0x400010, 0, Kind.STAMPED))
        if stamped:
            rows.append((at + value + 30, 0x400020, 0, Kind.STAMPED))
        bucket = index_of(value, BITS) + number % parts * samples.STRIDES[1]
        rows.append((at + value + 50, BASE + WIDTH * bucket, WIDTH, Kind.STORED))
        at += value + 1000

    rows.append((at, samples.SERIES, 0, Kind.ENTERED))
    for number in range(trials):
        take(number, 5)
    rows.append((at, samples.SERIES, 0, Kind.ENTERED))
    ends.clear()
    for number, value in enumerate([60] * WARMUP + values):
        take(number, value)
    rows.append((at, samples.DONE, 0, Kind.ENTERED))
    table = np.array([tuple(map(int, row)) for row in rows], RECORD)
    return Recording(table, np.zeros(0)), ends[WARMUP:]


def result(values: list[int], ends: list[int]) -> wire.Result:
    """Return what the agent sends of these samples."""
    order = sorted(range(len(values)), key=lambda i: -values[i])[:4]
    return wire.Result(
        id=1, series="", hz=1000, n=len(values), sum=sum(values), bits=BITS, warmup=WARMUP,
        min=min(values), max=max(values),
        hist=sorted(Counter(index_of(value, BITS) for value in values).items()),
        worst=[(values[i], i, ends[i] - 900) for i in order],
    )  # fmt: skip


@pytest.mark.parametrize("parts", [1, 3])
def test_every_sample_is_found_with_its_stamps(parts: int) -> None:
    recording, ends = recorded(VALUES, parts=parts)
    located = samples.find(recording, 0, [result(VALUES, ends)], "", 1.0)
    assert located.stamped
    moments = [located.moment(index) for index in range(len(VALUES))]
    assert [moment.end for moment in moments] == ends
    assert [moment.length for moment in moments] == VALUES
    assert all(moment.exact for moment in moments)
    assert located.worst(0.2) == [0, 3] or located.worst(0.2) == [3, 8]
    assert located.nearest(41) == 2


def test_what_was_due_is_known_exactly_of_the_worst_only() -> None:
    values = [1000, 3000, 5001, 2222, 4000, 600]
    recording, ends = recorded(values, stamped=False)
    located = samples.find(recording, 0, [result(values, ends)], "", 1.0)
    assert not located.stamped
    assert [located.moment(i) for i in (1, 2)] == [
        samples.Moment(ends[1], 3000, True),
        samples.Moment(ends[2], 5001, True),
    ]
    bucket = located.moment(5)
    assert not bucket.exact
    assert abs(bucket.length - 600) <= 600 / 128


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 11}, "12 samples were counted, of 13"),
        ({"hist": [(index_of(40, BITS), 10)]}, "its histogram is another one"),
    ],
)
def test_another_run_is_refused(change: dict[str, object], says: str) -> None:
    recording, ends = recorded(VALUES)
    raw = msgspec.structs.replace(result(VALUES, ends), **change)
    with pytest.raises(TargetError, match=f"the replay does not fit the run: {says}"):
        samples.find(recording, 0, [raw], "", 1.0)


def test_a_case_that_never_began_is_refused() -> None:
    recording, ends = recorded(VALUES)
    with pytest.raises(TargetError, match="only 1 cases began"):
        samples.find(recording, 1, [result(VALUES, ends)], "", 1.0)


@pytest.mark.parametrize("upwards", [True, False])
def test_each_of_two_series_is_found(upwards: bool) -> None:
    """Two tasks take turns, each with a recorder of its own."""
    both = {"a": VALUES, "b": [900, 7, 7, 8, 350, 7]}
    places = {"a": BASE, "b": BASE + (0x400000 if upwards else -0x400000)}
    rows = [(100, samples.COMMAND, 0, Kind.ENTERED), *[(900, samples.SERIES, 0, Kind.ENTERED)] * 2]
    ends: dict[str, list[int]] = {name: [] for name in both}
    at = 1000
    for number in range(WARMUP + max(map(len, both.values()))):
        for name, values in both.items():
            if number >= WARMUP + len(values):
                continue
            value = ([60] * WARMUP + values)[number]
            bucket = index_of(value, BITS)
            rows += [
                (at, 0x400000, 0, Kind.STAMPED),
                (at + value, 0x400010, 0, Kind.STAMPED),
                (at + value + 50, places[name] + WIDTH * bucket, WIDTH, Kind.STORED),
            ]
            ends[name].append(at + value)
            at += value + 1000
    rows.append((at, samples.DONE, 0, Kind.ENTERED))
    recording = Recording(np.array(rows, RECORD), np.zeros(0))
    raws = [
        msgspec.structs.replace(result(values, ends[name][WARMUP:]), series=name)
        for name, values in both.items()
    ]
    for name, values in both.items():
        located = samples.find(recording, 0, raws, name, 1.0)
        moments = [located.moment(index) for index in range(len(values))]
        assert [moment.end for moment in moments] == ends[name][WARMUP:]
        assert [moment.length for moment in moments] == values


def test_windows_that_overlap_are_one() -> None:
    assert merged([Span(50, 60), Span(0, 10), Span(55, 70), Span(10, 12)]) == [
        Span(0, 12), Span(50, 70),
    ]  # fmt: skip


def test_what_is_asked_of_the_plugin() -> None:
    request = Request(
        [(0xD53BE040, 0xFFFFFFE0)], [], [16], [Span(4, 8)], 3, [Span(1, 2)], Span(1, 9)
    )
    assert request.text().splitlines() == [
        f"stamp {0xD53BE040} {0xFFFFFFE0}", "entry 0 16", "stores 4 8", "after 3 0",
        "window 1 2", "totals 1 9",
    ]  # fmt: skip
