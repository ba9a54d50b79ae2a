"""The address of a project on a results server, and the token for it.

    https://rt.example.org/p/firmware     the project `firmware`
    https://rt.example.org                the project `main`

A token is never on a command line.  It is in RTSTONE_TOKEN, or in tokens.toml in the user's
rtstone configuration, which only the user may read; the longest address that fits counts:

    ["https://rt.example.org"]
    token = "rts_..."
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from rtstone.errors import UsageError
from rtstone.files import opened
from rtstone.folders import folder
from rtstone.server.projects import MAIN, NAME

ENVIRONMENT = "RTSTONE_TOKEN"
_PATH = re.compile(rf"((?:/[^/]+)*?)(?:/p/({NAME.pattern})(/.*)?)?/?")
_TOKEN = re.compile(r"[\x21-\x7e]{1,200}")


class Address(NamedTuple):
    """A project on a server.  ``prefix``: of all paths, of a server behind a proxy.

    ``rest``: what the URL names in the project, as ``/runs/ID``; empty for all of it.
    ``fragment``: what follows its #.
    """

    scheme: str
    host: str
    port: int | None
    prefix: str
    project: str
    rest: str = ""
    fragment: str = ""

    @property
    def server(self) -> str:
        """The URL of the server, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{f':{self.port}' if self.port else ''}{self.prefix}"

    @property
    def url(self) -> str:
        """The URL of the project."""
        return f"{self.server}/p/{self.project}"

    def path(self, *names: str) -> str:
        """Return the path of a page of the project; ``names``: of its parts, as they are."""
        return self._joined("", names)

    def api(self, *names: str) -> str:
        """Return the path of what changes the project; ``names``: of its parts, as they are."""
        return self._joined("/api/v1", names)

    def _joined(self, api: str, names: Iterable[str]) -> str:
        quoted = (quote(name, safe="") for name in names)
        return "/".join((f"{self.prefix}{api}/p/{self.project}", *quoted))

    @property
    def is_loopback(self) -> bool:
        """Return whether it is on this machine."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")


def address(url: str) -> Address:
    """Return the project, and the part of it, that a URL names.  Raises UsageError."""
    try:
        parts = urlsplit(url)
        host, port, path = parts.hostname, parts.port, _PATH.fullmatch(parts.path)
    except ValueError:
        host = port = path = None
    if path is not None and "/p/" in f"{path[1]}/":  # what follows is no name of a project
        path = None
    if parts.scheme not in {"http", "https"} or not host or path is None or parts.query:
        raise UsageError(f"bad URL '{url[:200]}'; write https://HOST/p/PROJECT")
    if parts.username is not None:
        raise UsageError(
            f"a password in a URL is seen by others; put the token in {ENVIRONMENT} or tokens.toml"
        )
    return Address(
        parts.scheme, host, port, path[1], path[2] or MAIN, (path[3] or "").rstrip("/"),
        parts.fragment,
    )  # fmt: skip


def token(project: Address) -> str | None:
    """Return the token for a project, None if there is none.

    Raises UsageError for a file of tokens that others may read, and for a token that would go over
    a network as it is.
    """
    noted_token = _token_in_file(project)
    value = os.environ.get(ENVIRONMENT) or noted_token
    if value is None:
        return None
    if not _TOKEN.fullmatch(value):
        raise UsageError(f"not a token, for {project.server}; it begins with rts_")
    # Who writes http:// into the file knows that the network can be trusted.
    if project.scheme == "http" and not project.is_loopback and noted_token is None:
        raise UsageError(
            f"the token would be seen on the way to {project.server}; use https://, or name the "
            f"server with http:// in {tokens_file() or 'tokens.toml'} if its network can be trusted"
        )
    return value


def tokens_file() -> Path | None:
    """Return the file of tokens, None without a home."""
    config = folder("XDG_CONFIG_HOME", ".config")
    return config / "rtstone" / "tokens.toml" if config else None


def _token_in_file(project: Address) -> str | None:
    """Return the token in the file for a project.  Raises UsageError."""
    best, token = -1, None
    if (path := tokens_file()) is None:
        return None
    try:
        with opened(path) as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise UsageError(f"others may read the tokens in {path}: chmod 600 {path}")
            tables = tomllib.loads(file.read(1 << 20).decode())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a TOML file, {path}: {error}") from error
    for url, table in tables.items():
        if not isinstance(table, dict) or not isinstance(table.get("token"), str):
            raise UsageError(f'no token, in ["{url}"] of {path}; write token = "rts_..."')
        noted = url.rstrip("/")
        if f"{project.url}/".startswith(f"{noted}/") and len(noted) > best:
            best, token = len(noted), table["token"]
    return token
