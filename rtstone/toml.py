"""Read and check TOML files: suites, budgets, models."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from rtstone.errors import UsageError, unknown
from rtstone.files import content
from rtstone.printable import shown

_KINDS: dict[type, str] = {
    str: "text",
    int: "a whole number",
    dict: "a table",
    list: "a list",
    object: "a number or text",
}


LARGEST = 1 << 63  # TOML integers are signed 64-bit


def read(path: Path, noun: str) -> dict[str, Any]:
    """Return the file's table, with fractions as Decimal and all numbers finite.

    ``noun``: what the file is, for errors.  Raises UsageError.
    """
    try:
        return parse(content(path), path, noun)
    except OSError as error:
        raise UsageError(f"cannot read {noun} {path}: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise UsageError(f"not a TOML file, {path}: {error}") from error


def parse(text: bytes, path: Path, noun: str) -> dict[str, Any]:
    """Return the table of a file with this text, as ``read`` does."""
    try:
        table = tomllib.loads(text.decode("utf-8"), parse_float=Decimal)
        return {key: _sound(key, value, path) for key, value in table.items()}
    except ValueError as error:  # also a number of thousands of digits
        raise UsageError(f"not a TOML file, {path}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"not a {noun}, {path}: nested too deeply") from error


def _sound(key: str, value: Any, path: Path) -> Any:
    """Return a value with its texts made printable.

    Raises UsageError for a number that is too large or not finite.
    """
    match value:
        case dict():
            return {name: _sound(name, item, path) for name, item in value.items()}
        case list():
            return [_sound(key, item, path) for item in value]
        case str():
            return "\n".join(map(shown, value.split("\n")))
        case int() if not -LARGEST <= value < LARGEST:
            raise UsageError(f"a number of more than 64 bits for '{key}', in {path}")
        case Decimal() if not math.isfinite(float(value)):
            raise UsageError(f"'{value:.9}' for '{key}' is no finite number, in {path}")
    return value


def check_keys(table: Mapping[str, object], kinds: Mapping[str, type], where: str) -> None:
    """Raise UsageError for an unknown key, or a value of another type."""
    for key, value in table.items():
        if key not in kinds:
            raise unknown("key", key, kinds, f"in {where}")
        if not isinstance(value, kinds[key]) or isinstance(value, bool):
            raise UsageError(f"'{key}' is not {_KINDS[kinds[key]]}, in {where}")
