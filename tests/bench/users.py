"""`make bench`: six kinds of users get their answer, with rtstone and with other tools.

Runs each script of examples/ and the one of examples/with-other-tools/ that does the same job, and
counts what a person types and waits.  What an answer is said to hold is looked for in what the
scripts print and write; if it is not there, that is said, and the exit status is 1.

    python -m tests.bench.users [--seconds 20] [NAME...]
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).parents[2] / "examples"
OTHERS = EXAMPLES / "with-other-tools"
BIN = Path(sys.executable).parent
LAB = "choice.sh"  # counts instructions, in a time of its own
LONGEST = 3600  # seconds that a script may take
TEXT = {".txt", ".csv", ".toml", ".xml", ".md", ".html", ".json"}
NO_RIGHTS = ["--inh-caps=-all", "--bounding-set=-all"]
NOBODY = ["--reuid=65534", "--regid=65534", "--clear-groups"]

Holds = dict[str, str]  # what an answer holds, and a pattern of it in the output or in a file


class User(NamedTuple):
    """A kind of user, and what only one of the two answers holds."""

    name: str  # of the script
    who: str
    cases: int  # of --seconds each, one after the other; in the lab its own time counts
    ours: Holds
    theirs: Holds
    nobody: bool = False  # run without any rights
    fixed: int = 0  # seconds of a case, where the script says it


USERS = [
    User(
        "kernel.sh", "kernel engineer", 12,
        {
            "whether a difference is more than chance": r"no (certain )?difference from ",
            "activations that were missed, counted in": r"missed \d",
            "a worst case, or why there is none": r"\d+ results? with a bound",
            "what the load achieved": r"network\s[\d\s]+of\s[\d\s]+packets/s",
        },
        {},
    ),
    User(
        "choice.sh", "team lead", 6,
        {
            "an RTOS in the same table": r"freertos-a64",
            "both kernels without a reboot": r"linux-6\.1-rt",
            "a verdict on each difference": r"[+-] (better|worse)",
        },
        {"times of this machine's Linux": r"Avg:\s*\d"},
    ),
    User(
        "gate.sh", "tester", 12,
        {
            "limits from how far runs differ": r"predicted_for_n|no limit would hold",
            "a limit on missed activations": r"missed = ",
            "files for the CI system": r"<testsuite",
        },
        {},
    ),
    User(
        "paper.sh", "researcher", 1,
        {
            "the time of each sample": r"(?m)^run_id,.*,at_s$",
            "the compiler and the program's source, by its hash": r"source [0-9a-f]{16}",
            "activations that were missed": r"missed \d",
        },
        {},
        fixed=20,
    ),
    User(
        "container.sh", "without root", 2,
        {
            "that it is no good verdict, and why": r"(measured |run \()without real-time",
            "what grants the rights": r"setcap cap_sys_nice|--ulimit rtprio=99|CAP_SYS_NICE",
            "what else is wrong with the system": r"! warn",
        },
        {},
        nobody=True,
    ),
    User(
        "notebook.py", "Python user", 1,
        {
            "p99 with its interval, or why there is none": r"p99: \S",
            "activations that were missed": r"missed",
        },
        {},
    ),
]  # fmt: skip


class Written(NamedTuple):
    """What has to be typed for an answer: commands or statements, and lines of text in all."""

    commands: int
    lines: int


_NO_COMMAND = re.compile(r"(set -\w+|\w+=.*|done|fi|then|else|\}|\{)$|#|(for|if)\b.*(do|then)$")


def written(script: Path) -> Written:
    """Count a script's commands, and its lines with those of the programs beside it that it calls.

    Comments and empty lines do not count.  A command that goes on in the next line is one, and so
    is a pipe; what only holds commands together is none.  A loop's commands count once.
    """
    text = script.read_text(encoding="utf-8")
    if script.suffix == ".py":
        statements = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.stmt)]
        return Written(len(statements) - 1, _lines(text) - _docstring(text))
    helpers = [p for p in sorted(script.parent.glob("*.py")) if f"/{p.name}" in text]
    whole = re.sub(r"\\\n\s*", " ", text).splitlines()
    commands = [line.strip() for line in whole if line.strip()]
    return Written(
        sum(not _NO_COMMAND.match(line) for line in commands),
        _lines(text) + sum(written(helper).lines for helper in helpers),
    )


def _lines(text: str) -> int:
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines()
    )


def _docstring(text: str) -> int:
    first = ast.parse(text).body[0]
    return _lines("\n".join(text.splitlines()[first.lineno - 1 : first.end_lineno]))


class Answer(NamedTuple):
    """What a script gave: its exit status, the seconds it took, and what it printed and wrote."""

    status: int
    seconds: float
    text: str


def powerless() -> list[str]:
    """Return the start of a command line that runs the rest without any rights: as nobody.

    Where nobody cannot read this Python, which is often below /root, as root without capabilities.
    Empty unless this is root.
    """
    if os.geteuid():
        return []
    nobody = ["setpriv", *NOBODY, *NO_RIGHTS]
    tried = [*nobody, "sh", "-c", '"$0" --version', str(BIN / "rtstone")]
    done = subprocess.run(tried, capture_output=True, check=False)
    return ["setpriv", *NO_RIGHTS] if done.returncode else nobody


def answer(script: Path, arguments: list[str], begin_with: list[str]) -> Answer:
    """Run a script in a directory and a store of its own."""
    with tempfile.TemporaryDirectory(prefix="rtstone-users-") as name:
        place = Path(name)
        place.chmod(0o777)
        here = os.environ | {
            "RTSTONE_HOME": str(place / "home"), "PATH": f"{BIN}:{os.environ['PATH']}",
            "MPLCONFIGDIR": name,
        }  # fmt: skip
        started = [sys.executable, str(script)] if script.suffix == ".py" else ["sh", str(script)]
        begin = time.monotonic()
        done = subprocess.run(
            [*begin_with, *started, *arguments], cwd=place, env=here,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=LONGEST, check=False,
        )  # fmt: skip
        seconds = time.monotonic() - begin
        files = sorted(path for path in place.iterdir() if path.is_file())
        texts = [path.read_text("utf-8", "replace") for path in files if path.suffix in TEXT]
        names = " ".join(path.name for path in files)
        return Answer(done.returncode, seconds, "\n".join([done.stdout, names, *texts]))


def lacks(holds: Holds, text: str) -> list[str]:
    """Return what an answer is said to hold and does not."""
    return [hold for hold, pattern in holds.items() if not re.search(pattern, text)]


def arguments(user: User, seconds: int) -> list[str]:
    """Return what makes rtstone's script measure each case for so long."""
    if user.fixed or user.name == LAB:
        return []
    return [f"time={seconds}s"] if user.name.endswith(".py") else ["--time", str(seconds)]


