"""Compare the sections of two runs: which became longer, as between two versions of a kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rtstone.documents.sections import (
    KINDS,
    Change,
    Kind,
    Sections,
    SectionsCompared,
    SectionsOfRun,
)
from rtstone.units import count


class _Key(NamedTuple):
    kind: Kind
    begin: tuple[str, ...]
    end: tuple[str, ...]


def section_changes(document: SectionsOfRun, against: SectionsOfRun) -> SectionsCompared:
    """Return what changed from the sections of ``against`` to those of the other run."""
    now, before = _by_place(document.kinds), _by_place(against.kinds)
    nothing = (0, 0)
    changes = []
    for key in now.keys() | before.keys():
        (longest, n), (other, other_n) = now.get(key, nothing), before.get(key, nothing)
        if longest != other:
            changes.append(
                Change(
                    kind=key.kind,
                    begin=list(key.begin),
                    end=list(key.end),
                    longest=longest,
                    n=n,
                    against_longest=other,
                    against_n=other_n,
                )
            )
    changes.sort(key=lambda c: (-abs(c.longer), c.kind, c.begin, c.end))
    return SectionsCompared(
        run_id=document.run_id,
        target=document.target,
        against_run_id=against.run_id,
        against_target=against.target,
        bench=document.bench,
        sentence=_sentence(changes),
        changes=changes,
    )


def _by_place(kinds: Iterable[Sections]) -> dict[_Key, tuple[int, int]]:
    """Return the longest section between two places, and how many there are."""
    rows: dict[_Key, tuple[int, int]] = {}
    for each in kinds:
        for section in each.sections:
            key = _Key(each.kind, _bare(section.begin), _bare(section.end))
            longest, n = rows.get(key, (0, 0))
            rows[key] = max(longest, section.longest), n + section.n
    return rows


def _bare(names: Iterable[str]) -> tuple[str, ...]:
    """Return functions without what the compiler has added to their names."""
    return tuple(name.partition(".")[0] or name for name in names)


def _sentence(changes: Iterable[Change]) -> str:
    """Return the answer: the section that became longer by most, and how it was."""
    change = next((change for change in changes if change.longer > 0), None)
    if change is None:
        return "No section became longer (of what ran)"
    was = f"from {count(change.against_longest)}" if change.against_n else "none was seen before"
    return (
        f"Longer by most, {KINDS[change.kind]}: {count(change.longest)} instructions, {was}, "
        f"{' > '.join(change.begin)} (of what ran)"
    )
