"""The document of several runs that one command measured at once."""

from __future__ import annotations

import msgspec

from rtstone.documents.run import Run

SCHEMA = "rtstone.session/1"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Runs on several targets, measured at once, in the order in which the targets were named.

    ``session``: the prefix that the ids of the runs share, by which `rtstone report` and `compare`
    know them all.  A target that could not be measured has an incomplete run without results.
    """

    schema: str = SCHEMA
    session: str
    runs: list[Run]
