"""The configuration of a Linux kernel: fragments merged into one, and which options took effect.

A fragment is a part of a `.config`: lines ``CONFIG_NAME=value`` and ``# CONFIG_NAME is not set``.
The kernel's own configurator adds what they select and drops what they must not have, silently:
each option is therefore looked for in what it wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import UsageError
from rtstone.files import content

_SET = re.compile(r'(CONFIG_\w+)=("(?:[^"\\]|\\.)*"|[\w+-]+)')
_UNSET = re.compile(r"# (CONFIG_\w+) is not set")
NO = "n"  # as good as unset
YES = "y"
_SAID = 6  # options named in one line


class Option(NamedTuple):
    """A setting of a fragment; ``where``: file and line, or the command line."""

    name: str  # with CONFIG_
    value: str
    where: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


def read(fragment: str) -> list[Option]:
    """Return the options of a fragment: a file, or one option given as CONFIG_NAME=value.

    Raises UsageError for a file that cannot be read, or a line that is none of a fragment.
    """
    if fragment.startswith("CONFIG_") and "=" in fragment:
        return [_option(fragment, "--config")]
    try:
        text = content(Path(fragment)).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text"
        raise UsageError(
            f"fragment '{fragment}': {reason}; give a file, or one option as CONFIG_NAME=value"
        ) from error
    lines = enumerate(text.splitlines(), start=1)
    return [
        _option(line.strip(), f"{fragment}, line {number}")
        for number, line in lines
        if line.strip() and (not line.lstrip().startswith("#") or _UNSET.match(line.strip()))
    ]


def _option(text: str, where: str) -> Option:
    if match := _SET.fullmatch(text):
        return Option(match[1], match[2], where)
    if match := _UNSET.fullmatch(text):
        return Option(match[1], NO, where)
    raise UsageError(
        f"{where}: '{text}' is no option; write CONFIG_NAME=value, or # CONFIG_NAME is not set"
    )


def merged(options: Iterable[Option]) -> dict[str, Option]:
    """Return the options by name; of two for one name the later counts."""
    return {option.name: option for option in options}


def text(options: Mapping[str, Option]) -> str:
    """Return the options as a fragment."""
    return "".join(f"{option}\n" for option in options.values())


def values(config: str) -> dict[str, str]:
    """Return what a `.config` sets, by name."""
    matches = map(_SET.fullmatch, config.splitlines())
    return {line[1]: line[2] for line in matches if line}


def lost(options: Iterable[Option], config: str) -> list[tuple[Option, str]]:
    """Return each option that did not take, with its value in the `.config`."""
    present = values(config)
    pairs = [(option, present.get(option.name, NO)) for option in options]
    return [(option, value) for option, value in pairs if option.value != value]


def refusal(gone: list[tuple[Option, str]]) -> str:
    """Return the words for options that did not take."""
    words = [f"{option} ({option.where}) is {value}" for option, value in gone[:_SAID]]
    rest = f" and {len(gone) - _SAID} more" if len(gone) > _SAID else ""
    return (
        f"not taken by the kernel's configuration: {'; '.join(words)}{rest}: it has no such "
        "option, or this needs or excludes another one"
    )
