"""The lists of benches, suites, loads and targets, each on one screen."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.text import Text

from rtstone.cli.listing import Row, matching, room, show, table
from rtstone.cli.rows import BENCHES, KINDS
from rtstone.documents.case_key import family
from rtstone.documents.other_names import OTHER_NAMES, is_called
from rtstone.program import typed
from rtstone.units import counted

_FEW = 20  # rows that fit a screen
_NAMED = "named"  # the group of the targets that have a name of the user's

# What the benches of each family answer.
QUESTIONS = {
    "how late, how regular": ("dk", "int", "det", "hw"),
    "a call of the system": ("sem", "sync", "mq", "ipc", "sig", "sys", "proc", "mem", "posix"),
    "switches, scheduling": ("ctx", "sched"),
    "work within deadlines": ("hart", "tasks"),
    "systems in one number": ("rheal",),
    "how costs grow": ("grow",),
    "what others take of a budget": ("iso",),
    "instrument, environment": ("null", "clk", "env", "boot"),
}


def list_kind(kind: str, words: tuple[str, ...], *, everything: bool, json: bool) -> None:
    """List what there is of a kind: its rows, or a line for each group of many.

    Raises UsageError if nothing matches all of the words.
    """
    members = KINDS[kind].rows()
    rows = [_row(kind, member) for member in members]
    if words:
        chosen = matching(rows, words, KINDS[kind].noun)
        members = [member for member, row in zip(members, rows, strict=True) if row in chosen]
        rows = chosen
    if json:
        from rtstone.cli.output import print_document

        names = {"names": other_names()} if kind == BENCHES and not words else {}
        print_document({kind: members} | names)
        return
    width = room()
    if words or everything or len(rows) <= _FEW:
        head = _names(rows, width) if kind == BENCHES and not words else []
        show([*head, *table((), [row.cells for row in rows], width, whole=bool(words))])
    elif kind == BENCHES:
        show(_bench_overview(rows, width))
    elif kind == "targets":
        show(_target_overview(rows, width))
    else:
        show(table((), [row.cells for row in rows], width))


def other_names() -> list[dict[str, Any]]:
    """Return the other names of benches, as rows."""
    return [
        {"name": name, "title": other.title, "bench": other.bench}
        for name, other in OTHER_NAMES.items()
    ]


def _row(kind: str, member: dict[str, Any]) -> Row:
    """Return the line of a member of a kind, with the group that it is in."""
    name, title = member[KINDS[kind].name], member["title"]
    if kind == BENCHES:
        called = [other for other in OTHER_NAMES if is_called(name, other)]
        return Row((name, title), family(name), " ".join([title, member["source"], *called]))
    if kind == "targets":
        label = f"{title}; {member['label']}" if member["label"] else title
        return Row((name, label), _NAMED if "address" in member else name.partition(":")[0], label)
    text = member.get("description") or member.get("source") or ""
    return Row(
        (name, f"{title}: {text}" if kind == "suites" and text else title), "", f"{title} {text}"
    )


def _names(rows: list[Row], width: int) -> list[Text]:
    """Return the lines of the names that people come with for these benches."""
    groups = {row.cells[0] for row in rows} | {row.group for row in rows}
    cells = [
        (name, f"{other.bench}.*" if other.family else other.bench, other.title)
        for name, other in OTHER_NAMES.items()
        if other.bench in groups
    ]
    return table((), cells, width, "  ")


def _bench_overview(rows: list[Row], width: int) -> list[Text | str]:
    """Return the names that people come with, and the families by question."""
    families = Counter(row.group for row in rows)
    listed = {name for names in QUESTIONS.values() for name in names}
    rest = tuple(name for name in families if name not in listed)
    questions = [
        (question, "  ".join(_numbered(name, families[name]) for name in names if families[name]))
        for question, names in {**QUESTIONS, "others": rest}.items()
    ]
    return [
        f"{len(rows)} benches.  These names stand for those that most people come for:",
        *_names(rows, width),
        typed("By question; `rtstone list benches sem` lists a family, --all lists all:"),
        *table((), [cells for cells in questions if cells[1]], width, "  ", whole=True),
        typed("`rtstone list sem.wait.busy`: what it times, and its parameters"),
    ]


def _numbered(name: str, number: int) -> str:
    return f"{name} {number}" if number > 1 else name


def _target_overview(rows: list[Row], width: int) -> list[Text | str]:
    """Return the targets that have names, and a line for each kind."""
    places = Counter(row.group for row in rows)
    named = [row.cells for row in rows if row.group == _NAMED]
    kinds = [
        (name, title if places[name] == 1 else f"{title} ({places[name] - 1})")
        for row in rows
        if row.group != _NAMED and ":" not in (name := row.cells[0])
        for title in [row.cells[1]]
    ]
    head = f"{counted(len(named), 'target')} with a name, " if named else ""
    return [
        f"{head}{counted(len(kinds), 'kind')} of targets, "
        f"{len(rows) - len(named) - len(kinds)} of them listed in their kind:",
        *table((), [*named, *kinds], width, "  "),
        typed("`rtstone list targets qemu` lists a kind, with --probe whether named ones answer"),
    ]
