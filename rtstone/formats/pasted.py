"""Remove what was added to a pasted text: a Markdown fence, indentation, time stamps, a prompt.

Only what all lines share is taken off, or what stands around them: the meaning of a line never
changes.  A text with time stamps on some lines only stays as it is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_RETURNS = re.compile(rb"(?<!\r)\r+\n")
_LAYERS = 6  # more than a text has around it
_BLANK = b" \t"
_FENCES = (b"```", b"~~~")

# Of serial terminals, dmesg, journals: at the begin of a line, with the blank that follows.
_DATE, _TIME = rb"\d{4}-\d\d-\d\d[T ]", rb"\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_STAMPS = [
    re.compile(stamp)
    for stamp in (
        rb"\[ {0,9}\d{1,9}\.\d{1,9}\](?: |$)",  # seconds since the kernel began
        rb"\[(?:%b)?%b\](?: |$)" % (_DATE, _TIME),
        rb"(?:%b)?%b(?: |$)" % (_DATE, _TIME),
    )
]

# What a shell shows before a command.  A bare '#' is none: output begins so.
_PROMPT = re.compile(
    rb"(?:[^\s$#]{0,99}\$|[\w.-]{1,99}@[\w.-]{1,99}[: ]?\S{0,999} ?[#$%]|\[[^\]\n]{1,99}\][$#%]"
    rb"|[~/]\S{0,99} #)(?: +|$)"
)


class Text(NamedTuple):
    """A text without what was added to it.

    ``command``: what stood at a prompt before it.  ``before``: how many lines were taken off there.
    """

    data: bytes
    command: str | None = None
    before: int = 0


def plain(data: bytes) -> Text:
    """Return the text as its tool wrote it."""
    text = Text(_RETURNS.sub(b"\n", data))
    for _ in range(_LAYERS):
        outer, text = text, _without_prompt(_without_shared(_without_fence(text)))
        if text == outer:
            break
    return text


def _without_fence(text: Text) -> Text:
    """Return what is within a fence, if the first and the last line are one."""
    fence = text.data.lstrip()[:3]
    if fence not in _FENCES:
        return text
    rest = text.data.lstrip().partition(b"\n")[2]
    body, _, last = rest.rstrip().rpartition(b"\n")
    if last.strip() != fence or b"\n" + fence in b"\n" + body:
        return text
    return text._replace(data=body + b"\n", before=_before(text, rest))


def _without_shared(text: Text) -> Text:
    """Return the text without the indentation or the time stamps that all its lines share."""
    first = text.data.lstrip(b"\n").partition(b"\n")[0]
    margin = first[: len(first) - len(first.lstrip(_BLANK))]
    stamp = next((stamp for stamp in _STAMPS if stamp.match(first)), None)
    if not margin and stamp is None:
        return text
    lines = text.data.split(b"\n")
    filled = [line for line in lines if line.strip()]
    for line in filled:
        while not line.startswith(margin):
            margin = margin[:-1]
    if margin:
        return text._replace(data=b"\n".join(line.removeprefix(margin) for line in lines))
    if stamp is None or not all(map(stamp.match, filled)):
        return text
    return text._replace(data=b"\n".join(stamp.sub(b"", line, count=1) for line in lines))


def _without_prompt(text: Text) -> Text:
    """Return the text without the prompt and the command before it, and the prompt behind it."""
    if text.command is None:
        first, _, rest = text.data.lstrip(b"\n").partition(b"\n")
        prompt = _PROMPT.match(first)
        if prompt and rest and (command := first[prompt.end() :].strip()):
            typed = command.decode("utf-8", "replace")
            text = text._replace(data=rest, command=typed, before=_before(text, rest))
    body, newline, last = text.data.rstrip(b"\n").rpartition(b"\n")
    prompt = _PROMPT.match(last)
    if newline and prompt and not last[prompt.end() :].strip():
        return text._replace(data=body + b"\n")
    return text


def _before(text: Text, rest: bytes) -> int:
    """Return how many lines were taken off before the rest of a text."""
    return text.before + text.data.count(b"\n") - rest.count(b"\n")
