"""The examples run, the page shows them as they are, and what they are said to need is counted.

What a script starts is recorded by a stand-in for rtstone, and then done in this process: the
scripts measure a dozen times.  tests/bench/users.py runs them as they are.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.rights import as_root
from tests.bench.users import (
    EXAMPLES,
    OTHERS,
    USERS,
    User,
    answer,
    arguments,
    lacks,
    powerless,
    written,
)
from tests.conftest import Cli
from tests.docs.commands import ROOT, commands

PAGE = ROOT / "docs" / "start" / "six-questions.md"
SHELL = [user for user in USERS if user.name.endswith(".sh")]
STAND_IN = '#!/bin/sh\nprintf "%s\\n" "$@" "" >>"$RECORD"\n'
FAIR = {0, 3}
MAKES = {
    "kernel.sh": ["kernel.html"],
    "choice.sh": ["choice.html"],
    "gate.sh": ["budget.toml", "gate.xml", "gate.md"],
    "paper.sh": ["samples.csv", "figure.pdf"],
    "container.sh": [],
}


def started(script: Path, place: Path, options: list[str]) -> list[list[str]]:
    """The words after each `rtstone` that a script starts, in order."""
    stand_in = place / "bin" / "rtstone"
    stand_in.parent.mkdir()
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    record = place / "record"
    here = os.environ | {"PATH": f"{stand_in.parent}:{os.environ['PATH']}", "RECORD": str(record)}
    subprocess.run([script, *options], cwd=place, env=here, check=True)
    return [command.split("\n") for command in record.read_text().split("\n\n") if command]


def aimed(words: list[str]) -> list[str]:
    """Return the words with their last target alone, which is that of the test."""
    at = [place for place, word in enumerate(words) if word == "--target"][:-1]
    return [word for place, word in enumerate(words) if not {place, place - 1} & set(at)]


@pytest.mark.parametrize("user", SHELL, ids=lambda user: user.name)
def test_a_script_runs(
    user: User, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    short = [] if user.fixed else ["--time", "1ms"]
    commands = started(EXAMPLES / user.name, tmp_path, ["--target", "sim", *short])
    assert sum(words[0] == "run" for words in commands) >= 1
    for words in map(aimed, commands):
        done = cli(*("samples=200" if word == "samples=20000" else word for word in words))
        allowed = FAIR | {1} if words[0] == "doctor" else FAIR
        assert done.status in allowed, f"{words}: exit {done.status}\n{done.err}"
        assert "Traceback" not in done.err
    missing = [name for name in MAKES[user.name] if not (tmp_path / name).stat().st_size]
    assert not missing


def test_the_python_script_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["notebook.py", "target=sim", "time=1001ms"])
    runpy.run_path(str(EXAMPLES / "notebook.py"), run_name="__main__")
    out = capsys.readouterr().out
    (user,) = (user for user in USERS if user.name == "notebook.py")
    assert not lacks(user.ours, out) and "95% confidence: " in out, out


@as_root
@pytest.mark.machine
def test_without_rights_the_script_says_what_its_answer_is_worth() -> None:
    (user,) = (user for user in USERS if user.nobody)
    reply = answer(EXAMPLES / user.name, ["--time", "50ms"], powerless())
    assert not lacks(user.ours, reply.text), reply.text


def test_the_page_shows_the_scripts_as_they_are() -> None:
    page, rest = [PAGE.read_text(encoding="utf-8")] * 2
    for user in USERS:
        script = (EXAMPLES / user.name).read_text(encoding="utf-8")
        if user in SHELL:
            block = "```sh\n" + re.sub(r'(?m)^(#.*|set -e?u)\n| "\$@"', "", script) + "```"
        else:
            block = f"```python\n{script}```"
        assert block in page, user.name
        assert f"`examples/{user.name}`" in page and (OTHERS / user.name).exists()
        rest = rest.replace(block, "")
    assert not [*commands(rest)]  # so that all of the page's are run


def test_the_scripts_with_other_tools_can_be_read() -> None:
    for script in sorted(OTHERS.iterdir()):
        if script.suffix == ".py":
            ast.parse(script.read_text(encoding="utf-8"))
        elif script.suffix == ".sh":
            subprocess.run(["sh", "-n", script], check=True)


def test_what_is_written_is_counted(tmp_path: Path) -> None:
    script, program = tmp_path / "some.sh", tmp_path / "plot.py"
    program.write_text('"""Draw.\n\nWell.\n"""\n\n# why\nimport sys\nprint(\n    sys)\n')
    script.write_text(
        '#!/bin/sh\n# why\nset -eu\nhere=$(dirname "$0")\nfor turn in 1 2; do\n    one $turn \\\n'
        '        --much | two\n    three &\ndone\n\npython3 "$here/plot.py"\n'
    )
    assert written(program) == (2, 3)
    assert written(script) == (3, 8 + 3)


def test_scripts_get_the_time_that_is_compared() -> None:
    assert [arguments(user, 5) for user in USERS] == [
        ["--time", "5"], [], ["--time", "5"], [], ["--time", "5"], ["time=5s"],
    ]  # fmt: skip
    paper = (EXAMPLES / "paper.sh").read_text(encoding="utf-8")
    assert "samples=20000 " in paper and {u.fixed for u in USERS if u.name == "paper.sh"} == {20}


def test_the_page_of_benchmarks_has_what_is_counted() -> None:
    page = (ROOT / "docs" / "studies" / "bench.md").read_text(encoding="utf-8")
    for user in USERS:
        for script in (EXAMPLES / user.name, OTHERS / user.name):
            row = f"| `{script.relative_to(ROOT)}` | {' | '.join(map(str, written(script)))} |"
            assert row in page
        holds = " | ".join("; ".join(holds) or "-" for holds in (user.ours, user.theirs))
        assert f"| {user.who} | {holds} |" in page