def answers_of(user: User, seconds: int) -> tuple[list[str], list[str]]:
    """Run both scripts; return rows of the table, and what is not as it is said to be."""
    begin_with = powerless() if user.nobody else []
    scripts = EXAMPLES / user.name, OTHERS / user.name
    measured = user.fixed or seconds
    answers = [
        answer(scripts[0], arguments(user, seconds), begin_with),
        answer(scripts[1], [str(measured)], begin_with),
    ]
    least = user.cases * measured
    lasts = ["-" if user.name == LAB else least, least]
    holding = user.ours, user.theirs
    rows, wrong = [], []
    for script, reply, holds, lasting in zip(scripts, answers, holding, lasts, strict=True):
        name = script.relative_to(EXAMPLES.parent)
        count = written(script)
        rows.append(f"| {user.who} | `{name}` | {count.commands} | {count.lines}"
                    f" | {reply.seconds:.0f} | {lasting} | {reply.status} |")  # fmt: skip
        wrong += [f"{name}: does not hold {lack}" for lack in lacks(holds, reply.text)]
    return rows, wrong


def main() -> int:
    """Print the tables; return 1 if an answer does not hold what it is said to hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=20, help="of each case")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of scripts; default: all")
    options = parser.parse_args()
    if unknown := set(options.names) - {user.name for user in USERS}:
        parser.error(f"no script {', '.join(sorted(unknown))} in examples/")
    if missing := [tool for tool in ("cyclictest", "stress-ng") if not shutil.which(tool)]:
        print(f"not run, {', '.join(missing)} missing (apt-get install rt-tests stress-ng)")
        return 0
    users = [user for user in USERS if not options.names or user.name in options.names]
    wrong: list[str] = []
    print(f"{options.seconds} s a case. Loops are typed once; lines are of all that is written.")
    print(
        "| user | script | commands | lines | seconds | of them measuring | exit status |\n"
        "|---|---|---|---|---|---|---|"
    )
    for user in users:
        rows, lacking = answers_of(user, options.seconds)
        print(*rows, sep="\n", flush=True)
        wrong += lacking
    print("\n| user | only rtstone's answer holds | only the other answer holds |\n|---|---|---|")
    for user in users:
        print(f"| {user.who} | {'; '.join(user.ours)} | {'; '.join(user.theirs) or '-'} |")
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
