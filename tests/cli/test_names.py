"""Names of runs: `run --name`, and what `last` is."""

from __future__ import annotations

from pathlib import Path

import pytest

import rtstone
from rtstone.errors import RunSkipped
from rtstone.store.index import entries, find
from rtstone.store.layout import runs
from rtstone.store.names import LONGEST
from rtstone.store.rundir import load
from tests.conftest import Cli, Fake


def test_a_name_is_used_wherever_the_run_is(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    assert cli("run", "null", "--name", "tuned").status == 0
    shown = cli("run", "null", "--name", "as it came").out
    path = find("tuned")
    assert load(path).name == "tuned"
    assert [entry.name for entry in entries()] == ["tuned", "as it came"]
    text = cli("show", "tuned", "--conditions").out
    assert "tuned (local)" in text
    assert f"tuned ({path.name})" in text
    assert text.splitlines()[-1].endswith("a page of it: rtstone report tuned")
    assert f"run tuned ({path.name})" in rtstone.load("tuned")._repr_html_()
    assert "rtstone show 'as it came'; a page: rtstone report 'as it came'" in shown
    assert cli("list", "runs", "--json").document["runs"][0]["name"] == "tuned"
    assert "as it came" in cli("list", "runs").out
    columns = cli("compare", "tuned", "as it came", "--json").document["columns"]
    assert [column["label"] for column in columns] == ["tuned", "as it came"]
    assert columns[0]["names"] == {path.name: "tuned"}
    assert rtstone.load("as it came").run.run_id == find("last").name
    (path / "run.json").unlink()
    assert load(path).name == "tuned"


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (("tuned-1", "tuned-2"), "tuned"),
        (("rt 6.1 a", "rt 6.1 b"), "rt 6.1"),
        (("6.1-a", "6.10-a"), "6.1-a + 6.10-a"),  # not one kernel
        (("run1", "run2"), "run1 + run2"),
        (("tuned", ""), "local (ID)"),
    ],
)
def test_joined_runs_are_called_as_their_names_begin(
    fake: Fake, cli: Cli, names: tuple[str, ...], label: str
) -> None:
    for name in (*names, "other"):
        assert cli("run", "null", *(("--name", name) if name else ())).status == 0
    done = cli("compare", "last~2,last~1", "last", "--json")
    first, other = done.document["columns"]
    assert first["label"] == label.replace("ID", first["runs"][0][-4:])
    assert other["label"] == "other"


