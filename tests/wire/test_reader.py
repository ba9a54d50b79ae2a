from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtstone.wire import commands
from rtstone.wire.reader import QUOTING, Defect, Noise, Reader, Record
from rtstone.wire.records import Log
from tests.wire.writer import Writer, frame


def lines(count: int, start: int = 0) -> list[bytes]:
    return [
        frame(seq, msgspec.json.encode({"t": "log", "level": "info", "text": f"no {seq}"}))
        for seq in range(start, start + count)
    ]


def read(data: list[bytes]) -> tuple[list[int], list[Noise], list[Defect]]:
    reader = Reader()
    events = [event for line in data for event in reader.feed(line)]
    records = [event.seq for event in events if isinstance(event, Record)]
    return records, [event for event in events if isinstance(event, Noise)], reader.defects


def test_the_frame_is_that_of_the_contract() -> None:
    # CRC-32 of `0 {"t":"bye"}`, computed with zlib's crc32 as docs/reference/wire.md says.
    import zlib

    crc = zlib.crc32(b'0 {"t":"bye"}')
    assert frame(0, b'{"t":"bye"}') == b'#rts 0 {"t":"bye"} %08x\n' % crc


def test_clean_lines_become_records() -> None:
    assert read(lines(3)) == ([0, 1, 2], [], [])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\r\n", b""])
def test_line_ends_of_any_kind(end: bytes) -> None:
    assert read([line.rstrip() + end for line in lines(2)])[0] == [0, 1]


def test_every_single_damaged_byte_is_seen() -> None:
    first, middle, last = lines(3)
    for at in range(len(middle) - 1):
        damaged = bytearray(middle)
        damaged[at] ^= 1
        records, _, defects = read([first, bytes(damaged), last])
        assert records == [0, 2]
        assert [(d.first, d.last, d.costs) for d in defects] == [(1, 1, True)]


def test_damage_is_told_from_loss() -> None:
    a, b, c, d = lines(4)
    assert read([a, b[:20] + b"\n", c])[2] == [Defect("damaged", 1, 1)]
    assert read([a, d])[2] == [Defect("lost", 1, 2)]


def test_a_repeated_record_is_dropped_and_told() -> None:
    a, b = lines(2)
    records, _, defects = read([a, a, b])
    assert records == [0, 1]
    assert defects == [Defect("duplicate", 0, 0)]
    assert not defects[0].costs


def test_a_late_record_is_taken_and_fills_its_gap() -> None:
    a, b, c = lines(3)
    records, _, defects = read([a, c, b])
    assert records == [0, 2, 1]
    assert defects == [Defect("late", 1, 1)]
    assert not defects[0].costs


def test_console_noise_around_records() -> None:
    a, b = lines(2)
    records, noise, defects = read([b"boot ok\n", b"[1.5] usb: " + a, b"more\n", b])
    assert records == [0, 1]
    assert [n.text for n in noise] == [b"boot ok", b"[1.5] usb: ", b"more"]
    assert not defects


def test_a_record_cut_by_the_next_costs_only_itself() -> None:
    a, b, c = lines(3)
    records, _, defects = read([a, b[:15] + c])
    assert records == [0, 2]
    assert defects == [Defect("damaged", 1, 1)]


def test_two_records_that_lost_the_line_end_between_them() -> None:
    a, b = lines(2)
    assert read([a.rstrip() + b])[0] == [0, 1]


def test_a_good_checksum_with_wrong_content_is_malformed() -> None:
    a, _, c = lines(3)
    wrong = frame(1, b'{"t":"log","level":7}')
    assert read([a, wrong, c])[2] == [Defect("malformed", 1, 1)]


def test_negative_spans_are_named() -> None:
    """As unsigned numbers they are huge, so that the sum of a series is not that of its batches."""
    back = (1 << 64) - 5
    batches = {"lines": [], "rows": [[1, back], [1, back]]}
    record = RESULT | {"max": back, "sum": 2 * back % (1 << 64), "overflow": 2, "hist": []}
    defects = read([frame(0, msgspec.json.encode(record | {"batches": batches}))])[2]
    assert [str(defect) for defect in defects] == [
        "record 0 with negative time spans, which ended before they began"
    ]
    assert defects[0].costs
    lost = {"lines": [], "rows": [[1, 4], [1, 4]]}  # other sums that differ are no such spans
    defects = read([frame(0, msgspec.json.encode(RESULT | {"batches": lost}))])[2]
    assert [defect.kind for defect in defects] == ["malformed"]


