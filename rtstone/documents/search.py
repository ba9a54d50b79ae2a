"""A search for the programs of actions beside which a wake-up takes longest.

All numbers are of what ran: another program may make it take longer.
"""

from __future__ import annotations

import msgspec

from rtstone.wire.records import Natural, Number, Positive

SCHEMA = "rtstone.search/1"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A program and what it did.

    ``number``: of the programs in the order of the search, from 1; 0: a control, or a program from
    which steps were taken.  ``bred``: from others; else it was drawn at random.  ``longest``: the
    largest sample, None if there is none, for the reason; ``refused``: the action that it is of.

    ``signature``: a hash of between which functions nothing could preempt, "" if that is not known.
    ``new``, ``longer``: how many of these sections none had before, or none as long.  ``switched``:
    the longest until the first switch to the task, ``bound``: of that, composed of its sections.
    """

    number: Natural
    load: str
    bred: bool = False
    longest: Number | None = None
    run: str | None = None
    reason: str = ""
    refused: str = ""
    signature: str = ""
    new: Natural = 0
    longer: Natural = 0
    switched: Natural | None = None
    bound: Natural | None = None


class Lack(msgspec.Struct, frozen=True, kw_only=True):
    """An action that the target refused alone, and with which no further program was made."""

    action: str
    reason: str


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a search on a target.

    ``early``: why it ended before all of what was requested, "" if it did not.  ``programs``: how
    many were measured, ``failed`` of them without a result, for ``lacks``, actions that the target
    does not have, or another reason: ``failure`` is the first of those.  ``control``: beside a load
    that only computes.  ``records``: programs that did more than all before them.  ``drawn``: the
    best of ``n_drawn`` that were drawn at random and have a result.  ``least``: what is left of the
    best one without the steps that it does not need; if it is not ``reduced``, some were not tried.
    ``cause``: of the largest sample of that one, by `rtstone explain`.

    ``loads``: beside loads of rtstone, before all programs.  ``switched``: the longest until the
    first switch to the task of all that was measured, and ``bound`` the largest of the bounds of
    that; ``no_sections``: why neither is known.  ``defects``: what contradicts the bound.
    """

    schema: str = SCHEMA
    target: str
    bench: str
    unit: str
    early: str = ""
    seed: Natural
    samples: Positive
    programs: Natural
    failed: Natural
    failure: Candidate | None = None
    lacks: list[Lack] = []
    control: Candidate
    records: list[Candidate]
    drawn: Candidate | None = None
    n_drawn: Natural = 0
    least: Candidate | None = None
    reduced: bool = False
    cause: str = ""
    loads: list[Candidate] = []
    switched: Natural | None = None
    bound: Natural | None = None
    no_sections: str = ""
    defects: list[str] = []