def test_a_page_has_the_name_as_its_title(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    assert cli("run", "null", "--name", "tuned").status == 0
    assert cli("report", "tuned", "-o", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text()
    assert "<title>rtstone: tuned: Fake 1.0" in page
    assert "rtstone show tuned --json" in page


def test_a_gate_says_the_name(fake: Fake, cli: Cli, tmp_path: Path) -> None:
    assert cli("run", "null", "--name", "tuned").status == 0
    budget = tmp_path / "budget.toml"
    budget.write_text('[[case]]\nbench = "null"\nmax = "1s"\n')
    done = cli("check", "tuned", "--budget", budget)
    assert f"run tuned ({find('tuned').name})" in done.out


def test_a_resumed_run_keeps_its_name(fake: Fake, cli: Cli) -> None:
    fake(at=1, fate="kill")
    assert cli("run", "null", "--name", "tuned").status == 4
    fake()
    assert cli("run", "--resume", "tuned").status == 0
    assert load(find("tuned")).name == "tuned"
    assert "leave out --name" in cli("run", "--resume", "tuned", "--name", "other").says


def test_the_api_names_runs(fake: Fake) -> None:
    measured = rtstone.run("null", name="tuned")
    assert rtstone.load("tuned").run == measured.run
    with pytest.raises(rtstone.UsageError, match="'tuned' is taken, by run"):
        rtstone.run("null", name="tuned")


def test_a_name_is_given_once(fake: Fake, cli: Cli) -> None:
    trace = fake()
    assert cli("run", "null", "--name", "tuned").status == 0
    starts = trace.read_text()
    done = cli("run", "null", "--name", "tuned")
    assert done.status == 2
    assert "name 'tuned' is taken, by run" in done.says
    assert "rtstone rm tuned" in done.says
    assert trace.read_text() == starts
    assert len(entries()) == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"), (" tuned", "blank"), ("a\tb", "printed"), ("a\x1b[31m", "printed"),
        ("x" * (LONGEST + 1), "more than 40"), ("--json", "begins with '-'"),
        (".", "begins with '.'"), ("../up", "begins with '.'"), ("a/b", "contains '/'"),
        ("a,b", "contains ','"), ("last", "the last run"), ("last~3", "the last run"),
        ("last~", "contains '~'"), ("20261122", "a run id"), ("2", "a run id"),
        ("20261122-194237.123-quick-f704", "a run id"),
    ],
)  # fmt: skip
def test_what_is_no_name(fake: Fake, cli: Cli, name: str, why: str) -> None:
    trace = fake()
    done = cli("run", "null", f"--name={name}")
    assert done.status == 2
    assert "bad name" in done.says
    assert why in done.says
    assert not trace.exists()


@pytest.mark.parametrize("name", ["rt-6.8", "6.8", "6.1-rt", "Größe", "lasting", "x" * LONGEST])
def test_what_is_a_name(fake: Fake, cli: Cli, name: str) -> None:
    assert cli("run", "null", f"--name={name}").status == 0
    assert load(find(name)).name == name


# ---- last ---------------------------------------------------------------------------------------


def test_last_is_the_last_run_with_results(fake: Fake, cli: Cli) -> None:
    ids = []
    for fate in (None, "kill", None, "kill"):
        fake(**({"at": 1, "fate": fate} if fate else {}))
        cli("run", "null")
        ids.append(entries()[-1].run_id)
    assert [find(name).name for name in ("last", "last~1")] == [ids[2], ids[0]]
    assert cli("show", "last~2").says.endswith("or measure with `rtstone run`")
    assert [row["run_id"] for row in cli("list", "runs", "--json").document["runs"]] == ids
    fake()
    assert cli("run", "--resume", "last").status == 0  # the last one, as it has no result yet
    assert find("last").name == ids[3]


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("indexed", [True, False])  # before the damage
def test_last_leaves_out_a_damaged_run_and_says_so(
    fake: Fake, cli: Cli, *, log: bool, indexed: bool
) -> None:
    fake()
    ids = []
    for _ in range(3):
        assert cli("run", "null").status == 0
        ids.append(entries()[-1].run_id)
    damaged = runs() / ids[2]
    (damaged / "run.json").write_bytes(b'{"schema": "rtstone.run/1", "crea')
    if not log:
        (damaged / "wire.log").unlink()
    if not indexed:
        (runs().parent / "catalogue.db").unlink()
    shown = cli("show", "last", "--json")
    assert (shown.status, shown.document["run_id"]) == (0, ids[1])
    assert shown.err == (
        f"rtstone: with care: left out run {ids[2]}, as its run.json cannot be read; "
        f"see rtstone show {ids[2]}\n"
    )
    compared = cli("compare", "last~1", "last", "--json").document
    assert [column["runs"] for column in compared["columns"]] == [[ids[0]], [ids[1]]]
    assert "run.json" in cli("show", ids[2]).says  # by its name it is refused
    states = [row["status"] for row in cli("list", "runs", "--json").document["runs"]]
    assert states == ["complete", "complete", "damaged"]
    assert f"left out: not a readable run.json, {damaged}" in cli("trend", "null").err
    with pytest.warns(RunSkipped, match="left out"):  # as rtstone.load does, too
        assert find("last").name == ids[1]
    (damaged / "run.json").write_bytes((runs() / ids[1] / "run.json").read_bytes())  # mended
    assert entries()[-1].status == "complete"


def test_a_killed_host_leaves_a_run_with_results(fake: Fake, cli: Cli) -> None:
    fake(at=2, fate="kill")
    assert cli("run", "ctx.ballast", "-p", "ballast=0,1").status == 4
    first = find("last")
    (first / "run.json").unlink()
    fake(at=1, fate="kill")
    cli("run", "null")
    (find(entries()[-1].run_id) / "run.json").unlink()
    assert find("last") == first
