"""The state of a server, from its store and its database: the same whether it runs or not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import time
from typing import NamedTuple

import sqlalchemy as sql

from rtstone.server.access import Token, all_tokens
from rtstone.server.answers.webhooks import TRIES
from rtstone.server.database import Database, pairs
from rtstone.server.projects import Places, free
from rtstone.server.room import LARGEST, LARGEST_OF_TOKEN, OF_TOKEN, OPEN, Upload, uploads
from rtstone.server.schema import deliveries, projects, runs
from rtstone.server.settings import Settings
from rtstone.store.layout import RUN_ID
from rtstone.units import counted, size

LONG_S = 300.0  # that a run waits for a parser: nobody parses it


class ProjectStatus(NamedTuple):
    """A project.

    ``runs``: directories, which have so many ``stored`` bytes.  ``indexed``: None if the database
    does not say.
    """

    name: str
    runs: int
    indexed: int | None
    stored: int
    uploads: Sequence[Upload]

    @property
    def waiting(self) -> Sequence[Upload]:
        """The uploads that have come as a whole and wait for a parser, or are being parsed."""
        return [upload for upload in self.uploads if upload.whole]


class ServerStatus(NamedTuple):
    """A server.  ``faults``: why it is not well, in words.  ``tokens``: with their uploads."""

    faults: Sequence[str]
    projects: Sequence[ProjectStatus]
    tokens: Sequence[tuple[Token, Sequence[Upload]]]
    limits: Sequence[str]
    free: int


def status(settings: Settings, database: Database | None, fault: str = "") -> ServerStatus:
    """Return the state of a server.  ``fault``: why there is no database."""
    places = Places(settings.store)
    indexed: dict[str, int] = {}
    if database:
        count = sql.func.count(runs.c.id)
        query = sql.select(projects.c.name, count).outerjoin(runs, runs.c.project == projects.c.id)
        with database.reading() as connection:
            indexed = pairs(connection, query.group_by(projects.c.name))
    by_project = [_project(places, name, indexed.get(name)) for name in places.projects()]
    arriving = [upload for project in by_project for upload in project.uploads]
    by_token = [
        (token, [upload for upload in arriving if upload.token == token.id])
        for token in (all_tokens(database) if database else ())
    ]
    room = free(settings.store)
    faults = [fault] if fault else []
    faults += _faults(settings, database, room, by_project, by_token)
    upload, run, requests = settings.limits
    rate = f"{requests:g} per second" if requests else "as many as it likes"
    limits = [
        f"an upload: {size(upload)}, unpacked {size(run)}",
        f"uploads open: {OF_TOKEN} of a token, of {size(LARGEST_OF_TOKEN * upload)}; "
        f"{OPEN} of a project, of {size(LARGEST * upload)}",
        f"requests of a client: {rate}",
    ]
    return ServerStatus(faults, by_project, by_token, limits, room)


def _project(places: Places, name: str, indexed: int | None) -> ProjectStatus:
    number = stored = 0
    with suppress(FileNotFoundError), os.scandir(places.runs(name)) as entries:
        for entry in entries:
            if RUN_ID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                number += 1  # which may be deleted just now
                with suppress(FileNotFoundError), os.scandir(entry.path) as files:
                    stored += sum(file.stat(follow_symlinks=False).st_size for file in files)
    return ProjectStatus(name, number, indexed, stored, uploads(places, name))


def _faults(
    settings: Settings,
    database: Database | None,
    room: int,
    by_project: Sequence[ProjectStatus],
    by_token: Sequence[tuple[Token, Sequence[Upload]]],
) -> Iterator[str]:
    """Yield what is not well, a line each.  ``room``: bytes that are free in the store."""
    if not os.access(settings.store, os.W_OK | os.X_OK):
        yield f"the store cannot be written, {settings.store}"
    # A run is unpacked beside what was sent, and its document may be as large.
    needed = settings.limits.upload + 2 * settings.limits.run
    if room < needed:
        yield f"{size(room)} are free, less than the {size(needed)} that one run may take"
    bound = LARGEST * settings.limits.upload
    for project in by_project:
        yield from _at_limit(f"project {project.name}", project.uploads, OPEN, bound)
        late = [upload for upload in project.waiting if upload.latest < time() - LONG_S]
        if late:
            yield (
                f"{counted(len(late), 'run')} of project {project.name} came and nobody parsed it "
                f"for {(time() - late[0].latest) / 60:.0f} min; does the server run?"
            )
    bound = LARGEST_OF_TOKEN * settings.limits.upload
    for token, own in by_token:
        yield from _at_limit(f"token {token.id}", own, OF_TOKEN, bound)
    if database:
        given_up = deliveries.c.tries >= TRIES
        query = sql.select(deliveries.c.hook, sql.func.count()).where(given_up)
        with database.reading() as connection:
            for hook, number in connection.execute(query.group_by(deliveries.c.hook)):
                many = counted(number, "message")
                yield f"{many} to webhook {hook} did not get through, in {TRIES} tries each"


def _at_limit(whose: str, arriving: Sequence[Upload], most: int, largest: int) -> Iterator[str]:
    if len(arriving) >= most:
        yield f"{whose} has {len(arriving)} uploads open, as many as it may: the idlest give way"
    elif (total := to_come(arriving)) > largest * 0.9:
        yield f"{whose} has uploads of {size(total)} open, of at most {size(largest)}"


def to_come(arriving: Sequence[Upload]) -> int:
    """Return the bytes that uploads have or may still have."""
    return sum(upload.reserved for upload in arriving)
