"""The Debian packages of the releases of Debian that there is one for."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from rtstone import __version__
from tests.install.programs import needs

ROOT = Path(__file__).parents[2]
PYTHON = {"bookworm": "3.11", "trixie": "3.13"}  # of Debian 12 and 13


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel without modules: what a package needs besides is looked at."""
    path = tmp_path / f"rtstone-{__version__}-py3-none-any.whl"
    records = f"rtstone-{__version__}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            f"{records}/METADATA", f"Metadata-Version: 2.1\nName: rtstone\nVersion: {__version__}\n"
        )
        archive.writestr(f"{records}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{records}/RECORD", "")
    return path


@pytest.mark.parametrize("suite", PYTHON)
def test_a_package_holds_modules_for_the_python_of_its_suite(
    deb: ModuleType, wheel: Path, tmp_path: Path, suite: str
) -> None:
    tree = tmp_path / "tree"
    deb.lay_out(wheel, tree, suite)
    minor = int(PYTHON[suite].partition(".")[2])
    control = (tree / "debian" / "control").read_text()
    assert f"\nDepends: python3 (>= 3.{minor}~), python3 (<< 3.{minor + 1}), adduser" in control
    changelog = (tree / "debian" / "changelog").read_text()
    release = {"bookworm": 12, "trixie": 13}[suite]
    assert changelog.startswith(f"rtstone ({__version__}-1~deb{release}) {suite}; ")
    compiled = [path.name for path in (tree / "lib").rglob("*.cpython-*.so")]
    assert len(compiled) > 10
    contents = json.loads((tree / "texts" / "sbom.cdx.json").read_text())
    names = {
        component["name"]
        for component in contents["components"]
        if component["purl"].startswith("pkg:pypi/")
    }
    assert names >= {"click", "msgspec", "numpy", "rich"}
    assert {name.partition(".cpython-")[2].partition("-")[0] for name in compiled} == {f"3{minor}"}


def test_a_later_debian_has_the_later_version(deb: ModuleType) -> None:
    versions = [f"{__version__}-1~deb{suite.release}" for suite in deb.SUITES.values()]
    for earlier, later in zip(versions, [*versions[1:], f"{__version__}-1"], strict=True):
        done = subprocess.run(
            ["dpkg", "--compare-versions", earlier, "lt", later], check=False, capture_output=True
        )
        assert done.returncode == 0, (earlier, later)


def test_a_suite_that_has_no_package_is_refused_in_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "packaging" / "deb.py", "any.whl", tmp_path, "sid"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "deb.py: no suite 'sid'; there are packages for bookworm and trixie\n"


@needs("debootstrap", "dpkg-buildpackage", "dh", "lintian")
def test_the_check_makes_a_root_of_the_suite() -> None:
    plan = subprocess.run(
        ["make", "--dry-run", "deb-check", "SUITE=trixie"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "packaging/deb.py build/deb/dist/*.whl build/deb trixie\n" in plan
    assert "packaging/deb-check build/deb/rtstone_*.deb trixie" in plan
    subprocess.run(["bash", "-n", ROOT / "packaging" / "deb-check"], check=True)
