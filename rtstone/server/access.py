"""Who may do what: tokens, stored hashed, with a scope and a project.

Pushing and administering is by `Authorization: Bearer` only, which no browser sends by itself, so
that no page of another site can have one do anything here.  A browser may give a token that reads
as the password of HTTP Basic, whatever the name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from time import time
from typing import Literal, NamedTuple

import sqlalchemy as sql
from starlette.exceptions import HTTPException
from starlette.requests import Request

from rtstone.errors import UsageError
from rtstone.server.database import Database
from rtstone.server.projects import NAME
from rtstone.server.schema import tokens

Scope = Literal["read", "push", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "push", "admin")  # each may do what those before it may
TOKEN = re.compile(r"rts_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NOTED_S = 3600.0  # how precisely the last use of a token is known
_NOBODY = hashlib.sha256(b"").hexdigest()
_READING = (
    "a token is needed: the password of the login window, with any user name; "
    "without a browser, as Authorization: Bearer"
)
_LONGEST = 200  # characters of a name, and of an Authorization header that can be good


class Principal(NamedTuple):
    """Who makes a request.  ``project``: the only one that the token is for, None for all."""

    name: str
    scope: Scope
    project: str | None = None
    token: str | None = None

    def may(self, scope: Scope, project: str | None) -> bool:
        """Return whether the scope is theirs in a project; None: in some project at least."""
        enough = SCOPES.index(self.scope) >= SCOPES.index(scope)
        return enough and (self.project is None or project in {None, self.project})

    def readable(self, projects: Iterable[str]) -> list[str]:
        """Return those of the projects that they may read."""
        return [name for name in projects if self.may("read", name)]


ANYBODY = Principal("anybody", "read")


class Token(NamedTuple):
    """A token as it is listed; points in time in s since 1970."""

    id: str
    name: str
    project: str | None
    scope: Scope
    created: float
    expires: float | None
    used: float | None
    revoked: float | None


def require(request: Request, scope: Scope, project: str | None) -> Principal:
    """Return who makes a request, if the scope is theirs in a project.

    ``project``: None for a view of several projects, which shows ``Principal.readable`` only.
    Raises HTTPException 401 without a valid token, 403 with one that does not suffice.
    """
    state = request.app.state
    token, by_browser = _token_of_request(request)
    if token is None:
        if scope == "read" and state.settings.reading == "open":
            request.scope["principal"] = ANYBODY  # for the log
            return ANYBODY
        if scope == "read":
            raise _unknown(_READING, browser=True)
        raise _unknown("a token is needed, as Authorization: Bearer", browser=False)
    if by_browser and scope != "read":
        raise _unknown("a token is needed, as Authorization: Bearer", browser=False)
    caller = principal(state.database, token)
    if caller is None:
        request.scope["refused"] = True
        raise _unknown("the token is not valid: unknown, expired or revoked", by_browser)
    request.scope["principal"] = caller
    state.guard.count_token(caller.token)
    if not caller.may(scope, project):
        where = "" if project is None else f" in project {project}"
        raise HTTPException(403, f"the token '{caller.name}' may not {scope}{where}")
    return caller


def _unknown(why: str, browser: bool) -> HTTPException:
    # Browsers look no further than the first challenge of a header.
    schemes = ('Basic realm="rtstone", ' if browser else "") + 'Bearer realm="rtstone"'
    return HTTPException(401, why, headers={"WWW-Authenticate": schemes})


def _token_of_request(request: Request) -> tuple[str | None, bool]:
    """Return the token of a request, and whether a browser sent it, by HTTP Basic."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip(), False
    if kind.lower() == "basic":
        try:
            name_and_token = base64.b64decode(value[: 4 * _LONGEST], validate=True).decode()
        except (binascii.Error, ValueError):
            return "", True
        return name_and_token.partition(":")[2], True
    return ("", False) if kind else (None, False)


def principal(database: Database, token: str) -> Principal | None:
    """Return whose token it is, None if it is not valid (any more).  Notes its use."""
    match = TOKEN.fullmatch(token)
    number, secret = (match[1], match[2]) if match else ("", "")
    query = sql.select(tokens).where(tokens.c.id == number)
    with database.reading() as connection:
        row = connection.execute(query).mappings().first() if match else None
    hashed = hashlib.sha256(secret.encode()).hexdigest()
    same = hmac.compare_digest(hashed, row["hash"] if row else _NOBODY)
    if row is None or not same or row["revoked"] is not None:
        return None
    now = time()
    if row["expires"] is not None and now >= row["expires"]:
        return None
    if row["used"] is None or now - row["used"] > _NOTED_S:
        with database.writing() as connection:
            update = sql.update(tokens).where(tokens.c.id == row["id"])
            connection.execute(update.values(used=now))
    return Principal(row["name"], row["scope"], row["project"], row["id"])


# ---- tokens -------------------------------------------------------------------------------------


def new_token(
    database: Database, name: str, scope: Scope, project: str | None, expires: float | None = None
) -> str:
    """Make a token, and return it: it cannot be read again afterwards.

    ``expires``: in s since 1970, None for never.  Raises UsageError.
    """
    if not name.strip() or len(name) > _LONGEST or not name.isprintable():
        raise UsageError(f"bad name '{name}'; say in up to {_LONGEST} letters who uses the token")
    if project is not None and not NAME.fullmatch(project):
        raise UsageError(f"bad project '{project}'; write letters a-z, digits and hyphens")
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = {
        "id": number, "hash": hashlib.sha256(secret.encode()).hexdigest(), "name": name,
        "project": project, "scope": scope, "created": time(), "expires": expires,
    }  # fmt: skip
    with database.writing() as connection:
        connection.execute(sql.insert(tokens).values(row))
    return f"rts_{number}_{secret}"


def all_tokens(database: Database) -> list[Token]:
    """Return all tokens, the oldest first."""
    columns = [tokens.c[name] for name in Token._fields]
    with database.reading() as connection:
        rows = connection.execute(sql.select(*columns).order_by(tokens.c.created, tokens.c.id))
        return [Token(*row) for row in rows]


def revoke(database: Database, name: str) -> Token:
    """Revoke a token, given by its id or its name.  Raises UsageError unless exactly one is."""
    valid = [token for token in all_tokens(database) if token.revoked is None]
    named = [token for token in valid if name in {token.id, token.name}]
    if len(named) != 1:
        many = f"{len(named)} valid tokens are" if named else "no valid token is"
        raise UsageError(f"{many} called '{name}'; give its id, see `rtstone token list`")
    with database.writing() as connection:
        update = sql.update(tokens).where(tokens.c.id == named[0].id)
        connection.execute(update.values(revoked=time()))
    return named[0]
