"""Fetch the results of benches in all runs of a server, as a store's history has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from rtstone.documents.observation import Observation, observed
from rtstone.documents.server import Observed, ObservedRun
from rtstone.errors import TargetError
from rtstone.printable import parsed
from rtstone.server.client.address import address
from rtstone.server.client.http import Server


class Fetched(NamedTuple):
    """Results with their histograms, in the order in which the runs came to the server.

    ``left``: how many older runs were not sent.  ``damaged``: why some runs cannot be read.
    ``followed``: how many series the server follows of each target.
    """

    observations: list[Observation]
    left: int
    damaged: list[str]
    followed: dict[str, int]


def observations(url: str, benches: Sequence[str]) -> Fetched:
    """Fetch the results of benches or families.  Raises UsageError, TargetError."""
    at = address(url)
    with Server(at) as server:
        query = urlencode([("bench", bench) for bench in benches])
        body = server.get(f"{at.path('observations')}?{query}").body
    first, *lines = body.split(b"\n")
    try:
        head = parsed(first, Observed)
        runs = [parsed(line, ObservedRun) for line in lines if line]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise TargetError(f"{at.server} sends no results: {error}") from error
    if len(runs) != head.runs:
        raise TargetError(f"{at.server} sent {len(runs)} of {head.runs} runs; try again")
    results = [observation for sent in runs if sent.run for observation in observed(sent.run)]
    damaged = [sent.damaged for sent in runs if sent.damaged]
    return Fetched(results, head.left, damaged, head.followed)
