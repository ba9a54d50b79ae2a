"""The table of statistics is consistent, also with code that cannot be derived from it."""

from __future__ import annotations

import re
from pathlib import Path

from rtstone.api import Measured
from rtstone.documents.comparison import Cell
from rtstone.documents.run import Distribution, Result
from rtstone.summary import COLUMNS, DRAFTED, LINES, NAMES, PERCENTILES, is_supported, least_n

AGENT = Path(__file__).parents[2] / "agent"


def test_documents_have_a_member_for_each_statistic() -> None:
    for document in (Distribution, Result):
        assert {*NAMES} <= {*document.__struct_fields__}
    assert {*COLUMNS} <= {*Cell.__struct_fields__}


def test_a_program_gets_each_statistic_as_an_attribute() -> None:
    assert {*NAMES} <= {*vars(Measured)}


def test_the_agent_counts_beyond_the_same_percentiles_in_the_same_order() -> None:
    source = (AGENT / "core" / "recorder.c").read_text("utf-8")
    (matches,) = re.findall(r"percentile\[RTS_LINES\] = \{([0-9, ]+)\}", source)
    assert [int(share) for share in matches.split(",")] == [PERCENTILES[name] for name in LINES]


def test_shares_rise_and_each_percentile_is_given_from_its_least_n_on() -> None:
    assert list(PERCENTILES.values()) == sorted(PERCENTILES.values())
    for name, share in PERCENTILES.items():
        assert is_supported(share, least_n(name))
        assert not is_supported(share, least_n(name) - 1)
    assert DRAFTED == ("p999", "p99", "p90", "p50")
