from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rtstone.store.index import find
from tests.conftest import Cli, Fake


def test_show(fake: Fake, cli: Cli) -> None:
    cli("run", "ctx.ballast", "-p", "ballast=0,1,33")
    done = cli("show", "last")
    assert done.status == 0
    assert "cpu.model" not in done.out
    assert "cpu.model" in cli("show", "last", "--conditions").out
    for part in ("Imaginary", "ballast=33", "+2 ns per task", "grows", "over"):
        assert part in done.out
    document = cli("show", "last", "--json")
    assert document.out == cli("show", find("last"), "--json").out
    assert document.document["schema"] == "rtstone.run/1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "last"], "no run 'last'"),
        (["show", "nothing"], "no run 'nothing'"),
        (["show"], "Missing argument"),
        (["shwo"], "did you mean 'show'"),
        (["list", "benchs"], "did you mean 'benches'"),
        (["list", "sem.post.hihger"], "did you mean 'sem.post.higher'"),
        (["report", "last", "-o", "x.html"], "no run 'last'"),
    ],
)
def test_bad_requests(fake: Fake, cli: Cli, arguments: list[str], message: str) -> None:
    done = cli(*arguments)
    assert done.status == 2
    assert message in done.says


def test_a_killed_host_leaves_a_run_that_can_be_shown(fake: Fake, cli: Cli, home: Path) -> None:
    cli("run", "null")
    next(home.glob("runs/*/run.json")).unlink()
    assert cli("show", "last").status == 0
    assert json.loads(cli("list", "runs", "--json").out)["runs"][0]["status"] == "unfinished"


def test_lists(fake: Fake, cli: Cli) -> None:
    for kind, part in [
        ("benches", "ctx.ballast"), ("suites", "quick"), ("loads", "none"), ("targets", "local"),
    ]:  # fmt: skip
        assert part in cli("list", kind).out
        assert part in json.dumps(cli("list", kind, "--json").document[kind])
    assert cli("list").out == cli("list", "benches").out
    assert cli("list", "runs").status == 0


@pytest.mark.parametrize(("width", "left"), [(110, "created"), (80, "created, suite, results")])
def test_a_list_of_runs_fits_on_a_terminal(
    fake: Fake, cli: Cli, monkeypatch: pytest.MonkeyPatch, width: int, left: str
) -> None:
    """Everything that tells runs apart stays, longest names and all; off a terminal all of it."""
    cli("run", "quick", "--name", "a" * 20, "--target", "sim", "--time", "1ms")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    *lines, last = click.unstyle(cli("list", "runs").out).splitlines()
    assert last == f"no room for {left}; in --json"
    assert all(len(line) <= width for line in lines)
    assert "a" * 20 in lines[1] and " sim" in lines[1]


def test_one_bench(fake: Fake, cli: Cli) -> None:
    out = cli("list", "ctx.ballast").out
    for part in ("Title of ctx.ballast", "0 to 1024", "one of fifo, rr"):
        assert part in out
    params = cli("list", "benches", "--json").document["benches"][0]["params"]
    assert {"name", "type", "unit", "default", "min", "max", "help"} <= params[0].keys()


def test_a_report(fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("run", "null")
    page = pytest.importorskip("rtstone.report.page")

    monkeypatch.setattr(page, "compose", lambda comparison, *_, **__: comparison.runs[0].run.run_id)
    done = cli("report", "last", "last", "-o", tmp_path / "x.html")
    assert done.status == 0
    assert (tmp_path / "x.html").read_text() == find("last").name


def test_no_command_is_a_question_for_help(cli: Cli) -> None:
    done = cli()
    assert (done.status, done.out) == (0, cli("--help").out)
    assert "  run " in done.out


def test_a_list_of_runs_tells_how_many_results_are_good(fake: Fake, cli: Cli) -> None:
    fake(at=2, fate="kill")
    cli("run", "ctx.ballast", "-p", "ballast=0,1,33")
    (row,) = json.loads(cli("list", "runs", "--json").out)["runs"]
    assert (row["ok"], row["results"]) == (1, 3)
    assert cli("list", "runs").out.split()[-2:] == ["1", "3"]


# ---- standard streams ----------------------------------------------------------------------------

MAIN = f"{sys.executable} -c 'from rtstone.cli.main import main; main()'"


def shell(command: str, **environment: str) -> tuple[int, str, str]:
    """Run a command line in which R is rtstone; return exit code, stdout and stderr."""
    script = f'R() {{ {MAIN} "$@"; }}\n{command}'
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, check=False, env=os.environ | environment
    )
    return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")


