"""The checklist of the system, and what was tuned, for the terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from rtstone.cpus import cpu_list
from rtstone.documents.doctor import Verdict
from rtstone.documents.run import LOCAL
from rtstone.printable import shown
from rtstone.program import typed
from rtstone.report.parts.console import folded, sentences
from rtstone.system.findings import AS_ROOT, GROUPS, PROBLEMS, VERDICTS, Line
from rtstone.system.tune import Entry
from rtstone.units import counted

# Shown by sign and word, as colours may be missing.
SIGNS = {"good": "+", "seen": "=", "warn": "!", "bad": "X", "unknown": "?", "yours": "-"}
STYLES = {
    "good": "green",
    "seen": "",
    "warn": "yellow",
    "bad": "bold red",
    "unknown": "cyan",
    "yours": "dim",
}
TITLE = 31  # columns of a title
_GRAVEST: tuple[Verdict, ...] = ("bad", "warn", "unknown", "good", "seen", "yours")
GUEST = "today.virtual"  # the check that says whether a hypervisor can take the CPU away


def verdict(lines: Sequence[Line]) -> Text:
    """Return whether the system can be measured, in a sentence."""
    bad = [line.title for line in lines if line.verdict == "bad"]
    guest = any(line.id == GUEST and line.verdict == "warn" for line in lines)
    warned = sum(line.verdict == "warn" for line in lines)
    mended = [line for line in lines if line.tunable]
    text = f"Cannot be measured as it is: {', '.join(bad)}" if bad else "Can be measured"
    text += "; a virtual machine" if guest and bad else ", as a virtual machine" if guest else ""
    text += f"; {counted(warned, 'warning')}"
    if mended:
        as_root = AS_ROOT if any(line.for_root for line in mended) else ""
        text += typed(f", {len(mended)} mended by `rtstone tune apply`{as_root}")
    return Text(text, style="bold red" if bad else "bold green")


def checklist(
    lines: Sequence[Line],
    cpus: frozenset[int],
    width: int,
    *,
    room: int | None = None,
    problems: bool = False,
    target: str = LOCAL,
    agents: Sequence[str] = (),
) -> Iterator[Text]:
    """Yield the verdict, the counts, who else measures there (``agents``), and what is bad.

    Then come the warnings, as many as leave it at ``room`` rows in all; None: every line in its
    group, with what to do.  ``problems``: of these, only what is bad, a warning or unknown.
    """
    guest = [line for line in lines if line.id == GUEST and line.verdict == "warn"]
    worst = guest + [line for line in lines if line.verdict == "bad"]
    head = [*sentences(verdict(lines), width), *_basis(lines, cpus, target)]
    for agent in agents:
        text = f"! measuring now: {agent}; what is started meanwhile is disturbed"
        head += [Text(row, STYLES["warn"]) for row in _wrapped(text, width, "  ")]
    title = "bad: mend these first" if worst[len(guest) :] else "the worst"
    head += _part(title, worst, width, advised=True)
    yield from head
    if room is not None:
        rest = [line for line in lines if line.verdict == "warn" and line not in guest]
        yield from _briefly(rest, width, room - sum(row.plain.count("\n") + 1 for row in head))
        return
    verdicts = {*PROBLEMS, "unknown"} - {"bad"} if problems else set(VERDICTS)
    for group in GROUPS:
        chosen = [
            line
            for line in lines
            if line.group == group and line.verdict in verdicts and line not in guest
        ]
        yield from _part(group, chosen, width)


def _basis(lines: Sequence[Line], cpus: frozenset[int], target: str) -> Iterator[Text]:
    """Yield what was examined, and how many lines have which verdict."""
    if target != LOCAL:
        yield Text(f"target: {shown(target)}; the commands below need --target as well", "dim")
    count = Counter(line.verdict for line in lines)
    counts = ", ".join(f"{count[verdict]} {verdict}" for verdict in _GRAVEST)
    where = f"measured: CPU {cpu_list(cpus)}" if cpus else "which CPU is measured is not known"
    yield Text(f"{where}; {counts}", style="dim")


def _briefly(lines: Sequence[Line], width: int, room: int) -> Iterator[Text]:
    """Yield a row for each line that there is room for, and how to see the others."""
    how = "`rtstone doctor --problems` says what to do, with --all every line is shown"
    hint = _wrapped(typed(how), width, "")
    title = 2  # rows, as has what follows
    fitting = lines[: max(0, room - title - len(hint) - 2)]
    if fitting:
        yield Text("\nwarnings", style="bold")
    for line in fitting:
        head = f"{SIGNS[line.verdict]} {line.verdict:<8}"
        text = shown(f"{line.title:<{TITLE}} {line.value}" if line.value else line.title)
        row = Text.assemble((head, STYLES[line.verdict]), text)
        row.truncate(width, overflow="ellipsis")
        yield row
    left = len(lines) - len(fitting)
    yield Text(f"{counted(left, 'more warning')}" if left else "", "dim")
    yield from (Text(row, "dim") for row in hint)


def _part(title: str, lines: Iterable[Line], width: int, advised: bool = False) -> Iterator[Text]:
    lines = list(lines)
    if lines:
        yield Text(f"\n{title}", style="bold")
    for line in lines:
        head = f"{SIGNS[line.verdict]} {line.verdict:<8}"
        indent = " " * len(head)
        text = f"{line.title:<{TITLE}} {line.value}" if line.value else line.title
        rows = _wrapped(text, width - len(head), " " * (TITLE + 1))
        yield Text.assemble((head, STYLES[line.verdict]), rows[0])
        yield from (Text(indent + row) for row in rows[1:])
        # The advice of bad ones is at the top already.
        if (advised or line.verdict != "bad") and line.advice and line.group != "application":
            for row in _wrapped(f"-> {typed(line.advice)}", width - len(indent), "   "):
                yield Text(indent + row, style="dim")


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return folded(shown(text), max(width, 40), rest=indent) or [""]


# What an outcome of tuning is worth, for its sign and colour.
WORTH = {
    "changed": "good", "enough": "good", "restored": "good", "old": "good", "holds": "good",
    "adjusted": "warn", "refused": "warn", "lost": "warn", "left": "bad", "failed": "bad",
    "gone": "yours", "impossible": "yours", "planned": "yours",
}  # fmt: skip


def tuned(entries: Sequence[Entry], width: int) -> Iterator[Text]:
    """Yield one line for each change: what it was, and is; one for a change of several files."""
    if not entries:
        yield Text("nothing is tuned")
    for alike in _alike(entries):
        entry = alike[0]
        worth = WORTH[entry.outcome]
        head = f"{SIGNS[worth]} {entry.outcome:<11}"
        parts = [f"{entry.setting:<16}", f"/{_path(alike)}" if entry.path else ""]
        if entry.old or entry.new:
            parts.append(f"{entry.old or '-'} -> {entry.new or '-'}")
        if len(alike) > 1:
            parts[-1] += f", {counted(len(alike), 'file')}"
        text = " ".join(part for part in parts if part)
        parting = "; " if entry.path else " "
        rows = _wrapped(
            f"{text}{parting}{entry.reason}" if entry.reason else text,
            width - len(head),
            "  ",
        )
        yield Text.assemble((head, STYLES[worth]), rows[0])
        yield from (Text(" " * len(head) + row) for row in rows[1:])


def _alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return entries, those together whose paths alone differ, by one number: of IRQs, of CPUs."""
    groups: dict[Entry, list[Entry]] = {}
    for entry in entries:
        path = _NUMBERED.sub("N", entry.path, count=1)
        groups.setdefault(entry._replace(path=path), []).append(entry)
    return list(groups.values())


# The number of an interrupt or a CPU.
_NUMBERED = re.compile(r"(?<=/irq/)\d+|(?<=/cpu)\d+")


def _path(alike: Sequence[Entry]) -> str:
    """Return the path of entries, with the numbers in which they differ: ``irq/{1,4-9}/...``."""
    path = alike[0].path
    if len(alike) == 1:
        return path
    numbers = [int(match[0]) for entry in alike if (match := _NUMBERED.search(entry.path))]
    return _NUMBERED.sub(f"{{{cpu_list(numbers)}}}", path, count=1)
