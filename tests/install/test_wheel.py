"""A wheel in an environment of its own, without compilers, by root and by an ordinary user."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from rtstone import __version__
from rtstone.resources import architectures
from tests.install.programs import needs

ROOT = Path(__file__).parents[2]
NOBODY = 65534
ELF_ARM, ELF_RISCV = 40, 243  # e_machine
SETPRIV = "/usr/bin/setpriv"
USERS = {"root": 0, "user": NOBODY}
COMPILED = "compiled"  # a folder of `dist`
# Compiled in half the time, and apart from what is given to others: what is packed is tested here,
# and how fast it is by tests/agent.
UNOPTIMISED = [
    "--config-setting=build-dir=build/unoptimised",
    "--config-setting=cmake.define.RTS_OPTIMISATION=-O0",
]


@cache
def has_compilers() -> bool:
    """Whether the agents of other machines can be in it: there are compilers for all of them."""
    done = subprocess.run(["make", "check-agents"], cwd=ROOT, capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture(scope="module")
def dist() -> Iterator[Path]:
    """A folder with a wheel and a source distribution, readable by everyone."""
    with tempfile.TemporaryDirectory(prefix="rtstone-dist-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / COMPILED).mkdir()
        (folder / COMPILED).chmod(0o1777)
        settings = f"WHEEL_SETTINGS={' '.join(UNOPTIMISED)}"
        done = subprocess.run(
            ["nice", "make", "--silent", "wheel", f"DIST={folder}", settings,  # others measure
             f"AGENTS_IN_WHEEL={'ON' if has_compilers() else 'OFF'}"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        yield folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (built,) = dist.glob("*.whl")
    return built


def created(environment: Path) -> Callable[..., object]:
    """Create a virtual environment, and return how to run pip for it: this one's, which is quicker.

    Nothing is compiled, as most of what comes is never imported.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip = [sys.executable, "-m", "pip", f"--python={environment}/bin/python", "--no-input"]
    settings = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_COMPILE": "1"}
    return lambda *words: subprocess.run([*pip, "--quiet", *words], check=True, env=settings)


class Installed(NamedTuple):
    """A virtual environment with rtstone and what it needs at run time, and nothing else."""

    path: Path
    pip: Callable[..., object]
    before: set[str]  # what was there without rtstone


@pytest.fixture(scope="module")
def installation(dist: Path, wheel: Path) -> Installed:
    path = dist / "environment"
    pip = created(path)
    pip("install", "--require-hashes", "-r", str(ROOT / "requirements/run.lock"))
    before = installed(path)
    pip("install", "--no-deps", str(wheel))
    return Installed(path, pip, before)


@pytest.fixture(scope="module")
def environment(installation: Installed) -> Path:
    return installation.path


