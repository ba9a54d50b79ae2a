"""Targets with names: what their files may say, and where the names and addresses are told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rtstone.cli.completion import answer
from rtstone.errors import UsageError
from rtstone.store.index import entries
from rtstone.targets import find, fleet
from rtstone.targets import fleet_file as files
from tests.conftest import Cli, Fake

OWN = """
[old]
address = "sim:linux-2.2.15"
comment = "as it was"

[bench]
address = "sim"
"""


@pytest.fixture
def near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in the working directory; it is not there yet, and the user's is OWN."""
    config = tmp_path / "config" / "rtstone"
    config.mkdir(parents=True)
    (config / "targets.toml").write_text(OWN)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work" / files.NEAR


def test_the_nearer_file_wins_by_name(near: Path) -> None:
    assert {name: named.address for name, named in fleet().items()} == {
        "old": "sim:linux-2.2.15", "bench": "sim",
    }  # fmt: skip
    near.write_text('[bench]\naddress = "sim:rmos3-pc1"\n[more]\naddress = "local"\ncpus = "0"\n')
    assert {name: (named.address, named.cpus) for name, named in fleet().items()} == {
        "old": ("sim:linux-2.2.15", None), "bench": ("sim:rmos3-pc1", None), "more": ("local", "0"),
    }  # fmt: skip


