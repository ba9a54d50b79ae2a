"""HdrHistogram logs: what rtstone and the libraries write reads back; anything else is refused."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections import Counter
from pathlib import Path
from random import Random

import msgspec
import pytest

from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.formats import hdr_decode
from rtstone.formats import source as bounds
from rtstone.formats.hdr_log import encoded
from rtstone.formats.reading import document
from rtstone.formats.registry import imported, reader, writer
from rtstone.formats.source import Meaning, Source
from tests.formats.long import DATA, run_of
from tests.formats.test_export import own
from tests.formats.test_import import FILES, calls, refused

# Written by the Python library hdrhistogram 0.10.8, two significant digits.
LIBRARY = (
    "#[Histogram log format version 1.2]\n"
    "#[BaseTime: 1700000000.000000 (seconds since epoch)]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    "1.000000,1.000000,0.000000,HISTFAAAACt4nJNpmSzMwMDAzQABTFCaEURcm7yEwf4DRICX5TMj01tWpoXcTACVaQc6\n"
    "2.000000,1.000000,0.000000,HISTFAAAACt4nJNpmSzMwMDAzQABTFCaEURcm7yEwf4DRICX5TMj01tWpoW8TACVbQc8\n"
)
HEAD = "#[Histogram log format version 1.3]\n"


def hdr(data: bytes, unit_ns: int | None = None) -> Run:
    source = Source("the file", data, meaning=Meaning(unit_ns=unit_ns))
    name, form = reader(None, source)
    assert name == "hdrhistogram"
    return document(form.read(source), source, name, ["rtstone", "import"])[1]


def line(
    counts: dict[int, int], most: float, *, tag: str = "", start: float = 0, length: float = 1
) -> str:
    text = base64.b64encode(encoded(Counter(counts))).decode()
    return f"{f'Tag={tag},' if tag else ''}{start:.3f},{length:.3f},{most:.3f},{text}\n"


def packed(head: tuple[int | float, ...], payload: bytes, cookie: int = 0x1C849314) -> str:
    """Return an interval of a histogram with any header and content."""
    data = zlib.compress(struct.pack(">Iiiiqqd", *head) + payload)
    text = base64.b64encode(struct.pack(">Ii", cookie, len(data)) + data).decode()
    return f"0.000,1.000,0.000,{text}\n"


def plain(payload: bytes, **members: float) -> str:
    head = {"cookie": 0x1C849313, "length": len(payload), "offset": 0, "digits": 3, "lowest": 1,
            "highest": 10**9, "ratio": 1.0}  # fmt: skip
    return packed(tuple((head | members).values()), payload)


# ---- rtstone's own -------------------------------------------------------------------------------


def edges(value: float) -> tuple[int, int]:
    """Return the first and the last value of a bucket with three digits."""
    shift = max(int(value).bit_length() - 11, 0)
    return int(value) >> shift << shift, (int(value) >> shift << shift) + (1 << shift) - 1


@pytest.mark.parametrize("path", [None, *FILES], ids=lambda path: path.name if path else "own")
def test_an_export_reads_back(path: Path | None) -> None:
    run = run_of(path.read_bytes()) if path else own()
    exported = [r for r in run.results if r.histogram and r.unit == "ns"]
    if not exported:
        return
    again = hdr(writer("hdrhistogram").write(msgspec.structs.replace(run, results=exported)).data)
    assert len(again.results) == len(exported)
    for before, after in zip(exported, again.results, strict=True):
        points = [(round(value), count) for value, count in before.histogram if value >= 0]
        buckets: Counter[int] = Counter()
        for value, count in points:
            buckets[edges(value)[0]] += count
        assert dict(after.histogram) == buckets
        assert after.n == sum(count for _, count in points)
        assert (after.max, after.min) == (points[-1][0], edges(points[0][0])[0])
        assert after.mean == pytest.approx(sum(v * c for v, c in points) / after.n, rel=6e-4)
        section_s, exact = after.section_s or 0, before.section_s or 0
        assert section_s == pytest.approx(exact, abs=1e-3)
        assert after.bench == "hdrhistogram" and before.bench in after.series


def test_a_file_of_rtstone() -> None:
    run = run_of((DATA / "hdrhistogram.hlog").read_bytes())
    first, second = run.results
    assert (first.n, first.max, second.n, second.max) == (200, 30_000, 136, 39_000)
    assert run.conditions["tool.measured"] == "2026-11-21T18:28:01+00:00" == run.created
    assert run.notes[0].startswith("rtstone run 2026") and run.target.name == "import:hdrhistogram"
    assert first.flags == ["imported", "buckets"] and first.evidence["bucket_ns"] is None


def test_the_unit_is_said_once() -> None:
    data = (DATA / "hdrhistogram.hlog").read_bytes()
    assert hdr(data, 1).results == hdr(data).results
    for text, unit_ns, says in (
        (data, 1000, "values in ns, in the file line 4; leave --unit out"),
        (data.replace(b"in ns", b"in instructions"), None, "values in instructions"),
        (data.replace(b"#[values in ns]\n", b""), None, "does not state the unit .*; give --unit"),
    ):
        with pytest.raises(UsageError, match=says):
            hdr(text, unit_ns)


def test_the_option_reaches_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.hlog"
    path.write_text(HEAD + line({3: 5, 2049: 1}, 2049))
    source = bounds.read(str(path))._replace(meaning=Meaning(unit_ns=1000))
    run = imported(source, None, ["rtstone"])[1]
    assert run.results[0].histogram == [(3000, 5), (2_048_000, 1)]
    assert (run.results[0].max, run.results[0].unit) == (2_049_000, "ns")


# ---- other libraries -----------------------------------------------------------------------------


def test_a_log_of_the_library_for_python() -> None:
    run = hdr(LIBRARY.encode(), 1)
    (row,) = run.results
    assert row.histogram == [(7, 4), (130, 2), (1000, 2), (52224, 1), (104448, 1)]
    assert (row.n, row.min, row.max, row.series) == (10, 7, 104_959, "")
    assert row.evidence["section_ns"] == 2 * 10**9
    assert run.conditions["tool.measured"] == "2023-11-14T22:13:21+00:00"


def test_intervals_of_a_tag_are_one_series() -> None:
    text = HEAD + "".join(
        line({10 * k: k, 5000: 1}, 5000, tag=tag, start=k)
        for k in (1, 2, 3) for tag in ("a", "b")
    )  # fmt: skip
    rows = hdr(text.encode(), 1).results
    assert [(r.series, r.n, r.max) for r in rows] == [("a", 9, 5000), ("b", 9, 5000)]
    low = edges(5000)[0]
    assert rows[0].histogram == [(10, 1), (20, 2), (30, 3), (low, 3)]
    assert rows[0].evidence["section_ns"] == 3 * 10**9
    both = HEAD + line({1: 1}, 1, length=2) + line({1: 1}, 1, start=1)
    assert "section_ns" not in hdr(both.encode(), 1).results[0].evidence  # at the same time


def test_a_maximum_may_be_in_ms() -> None:
    """Java's library divides it by a million; the largest value is then that of its bucket."""
    high = edges(123_456_789)[1]
    text = HEAD + line({123_456_789: 1}, high / 1e6) + line({99: 1}, 0)
    assert hdr(text.encode(), 1).results[0].max == high
    for other in ("123457.000", "0.000"):
        bad = text.replace(f"{high / 1e6:.3f}", other)
        assert "is not that of the histogram" in refused(bad.encode())
    mixed = HEAD + line({123_456_789: 1}, high / 1e6) + line({99: 1}, 99)
    assert "Interval_Max 99.000 is not that of the histogram, 99" in refused(mixed.encode())


