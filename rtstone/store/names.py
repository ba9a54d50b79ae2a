"""Names that people give runs."""

from __future__ import annotations

import re

from rtstone.errors import UsageError

LONGEST = 40  # characters: it heads a column
LAST = re.compile(r"last(?:~(\d{1,9}))?")
_ID = re.compile(r"\d+|\d{6,8}-.*")  # the start of a run id, which names a run as well


def check(name: str) -> str:
    """Return the name of a run.  Raises UsageError for one that would be taken for something else.

    That is a path, several runs, an option, `last`, or a run id.
    """
    parts = [letter for letter in "/,~" if letter in name]
    faults = [
        (not name or name != name.strip(), "it is empty, or begins or ends with a blank"),
        (not name.isprintable(), "it has characters that cannot be printed"),
        (len(name) > LONGEST, f"it has more than {LONGEST} characters"),
        (name[:1] in {"-", "."}, f"it begins with '{name[:1]}'"),
        (LAST.fullmatch(name), "it names the last run"),
        (parts, f"it contains '{''.join(parts)}'"),
        (_ID.fullmatch(name), "it looks like a run id"),
    ]
    for wrong, why in faults:
        if wrong:
            raise UsageError(
                f"bad name '{name}', in --name: {why}; write a word such as tuned or rt-6.8"
            )
    return name