# The reader has ended before anything is written.
UNREAD = "{ exec 3> >(exec true); wait $!; R %s >&3; }"


@pytest.mark.parametrize(
    "command", ["--help", "list benches", "list --json", "show last", "run null"]
)
@pytest.mark.parametrize("stdout", [">&-", "unread"])
def test_a_reader_of_stdout_that_has_gone_is_no_fault(
    fake: Fake, cli: Cli, command: str, stdout: str
) -> None:
    cli("run", "null")
    status, _, errors = shell(UNREAD % command if stdout == "unread" else f"R {command} {stdout}")
    assert (status, "Traceback" in errors, "rtstone:" in errors) == (0, False, False)


def test_a_run_that_nobody_reads_ends_with_its_own_code(fake: Fake) -> None:
    fake(at=1, fate="kill")
    status, _, errors = shell(UNREAD % "run null")
    assert status == 4
    assert "was killed by SIGKILL" in errors


def test_a_reader_of_stderr_that_has_gone_does_not_stop_a_run(fake: Fake) -> None:
    command = "{ exec 3> >(exec true); wait $!; R run null dk.periodic 2>&3; }"
    status, out, _ = shell(command)
    assert status == 0
    assert "dk.periodic" in out
    assert (find("last") / "run.json").exists()


@pytest.mark.parametrize(
    ("command", "exit_code"), [("list <&-", 0), ("list 2>&-", 0), ("list nothing 2>&-", 2)]
)
def test_a_closed_stdin_or_stderr_is_no_fault(fake: Fake, command: str, exit_code: int) -> None:
    status, out, errors = shell(f"R {command}")
    assert (status, "dk.periodic" in out) == (exit_code, exit_code == 0)
    assert "Traceback" not in out + errors
    assert "rtstone:" not in errors


@pytest.mark.parametrize("command", ["--help", "list", "list --json", "run null"])
def test_a_full_disk_behind_stdout_is_told(fake: Fake, command: str) -> None:
    status, _, errors = shell(f"R {command} >/dev/full")
    assert status == 4
    assert errors.splitlines()[-1] == "rtstone: cannot write the output: No space left on device"
    assert "Traceback" not in errors


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_streams_that_do_not_know_every_letter(fake: Fake, encoding: str) -> None:
    fake(extra={"overhead": -(10**5)})  # so that it prints µs
    for command in ("run null", "show last", "run 'nüll€'"):
        status, _, errors = shell(f"R {command}", PYTHONIOENCODING=encoding)
        assert "Traceback" not in errors
        assert status == (2 if "€" in command else 0)


def test_ctrl_c_while_modules_are_imported(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    command = [sys.executable, "-c", "from rtstone.cli.main import main; main()"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def modules(*arguments: str) -> set[str]:
    """Return the modules that a command imports."""
    script = (
        "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        "from rtstone.cli.main import main; main()"
    )
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


HEAVY = {"numpy", "scipy", "jinja2", "asyncio", "importlib.metadata"}


def test_help_imports_nothing_heavy() -> None:
    loaded = modules("--help")
    assert not loaded & (HEAVY | {"rich", "msgspec", "sqlite3", "subprocess", "json", "difflib"})


def test_show_imports_nothing_it_does_not_need(fake: Fake, cli: Cli) -> None:
    cli("run", "null")
    assert not modules("show", "last") & HEAVY
    assert not modules("show", "last", "--json") & (HEAVY | {"rich"})


def test_compare_imports_nothing_it_does_not_need(cli: Cli) -> None:
    for model in ("default", "ideal"):
        cli("run", "clk.overhead", "--target", f"sim:{model}")
    assert not modules("compare", "last", "last~1") & HEAVY
    assert not modules("compare", "last", "last~1", "--json") & (HEAVY | {"rich"})


def test_no_colour_where_there_is_no_terminal(fake: Fake, cli: Cli) -> None:
    fake(sched="other")
    assert "\x1b" not in cli("run", "null").out
