"""What to measure, as a user or a program asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rtstone.documents.run import LOCAL


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request to measure, whose options override those of the suites.

    ``names``: suites, suite files and benches, by default suite quick.  At least one bench must
    have each of ``params``; ``time`` and ``cpus`` apply to benches that have them.  All cases run
    under each of ``loads`` in turn; a load may be repeated.  ``instead``: replacements, by name,
    for loads of the suites.  ``yes``: loads may change what users of the machine notice.
    ``name``: of the run.  ``command`` is stored in the run document.
    ``limit``, ``stop_above``: the latency above which a sample is a miss, and that above which one
    ends the run.
    ``apart``: the one load is taken apart, to measure which of its parts causes what.
    ``pairs``: which benches of the suites are measured, for which values of ``over``; empty: all.
    """

    names: Sequence[str] = ()
    target: str = LOCAL
    loads: tuple[str, ...] = ()
    instead: Mapping[str, str] = {}
    params: Mapping[str, object] = {}
    time: str | None = None
    cpus: str | None = None
    until: str | None = None
    trace: str | None = None
    limit: str | None = None
    stop_above: str | None = None
    keep_idle: bool = False
    yes: bool = False
    name: str | None = None
    command: Sequence[str] = ()
    apart: bool = False
    pairs: Mapping[str, Sequence[str]] = {}