def test_marker_within_a_text() -> None:
    line = frame(
        0, msgspec.json.encode({"t": "log", "level": "warn", "text": "#rts 7 {} 12345678"})
    )
    reader = Reader()
    (event,) = reader.feed(line)
    assert isinstance(event, Record)
    assert event.body == Log("warn", "#rts 7 {} 12345678")


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_noise_of_any_kind_never_becomes_a_record(texts: list[bytes]) -> None:
    records, _, defects = read(texts)
    assert not records
    assert not defects


@given(st.data())
def test_whatever_is_lost_and_doubled_the_account_is_right(data: st.DataObject) -> None:
    arrived = sorted(data.draw(st.sets(st.integers(0, 29), min_size=1)))
    doubled = data.draw(st.sets(st.sampled_from(arrived)))
    sent = [
        line for k, line in enumerate(lines(30)) for _ in range((k in arrived) + (k in doubled))
    ]
    records, _, defects = read(sent)
    assert records == arrived
    lost = {seq for d in defects if d.kind == "lost" for seq in range(d.first, d.last + 1)}
    assert lost == set(range(arrived[-1])) - set(arrived)
    assert {d.first for d in defects if d.kind == "duplicate"} == doubled


RESULT = {
    "t": "result", "id": 1, "series": "", "hz": 10**9, "n": 2, "sum": 9, "bits": 7, "min": 4,
    "max": 5, "hist": [[4, 1], [5, 1]],
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"hz": 0},
        {"batch": 0},
        {"bits": -1},
        {"bits": 1000},
        {"n": -1},
        {"sum": 10**60},
        {"max": None},
        {"max": 1 << 70},
        {"hist": [[10**9, 1]]},
        {"hist": [[-1, 1]]},
        {"omitted": {"n": 1, "sum": 1, "min": 1, "max": 1, "hist": [[10**9, 1]]}},
        {"t": "clock", "source": "x", "hz": 0, "granule": 1, "overhead": 1},
        {"t": "progress", "hz": 10**9, "batch": 0},
    ],
)
def test_numbers_that_cannot_be_are_malformed(wrong: dict[str, object]) -> None:
    defects = read([frame(0, msgspec.json.encode(RESULT | wrong))])[2]
    assert [defect.kind for defect in defects] == (["malformed"] if wrong else [])


def test_a_huge_gap_is_one_defect() -> None:
    first, late, last = lines(1), lines(1, 5), lines(1, 10**18)
    assert read(first + last + late)[2] == [
        Defect("lost", 1, 4), Defect("lost", 6, 10**18 - 1), Defect("late", 5, 5),
    ]  # fmt: skip


def test_a_line_of_nothing_but_starts_is_not_tried_at_every_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summed = []
    monkeypatch.setattr("rtstone.wire.reader.crc32", lambda part, crc: summed.append(len(part)))
    line = b"#rts 1 {} 00000000 " * 500
    assert read([line])[0] == []
    assert sum(summed) < (QUOTING + 1) * len(line)


def test_writer_numbers_its_records() -> None:
    writer = Writer()
    assert read([writer.line({"t": "bye", "cases": 0}) for _ in range(3)])[0] == [0, 1, 2]


def test_command_lines() -> None:
    params = {"ballast": 33, "policy": "rr", "raw": True, "cpus": "0-2,4"}
    line = "case 7 ctx.ballast ballast=33 policy=rr raw=1 cpus=0-2,4"
    assert commands.case(7, "ctx.ballast", params) == line
    assert commands.load("none", {}) == "load none"
    assert commands.load("command", {"run": "sh -c 'echo 5%'\nµ"}) == (
        "load command run=sh%20-c%20'echo%205%25'%0A%C2%B5"
    )


@pytest.mark.parametrize(
    "json",
    [
        b'{"t":"log","level":"warn","text":"\xff\xfe"}',
        b'{"t":"conditions","values":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b'{"t":"bye","more":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    ],
    ids=["no UTF-8", "deep in a member", "deep in what is not known"],
)
def test_content_that_cannot_be_decoded_costs_only_its_record(json: bytes) -> None:
    reader = Reader()
    assert [event for event in reader.feed(frame(0, json)) if isinstance(event, Record)] == []
    assert [str(defect) for defect in reader.defects] == ["record 0 malformed"]
    (event,) = reader.feed(frame(1, b'{"t":"bye","cases":1}'))
    assert isinstance(event, Record)
