"""`rtstone push`."""

from __future__ import annotations

from pathlib import Path

import click

from rtstone.cli.parameters import JSON, RUN
from rtstone.cli.progress import working
from rtstone.cli.pushing import deliver_queued, destination, report
from rtstone.cli.streams import say
from rtstone.errors import Inconclusive, UsageError

PATIENCE_S = 60.0  # for a server that does not answer


@click.command("push")
@click.argument("url", metavar="URL")
@click.argument("names", type=RUN, nargs=-1)
@JSON
def command(url: str, names: tuple[str, ...], json: bool) -> int:
    """Send runs to a results server: https://HOST/p/PROJECT.

    Without RUN, those that are still queued for it: what could not be sent is sent with the next
    push.  It may be ended and started again at any time; no run arrives twice.  The token is in
    RTSTONE_TOKEN, or in ~/.config/rtstone/tokens.toml.
    """
    from rtstone.server.client.outbox import queue
    from rtstone.store.selection import chosen

    server = destination(url)
    assert server is not None
    paths = chosen(names)
    if names == ("last",):
        _refuse_unended(paths[-1])
    for path in paths:
        queue(server, path)
    with working("pushing runs"):
        delivery = deliver_queued(server, PATIENCE_S, paths)
    if json:
        from rtstone.cli.output import print_document

        print_document({
            "pushed": [push._asdict() for push in delivery.pushed],
            "refused": delivery.refused,
            "queued": delivery.left,
            "why": None if delivery.why is None else str(delivery.why),
        })  # fmt: skip
    else:
        report(delivery)
        if not (delivery.pushed or delivery.refused or delivery.left):
            say(f"nothing is queued for {server.url}")
    # The exit code is of what stays in the queue, else of what was refused.
    if delivery.why is not None:
        return delivery.why.exit_code
    if delivery.refused:
        return Inconclusive.exit_code if delivery.pushed else UsageError.exit_code
    return 0


def _refuse_unended(path: Path) -> None:
    """Raise UsageError if the last run is still being measured, with the one that may be meant."""
    from rtstone.store.index import entries
    from rtstone.store.intake import is_whole
    from rtstone.store.layout import runs

    if is_whole(path):
        return
    ended = (
        f"; the last that has is {entry.run_id}: rtstone push URL last~{number}"
        for number, entry in enumerate(entries())
        if is_whole(runs() / entry.run_id)
    )
    raise UsageError(f"the last run, {path.name}, has not ended{next(ended, '')}")
