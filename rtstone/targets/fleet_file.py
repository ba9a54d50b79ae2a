"""The targets that a person has given names, in targets.toml.

    [pi4]
    address = "ssh:pi@192.0.2.7"  # a target, as --target takes it
    rights = "sudo"               # run the agent by sudo; default: login, as who logs in
    cpus = "2-3"                  # to measure on, unless --cpus says otherwise
    comment = "Raspberry Pi 4, stock kernel"

An address may be a command, so a file is read only if nobody else could have written it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from rtstone import toml
from rtstone.cpus import ALL, cpu_set
from rtstone.errors import UsageError
from rtstone.folders import folder

NEAR = Path("rtstone-targets.toml")  # in the working directory; its names come first
LARGEST = 256 << 10  # bytes of a file

_NOUN = "targets file"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)
_KEYS = {"address": str, "rights": str, "cpus": str, "comment": str}
_RIGHTS = {"login": "", "sudo": "+sudo=yes"}  # what is added to an address
_SSH = "ssh:"


class Named(NamedTuple):
    """A target with a name; ``address``: as the kind of target takes it, rights included.

    ``cpus``: the CPUs to measure on, None to leave the choice to the agent.  ``file``: that names
    it.
    """

    name: str
    address: str
    cpus: str | None
    comment: str
    file: Path

    @property
    def where(self) -> str:
        """Its table, for messages."""
        return _table(self.name, self.file)


def files() -> list[Path]:
    """Return where targets may be named; a later file wins."""
    config = folder("XDG_CONFIG_HOME", ".config")
    return [config / "rtstone" / "targets.toml", NEAR] if config else [NEAR]


def fleet(kinds: Collection[str]) -> dict[str, Named]:
    """Return the named targets by name.

    ``kinds``: names that a target cannot have, as they are kinds of targets.  Raises UsageError for
    a file with a mistake, or that others may have written.
    """
    targets: dict[str, Named] = {}
    for path in files():
        text = _text(path)
        if text is not None:
            table = toml.parse(text, path, _NOUN)
            targets |= {name: _named(name, value, path, kinds) for name, value in table.items()}
    return targets


def _table(name: str, path: Path) -> str:
    return f"table [{name}] of {path}"


def _named(name: str, table: object, path: Path, kinds: Collection[str]) -> Named:
    where = _table(name, path)
    if not isinstance(table, dict):
        raise UsageError(f"'{name}' is not in a table, in {path}; write it below a line [NAME]")
    if name in kinds:
        raise UsageError(f"'{name}' is a kind of target, in {where}; choose another name")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"not a name, in {where}; use up to 40 letters, digits and . _ -, a letter or digit "
            "first"
        )
    toml.check_keys(table, _KEYS, where)
    address, cpus = str(table.get("address", "")), table.get("cpus")
    if not address.strip():
        raise UsageError(f"no address, in {where}; write address = 'ssh:user@host', or the like")
    if cpus is not None and cpus != ALL:
        try:
            cpu_set(str(cpus))
        except UsageError as error:
            raise UsageError(f"{error}, in {where}") from error
    rights = str(table.get("rights", "login"))
    if rights not in _RIGHTS:
        raise UsageError(f"rights is one of {', '.join(_RIGHTS)}, not '{rights}', in {where}")
    if rights != "login" and not address.startswith(_SSH):
        raise UsageError(f"rights = '{rights}' is for addresses ssh:..., in {where}; leave it out")
    if "+sudo=" in address and "rights" in table:
        raise UsageError(f"rights are given twice, in {where}; leave +sudo= out of the address")
    comment = " ".join(str(table.get("comment", "")).split())
    return Named(name, address + _RIGHTS[rights], cpus, comment, path)


def _text(path: Path) -> bytes | None:
    """Return the content of a file, None if there is none.  Raises UsageError."""
    root = os.geteuid() == 0
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        handle = os.open(path, flags | (os.O_NOFOLLOW if root else 0))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{_NOUN} {path} is not a regular file")
            if status.st_uid not in {0, os.geteuid()}:
                raise UsageError(
                    f"{_NOUN} {path} belongs to another user (uid {status.st_uid}), and may name "
                    f"commands to run; remove it, or make it yours: chown {os.geteuid()} {path}"
                )
            if status.st_mode & (stat.S_IWOTH | (stat.S_IWGRP if root else 0)):
                raise UsageError(
                    f"{_NOUN} {path} can be written by others, and may name commands to run: "
                    f"chmod go-w {path}"
                )
            text = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if root and path.is_symlink():
            raise UsageError(f"{_NOUN} {path} is a link, which root does not follow") from error
        raise UsageError(f"cannot read {_NOUN} {path}: {error.strerror}") from error
    if len(text) > LARGEST:
        raise UsageError(f"{_NOUN} {path} has more than {LARGEST >> 10} KiB; split it, or tidy it")
    return text