def test_without_a_file_there_is_no_name(near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for config in (near.parent / "none", near.parent / "config", "relative"):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
        monkeypatch.setenv("HOME", str(near.parent))
        assert not fleet()


def test_the_usual_place_of_the_users_file(near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(near.parent))
    place = near.parent / ".config" / "rtstone"
    place.mkdir(parents=True)
    (place / "targets.toml").write_text(OWN)
    assert set(fleet()) == {"old", "bench"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\naddress = sim", "not a TOML file, rtstone-targets.toml: Invalid value (at line 2"),
        ("[a]\nadress = 'sim'", "unknown key 'adress', in table [a] of rtstone-targets.toml; did "
         "you mean 'address'?"),
        ("[a]\naddress = 3", "'address' is not text, in table [a] of rtstone-targets.toml"),
        ("[a]\ncomment = 'b'", "no address, in table [a] of rtstone-targets.toml; write address"),
        ("a = 'sim'", "'a' is not in a table, in rtstone-targets.toml; write it below a line"),
        ("[sim]\naddress = 'sim'", "'sim' is a kind of target, in table [sim] of rtstone-"),
        ("['a b']\naddress = 'sim'", "not a name, in table [a b] of rtstone-targets.toml; use up"),
        ("['a+b']\naddress = 'sim'", "not a name, in table [a+b] of rtstone-targets.toml; use up"),
        ("[a]\naddress = 'sim'\ncpus = '2-'", "bad CPU list '2-'; write numbers and ranges such "
         "as 0-2,4, in table [a] of rtstone-targets.toml"),
        ("[a]\naddress = 'ssh:h'\nrights = 'root'", "rights is one of login, sudo, not 'root', in"),
        ("[a]\naddress = 'sim'\nrights = 'sudo'", "rights = 'sudo' is for addresses ssh:..., in"),
        ("[a]\naddress = 'ssh:h+sudo=yes'\nrights = 'sudo'", "rights are given twice, in table"),
        ("#" * files.LARGEST + "\n", "has more than 256 KiB"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(near: Path, text: str, message: str, cli: Cli) -> None:
    near.write_text(text)
    done = cli("list", "targets")
    assert (done.status, done.out) == (2, "")
    assert message in done.says
    # What needs no name is not in the way of it.
    assert cli("run", "null", "--target", "sim", "--time", "1ms").status == 0
    assert any("sim:ideal" in line for line in answer("rtstone run --target "))


def test_rights_become_part_of_the_address(near: Path) -> None:
    near.write_text("[a]\naddress = 'ssh:pi@h'\nrights = 'sudo'\n[b]\naddress = 'ssh:h'\n")
    assert [fleet()[name].address for name in "ab"] == ["ssh:pi@h+sudo=yes", "ssh:h"]


def test_what_others_may_have_written_is_refused(
    near: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near.write_text("[a]\naddress = 'sim'\n")
    near.chmod(0o666)
    with pytest.raises(UsageError, match=r"can be written by others.*: chmod go-w rtstone-targets"):
        fleet()
    near.chmod(0o644)
    owner = near.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1000)
    if owner:
        with pytest.raises(UsageError, match=rf"belongs to another user \(uid {owner}\)"):
            fleet()
    else:
        assert "a" in fleet()  # root's file is everybody's
    monkeypatch.undo()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away")
def test_root_reads_only_files_of_root(near: Path) -> None:
    near.write_text("[a]\naddress = 'sim'\n")
    os.chown(near, 1234, -1)
    with pytest.raises(UsageError, match=r"belongs to another user \(uid 1234\).*chown 0"):
        fleet()
    os.chown(near, 0, -1)
    near.chmod(0o664)
    with pytest.raises(UsageError, match="can be written by others"):
        fleet()


def test_links_and_pipes(near: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = near.parent / "own"
    own.write_text("[a]\naddress = 'sim'\n")
    near.symlink_to(own)
    if os.geteuid() == 0:
        with pytest.raises(UsageError, match="is a link, which root does not follow"):
            fleet()
    else:
        assert "a" in fleet()
    near.unlink()
    os.mkfifo(near)
    with pytest.raises(UsageError, match="is not a regular file"):
        fleet()


def test_a_name_is_a_target(near: Path, cli: Cli) -> None:
    assert find("old").name == "sim:linux-2.2.15"
    done = cli("run", "null", "--target", "old", "--time", "1ms", "--json")
    assert done.status == 0
    assert done.document["target"]["name"] == "sim:linux-2.2.15"
    assert done.document["target"]["called"] == "old"
    by_address = cli("run", "null", "--target", "sim", "--time", "1ms", "--json").document
    assert by_address["target"]["called"] is None
    shown = cli("show", "last~1").out
    assert "old (sim:linux-2.2.15)" in shown
    assert "old (sim:linux-2.2.15)" in cli("list", "runs").out
    assert len(cli("list", "runs", "--target", "old", "--json").document["runs"]) == 1
    assert len(entries()) == 2
    compared = cli("compare", "last~1", "last").out
    assert "old: sim:linux-2.2.15, 1 run" in compared
    page = near.parent / "page.html"
    assert cli("report", "last~1", "-o", page).status == 0
    assert "old (sim:linux-2.2.15)" in page.read_text("utf-8")


def test_pairs_are_measured_by_name(near: Path, cli: Cli) -> None:
    words = ("compare", "null", "--run", "old", "bench", "--pairs", "2", "--time", "1ms", "--json")
    columns = [(c["label"], c["target"]) for c in cli(*words).document["columns"]]
    assert columns == [("old", "sim:linux-2.2.15"), ("bench", "sim")]


def test_an_interrupted_run_goes_on_by_its_address(near: Path, cli: Cli) -> None:
    """Also if the name has gone, or has become that of another target."""
    assert cli("run", "null", "--target", "old", "--time", "1ms", "--name", "first").status == 0
    near.write_text("[old]\naddress = 'sim'\n")
    assert "the run is complete" in cli("run", "--resume", "first").says


def test_the_cpus_of_the_file(near: Path, fake: Fake, cli: Cli) -> None:
    near.write_text("[here]\naddress = 'local'\ncpus = '0'\n")
    words = ("run", "ctx.ballast", "--target", "here", "-p", "samples=10", "--json")
    assert {str(r["params"]["cpus"]) for r in cli(*words).document["results"]} == {"0"}
    document = cli(*words, "--cpus", "all").document
    assert {r["params"]["cpus"] for r in document["results"]} == {"all"}


def test_options_follow_a_name(near: Path) -> None:
    near.write_text("[board]\naddress = 'qemu:linux-6.1'\n")
    assert find("board+seed=3").name == "qemu:linux-6.1+seed=3"
    with pytest.raises(UsageError, match=r"target 'board', table \[board\] of .*unknown word 'x'"):
        find("board+x=3")


def test_an_address_that_is_none(near: Path, cli: Cli) -> None:
    near.write_text("[a]\naddress = 'shs:host'\n[b]\naddress = 'a'\n")
    for name, message in (("a", "unknown target 'shs'"), ("b", "unknown target 'a'")):
        says = cli("run", "null", "--target", name).says
        assert f"target '{name}', table [{name}] of rtstone-targets.toml: {message}" in says
    assert "did you mean 'bench'?" in cli("run", "null", "--target", "banch").says


def test_names_are_listed_and_completed(near: Path, cli: Cli) -> None:
    rows = cli("list", "targets", "--json").document["targets"]
    assert [row["name"] for row in rows[:3]] == ["old", "bench", "local"]
    assert (rows[0]["address"], rows[0]["comment"]) == ("sim:linux-2.2.15", "as it was")
    assert "sim:linux-2.2.15; as it was" in cli("list", "targets").out
    labels = [line.split("\t")[1] for line in answer("rtstone run --target o")]
    assert labels == ["old"]
