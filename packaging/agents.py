"""Pack the static agents for machines that have nothing else of rtstone; `make agents-archive`.

    agents.py DIRECTORY

In DIRECTORY comes rtstone-agents-VERSION.tar.gz: the agents of all architectures, their licence,
and what installs one of them. The same agents and the same time give the same bytes.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from pathlib import Path

from contents import ROOT, moment

from rtstone import __version__
from rtstone.resources import architectures, path

TEXTS = ROOT / "packaging" / "agents"


def files() -> dict[str, Path]:
    """Return the files by their names in the archive, in the order of names."""
    agents = [one.agent for one in architectures()]
    texts = [path("architectures.txt"), ROOT / "LICENSE", ROOT / "NOTICE", *TEXTS.iterdir()]
    return {file.name: file for file in sorted([*agents, *texts], key=lambda file: file.name)}


def archive(epoch: int) -> bytes:
    """Return the archive, in which all is of that time and root's."""
    folder = f"rtstone-agents-{__version__}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, file in files().items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            data = file.read_bytes()
            entry.size, entry.mtime = len(data), epoch
            entry.mode = 0o755 if name.startswith("rtstone-agent-") else 0o644
            entry.uname = entry.gname = "root"
            tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=epoch)


def main() -> None:
    """Write the archive into the directory that is named."""
    target = Path(sys.argv[1]) / f"rtstone-agents-{__version__}.tar.gz"
    target.write_bytes(archive(int(moment().timestamp())))
    print(target)


if __name__ == "__main__":
    main()
