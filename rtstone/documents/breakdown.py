"""How far a Hartstone experiment came, from the figures of its result."""

from __future__ import annotations

from typing import NamedTuple

from rtstone.documents.run import BREAKDOWN, UNREACHED, Result

FIRST_MISS = "first miss at"  # figure: the utilisation of the first test that missed a deadline
HELD_AGAIN = "held again at"  # figure: that of the last test without a miss, if it came after it


class Breakdown(NamedTuple):
    """Utilisations in % of raw speed.

    ``held``: of the last test before any missed a deadline, which is all that one can rely on.
    ``missed``: of the first test with a miss; None: there was none, and a breakdown is above
    ``held``, or the system refused the next set.  ``again``: of the last test without a miss, if it
    came after ``missed``: tests were not worse from one to the next, and the breakdown is between.
    ``broke``: a test missed a deadline, or was refused.
    """

    held: float
    missed: float | None
    again: float | None
    broke: bool


def breakdown(result: Result) -> Breakdown | None:
    """Return how far an experiment came, None if the result is not of one, or does not say."""
    values = {
        name: figure.value
        for name in (BREAKDOWN, UNREACHED, FIRST_MISS, HELD_AGAIN)
        if (figure := result.figures.get(name)) and figure.value is not None
    }
    held = values.get(BREAKDOWN, values.get(UNREACHED))
    missed, again = values.get(FIRST_MISS), values.get(HELD_AGAIN)
    if held is None:
        return None
    if missed is not None and held > missed:  # of a version that reported only the last test
        held, again = _below_first_miss(result), held
        if held is None:
            return None
    return Breakdown(held, missed, again, BREAKDOWN in values or missed is not None)


def _below_first_miss(result: Result) -> float | None:
    """Return the utilisation of the last test before the first miss, from the table of tests."""
    table = next((table for table in result.tables if table.title == "tests"), None)
    if table is None:
        return None
    tests: dict[int, tuple[float, int]] = {}  # utilisation, deadlines not met
    try:
        for row in table.rows:
            cells = dict(zip(table.columns, row, strict=True))
            number, late = int(cells["test"]), int(cells["missed"]) + int(cells["skipped"])
            _, before = tests.get(number, (0.0, 0))
            tests[number] = float(cells["utilisation %"]), before + late
    except (KeyError, ValueError):
        return None
    held = 0.0
    for _, (utilisation, late) in sorted(tests.items()):
        if late:
            return held
        held = utilisation
    return None