class Account(NamedTuple):
    """Somebody who uses the environment from a directory of their own, with no program on PATH.

    Modules that one has compiled are used by all: the environment has none, and not all may write.
    """

    uid: int
    home: Path
    program: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run rtstone."""
        other = self.uid != os.geteuid()
        become = [
            "/usr/bin/setpriv",
            f"--reuid={self.uid}",
            f"--regid={self.uid}",
            "--clear-groups",
        ]
        compiled = self.program.parents[2] / COMPILED
        settings: dict[str, str | Path] = {
            "HOME": self.home,
            "PATH": "/nonexistent",
            "PYTHONPYCACHEPREFIX": compiled,
        }
        return subprocess.run(
            [*(become if other else []), str(self.program), *arguments],
            cwd=self.home, env=settings,
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip


@pytest.fixture(params=USERS)
def account(request: pytest.FixtureRequest, environment: Path) -> Iterator[Account]:
    uid = USERS[request.param]
    if uid != os.geteuid() and os.geteuid() != 0:
        pytest.skip("only root can be both")
    with tempfile.TemporaryDirectory(prefix="rtstone-home-") as home:
        os.chown(home, uid, uid)
        yield Account(uid, Path(home), environment / "bin/rtstone")


def installed(environment: Path) -> set[str]:
    """Everything in the environment but what Python compiles for itself."""
    return {
        str(path.relative_to(environment))
        for path in environment.rglob("*")
        if "__pycache__" not in path.parts
    }


def test_the_wheel_says_where_it_runs_and_holds_what_it_needs(wheel: Path) -> None:
    machine = os.uname().machine
    assert re.fullmatch(
        rf"rtstone-{re.escape(__version__)}-py3-none-(manylinux\w+_{machine}\.?)+\.whl", wheel.name
    )
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {
        str(path.relative_to(ROOT))
        for folder in ("suites", "models", "stats/published", "report/templates")
        for path in (ROOT / "rtstone" / folder).iterdir()
        if path.is_file()
    }
    assert len(data) > 30
    assert data <= names
    assert names >= {
        "rtstone/_agent/rtstone-agent",
        "rtstone/_agent/rtstone-agent-sim",
        "rtstone/_engine/engine.so",
        "rtstone/_engine/qemu-plugin-1.so",
        "rtstone/_engine/qemu-plugin-3.so",
        "rtstone/report/assets/charts.js",
        "rtstone/py.typed",
    }
    kinds = ("", ".symbols", ".marks")
    agents = {
        f"rtstone/_agent/{architecture.agent.name}{kind}"
        for architecture in architectures()
        for kind in kinds
    }
    assert names & agents == (agents if has_compilers() else set())
    assert not [name for name in names if name.endswith((".c", ".h", ".mjs"))]


def test_every_module_is_in_the_wheel(wheel: Path) -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "rtstone").rglob("*.py")}
    assert modules <= set(zipfile.ZipFile(wheel).namelist())


@needs("git")
def test_a_source_distribution_brings_the_charts_built(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    tracked = subprocess.run(
        ["git", "ls-files", "agent", "rtstone"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "rtstone/report/assets/charts.js" in names
    assert {*tracked, "CMakeLists.txt", "pyproject.toml", "LICENSE", "NOTICE"} <= names
    assert not [name for name in names if name.startswith("rtstone/_agent/")]


def test_there_is_one_version(environment: Path, tmp_path: Path) -> None:
    account = Account(os.geteuid(), tmp_path, environment / "bin/rtstone")
    assert account.run("--version").stdout == f"rtstone {__version__}\n"
    (metadata,) = environment.glob("lib/python*/site-packages/rtstone-*.dist-info/METADATA")
    assert f"\nVersion: {__version__}\n" in metadata.read_text("utf-8")
    document = json.loads(account.run("run", "null", "--target", "sim", "--json").stdout)
    assert document["agent"]["version"] == __version__


@pytest.mark.machine
def test_installed_it_measures_and_reports(account: Account, environment: Path) -> None:
    before = installed(environment)
    short = ("--target", "sim", "--time", "1ms")
    for arguments, statuses in (
        (("list",), {0}),
        (("list", "suites"), {0}),
        (("run", "quick", *short), {0}),
        (("report", "last", "-o", "sim.html"), {0}),
        # 3: some case could not be measured without its rights
        (("run", "quick", "--time", "100ms"), {0, 3}),
        (("show", "last"), {0}),
        (("report", "last", "-o", "quick.html"), {0}),
        (("reproduce", "gutsalov", *short, "-o", "gutsalov.html"), {0, 3}),
        (("doctor",), {0, 1, 3}),
    ):
        done = account.run(*arguments)
        assert done.returncode in statuses, (arguments, done.returncode, done.stderr[-2000:])
        assert "Traceback" not in done.stderr
    for page in ("sim.html", "quick.html", "gutsalov.html"):
        assert (account.home / page).read_text("utf-8").startswith("<!doctype html>")
    assert installed(environment) == before


def test_an_installation_writes_the_agents_of_other_machines(account: Account) -> None:
    if not has_compilers():
        pytest.skip("needs the cross compilers of `make agents`")
    for machine_name, machine in (("armv7l", ELF_ARM), ("riscv64", ELF_RISCV)):
        done = account.run("agent", "--arch", machine_name, "-o", "board")
        assert done.returncode == 0, done.stderr
        written = (account.home / "board").read_bytes()
        assert (written[:4], written[18]) == (b"\x7fELF", machine)


@pytest.mark.machine
def test_a_result_of_an_installation_is_a_result(account: Account) -> None:
    document = json.loads(account.run("run", "dk.periodic", "--time", "1", "--json").stdout)
    (result,) = document["results"]
    assert result["status"] == "ok", result["reason"]
    assert result["n"] > 0


def test_the_lab_of_an_installation_says_what_brings_it(environment: Path, tmp_path: Path) -> None:
    account = Account(os.geteuid(), tmp_path, environment / "bin/rtstone")
    assert "make dist" in account.run("lab", "list", "--all").stdout
    done = account.run("lab", "build")
    assert done.returncode == 4
    assert "in a checkout of rtstone" in done.stderr


def test_removed_it_leaves_nothing(installation: Installed) -> None:
    """The last test: what others have used is removed."""
    path, pip, before = installation
    assert installed(path) > before
    pip("uninstall", "--yes", "rtstone")
    assert installed(path) == before