def test_an_empty_log_has_no_result() -> None:
    (row,) = hdr((HEAD + line({}, 0)).encode(), 1).results
    assert (row.n, row.status, row.max) == (0, "incomplete", None)


@pytest.mark.parametrize("seed", range(10))
def test_numbers_of_any_length(seed: int) -> None:
    random = Random(seed)
    counts = {
        random.getrandbits(random.randint(1, 60)): random.getrandbits(random.randint(1, 54)) + 1
        for _ in range(random.randint(1, 99))
    }
    (row,) = hdr((HEAD + line(counts, max(counts))).encode(), 1).results
    buckets: Counter[int] = Counter()
    for value, count in counts.items():
        buckets[edges(value)[0]] += count
    assert dict(row.histogram) == buckets
    low, high = edges(max(counts))
    assert row.max is not None and low <= row.max <= high


def test_words_and_shifts() -> None:
    """The lowest discernible value makes buckets coarser; -1 and 0 each stand for an empty one."""
    counts = b"\x00\x01\x02\x00\xf0\x07\x06"  # 0, -1, 1, 0, 504, 3
    (row,) = hdr((HEAD + plain(counts, lowest=4)).encode(), 1).results
    assert row.histogram == [(8, 1), (16, 504), (20, 3)]
    assert hdr_decode._number(b"\xff" * 9) == -(1 << 63)
    assert hdr_decode._number(b"\xfe" + b"\xff" * 8) == (1 << 63) - 1


