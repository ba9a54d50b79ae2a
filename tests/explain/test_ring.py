"""Pages of the trace ring that are written here, as the kernel's header describes them."""

from __future__ import annotations

from rtstone.explain.ring import Event, Formats

SIZE = 4096
COMMON = (
    "field:unsigned short common_type;offset:0;size:2;signed:0; "
    "field:unsigned char common_flags;offset:2;size:1;signed:0; "
    "field:unsigned char common_preempt_count;offset:3;size:1;signed:0; "
    "field:int common_pid;offset:4;size:4;signed:1; "
)
TOLD = [
    ("sched/wake", f"name: wake ID: 300 format: {COMMON} field:char comm[16];offset:8;size:16;"
     "signed:0; field:pid_t pid;offset:24;size:4;signed:1;"),
    ("irq/entry", f"name: entry ID: 7 format: {COMMON} field:int irq;offset:8;size:4;signed:1; "
     "field:__data_loc char[] name;offset:12;size:4;signed:0;"),
    ("ftrace/print", f"name: print ID: 5 format: {COMMON} field:unsigned long ip;offset:8;size:8;"
     "signed:0; field:char buf[];offset:16;size:0;signed:0;"),
]  # fmt: skip


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little", signed=value < 0)


def body(kind: int, rest: bytes, pid: int = 42, flags: int = 0, preempt: int = 0) -> bytes:
    return number(kind, 2) + bytes([flags, preempt]) + number(pid, 4) + rest


def entry(delta: int, content: bytes) -> bytes:
    content += bytes(-len(content) % 4)
    return number(delta << 5 | len(content) // 4, 4) + content


def page(time: int, data: bytes, flags: int = 0, after: bytes = b"", commit: int = 8) -> bytes:
    head = number(time, 8) + number(len(data) | flags, commit)
    return (head + data + after).ljust(SIZE, b"\0")


def wake(pid: int, comm: bytes = b"task") -> bytes:
    return body(300, comm.ljust(16, b"\0") + number(pid, 4), flags=0x09, preempt=0x12)


def read(pages: bytes, *field: tuple[str, str]) -> list[Event]:
    return Formats([*TOLD, *field]).read(pages, SIZE).events


def test_fields_are_read_where_the_kernel_says_they_are() -> None:
    name = body(7, number(11, 4) + number(6 << 16 | 16, 4) + b"timer\0")
    (first, two) = read(page(1000, entry(0, wake(-7, b"cat\0rubbish")) + entry(5, name)))
    assert (first.time, first.name, first.pid, first.flags, first.preempt) == (
        1000,
        "wake",
        42,
        9,
        2,
    )
    assert (first.text("comm"), first.number("pid"), first.text("pid"), first.number("x")) == (
        "cat", -7, "", 0,
    )  # fmt: skip
    assert (two.time, two.name, two.number("irq"), two.text("name")) == (1005, "entry", 11, "timer")


def test_times_longer_than_27_bits_and_absolute_ones() -> None:
    far, absolute = 5 << 27 | 3, (9 << 27) | 4
    data = (
        entry(1, wake(1))
        + number((far & (1 << 27) - 1) << 5 | 30, 4) + number(far >> 27, 4)
        + entry(2, wake(2))
        + number((absolute & (1 << 27) - 1) << 5 | 31, 4) + number(absolute >> 27, 4)
        + entry(3, wake(3))
    )  # fmt: skip
    start = (1 << 60) + 10
    assert [event.time for event in read(page(start, data))] == [
        start + 1, start + 3 + far, (1 << 60) + absolute + 3,
    ]  # fmt: skip


def test_what_is_no_event_is_skipped() -> None:
    padding = number(7 << 5 | 29, 4) + number(8, 4) + bytes(4)
    unknown = entry(1, body(999, b""))
    long = number(2 << 5, 4) + number(4 + len(wake(2)), 4) + wake(2)
    end = number(29, 4) + entry(0, wake(3))
    events = read(page(0, padding + unknown + entry(1, wake(1)) + long + end))
    assert [(event.number("pid"), event.time) for event in events] == [(1, 9), (2, 11)]


def test_missing_events_are_counted() -> None:
    missed, stored = 1 << 31, 1 << 30
    pages = page(5, entry(0, wake(1)), missed | stored, number(17, 8)) + page(
        9, entry(0, wake(2)), missed
    )
    events = Formats(TOLD).read(pages, SIZE)
    assert events.gaps == [(5, 17), (9, 1)]
    assert len(events.events) == 2


def test_pages_of_a_kernel_with_32_bits() -> None:
    head = ("header_page", "field: local_t commit;offset:8;size:4;signed:1;")
    (event,) = read(page(7, entry(1, wake(4)), commit=4), head)
    assert (event.time, event.number("pid")) == (8, 4)


def test_rubbish_ends_a_page_and_the_next_one_counts() -> None:
    rubbish = page(0, entry(0, wake(1)) + number(0, 4) * 3)
    cut = page(0, b"")[:20]
    events = read(rubbish + page(50, entry(0, wake(2))) + cut)
    assert [event.number("pid") for event in events] == [1, 2]


def test_a_marker_is_a_text_up_to_its_end() -> None:
    (event,) = read(page(0, entry(0, body(5, bytes(8) + b"rtstone 1 2 3\n\0"))))
    assert event.text("buf") == "rtstone 1 2 3\n"
