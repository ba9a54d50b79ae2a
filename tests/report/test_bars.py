from __future__ import annotations

import pytest

from rtstone.documents.run import Result
from rtstone.report.parts.bars import WIDTH, bars


def result_with(histogram: list[tuple[float, int]], **members: object) -> Result:
    n = sum(count for _, count in histogram)
    most = histogram[-1][0]
    document = {"case": 1, "bench": "b", "params": {}, "load": "none", "status": "ok"}
    return Result(**document, n=n, max=most, histogram=histogram, **members)  # type: ignore[arg-type]


def heights(lines: list[str], letters: str) -> list[int]:
    """The height of each column, in steps, lowest row last."""
    rows = [line.split("|", 1)[1].ljust(WIDTH) for line in lines[:-1]]
    return [sum(letters.index(row[at]) for row in rows) for at in range(WIDTH)]


@pytest.mark.parametrize(("encoding", "letters"), [("utf-8", " ▁▂▃▄▅▆▇█"), ("ascii", " .:#")])
@pytest.mark.parametrize("height", [2, 3, 6])
def test_bars_are_as_high_as_the_logarithm_of_their_counts(
    encoding: str, letters: str, height: int
) -> None:
    lines = bars(result_with([(1e3, 1), (1e4, 100), (1e5, 10_000)]), height, encoding)
    assert len(lines) == height + 1
    full = height * (len(letters) - 1)
    heights_by_column = {at: high for at, high in enumerate(heights(lines, letters)) if high}
    assert list(heights_by_column) == [0, (WIDTH - 1) // 2 + 1, WIDTH - 1]
    assert list(heights_by_column.values()) == [1, 1 + round((full - 1) / 2), full]


def test_a_single_sample_is_seen_beside_a_million() -> None:
    lines = bars(result_with([(100.0, 1_000_000), (1e7, 1)]), 2)
    assert heights(lines, " ▁▂▃▄▅▆▇█")[-1] == 1
    assert lines[0].startswith("1 000 000 |")


def test_marks_stand_at_their_values() -> None:
    line = bars(result_with([(1e3, 5), (1e6, 5)]), 2)[-1][3:]
    for text, exponent in (("|1 µs", 3), ("|10 µs", 4), ("|100 µs", 5)):
        at = line.index(text)
        assert at == pytest.approx((exponent - 3) / 3 * (WIDTH - 1), abs=0.51)
    assert line.endswith("1 ms|")
    assert len(line) == WIDTH


@pytest.mark.parametrize("unit", ["ns", "instructions"])
@pytest.mark.parametrize(("low", "high"), [(18.1, 19.4), (7.0, 40.0), (-5.0, 3.0), (1.0, 2e9)])
def test_there_are_two_marks_at_least_and_they_do_not_overlap(
    low: float, high: float, unit: str
) -> None:
    lines = bars(result_with([(low, 5), (high, 7)], unit=unit), 2)
    assert lines[-1].count("|") >= 2
    assert all(len(line) <= WIDTH + 3 for line in lines)


def test_samples_that_are_all_equal_have_no_picture() -> None:
    assert bars(result_with([(450.0, 1000)]), 2) == []
    assert bars(Result(case=1, bench="b", params={}, load="none", status="ok"), 2) == []
