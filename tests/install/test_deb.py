"""The Debian package, as far as it can be judged without building it (make deb-check does)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DEBIAN = ROOT / "packaging" / "debian"
AGENT = "/usr/lib/rtstone/rtstone/_agent/rtstone-agent"


def test_it_brings_what_runs_need_as_it_is_pinned(deb: ModuleType) -> None:
    packages = deb.needed()
    assert packages.keys() >= {"click", "jinja2", "markupsafe", "msgspec", "numpy", "rich"}
    assert not packages.keys() & {"pytest", "scikit-build-core", "rtstone"}
    pins = re.findall(r"(?m)^([\w-]+)==(\S+) \\\n    --hash=sha256:", deb.pinned(set(packages)))
    assert dict(pins) == {name: package.version for name, package in packages.items()}


def test_the_copyright_file_has_a_licence_for_each_of_them(deb: ModuleType) -> None:
    packages = deb.needed()
    text = deb.copyright_file(packages)
    assert len(re.findall(r"(?m)^Files: lib/\S", text)) == len(packages)
    for name in packages:
        assert re.search(rf"(?m)^License: {name}\n .+", text), name
    assert "Apache ECharts" in text
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("name", ["postinst", "prerm", "postrm"])
def test_scripts_of_the_package_can_be_parsed_and_name_the_agent(name: str) -> None:
    script = DEBIAN / f"rtstone.{name}"
    subprocess.run(["sh", "-n", script], check=True)
    text = script.read_text()
    assert text.startswith("#!/bin/sh\n")
    assert "set -e\n" in text
    assert "#DEBHELPER#" in text
    if name == "postinst":
        assert f"agent={AGENT}\n" in text
        assert "cap_sys_nice,cap_ipc_lock=ep" in text
        # The mode first, or somebody else could start it; chown would take capabilities away.
        order = [text.index(word) for word in ("chown root", "chmod 0750", "setcap cap")]
        assert order == sorted(order)


def test_a_worker_of_the_command_does_not_run_the_command(deb: ModuleType, tmp_path: Path) -> None:
    """A process that multiprocessing spawns imports the main program under another name."""
    start = tmp_path / "rtstone"
    start.write_text(deb.START)
    code = f"import runpy; runpy.run_path({str(start)!r}, run_name='__mp_main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_security_md_names_what_the_package_does() -> None:
    security = (ROOT / "docs" / "guides" / "security.md").read_text()
    rule = (DEBIAN / "rtstone.udev").read_text()
    assert AGENT in security
    assert 'GROUP="rtstone", MODE="0660"' in rule
    assert "/dev/cpu_dma_latency: root:rtstone, mode 0660" in security
