"""The explanations of samples, in the directories of their runs."""

from __future__ import annotations

import errno
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
from msgspec import structs

from rtstone import files
from rtstone.documents.consistency import check_explanation
from rtstone.documents.explanation import SCHEMA, Explanation, Way
from rtstone.errors import StoreError
from rtstone.store.atomic import replace
from rtstone.store.attachments import attachments
from rtstone.store.layout import EXPLANATION, of_series

LARGEST = 10_000_000  # bytes of one


class Explained(NamedTuple):
    """The explanations of a run by case and sample; ``damaged``: why others cannot be read."""

    explanations: list[Explanation]
    damaged: list[str]


def keep(directory: Path, explanation: Explanation) -> Explanation:
    """Keep an explanation in the directory of its run, in place of an earlier one of this sample.

    Returns it without the shortest calls, where it would be too large with them.  Raises
    StoreError.
    """
    data = msgspec.json.encode(explanation)
    tail = of_series(explanation.series)
    name = f"explanation-{explanation.case}-{explanation.way.sample.index}{tail}.json"
    try:
        while len(data) > LARGEST:
            explanation = _shortened(explanation)
            data = msgspec.json.encode(explanation)
        with files.directory(directory, links=True) as place:
            replace(place, name, data)
    except OSError as error:
        raise StoreError(
            f"the explanation cannot be stored, {directory}: {error.strerror}; "
            "write it to a file with -o"
        ) from error
    return explanation


def explanations(directory: Path, run_id: str, case: int | None = None) -> Explained:
    """Return the explanations of a run or of one of its cases; a damaged one spoils only itself."""
    begin = "" if case is None else f"explanation-{case}-"
    try:
        stored, damaged = attachments(
            directory, run_id, Explanation, schema=SCHEMA, names=EXPLANATION, begin=begin,
            largest=LARGEST, check=check_explanation,
        )  # fmt: skip
    except OSError as error:
        return Explained([], [f"cannot read explanations, {directory}: {error.strerror}"])
    return Explained(
        sorted(stored, key=lambda entry: (entry.case, entry.way.sample.index)), damaged
    )


def _shortened(explanation: Explanation) -> Explanation:
    """Return an explanation without the shorter half of its calls.  Raises OSError without any."""
    ways = [way for way in (explanation.way, explanation.against) if way]
    lengths = [span.length for way in ways for span in way.spans]
    if not lengths:
        raise OSError(errno.EFBIG, f"larger than {LARGEST} bytes")
    least = median(lengths)

    def shortened(way: Way) -> Way:
        left = [span for span in way.spans if span.length > least]
        return structs.replace(way, spans=left, shortest=max(way.shortest, least))

    against = shortened(explanation.against) if explanation.against else None
    return structs.replace(explanation, way=shortened(explanation.way), against=against)
