"""The TOML files that a person writes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from rtstone.errors import UsageError, unknown

_KINDS: dict[type, str] = {
    str: "text",
    int: "a whole number",
    dict: "a table",
    list: "a list",
    object: "a number or text",
}


def read(path: Path, noun: str) -> dict[str, Any]:
    """The file's table; its fractions are Decimal.  Raises UsageError; ``noun``: what it is."""
    try:
        return tomllib.loads(path.read_text("utf-8"), parse_float=Decimal)
    except OSError as error:
        raise UsageError(f"cannot read {noun} {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"not a TOML file, {path}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"not a {noun}, {path}: nested too deeply") from error


def check_keys(table: Mapping[str, object], known: Mapping[str, type], where: str) -> None:
    """Raises UsageError for a key that is not known, or a value of another type."""
    for key, value in table.items():
        if key not in known:
            raise unknown("key", key, known, f"in {where}")
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise UsageError(f"'{key}' is not {_KINDS[known[key]]}, in {where}")
