"""The settings of a results server, in STORE/server.toml.

    url = "https://rt.example.org"       # where browsers reach it, behind a proxy
    proxies = ["127.0.0.1"]              # trusted to say a client's address
    database = "postgresql:///rtstone"   # default: SQLite in the store

    [limits]
    upload = "64MiB"                     # of a run, packed
    run = "256MiB"                       # of a run, unpacked
    requests = 100                       # of one client, per second; 0: no limit

    [[retention]]                        # the first that names a project is its rule
    project = "main"                     # default: "*", every project
    older-than = "180d"
    keep-last = 20                       # runs of each target

    [[webhook]]
    name = "chat"
    url = "https://chat.example.org/hook"
    secret = "..."                       # signs what is sent
    project = "main"                     # default: "*", every project

It holds secrets, so it is read only if nobody else can have written it.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rtstone import toml
from rtstone.errors import UsageError
from rtstone.files import opened
from rtstone.units import SIZE

FILE = "server.toml"
EVERY = "*"  # for a project: all of them
LARGEST = 256 << 10  # bytes of the file
_NOUN = "server's settings"


class Retention(NamedTuple):
    """A rule: runs of a project older than this go, but for the last ones of each target."""

    project: str = EVERY
    older_than_s: float = float("inf")
    keep_last: int = 1
    title: str = ""


class Webhook(NamedTuple):
    """A receiver of messages on changes for the worse; ``secret`` signs them."""

    name: str
    url: str
    secret: str
    project: str = EVERY


class Limits(NamedTuple):
    """What one client may send: sizes in bytes, requests per second (0: as many as it likes)."""

    upload: int = 64 << 20
    run: int = 256 << 20
    requests: float = 100.0


class ServerFile(NamedTuple):
    """The file's content."""

    url: str | None = None
    proxies: tuple[str, ...] = ()
    database: str | None = None
    limits: Limits = Limits()
    retention: tuple[Retention, ...] = ()
    webhooks: tuple[Webhook, ...] = ()


_KEYS = {
    "url": str, "proxies": list, "database": str, "limits": dict, "retention": list,
    "webhook": list,
}  # fmt: skip
_LIMITS = {"upload": object, "run": object, "requests": object}
_RETENTION = {"project": str, "older-than": str, "keep-last": int}
_WEBHOOK = {"name": str, "url": str, "secret": str, "project": str}

_AGE = re.compile(r"(\d{1,5})([hdw])")
_AGES = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_LONGEST = 2000  # characters of a URL
_IN_URLS = re.compile(r"[!-~]+")


def read(path: Path) -> ServerFile:
    """Return the settings in a file, the defaults if there is none.

    Raises UsageError for a mistake, and for a file that others may have written.
    """
    text = _text(path)
    if text is None:
        return ServerFile()
    table = toml.parse(text, path, _NOUN)
    where = f"in {path}"
    toml.check_keys(table, _KEYS, where)
    return ServerFile(
        url=_url(table["url"], where) if "url" in table else None,
        proxies=tuple(_address(value, where) for value in table.get("proxies", [])),
        database=table.get("database"),
        limits=_limits(table.get("limits", {}), f"in [limits] of {path}"),
        retention=tuple(
            _retention(value, f"in [[retention]] of {path}") for value in table.get("retention", [])
        ),
        webhooks=_webhooks(table.get("webhook", []), f"in [[webhook]] of {path}"),
    )


def age(text: str, where: str) -> float:
    """Return an age, as 12h, 30d or 8w, in s.  Raises UsageError."""
    match = _AGE.fullmatch(text)
    if match is None:
        raise UsageError(f"bad age '{text}', {where}; write 12h, 30d or 8w")
    return int(match[1]) * _AGES[match[2]]


def _table(value: object, keys: Mapping[str, type], where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"not a table, {where}")
    toml.check_keys(value, keys, where)
    return value


def _url(text: object, where: str) -> str:
    """Return a URL that can be requested, without a slash at its end.  Raises UsageError."""
    url = str(text)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # "[" is no host, 99999 no port
        usable = False
    if not usable or len(url) > _LONGEST:
        raise UsageError(f"bad URL, {where}; write https://HOST/")
    if not _IN_URLS.fullmatch(url):
        raise UsageError(
            f"bad URL, {where}; write blanks and what is not ASCII as %20 and its like"
        )
    if "@" in parts.netloc:
        raise UsageError(f"a URL has a name or password, {where}; nothing sends it: leave it out")
    return url.rstrip("/")


def _address(text: object, where: str) -> str:
    try:
        return str(ipaddress.ip_address(str(text)))
    except ValueError as error:
        raise UsageError(f"bad address '{text}', for 'proxies' {where}") from error


def _limits(table: object, where: str) -> Limits:
    values = _table(table, _LIMITS, where)
    sizes = {}
    for name in ("upload", "run"):
        if name in values:
            size = SIZE.parse(str(values[name]))
            if size is None or not 1 <= size <= 1 << 30:
                raise UsageError(f"bad size for '{name}', {where}; write 64MiB, at most 1GiB")
            sizes[name] = size
    requests = values.get("requests", Limits().requests)
    if isinstance(requests, str) or not 0 <= requests <= 1e9:
        raise UsageError(f"'requests' is a number per second, 0 for no limit, {where}")
    return Limits(**sizes, requests=float(requests))


def _retention(value: object, where: str) -> Retention:
    table = _table(value, _RETENTION, where)
    if "older-than" not in table:
        raise UsageError(f"no 'older-than', {where}; write older-than = '180d'")
    keep, project = table.get("keep-last", 1), table.get("project", EVERY)
    if keep < 1:
        raise UsageError(f"'keep-last' is at least 1, {where}")
    older = table["older-than"]
    title = f"older than {older}, not of the last {keep} of its target"
    return Retention(project, age(older, where), keep, title)


def _webhooks(values: object, where: str) -> tuple[Webhook, ...]:
    hooks: dict[str, Webhook] = {}
    for value in values if isinstance(values, list) else [values]:
        table = _table(value, _WEBHOOK, where)
        if lacking := [name for name in ("name", "url", "secret") if not table.get(name)]:
            raise UsageError(f"no '{lacking[0]}', {where}")
        if table["name"] in hooks:
            raise UsageError(f"two are called '{table['name']}', {where}")
        hook = Webhook(
            table["name"], _url(table["url"], where), table["secret"], table.get("project", EVERY)
        )
        hooks[hook.name] = hook
    return tuple(hooks.values())


def _text(path: Path) -> bytes | None:
    """Return the content of the file, None if there is none.  Raises UsageError."""
    try:
        with opened(path) as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in {0, os.geteuid()} or status.st_mode & 0o022:
                raise UsageError(f"{_NOUN} {path} can be written by others: chmod go-w {path}")
            text = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {_NOUN} {path}: {error.strerror}") from error
    if len(text) > LARGEST:
        raise UsageError(f"{_NOUN} {path} have more than {LARGEST >> 10} KiB")
    return text
