"""The chart of a trend: where its points are, and the dates below them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rtstone.documents.trend import By
from rtstone.report.parts.model import Chart
from rtstone.report.trend import dates
from rtstone.report.trend.page import section
from tests.stats.observed import followed, observation, observed, only, result

BEGIN = datetime(2026, 1, 30, 7, 31, tzinfo=UTC)
SPANS = [
    timedelta(minutes=5), timedelta(hours=3), timedelta(hours=30), timedelta(days=4),
    timedelta(days=30), timedelta(days=75), timedelta(days=366), timedelta(days=3000),
    timedelta(days=30_000),
]  # fmt: skip


@pytest.mark.parametrize("span", SPANS)
def test_ticks_are_few_round_and_within(span: timedelta) -> None:
    begin, end = BEGIN.timestamp(), (BEGIN + span).timestamp()
    ticks = dates.ticks(begin, end)
    assert len(ticks) <= dates.MOST
    assert len(ticks) >= (2 if span > timedelta(hours=2) else 0)
    assert all(begin <= at <= end for at, _ in ticks)
    assert len({name for _, name in ticks}) == len(ticks)
    for at, name in ticks:
        moment = datetime.fromtimestamp(at, UTC)
        assert (moment.minute, moment.second) == (0, 0)
        hour = "%m-%d %H:%M" if "-" in name else "%H:%M"
        form = hour if ":" in name else "%Y-%m-%d" if name.count("-") == 2 else "%Y-%m"
        assert name == f"{moment:{form}}"
        if form == "%Y-%m":
            assert (moment.day, moment.hour) == (1, 0)


def test_names_of_months_are_of_the_year_that_they_are_in() -> None:
    begin = datetime(2025, 12, 2, tzinfo=UTC).timestamp()
    end = datetime(2026, 6, 2, tzinfo=UTC).timestamp()
    assert [name for _, name in dates.ticks(begin, end)] == [
        "2026-01", "2026-02", "2026-03", "2026-04", "2026-05", "2026-06",
    ]  # fmt: skip


def chart(trend_of: Any, by: By) -> dict[str, Any]:
    (drawn,) = [
        block for block in section(only(trend_of), "", "t", by).blocks if isinstance(block, Chart)
    ]
    return drawn.data


def test_a_point_is_at_the_time_at_which_its_run_began() -> None:
    trend_of = followed(observed([100.0] * 8 + [200.0] * 8))
    series, data = only(trend_of), chart(trend_of, "time")
    times = [datetime.fromisoformat(place.created).timestamp() for place in series.places]
    assert len(set(times)) == 16
    for curve in data["series"]:
        assert [x for x, _ in curve["points"]] == times
    assert [y for _, y in data["series"][0]["points"]] == [100] * 8 + [200] * 8
    assert data["above"] == [[times[8], "1"]]
    assert data["names"][8] == f"{series.places[8].created[:16].replace('T', ' ')}, run 9"
    assert data["over"] == "begin (UTC)"


def test_a_point_of_a_kernel_has_its_name() -> None:
    kernels = [f"6.{n}" for n in range(14)]
    trend_of = followed(
        [
            observation(n, result(100.0), conditions={"kernel.release": kernels[n]})
            for n in range(14)
        ],
        by="kernel",
    )
    data = chart(trend_of, "kernel")
    assert data["names"] == kernels
    assert [x for x, _ in data["series"][0]["points"]] == list(range(1, 15))
    assert data["ticks"] == [(1 + n, kernels[n]) for n in range(0, 14, 3)]
