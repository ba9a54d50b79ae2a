"""Build the Debian package from a wheel; `make deb` calls it.

    deb.py WHEEL DIRECTORY SUITE

In DIRECTORY, which is made anew, comes the tree that debhelper packs: the wheel and the packages
that it needs at run time, as requirements/run.lock pins them, in a directory of their own (Debian
has other versions of numpy and rich, and no msgspec in 12), with their licences in the copyright
file. Some of them are compiled for one version of Python, that of the suite.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from email.utils import format_datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import sbom
from contents import ROOT, moment, needed, pinned
from packaging.utils import canonicalize_name

from rtstone import __version__
from rtstone.cli import manpages
from rtstone.cli.completion import SCRIPTS

START = """\
#!/usr/bin/python3 -I
# rtstone, with the packages that it was tested with.
import sys

sys.path.insert(0, "/usr/lib/rtstone")

from rtstone.cli.main import main

if __name__ == "__main__":  # and not a worker of a simulation
    main()
"""


class Suite(NamedTuple):
    """A release of Debian."""

    release: int
    python: tuple[int, int]

    @property
    def version(self) -> str:
        """Return the version of its Python, as pip and markers have it."""
        return ".".join(map(str, self.python))

    @property
    def depends(self) -> str:
        """Return what a package depends on that holds modules compiled for its Python."""
        major, minor = self.python
        return f"python3 (>= {major}.{minor}~), python3 (<< {major}.{minor + 1})"


SUITES = {"bookworm": Suite(12, (3, 11)), "trixie": Suite(13, (3, 13))}
COMPLETIONS = {"bash": "rtstone", "zsh": "_rtstone", "fish": "rtstone.fish"}


def install(wheel: Path, names: set[str], lib: Path, suite: Suite) -> dict[str, str]:
    """Install the wheel and these packages into a directory, for the Python of a suite.

    Return the SHA-256 of what each package came as.
    """
    lock = lib.with_name("run.lock")
    lock.write_text(pinned(names))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install",
           "--no-compile", "--no-deps", "--only-binary=:all:", f"--target={lib}",
           f"--python-version={suite.version}"]  # fmt: skip
    report = lib.with_name("run.json")
    subprocess.run([*pip, "--require-hashes", "-r", lock, "--report", report], check=True)
    subprocess.run([*pip, str(wheel)], check=True)
    shutil.rmtree(lib / "bin", ignore_errors=True)
    for tests in [path for path in lib.rglob("tests") if path.is_dir()]:
        shutil.rmtree(tests)
    for unused in [*lib.rglob("*_tests.*.so"), *lib.rglob("REQUESTED")]:
        unused.unlink()
    return {
        canonicalize_name(entry["metadata"]["name"]): _archive(entry)["hashes"]["sha256"]
        for entry in json.loads(report.read_text())["install"]
    }


def _archive(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what pip reports of the file of a package."""
    archive: dict[str, Any] = entry["download_info"]["archive_info"]
    return archive


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


PYTHON_DEPENDS = "${python3:Depends}"  # in the control file


def lay_out(wheel: Path, tree: Path, name: str) -> None:
    """Make the tree that debhelper packs for the suite of that name."""
    suite = SUITES[name]
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "packaging" / "debian", tree / "debian")
    packages = needed(suite.version)
    hashes = install(wheel, set(packages), tree / "lib", suite)
    (tree / "bin").mkdir()
    (tree / "bin" / "rtstone").write_text(START)
    for shell, script in COMPLETIONS.items():
        (tree / "completions" / shell).mkdir(parents=True)
        (tree / "completions" / shell / script).write_text(SCRIPTS[shell])
    (tree / "man").mkdir()
    for page, text in manpages.pages(moment().date().isoformat()).items():
        (tree / "man" / page).write_text(text)
    shutil.copytree(ROOT / "docs", tree / "docs")
    (tree / "texts").mkdir()
    for file in ("README.md", "NOTICE"):
        shutil.copy(ROOT / file, tree / "texts")
    version = f"{__version__}-1~deb{suite.release}"
    contents = sbom.document(f"rtstone_{version}", version, tree / "lib", packages, hashes=hashes)
    (tree / "texts" / "sbom.cdx.json").write_text(contents)
    shutil.copy(ROOT / "CHANGELOG.md", tree)
    (tree / "debian" / "copyright").write_text(copyright_file(packages))
    control = (tree / "debian" / "control").read_text()
    (tree / "debian" / "control").write_text(control.replace(PYTHON_DEPENDS, suite.depends))
    maintainer = re.search(r"(?m)^Maintainer: (.*)$", control)
    assert maintainer
    (tree / "debian" / "changelog").write_text(
        f"rtstone ({version}) {name}; urgency=medium\n\n"
        "  * See CHANGELOG.md for what has changed.\n\n"
        f" -- {maintainer[1]}  {format_datetime(moment())}\n"
    )


def main() -> None:
    """Lay out the tree, pack it, and have lintian look at the package."""
    wheel, directory = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    name = sys.argv[3]
    if name not in SUITES:
        sys.exit(f"deb.py: no suite '{name}'; there are packages for {' and '.join(SUITES)}")
    tree = directory / f"rtstone-{__version__}"
    for old in directory.glob("rtstone_*"):
        old.unlink()
    lay_out(wheel, tree, name)
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
