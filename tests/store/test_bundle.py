"""Bundles: the same runs give the same bytes, and nothing else than what was packed is taken in."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from rtstone import structures
from rtstone.documents.bundle import Bundle, BundledRun
from rtstone.errors import UsageError
from rtstone.store import bundle
from rtstone.store.bundle import CONTENTS, README, ROOT, check, pack, take
from rtstone.store.index import entries
from rtstone.store.rundir import load
from tests.conftest import Cli
from tests.formats.long import DATA
from tests.install.programs import needs

pytestmark = needs("zstd")

Member = tuple[tarfile.TarInfo, bytes]


@pytest.fixture
def run_path(cli: Cli, home: Path) -> Path:
    words = "run dk.periodic --target sim:rtai-24.1.8 --time 0.01 --name mine"
    done = cli(*words.split())
    assert done.status == 0, done.err
    (path,) = (home / "runs").glob("2*")
    return path


def archive(data: bytes) -> list[Member]:
    """Return the members of a bundle."""
    plain = subprocess.run(["zstd", "-d", "-c"], input=data, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        members = []
        for info in tar:
            file = tar.extractfile(info)
            members.append((info, file.read() if file else b""))
    return members


def compressed(plain: bytes) -> bytes:
    return subprocess.run(["zstd", "-c", "-1"], input=plain, capture_output=True, check=True).stdout


def packed(members: list[Member], form: Literal[0, 2] = tarfile.USTAR_FORMAT) -> bytes:
    out = b""
    for info, data in members:
        info.size = len(data) if info.isreg() else 0
        out += info.tobuf(form) + data + bytes(-len(data) % 512)
    return compressed(out + bytes(1024))


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_the_same_runs_give_the_same_bytes_in_any_order_and_store(
    cli: Cli, run_path: Path, tmp_path: Path
) -> None:
    assert cli("import", DATA / "cyclictest-2.4-h.txt").status == 0
    paths = sorted(run_path.parent.glob("2*"))
    first = pack(paths, "1.0")
    plan = run_path / "plan.json"
    other = plan.read_bytes().replace(b'"arrival": 1', b'"arrival": 77')
    assert other != plan.read_bytes()
    plan.write_bytes(other)
    os.utime(plan, (1, 1))
    assert pack([*reversed(paths), paths[0]], "1.0") == first
    names = [info.name.removeprefix(f"{ROOT}/") for info, _ in archive(first)]
    assert names[:2] == [README, CONTENTS] and names[2:] == sorted(names[2:])
    infos = [info for info, _ in archive(first)]
    assert {(info.mtime, info.uid, info.gid, info.uname, info.mode) for info in infos} == {
        (0, 0, 0, "", 0o644)
    }
    checked = check(written(tmp_path / "a.tar.zst", first))
    assert (len(checked.bundle.runs), len(checked.without_logs), checked.differing) == (2, 1, [])
    assert checked.size == sum(info.size for info in infos)


def test_a_bundle_says_how_to_repeat_its_runs(run_path: Path) -> None:
    members = {info.name: data for info, data in archive(pack([run_path], "1.0"))}
    contents = structures.decode(members[f"{ROOT}/{CONTENTS}"], Bundle)
    (run,) = contents.runs
    document = load(run_path)
    assert document.agent
    assert (run.source, run.command, run.name) == (
        document.agent.source, document.command, "mine",
    )  # fmt: skip
    text = members[f"{ROOT}/{README}"].decode()
    assert shlex.join(document.command) in text
    assert "\n1 run with its plan and logs, " in text
    assert f"agent's whole source {document.agent.source}" in text
    assert {"plan.json", "run.json", "wire.log"} == set(run.files)
    assert members[f"{ROOT}/runs/{run.run_id}/wire.log"] == (run_path / "wire.log").read_bytes()


def test_a_bundle_is_imported_elsewhere_once(
    cli: Cli, run_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.tar.zst"
    done = cli("bundle", "mine", "-o", file)
    assert (done.status, done.err) == (0, "") and done.out.startswith(f"{file}: ")
    before = load(run_path)
    monkeypatch.setenv("RTSTONE_HOME", str(tmp_path / "elsewhere"))
    name = before.run_id
    assert cli("import", file).out == f"{name} (mine): on sim:rtai-24.1.8\n"
    assert cli("import", file).out == f"{name} (mine): on sim:rtai-24.1.8, stored before\n"
    assert [(entry.run_id, entry.arrival) for entry in entries()] == [(name, 1)]
    stored = tmp_path / "elsewhere" / "runs" / name
    assert load(stored) == before
    assert pack([stored], "1.0") == pack([run_path], "1.0")
    assert list(stored.parent.glob(".staged/*")) == []
    refused = cli("import", file, "--name", "other")
    assert refused.status == 2 and "--name does not apply to a bundle" in refused.says
    changed = msgspec.structs.replace(before, results=before.results[:0])
    (stored / "run.json").write_bytes(msgspec.json.encode(changed))
    refused = cli("import", file)
    assert refused.status == 2 and f"run {name} is stored with other results" in refused.says


def test_the_first_line_of_a_check_is_its_answer(cli: Cli, run_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.tar.zst"
    cli("bundle", "mine", "-o", file)
    done = cli("bundle", "--check", file)
    first, second = done.out.splitlines()
    assert done.status == 0
    assert first.startswith("+ sound: every file is as it was bundled, every document is what its")
    assert second.startswith(f"{run_path.name} (mine): on sim:rtai-24.1.8, agent's whole source ")


def test_a_document_that_its_logs_do_not_give_is_seen(
    cli: Cli, run_path: Path, tmp_path: Path
) -> None:
    """Its digests are right: whoever changes a result bundles it again."""
    run = load(run_path)
    better = msgspec.structs.replace(run.results[0], max=1.0)
    changed = msgspec.structs.replace(run, results=[better, *run.results[1:]])
    (run_path / "run.json").write_bytes(msgspec.json.encode(changed))
    file = written(tmp_path / "a.tar.zst", pack([run_path], "1.0"))
    done = cli("bundle", "--check", file)
    assert done.status == 3
    assert done.out.startswith("? undecided: every file is as it was bundled, but 1 document not")
    assert "not as in its logs: 1 result" in done.out


# ---- hostile ------------------------------------------------------------------------------------


def _link(members: list[Member]) -> bytes:
    info = tarfile.TarInfo(f"{ROOT}/runs/a/wire.log")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return packed([*members, (info, b"")])


def _hard_link(members: list[Member]) -> bytes:
    info = tarfile.TarInfo(f"{ROOT}/runs/a/wire.log")
    info.type, info.linkname = tarfile.LNKTYPE, "/etc/passwd"
    return packed([*members, (info, b"")])


def _device(members: list[Member]) -> bytes:
    info = tarfile.TarInfo(f"{ROOT}/runs/a/wire.log")
    info.type = tarfile.CHRTYPE
    return packed([*members, (info, b"")])


def _directory(members: list[Member]) -> bytes:
    info = tarfile.TarInfo(f"{ROOT}/runs")
    info.type = tarfile.DIRTYPE
    return packed([(info, b""), *members])


def _named(name: str) -> Callable[[list[Member]], bytes]:
    def change(members: list[Member]) -> bytes:
        info = tarfile.TarInfo(name)
        info.mode = 0o644
        return packed([*members, (info, b"x")])

    return change


def _owned(members: list[Member]) -> bytes:
    members[0][0].uid = 1000
    return packed(members)


def _setuid(members: list[Member]) -> bytes:
    members[0][0].mode = 0o4755
    return packed(members)


def _extended(members: list[Member]) -> bytes:
    members[0][0].pax_headers = {"comment": "x" * 1000}
    return packed(members, tarfile.PAX_FORMAT)


def _twice(members: list[Member]) -> bytes:
    return packed([*members, members[-1]])


def _without_contents(members: list[Member]) -> bytes:
    return packed([m for m in members if not m[0].name.endswith(CONTENTS)])


def _without_a_log(members: list[Member]) -> bytes:
    return packed([m for m in members if not m[0].name.endswith("wire.log")])


def _unlisted(members: list[Member]) -> bytes:
    info = tarfile.TarInfo(members[-1][0].name.replace("wire.log", "wire-2.log"))
    info.mode = 0o644
    return packed([*members, (info, b"")])


def _changed(members: list[Member]) -> bytes:
    info, data = members[-1]
    return packed([*members[:-1], (info, data + b"\n")])


def _declared(members: list[Member]) -> bytes:
    """A member that is declared to be a gigabyte, and is not there."""
    info = tarfile.TarInfo(f"{ROOT}/runs/a/wire.log")
    info.mode, info.size = 0o644, 1 << 30
    return compressed(info.tobuf(tarfile.USTAR_FORMAT))


def _contents(change: Callable[[Bundle], Bundle]) -> Callable[[list[Member]], bytes]:
    def changed(members: list[Member]) -> bytes:
        contents = change(structures.decode(members[1][1], Bundle))
        return packed([members[0], (members[1][0], msgspec.json.encode(contents)), *members[2:]])

    return changed


def _evil(contents: Bundle) -> Bundle:
    other = BundledRun(run_id="../../evil", created="", target="", files={})
    return msgspec.structs.replace(contents, runs=[*contents.runs, other])


HOSTILE = {
    "a link": (_link, "a member that is no plain file"),
    "a hard link": (_hard_link, "a member that is no plain file"),
    "a device": (_device, "a member that is no plain file"),
    "a directory": (_directory, "a member that is no plain file"),
    "out of it": (_named(f"{ROOT}/../../evil"), "a file that bundles do not have"),
    "absolute": (_named("/tmp/evil"), "a member that is no plain file"),
    "another file": (_named(f"{ROOT}/runs/a/.bashrc"), "a file that bundles do not have"),
    "out of a run": (_named(f"{ROOT}/runs/../wire.log"), "a file that bundles do not have"),
    "an owner": (_owned, "a member that is no plain file"),
    "set-uid": (_setuid, "a member that is no plain file"),
    "an extension": (_extended, "a member that is no plain file"),
    "a member twice": (_twice, "twice"),
    "no contents": (_without_contents, "it has no bundle.json"),
    "no log": (_without_a_log, "is listed and not there"),
    "an unlisted log": (_unlisted, "is there and not listed"),
    "a changed log": (_changed, "has another SHA-256 than is listed"),
    "a declared gigabyte": (_declared, "it ends too early"),
    "no run": (_contents(lambda c: msgspec.structs.replace(c, runs=[])), "lists no run"),
    "an evil id": (_contents(_evil), "what is no id of one"),
    "a schema": (_contents(lambda c: msgspec.structs.replace(c, schema="x/9")), "schema x/9"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_pack_does_not_write_is_refused(run_path: Path, tmp_path: Path, name: str) -> None:
    make, why = HOSTILE[name]
    file = written(tmp_path / "a.tar.zst", make(archive(pack([run_path], "1.0"))))
    stored = sorted(run_path.parent.rglob("*"))
    for read in (check, take):
        with pytest.raises(UsageError, match=f"no sound bundle, .*{why}"):
            read(file)
    after = [path for path in sorted(run_path.parent.rglob("*")) if path.name != ".staged"]
    assert after == stored
    assert not Path("/tmp/evil").exists()


def test_a_bomb_ends_at_the_limit(
    run_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "LARGEST", 1 << 20)
    members = archive(pack([run_path], "1.0"))
    info = tarfile.TarInfo(f"{ROOT}/runs/a/wire.log")
    info.mode = 0o644
    file = written(tmp_path / "a.tar.zst", packed([*members, (info, bytes(2 << 20))]))
    assert file.stat().st_size < 1 << 20
    with pytest.raises(UsageError, match="more than 1048576 bytes"):
        check(file)
    monkeypatch.setattr(bundle, "MOST", 3)
    with pytest.raises(UsageError, match="more than 3 files"):
        check(written(tmp_path / "b.tar.zst", packed(members)))


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_cut_bundle_is_refused(run_path: Path, tmp_path: Path, keep: int) -> None:
    data = pack([run_path], "1.0")
    with pytest.raises(UsageError, match="no sound bundle"):
        check(written(tmp_path / "a.tar.zst", data[:keep]))
    after = packed(archive(data))  # as it is written by another compressor
    assert check(written(tmp_path / "b.tar.zst", after)).differing == []
    with pytest.raises(UsageError, match=r"bytes after its end|damaged"):
        check(written(tmp_path / "c.tar.zst", after + b"more"))


@pytest.mark.parametrize("place", [-2, -20])
def test_of_a_damaged_byte_the_reason_is_that_of_zstd(
    run_path: Path, tmp_path: Path, place: int
) -> None:
    data = bytearray(pack([run_path], "1.0"))
    data[place] ^= 0xFF
    with pytest.raises(UsageError, match=r"no sound bundle, .*: damaged: .*; get it again"):
        check(written(tmp_path / "a.tar.zst", bytes(data)))


def test_a_damaged_plan_is_no_absent_one(run_path: Path) -> None:
    (run_path / "plan.json").write_text("{")
    with pytest.raises(UsageError, match=r"damaged, .*plan.json: "):
        pack([run_path], "1.0")
    (run_path / "plan.json").unlink()
    with pytest.raises(UsageError, match="no plan of run"):
        pack([run_path], "1.0")


def test_a_session_is_bundled_as_a_whole(cli: Cli, run_path: Path, tmp_path: Path) -> None:
    for number, side in enumerate("AB", 1):
        path = run_path.with_name(f"20260101-000000.000-s-{number:03}{side}")
        shutil.copytree(run_path, path)
        for name in ("run.json", "plan.json"):
            document = json.loads((path / name).read_text())
            document |= {"run_id": path.name, "name": None, "created": "2026-01-01T00:00:00+00:00"}
            document["turn"] = {"session": "20260101-000000.000-s", "side": side, "pair": 1}
            (path / name).write_text(json.dumps(document))
    file = tmp_path / "a.tar.zst"
    assert cli("bundle", "20260101-000000.000-s", "-o", file).status == 0
    assert len(check(file).bundle.runs) == 2
    assert cli("cite", "20260101-000000.000-s").out == cli("cite", "mine").out


def test_a_link_in_a_run_is_not_followed(run_path: Path) -> None:
    (run_path / "wire-2.log").symlink_to("/etc/hostname")
    with pytest.raises(UsageError, match="cannot read run"):
        pack([run_path], "1.0")


def test_a_run_that_is_not_whole_is_not_bundled(run_path: Path) -> None:
    run = msgspec.structs.replace(load(run_path), status="incomplete", reason="it broke")
    (run_path / "run.json").write_bytes(msgspec.json.encode(run))
    with pytest.raises(UsageError, match=r"is incomplete, .*--resume"):
        pack([run_path], "1.0")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no run or no file to write"),
        (["mine"], "no run or no file to write"),
        (["mine", "-o", "a.tar"], "no format of 'a.tar', in -o; write a name that ends in .zst"),
        (["mine", "--check", "a.tar.zst"], "--check reads a bundle and packs none"),
        (["--check", "absent.tar.zst"], "cannot read absent.tar.zst"),
    ],
)
def test_wrong_use(cli: Cli, run_path: Path, arguments: list[str], says: str) -> None:
    done = cli("bundle", *arguments)
    assert (done.status, done.out) == (2, "")
    assert says in done.says


def test_without_zstd_it_is_said(
    run_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "a.tar.zst", pack([run_path], "1.0"))
    monkeypatch.setenv("PATH", str(tmp_path))
    for act in (lambda: pack([run_path], "1.0"), lambda: check(file)):
        with pytest.raises(UsageError, match=r"zstd is not installed.*apt-get install zstd"):
            act()


def test_the_readme_repeats_emulated_runs_with_the_exact_kernel(run_path: Path) -> None:
    document = load(run_path)
    detail = {"system": "linux-6.1", "seed": 1, "icount": True, "kernel": "6.1.0-57-arm64",
              "qemu": "7.2.22"}  # fmt: skip
    assert document.agent
    changed = msgspec.structs.replace(
        document,
        target=msgspec.structs.replace(document.target, name="qemu:linux-6.1", detail=detail),
        agent=msgspec.structs.replace(document.agent, arch="aarch64"),
        command=["rtstone", "run", "wakeup", "--target", "qemu:linux-6.1"],
    )
    (run_path / "run.json").write_bytes(msgspec.json.encode(changed))
    members = {info.name: data for info, data in archive(pack([run_path], "1.0"))}
    text = members[f"{ROOT}/{README}"].decode()
    assert "\n    rtstone run wakeup --target qemu:linux-6.1@6.1.0-57+seed=1\n" in text
    assert "with kernel 6.1.0-57-arm64, QEMU 7.2.22 and an agent built by " in text
    contents = structures.decode(members[f"{ROOT}/{CONTENTS}"], Bundle)
    assert contents.runs[0].command == changed.command  # as it was
