"""The checklist of the system, and what was tuned, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from rtstone.cpus import cpu_list
from rtstone.documents.doctor import Verdict
from rtstone.documents.run import LOCAL
from rtstone.printable import shown
from rtstone.program import typed
from rtstone.report.parts.console import folded, sentences
from rtstone.system.findings import GROUPS, PROBLEMS, VERDICTS, Line
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
    mended = sum(line.tunable for line in lines)
    text = f"Cannot be measured as it is: {', '.join(bad)}" if bad else "Can be measured"
    text += "; a virtual machine" if guest and bad else ", as a virtual machine" if guest else ""
    text += f"; {counted(warned, 'warning')}"
    text += typed(f", {mended} mended by `rtstone tune apply`") if mended else ""
    return Text(text, style="bold red" if bad else "bold green")


def checklist(
    lines: Sequence[Line],
    cpus: frozenset[int],
    width: int,
    problems: bool = False,
    target: str = LOCAL,
) -> Iterator[Text]:
    """Yield the verdict, the counts and what is bad, then every line in its group.

    ``problems``: only lines that are bad, a warning or unknown.
    """
    yield from sentences(verdict(lines), width)
    if target != LOCAL:
        yield Text(f"target: {shown(target)}; the commands below need --target as well", "dim")
    count = Counter(line.verdict for line in lines)
    counts = ", ".join(f"{count[verdict]} {verdict}" for verdict in _GRAVEST)
    where = f"measured: CPU {cpu_list(cpus)}" if cpus else "which CPU is measured is not known"
    yield Text(f"{where}; {counts}", style="dim")
    guest = [line for line in lines if line.id == GUEST and line.verdict == "warn"]
    worst = guest + [line for line in lines if line.verdict == "bad"]
    title = "bad: mend these first" if worst[len(guest) :] else "the worst"
    yield from _part(title, worst, width, advised=True)
    verdicts = {*PROBLEMS, "unknown"} - {"bad"} if problems else set(VERDICTS)
    for group in GROUPS:
        chosen = [
            line
            for line in lines
            if line.group == group and line.verdict in verdicts and line not in guest
        ]
        yield from _part(group, chosen, width)


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
    """Yield one line for each change: what it was, and is."""
    if not entries:
        yield Text("nothing is tuned")
    for entry in entries:
        worth = WORTH[entry.outcome]
        head = f"{SIGNS[worth]} {entry.outcome:<11}"
        parts = [f"{entry.setting:<16}", f"/{entry.path}" if entry.path else ""]
        if entry.old or entry.new:
            parts.append(f"{entry.old or '-'} -> {entry.new or '-'}")
        text = " ".join(part for part in parts if part)
        parting = "; " if entry.path else " "
        rows = _wrapped(
            f"{text}{parting}{entry.reason}" if entry.reason else text,
            width - len(head),
            "  ",
        )
        yield Text.assemble((head, STYLES[worth]), rows[0])
        yield from (Text(" " * len(head) + row) for row in rows[1:])
