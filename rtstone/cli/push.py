"""`rtstone push`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rtstone.cli.parameters import RUN
from rtstone.cli.progress import working
from rtstone.cli.pushing import checked, delivered, tell
from rtstone.cli.streams import say
from rtstone.errors import Inconclusive, UsageError

if TYPE_CHECKING:
    from rtstone.server.client.outbox import Delivered

PATIENCE_S = 60.0  # for a server that does not answer


@click.command("push")
@click.argument("url", metavar="URL")
@click.argument("names", type=RUN, nargs=-1)
@click.option("--json", is_flag=True, help="Print only one document, as JSON.")
def command(url: str, names: tuple[str, ...], json: bool) -> int:
    """Send runs to a results server: https://HOST/p/PROJECT.

    Without RUN, those that are still queued for it: what could not be sent goes with the next push.
    It may be ended and started again at any time; no run comes twice.  The token is in
    RTSTONE_TOKEN, or in ~/.config/rtstone/tokens.toml.
    """
    from rtstone.server.client.outbox import queue
    from rtstone.store.index import find

    to = checked(url)
    assert to is not None
    for path in [find(name) for name in names]:
        queue(to, path)
    with working("pushing runs"):
        found = delivered(to, PATIENCE_S)
    if json:
        _print(found)
    else:
        tell(found)
        if not (found.pushed or found.refused or found.left):
            say(f"nothing is queued for {to.url}")
    return _status(found)


def _print(found: Delivered) -> None:
    from rtstone.cli.output import print_document

    why = None if found.why is None else str(found.why)
    told = {"pushed": [one._asdict() for one in found.pushed], "refused": found.refused}
    print_document({**told, "queued": found.left, "why": why})


def _status(found: Delivered) -> int:
    """Return the exit code: of what stays in the queue, else of what was refused."""
    if found.why is not None:
        return found.why.exit_code
    if found.refused:
        return Inconclusive.exit_code if found.pushed else UsageError.exit_code
    return 0
