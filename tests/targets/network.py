"""Two network namespaces and a link between them that can be cut without a word to either side."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import soon

HERE, THERE = "10.213.7.1", "10.213.7.2"
NOBODY = "02:00:00:00:00:99"  # a station that is not on the link: what goes to it is lost


def _possible() -> bool:
    """Return whether a pair of linked namespaces can be made."""
    if os.geteuid() or not shutil.which("ip"):
        return False
    pair = ["unshare", "-n", "ip", "link", "add", "near", "type", "veth", "peer", "name", "far"]
    return not subprocess.run(pair, capture_output=True, check=False).returncode


NEEDED = pytest.mark.skipif(not _possible(), reason="needs root, network namespaces, iproute2")


class Network:
    """The link, between the ends ``here`` and ``there``: what a command in each begins with."""

    def __init__(self, holders: Sequence[subprocess.Popen[bytes]]) -> None:
        self.here, self.there = (
            ["nsenter", f"--net=/proc/{holder.pid}/ns/net"] for holder in holders
        )
        far = str(holders[1].pid)
        self._ip(self.here, f"link add near type veth peer name far netns {far}")
        for end, name, address in ((self.here, "near", HERE), (self.there, "far", THERE)):
            self._ip(end, f"address add {address}/30 dev {name}")
            for link in ("lo", name):
                self._ip(end, f"link set {link} up")

    def _ip(self, end: list[str], words: str) -> None:
        subprocess.run([*end, "ip", *words.split()], check=True, capture_output=True)

    def notices_soon(self) -> None:
        """Let the far end give a silent connection up after seconds, not hours."""
        soon = {"keepalive_time": 20, "keepalive_intvl": 1, "keepalive_probes": 3, "retries2": 5}
        script = "; ".join(
            f"echo {value} >/proc/sys/net/ipv4/tcp_{name}" for name, value in soon.items()
        )
        subprocess.run([*self.there, "sh", "-ec", script], check=True)

    def cut(self) -> None:
        """Lose each packet from now on; nothing is reset, and no carrier goes."""
        for end, name, other in ((self.here, "near", THERE), (self.there, "far", HERE)):
            self._ip(end, f"neigh replace {other} lladdr {NOBODY} dev {name} nud permanent")


@contextmanager
def network() -> Iterator[Network]:
    """Make both namespaces, which end with the block or this process."""
    own = Path("/proc/self/ns/net").readlink()
    hold = ["setpriv", "--pdeathsig", "KILL", "unshare", "-n", "sleep", "infinity"]
    holders = [subprocess.Popen(hold) for _ in range(2)]
    try:
        places = [Path(f"/proc/{holder.pid}/ns/net") for holder in holders]
        assert soon(lambda: own not in [place.readlink() for place in places])
        yield Network(holders)
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()
