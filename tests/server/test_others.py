"""Whom a server says it is for, and what other users of its machine can read: nothing."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rtstone.server.database import FILE, Database
from tests.server.conftest import Template
from tests.server.killing import free_port

RTSTONE = Path(sys.executable).with_name("rtstone")


@pytest.mark.parametrize("before", [None, 0o644])
def test_the_database_is_closed_to_others(tmp_path: Path, before: int | None) -> None:
    if before is not None:  # as earlier versions left it
        (tmp_path / FILE).touch(mode=before)
    umask = os.umask(0)
    try:
        database = Database(None, tmp_path)
        with database.writing():
            modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        database.close()
    finally:
        os.umask(umask)
    assert modes == {0o600}


def serve(store: Path) -> subprocess.Popen[str]:
    listen = f"127.0.0.1:{free_port()}"
    words = [str(RTSTONE), "serve", "--store", str(store), "--listen", listen, "--read", "token"]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, umask=0)


def test_a_store_that_others_can_enter_is_refused_where_reading_takes_a_token(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o755)
    with serve(tmp_path) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"all users of this machine can enter {tmp_path}" in err.splitlines()[-1]
    assert f"chmod o-rwx {tmp_path}" in err


def test_a_server_says_for_whom_it_is_and_its_command_makes_a_token_and_pushes(
    tmp_path: Path, template: Template
) -> None:
    home = tmp_path / "home"
    shutil.copytree(template.path, home / "runs" / template.path.name)
    env = os.environ | {"RTSTONE_HOME": str(home), "PATH": f"{RTSTONE.parent}:{os.environ['PATH']}"}
    with serve(tmp_path / "store") as process:
        assert process.stderr
        first, store, read, push, command = (process.stderr.readline() for _ in range(5))
        assert re.fullmatch(r"http://127.0.0.1:\d+/  0 runs in 1 project\n", first)
        assert str(tmp_path / "store") in store
        assert "with a token, the project that it is for" in read
        assert "with a token" in push
        assert all(len(line) <= 80 for line in (first, read, push))
        done = subprocess.run(command, shell=True, env=env, capture_output=True, text=True,
                              check=False, timeout=120)  # fmt: skip
        process.terminate()
        process.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"/p/main/runs/{template.path.name}" in done.stderr


def test_what_a_server_makes_is_its_users_alone(tmp_path: Path) -> None:
    with serve(tmp_path / "store") as process:
        end = time.monotonic() + 60
        while not (tmp_path / "store" / FILE).exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        process.terminate()
        process.wait(60)
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (tmp_path / "store").rglob("*")}
    assert modes == {0}
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700
