"""Options after what a target is: ``+name=value``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rtstone.errors import UsageError, unknown

# Raises UsageError unless a value suits the option of that name, in that target.
Check = Callable[[str, str, str], None]


def one_of(*values: str) -> Check:
    """Return the check of an option that has these values."""

    def check(name: str, value: str, spec: str) -> None:
        if value not in values:
            raise UsageError(
                f"{name} is one of {', '.join(values)}, not '{value}', in target '{spec}'"
            )

    return check


def whole(below: int) -> Check:
    """Return the check of an option that is a whole number."""

    def check(name: str, value: str, spec: str) -> None:
        if not (value.isdecimal() and int(value) < below):
            raise UsageError(f"{name} is a whole number below {below}, in target '{spec}'")

    return check


def text(name: str, value: str, spec: str) -> None:
    """Check an option that may be any text, but not empty."""
    if not value:
        raise UsageError(f"{name} needs a value, in target '{spec}'")


def checks(options: Mapping[str, Check], spec: str) -> Callable[[str], Check]:
    """Return a function that finds the check of an option, or raises UsageError."""

    def check_of(name: str) -> Check:
        if name not in options:
            raise unknown("word", name, options, f"in target '{spec}'")
        return options[name]

    return check_of


def parse(words: Sequence[str], check_of: Callable[[str], Check], spec: str) -> dict[str, str]:
    """Return the options in the words, by name.

    ``check_of`` returns the check of a name, or raises UsageError if there is no such option.
    """
    values: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        check = check_of(name)
        if name in values:
            raise UsageError(f"{name} is given twice, in target '{spec}'")
        check(name, value, spec)
        values[name] = value
    return values
