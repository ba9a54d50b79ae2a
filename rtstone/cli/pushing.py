"""What `push`, `run --push` and `campaign --push` share: queue, deliver, say what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.streams import say
from rtstone.errors import RtstoneError
from rtstone.units import counted

if TYPE_CHECKING:
    from rtstone.campaign.matrix import Campaign
    from rtstone.documents.campaign import CampaignState
    from rtstone.server.client.address import Address
    from rtstone.server.client.outbox import Delivered

PUSH = click.option(
    "--push", metavar="URL",
    help="Send each run to the results server there when it has ended: https://HOST/p/PROJECT; "
    "what does not come through goes with the next push (`rtstone push URL`).",
)  # fmt: skip
PATIENCE_S = 15.0  # for a server that does not answer, after a measurement
_REST_S = 300.0  # that a campaign leaves such a server alone
_STATE_S = 60.0  # between two times that a campaign tells how far it has come


def checked(url: str | None) -> Address | None:
    """Return where to push, before anything is measured.  Raises UsageError."""
    if url is None:
        return None
    from rtstone.server.client.address import address, token

    found = address(url)
    token(found)
    return found


def push_after(to: Address | None, paths: Sequence[Path]) -> None:
    """Push runs that were just measured.  That it fails is a line, and no failure of these."""
    if to is None:
        return
    try:
        from rtstone.server.client.outbox import queue

        for path in paths:
            queue(to, path)
        tell(delivered(to, PATIENCE_S))
    except RtstoneError as error:
        say(f"rtstone: not pushed: {error}")


def delivered(to: Address, patience_s: float) -> Delivered:
    """Push the runs that are queued for a server.  Raises UsageError."""
    from rtstone.server.client.http import Server
    from rtstone.server.client.outbox import deliver

    with Server(to, patience_s=patience_s) as server:
        return deliver(server)


def tell(found: Delivered) -> None:
    """Say on stderr what came of the runs to be pushed."""
    for one in found.pushed:
        say(f"pushed: {one.url}" if one.fresh else f"there already: {one.url}")
    for why in found.refused:
        say(f"rtstone: not pushed: {why}")
    if found.left:
        again = f"{counted(found.left, 'run')} queued: `rtstone push URL` sends what is queued"
        say(f"rtstone: not pushed: {found.why}; {again}")


class Reporter:
    """Pushes the runs of a campaign as they end, and tells how far it has come."""

    def __init__(self, to: Address, campaign: Campaign) -> None:
        self._to, self._campaign = to, campaign
        self._silent_until = 0.0  # after the server did not answer
        self._told = time.monotonic()

    def ended(self, path: Path) -> None:
        """Push a run.  A server that does not answer costs a campaign nothing but a while."""
        from rtstone.server.client.outbox import queue

        try:
            queue(self._to, path)
            self._push()
            if time.monotonic() - self._told > _STATE_S:
                from rtstone.campaign.status import status

                self.tell(status(self._campaign))
        except RtstoneError as error:
            say(f"rtstone: not pushed: {error}")

    def _push(self, *, last: bool = False) -> None:
        if time.monotonic() < self._silent_until and not last:
            return
        found = delivered(self._to, PATIENCE_S)
        if found.left:
            self._silent_until = time.monotonic() + _REST_S
        for why in found.refused:
            say(f"rtstone: not pushed: {why}")
        if found.why:
            say(f"rtstone: not pushed: {found.why}; {counted(found.left, 'run')} queued")

    def tell(self, state: CampaignState, *, last: bool = False) -> None:
        """Tell how far it has come; ``last``: and push what is left."""
        from rtstone.server.client.http import Server
        from rtstone.server.client.push import tell

        try:
            if last:
                self._push(last=True)
            if time.monotonic() >= self._silent_until:
                with Server(self._to, patience_s=PATIENCE_S) as server:
                    tell(server, state)
        except RtstoneError as error:
            say(f"rtstone: the state of the campaign was not told: {error}")
        self._told = time.monotonic()
