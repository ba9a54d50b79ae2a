"""The commands `doctor` and `tune`, on a scratch tree."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from rtstone import structures
from rtstone.documents.doctor import Checklist
from rtstone.system import facts
from rtstone.system.checks import CHECKS
from rtstone.system.facts import CPU
from rtstone.targets.local import Local
from tests.cli.test_others import HEAVY, modules
from tests.conftest import Cli
from tests.system import trees
from tests.system.trees import BOOT, Kernel, plant, snapshot, usual

STAT = "proc/sys/vm/stat_interval"
GOVERNOR = f"{CPU}/cpu3/cpufreq/scaling_governor"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the files of this machine by a scratch tree."""
    root = plant(tmp_path / "root", usual())
    (root / "var/lib").mkdir(parents=True)
    of_kernel(root, monkeypatch)
    return root


def of_kernel(root: Path, monkeypatch: pytest.MonkeyPatch, **refused: Any) -> None:
    """Let this machine be a tree with a simulated kernel behind it."""
    monkeypatch.setattr(
        facts, "System", lambda **words: trees.system(root, files=Kernel(root, **refused), **words)
    )


def outcomes(document: dict[str, Any]) -> dict[str, str]:
    changes = document["changes"]
    return {change["path"] or change["setting"]: change["outcome"] for change in changes}


def test_doctor_says_what_is_bad_and_ends_with_1(tree: Path, cli: Cli) -> None:
    done = cli("doctor")
    assert done.status == 1
    assert "X bad     frequency governor" in done.out
    assert "measured: CPU 3" in done.out
    plant(tree, {GOVERNOR: "performance\n", f"{CPU}/cpu3/cpuidle/state2/disable": "1\n"})
    done = cli("doctor")
    assert (done.status, "X bad" in done.out) == (0, False)


def test_doctor_shows_a_screen_and_the_rest_on_request(tree: Path, cli: Cli) -> None:
    screen, problems, whole = (
        cli("doctor", *words).out for words in ([], ["--problems"], ["--all"])
    )
    assert "+ good" not in screen + problems
    assert "-> " in problems
    assert len(screen.splitlines()) < len(problems.splitlines()) < len(whole.splitlines())
    assert "+ good" in whole


def test_doctor_says_who_measures_there(
    tree: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Local, "other_users", lambda _: ["the agent of anna (process 7)"])
    assert "! measuring now: the agent of anna (process 7); " in cli("doctor").out
    assert cli("doctor", "--json").document["agents"] == ["the agent of anna (process 7)"]


def test_the_document_of_doctor(tree: Path, cli: Cli) -> None:
    done = cli("doctor", "--json", "--cpus", "1-2")
    assert (done.status, done.err) == (1, "")
    document = done.document
    assert structures.convert(document, Checklist).schema == "rtstone.doctor/2"
    assert document["measurable"] is False
    assert document["cpus"] == [1, 2]
    assert [line["id"] for line in document["checks"]] == [check.id for check in CHECKS]
    advised = {line["verdict"] for line in document["checks"] if line["advice"]}
    assert advised == {"warn", "bad", "unknown", "yours"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["doctor", "--cpus", "9"], "CPU 9 is not online"),
        (["doctor", "--cpus", "one"], "bad CPU list 'one'"),
        (["tune", "apply", "--cpus", "9"], "CPU 9 is not online"),
        (["tune", "apply", "--only", "governer"], "did you mean 'governor'"),
        (["tune", "restor"], "restor"),
    ],
)
def test_bad_requests(tree: Path, cli: Cli, arguments: list[str], message: str) -> None:
    before = snapshot(tree)
    done = cli(*arguments)
    assert done.status == 2
    assert message in done.says
    assert snapshot(tree) == before


def test_apply_status_restore(tree: Path, cli: Cli) -> None:
    before = snapshot(tree)
    assert "nothing is tuned" in cli("tune", "status").out
    assert cli("tune", "apply", "--dry-run").status == 0
    assert snapshot(tree) == before
    done = cli("tune", "apply")
    assert done.status == 0
    assert f"/{GOVERNOR} powersave -> performance" in done.out
    status = cli("tune", "status")
    assert "CPU 3, since 2" in status.out
    assert f"journal: {tree}/var/lib/rtstone/tune.journal" in status.out
    assert "+ holds" in status.out
    assert cli("tune", "restore").status == 0
    assert snapshot(tree) == before
    assert "nothing is tuned" in cli("tune", "restore").out


def test_documents(tree: Path, cli: Cli) -> None:
    planned = cli("tune", "apply", "--dry-run", "--only", "governor,statistics", "--json").document
    assert (planned["schema"], planned["dry_run"]) == ("rtstone.tune/1", True)
    assert outcomes(planned) == {GOVERNOR: "planned", STAT: "planned"}
    applied = cli("tune", "apply", "--only", "governor,statistics", "--json").document
    assert outcomes(applied) == {GOVERNOR: "changed", STAT: "changed"}
    assert applied["cpus"] == [3]
    status = cli("tune", "status", "--json").document
    assert status["cpus"] == "3"
    assert outcomes(status) == {GOVERNOR: "holds", STAT: "holds"}
    assert set(outcomes(cli("tune", "restore", "--json").document).values()) == {"restored"}
    assert cli("tune", "status", "--json").document["since"] is None


def test_what_is_not_put_back_is_told_by_the_exit_code(tree: Path, cli: Cli) -> None:
    cli("tune", "apply", "--only", "statistics,governor")
    plant(tree, {STAT: "60\n"})
    done = cli("tune", "restore")
    assert done.status == 4
    assert "1 of 2 values were not restored" in done.says
    assert "X left" in done.out
    assert "! lost" in cli("tune", "status").out
    assert cli("tune", "restore", "--force").status == 0
    assert (tree / STAT).read_text() == "1\n"


def test_what_is_refused_is_no_failure_of_apply(
    tree: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_kernel(tree, monkeypatch, refused={STAT: errno.EACCES})
    done = cli("tune", "apply", "--only", "statistics")
    assert done.status == 0
    assert "! refused" in done.out
    assert "Permission denied" in done.out


def test_another_boot(tree: Path, cli: Cli) -> None:
    cli("tune", "apply", "--only", "statistics")
    plant(tree, {BOOT: "another\n"})
    done = cli("tune", "restore")
    assert done.status == 0
    assert "rebooted since" in done.out


def test_help_tells_of_the_danger_and_imports_nothing_heavy(cli: Cli) -> None:
    assert "runaway real-time task" in " ".join(cli("tune", "apply", "--help").out.split())
    for arguments in (["doctor", "--help"], ["tune", "--help"], ["tune", "apply", "--help"]):
        assert not modules(*arguments) & (HEAVY | {"rich", "msgspec", "sqlite3", "subprocess"})
