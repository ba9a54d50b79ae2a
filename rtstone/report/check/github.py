"""A check as annotations of a job of GitHub Actions."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence

from rtstone.documents.check import Gate, Policy, Verdict
from rtstone.report.check.text import allowed, check_names, name_in, observed, reason
from rtstone.wire.records import Bench

_COMMANDS: dict[Policy, dict[Verdict, str]] = {
    "inconclusive": {"failed": "error", "not measured": "error", "inconclusive": "warning"},
    "pass": {"failed": "error", "not measured": "error", "inconclusive": "notice"},
    "fail": {"failed": "error", "not measured": "error", "inconclusive": "error"},
}
_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _MESSAGE | {":": "%3A", ",": "%2C"}


def commands(gate: Gate, tables: Sequence[Bench]) -> Iterator[str]:
    """Yield an annotation for each check that did not pass, as a command to the runner.

    Those that need attention come first: GitHub shows ten of each kind.  ``tables``: of the benches
    of the run that was checked.
    """
    names = check_names(gate, tables)
    for check in gate.ordered:
        if command := _COMMANDS[gate.policy].get(check.verdict):
            title = _escaped(f"{check.verdict}: {name_in(names, check).with_load}", _PROPERTY)
            text = f"{observed(check)}, {allowed(check)}{reason(check)}"
            yield f"::{command} title={title}::{_escaped(text, _MESSAGE)}"


def quoted(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines of text in which the runner looks for no commands, whatever they begin with."""
    token = secrets.token_hex(16)
    yield f"::stop-commands::{token}"
    yield from lines
    yield f"::{token}::"


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(letter, letter) for letter in text)
