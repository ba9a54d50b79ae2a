"""The settings of a server: from its command line, and from STORE/server.toml."""

from __future__ import annotations

import ipaddress
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from rtstone.errors import UsageError
from rtstone.folders import results
from rtstone.server.settings_file import FILE, Limits, Retention, ServerFile, Webhook, read

LISTEN = "127.0.0.1:8420"
Reading = Literal["open", "token"]


class Settings(NamedTuple):
    """The settings of a server.

    ``reading``: who may read; pushing is always by token.  ``url``: where browsers reach it, if
    not where it listens.  ``database``: a URL, None for SQLite in the store.
    """

    store: Path
    host: str = "127.0.0.1"
    port: int = 8420
    reading: Reading = "open"
    database: str | None = None
    url: str | None = None
    proxies: tuple[str, ...] = ()
    limits: Limits = Limits()
    retention: tuple[Retention, ...] = ()
    webhooks: tuple[Webhook, ...] = ()

    @property
    def is_private(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host) and self.url is None

    @property
    def base(self) -> str:
        """Where clients reach it, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.url or f"http://{host}:{self.port}"

    def serves(self, host: str) -> bool:
        """Return whether a request's host is this server.

        A page of another site may have its own name resolve to this address, to read what only
        this network may read; no such page can have an address or `localhost` as its name.
        """
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:  # "[" is no host
            return False
        if name == "localhost" or name == urlsplit(self.base).hostname:
            return True
        return is_address(name)


def settings(
    store: Path,
    listen: str = LISTEN,
    reading: Reading | None = None,
    database: str | None = None,
) -> Settings:
    """Return the settings for a command line.

    ``reading``: None if the command line does not say.  Raises UsageError.
    """
    file = configured(store)
    host, port = address(listen)
    if reading is None and not is_loopback(host):
        raise UsageError(
            f"who may read is not said, for {listen}, which others can reach; "
            "give --read token, or --read open if all may read all runs"
        )
    return Settings(
        store=store, host=host, port=port, reading=reading or "open",
        database=database or file.database, url=file.url, proxies=file.proxies,
        limits=file.limits, retention=file.retention, webhooks=file.webhooks,
    )  # fmt: skip


def configured(store: Path) -> ServerFile:
    """Return the settings in the file of a store.  Raises UsageError."""
    return read(store / FILE)


def token_command(server: Settings, *options: str) -> str:
    """Return the command that makes a token, on the server's machine."""
    import sqlalchemy as sql

    words = ["rtstone", "token", "new", "ci", *options, "--scope", "push"]
    words += [] if is_own(server.store) else ["--store", str(server.store)]
    if server.database and server.database != configured(server.store).database:
        words += ["--database", sql.make_url(server.database).render_as_string()]
    return shlex.join(words)


def is_own(store: Path) -> bool:
    """Return whether a store is the one that `rtstone run` has here."""
    with suppress(UsageError):  # a service may have no home
        return store == results().absolute()
    return False


def address(listen: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT.  Raises UsageError."""
    try:
        parts = urlsplit(f"//{listen}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port is None or parts.path or parts.username:
        raise UsageError(f"bad address '{listen}', in --listen; write HOST:PORT, as {LISTEN}")
    return host, port


def is_address(name: str) -> bool:
    """Return whether a host is an address, no name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