# ---- refused -------------------------------------------------------------------------------------

GOOD = HEAD + "#[values in ns]\n" + line({5: 1}, 5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD + HEAD, "a second log begins here"),
        (GOOD.replace("1.3", "1.1"), "a log of version 1.1"),
        (GOOD + "#[StartTime: 1 (s), x]\n#[StartTime: 1 (s), x]\n", "a second StartTime"),
        (GOOD + "#[StartTime: x]\n", "is not a complete comment"),
        (GOOD + "hello\n", "'hello' is not a complete line"),
        (GOOD[:-1], "the last line has no end"),
        (GOOD[:-6] + "\n", "cut short"),
        (HEAD, "no interval"),
        (HEAD + "0.0,1.0,0.0,AAAA\n", "a histogram without its header"),
        (HEAD + "0.0,1.0,0.0,AAAAA\n", "not complete base64"),
        (HEAD + packed((0x1C849313, 0, 0, 3, 1, 9, 1.0), b"", 0x1C849302),
         "another encoding (0x1c849302)"),
        (HEAD + plain(b"", cookie=0x1C849301), "another encoding (0x1c849301)"),
        (HEAD + plain(b"\x02", length=2), "1 bytes of counts, not 2"),
        (HEAD + plain(b"\x02", offset=1), "offset 1"),
        (HEAD + plain(b"\x02", ratio=2.0), "ratio 2"),
        (HEAD + plain(b"\x02", digits=6), "6 digits"),
        (HEAD + plain(b"\x02", lowest=0), "lowest value 0"),
        (HEAD + plain(b"\x02\x80"), "a count has no end"),
        (HEAD + plain(b"\xff" * 9 + b"\x02"), "more than 64 bits"),
        (HEAD + plain(b"\x00" * 66_000), "more than 64 bits"),
        (HEAD + plain(b"\xfe" + b"\xff" * 8), "cannot be times"),
        (HEAD + plain(bytes(hdr_decode._LARGEST), digits=5), "too many buckets"),
    ],
)  # fmt: skip
def test_what_is_no_log(text: str, says: str) -> None:
    text = text if "#[values" in text else text.replace(HEAD, HEAD + "#[values in ns]\n", 1)
    assert says in refused(text.encode(), "hdrhistogram")


def test_a_bomb_expands_to_no_more_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = plain(bytes(1 << 26), digits=5)
    assert len(bomb) < 100_000
    assert "too many buckets" in refused((GOOD + bomb).encode())
    monkeypatch.setattr(hdr_decode, "LONGEST", 300)
    assert "too many buckets" in refused((GOOD + line({7: 1}, 7) * 9).encode())


def test_buckets_of_all_series_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdr_decode, "_MOST", 10)
    lines = [line({n: 1}, n, tag=f"t{n}") for n in range(11)]
    assert len(hdr((GOOD + "".join(lines[:9])).encode()).results) == 10
    assert "too many buckets" in refused((GOOD + "".join(lines)).encode())


def test_bytes_changed_within_a_histogram_never_end_in_a_traceback() -> None:
    random = Random(1)
    for _ in range(300):
        payload = random.randbytes(random.randint(0, 30))
        members = {"digits": random.randint(-1, 6), "lowest": random.choice([-1, 1, 1, 7, 1 << 62])}
        text = GOOD + plain(payload, **members)
        try:
            rows = hdr(text.encode()).results
        except UsageError as error:
            assert re.fullmatch(r"[^\n]+, in the file[^\n]*; [^\n]+", str(error))
        else:
            assert rows[0].n >= 1


def test_a_long_log_takes_time_in_proportion() -> None:
    def log(lines: int) -> bytes:
        return (GOOD + "".join(line({n: 1}, n, start=n) for n in range(lines))).encode()

    assert calls(log(800), "hdrhistogram") < 10 * calls(log(100), "hdrhistogram")
