"""What `push`, `run --push` and `campaign --push` share: queue, deliver, report the outcome."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.streams import say
from rtstone.errors import RtstoneError
from rtstone.printable import shown
from rtstone.units import counted

if TYPE_CHECKING:
    from rtstone.campaign.matrix import Campaign
    from rtstone.documents.campaign import CampaignState
    from rtstone.server.client.address import Address
    from rtstone.server.client.outbox import Delivered

PUSH = click.option(
    "--push", metavar="URL",
    help="Push each run, when it has ended, to a results server: https://HOST/p/PROJECT; what does "
    "not arrive is sent with the next push (`rtstone push URL`).",
)  # fmt: skip
PATIENCE_S = 15.0  # for a server that does not answer, after a measurement
_REST_S = 300.0  # that a campaign leaves such a server alone
_STATE_S = 60.0  # between two reports of how far a campaign has come


def destination(url: str | None) -> Address | None:
    """Return where to push, before anything is measured.  Raises UsageError."""
    if url is None:
        return None
    from rtstone.server.client.address import address, token

    server = address(url)
    token(server)
    return server


def push_after(server: Address | None, paths: Sequence[Path]) -> None:
    """Push runs that were just measured.  If that fails, a line on stderr says why."""
    if server is None:
        return
    try:
        from rtstone.server.client.outbox import queue

        for path in paths:
            queue(server, path)
        report(deliver_queued(server, PATIENCE_S, paths))
    except RtstoneError as error:
        say(f"rtstone: not pushed: {error}")


def deliver_queued(server: Address, patience_s: float, runs: Sequence[Path] = ()) -> Delivered:
    """Push the runs that are queued for a server, with these among them.  Raises UsageError."""
    from rtstone.server.client.http import Server
    from rtstone.server.client.outbox import deliver

    with Server(server, patience_s=patience_s) as connection:
        return deliver(connection, runs)


def report(delivery: Delivered) -> None:
    """Report on stderr which runs were pushed, refused or left in the queue."""
    for push in delivery.pushed:
        say(f"pushed: {push.url}" if push.fresh else f"there already: {push.url}")
    for why in delivery.refused:
        say(f"rtstone: not pushed: {why}")
    if delivery.left:
        say(f"rtstone: not pushed: {delivery.why}; {_queue(delivery)}")


def _queue(delivery: Delivered) -> str:
    """Return how many runs are queued, and what sends them, or drops them."""
    from rtstone.server.client.http import Refused
    from rtstone.server.client.outbox import outbox
    from rtstone.server.client.push import TOKEN_REFUSED

    number = f"{counted(delivery.left, 'run')} queued"
    if isinstance(delivery.why, Refused) and delivery.why.status in TOKEN_REFUSED:
        return (
            f"{number}: `rtstone push URL` sends what is queued when RTSTONE_TOKEN is a token that "
            f"may; to drop it, remove its note in {shown(str(outbox()))}"
        )
    return f"{number}: `rtstone push URL` sends what is queued"


class Reporter:
    """Pushes the runs of a campaign as they end, and reports how far it has come."""

    def __init__(self, server: Address, campaign: Campaign) -> None:
        self._server, self._campaign = server, campaign
        self._silent_until = 0.0  # after the server did not answer
        self._reported = time.monotonic()

    def ended(self, path: Path) -> None:
        """Push a run.  A server that does not answer delays a campaign, but does not end it."""
        from rtstone.server.client.outbox import queue

        try:
            queue(self._server, path)
            self._push()
            if time.monotonic() - self._reported > _STATE_S:
                from rtstone.campaign.status import status

                self.report(status(self._campaign))
        except RtstoneError as error:
            say(f"rtstone: not pushed: {error}")

    def _push(self, *, last: bool = False) -> None:
        if time.monotonic() < self._silent_until and not last:
            return
        delivery = deliver_queued(self._server, PATIENCE_S)
        if delivery.left:
            self._silent_until = time.monotonic() + _REST_S
        for why in delivery.refused:
            say(f"rtstone: not pushed: {why}")
        if delivery.why:
            say(f"rtstone: not pushed: {delivery.why}; {counted(delivery.left, 'run')} queued")

    def report(self, state: CampaignState, *, last: bool = False) -> None:
        """Report how far the campaign has come; ``last``: push what is left first."""
        from rtstone.server.client.http import Server
        from rtstone.server.client.push import push_state

        try:
            if last:
                self._push(last=True)
            if time.monotonic() >= self._silent_until:
                with Server(self._server, patience_s=PATIENCE_S) as connection:
                    push_state(connection, state)
        except RtstoneError as error:
            say(f"rtstone: the state of the campaign was not sent: {error}")
        self._reported = time.monotonic()
