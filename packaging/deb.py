"""Build the Debian package from a wheel; `make deb` calls it.

    deb.py WHEEL DIRECTORY

In DIRECTORY, which is made anew, comes the tree that debhelper packs: the wheel and the packages
that it needs at run time, as requirements/run.lock pins them, in a directory of their own (Debian
12 has no msgspec, and older versions of numpy and rich), with their licences in the copyright file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rtstone import __version__
from rtstone.cli import manpages
from rtstone.cli.completion import SCRIPTS

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "run.lock"
START = """\
#!/usr/bin/python3 -I
# rtstone, with the packages that it was tested with.
import sys

sys.path.insert(0, "/usr/lib/rtstone")

from rtstone.cli.main import main

if __name__ == "__main__":  # and not a worker of a simulation
    main()
"""
COMPLETIONS = {"bash": "rtstone", "zsh": "_rtstone", "fish": "rtstone.fish"}


def needed(name: str = "rtstone") -> dict[str, metadata.Distribution]:
    """Return what a distribution needs at run time, all the way down, without itself."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [name]
    while waiting:
        for text in metadata.requires(waiting.pop()) or []:
            wish = Requirement(text)
            key = canonicalize_name(wish.name)
            if key not in found and (not wish.marker or wish.marker.evaluate({"extra": ""})):
                found[key] = metadata.distribution(key)
                waiting.append(key)
    return dict(sorted(found.items()))


def pinned(names: set[str]) -> str:
    """Return the part of the lock file that pins these packages."""
    entries = re.split(r"(?m)^(?=\S)", LOCK.read_text())
    kept = [e for e in entries if canonicalize_name(e.partition("==")[0]) in names]
    assert len(kept) == len(names), names
    return "".join(kept)


def install(wheel: Path, names: set[str], lib: Path) -> None:
    """Install the wheel and these packages into a directory."""
    lock = lib.with_name("run.lock")
    lock.write_text(pinned(names))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install",
           "--no-compile", "--no-deps", f"--target={lib}"]  # fmt: skip
    subprocess.run([*pip, "--only-binary=:all:", "--require-hashes", "-r", lock], check=True)
    subprocess.run([*pip, str(wheel)], check=True)
    shutil.rmtree(lib / "bin", ignore_errors=True)
    for tests in [path for path in lib.rglob("tests") if path.is_dir()]:
        shutil.rmtree(tests)
    for unused in [*lib.rglob("*_tests.*.so"), *lib.rglob("REQUESTED")]:
        unused.unlink()


# ---- licences -----------------------------------------------------------------------------------


def paragraph(text: str) -> str:
    """Return a text as it stands in a field of several lines."""
    return "\n".join(f" {line.rstrip()}" if line.strip() else " ." for line in text.splitlines())


COMMON = {  # of which the whole text is in /usr/share/common-licenses
    "GPL-3": "Everyone is permitted to copy and distribute verbatim copies",
    "Apache-2.0": "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION",
}


def texts(found: metadata.Distribution) -> Iterator[str]:
    """Yield the licence texts that a distribution brings, or where long ones are."""
    for path in found.files or []:
        if not _LICENCE.search(str(path)):
            continue
        text = Path(str(path.locate())).read_text("utf-8", "replace")
        common = [name for name, words in COMMON.items() if words in text]
        yield f"In /usr/lib/rtstone/{path}, with the text of {common[0]}." if common else text


_LICENCE = re.compile(r"\.dist-info/(licenses/.*|LICEN[CS]E[^/]*|COPYING[^/]*|AUTHORS[^/]*)$")


def copyright_file(packages: dict[str, metadata.Distribution]) -> str:
    """Return the copyright file: rtstone's own, and each package's."""
    own = (ROOT / "LICENSE").read_text()
    holder = next(line for line in own.splitlines() if line.startswith("Copyright"))
    lines = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
        "Upstream-Name: rtstone",
        "Comment: Works of others that are built or linked into it:",
        paragraph((ROOT / "NOTICE").read_text().split("\n\n")[1]),
        "", "Files: *", f"Copyright: {holder.removeprefix('Copyright ')}", "License: Expat",
        paragraph(own.partition("\n\n")[2]),
    ]  # fmt: skip
    for name, found in packages.items():
        tops = {Path(str(path)).parts[0] for path in found.files or []} - {"..", "__pycache__"}
        licence = "\n\n".join(texts(found))
        assert licence, f"{name} brings no licence"
        rights = re.search(r"(?im)^\s*(?:Copyright:? .*)$", licence)
        lines += [
            "", "Files: " + " ".join(f"lib/{top}/*" for top in sorted(tops)),
            f"Copyright: {rights[0].strip() if rights else f'the authors of {name}'}",
            f"License: {name}",
            paragraph(f"{name} {found.version}\n\n{licence}"),
        ]  # fmt: skip
    return "\n".join([*lines, ""])


# ---- the tree -----------------------------------------------------------------------------------


def moment() -> datetime:
    """Return the time of the last change, of which packages built from it are."""
    epoch = (
        os.environ.get("SOURCE_DATE_EPOCH")
        or subprocess.run(
            ["git", "log", "-1", "--format=%ct"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        ).stdout
    )
    return datetime.fromtimestamp(int(epoch), UTC) if epoch.strip() else datetime.now(UTC)


def lay_out(wheel: Path, tree: Path) -> None:
    """Make the tree that debhelper packs."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "packaging" / "debian", tree / "debian")
    packages = needed()
    install(wheel, set(packages), tree / "lib")
    (tree / "bin").mkdir()
    (tree / "bin" / "rtstone").write_text(START)
    for shell, name in COMPLETIONS.items():
        (tree / "completions" / shell).mkdir(parents=True)
        (tree / "completions" / shell / name).write_text(SCRIPTS[shell])
    (tree / "man").mkdir()
    for name, text in manpages.pages(moment().date().isoformat()).items():
        (tree / "man" / name).write_text(text)
    shutil.copytree(ROOT / "docs", tree / "docs")
    (tree / "texts").mkdir()
    for name in ("README.md", "NOTICE"):
        shutil.copy(ROOT / name, tree / "texts")
    shutil.copy(ROOT / "CHANGELOG.md", tree)
    (tree / "debian" / "copyright").write_text(copyright_file(packages))
    control = (tree / "debian" / "control").read_text()
    maintainer = re.search(r"(?m)^Maintainer: (.*)$", control)
    assert maintainer
    (tree / "debian" / "changelog").write_text(
        f"rtstone ({__version__}-1) stable; urgency=medium\n\n"
        "  * See CHANGELOG.md for what has changed.\n\n"
        f" -- {maintainer[1]}  {format_datetime(moment())}\n"
    )


def main() -> None:
    """Lay out the tree, pack it, and have lintian look at the package."""
    wheel, directory = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    tree = directory / f"rtstone-{__version__}"
    for old in directory.glob("rtstone_*"):
        old.unlink()
    lay_out(wheel, tree)
    settings = os.environ | {
        "SOURCE_DATE_EPOCH": str(int(moment().timestamp())),
        "LC_ALL": "C.UTF-8",
    }
    subprocess.run(
        ["dpkg-buildpackage", "-b", "-us", "-uc", "-d"], cwd=tree, env=settings, check=True
    )
    (package,) = directory.glob("rtstone_*.deb")
    subprocess.run(
        ["lintian", "--fail-on", "error", "--tag-display-limit", "0", package], check=True
    )


if __name__ == "__main__":
    main()
