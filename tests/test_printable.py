"""Text from outside reaches terminals, Markdown and TOML files without control characters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from rtstone import printable
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.store.index import find
from rtstone.wire.records import Log, decode_body
from tests.conftest import Cli, Fake
from tests.formats.long import DATA
from tests.report import synthetic

# Colour, the same by ISO 6429, window title, right-to-left, a line end for some, deletion.
ODD = "a\x1b[31mb\x9b31mc\x1b]0;t\x07d\u202ee\u2028f\x7fg\u2066h\rI"
SHOWN = "a?[31mb?31mc?]0;t?d?e f?g?h I"
# Members of a run that hold no free text.
PLAIN = {"schema", "status", "unit", "run_id", "type", "created", "statistic", "growth"}


def harmless(text: str) -> bool:
    """Return whether a terminal displays all characters and interprets none."""
    return all(letter == "\n" or unicodedata.category(letter)[0] not in "C" for letter in text)


def test_what_is_shown() -> None:
    assert printable.shown(ODD) == SHOWN
    assert printable.line("  a\n\t b ") == "a b"
    for letters in ("1\u202f000 µs", "\N{MINUS SIGN}\N{HIRAGANA LETTER A}\N{NO-BREAK SPACE}"):
        assert printable.shown(letters) == letters
    assert str(UsageError(ODD)) == printable.line(ODD)


@given(st.recursive(st.text() | st.none(), lambda children: st.lists(children) | st.dictionaries(
    st.text(), children
), max_leaves=12))  # fmt: skip
def test_every_string_of_a_document(value: Any) -> None:
    def strings(node: Any) -> list[str]:
        match node:
            case str():
                return [node]
            case list():
                return [text for item in node for text in strings(item)]
            case dict():
                return [text for pair in node.items() for item in pair for text in strings(item)]
        return []

    document = printable.parsed(
        json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), object
    )
    assert all(map(harmless, strings(document)))
    assert len(strings(document)) == len(strings(value))
    escaped = json.dumps(printable.every(value)).encode()
    assert printable.parsed(escaped, object) == printable.every(value)


def test_a_plain_document_is_not_gone_through() -> None:
    assert printable.plainly(msgspec.json.format(msgspec.json.encode(synthetic_run(plain=True))))
    for odd in (b'"\\u001b"', b'"\\n"', b'"\x7f"', '"\x9b"'.encode(), '"\u202e"'.encode()):
        assert not printable.plainly(odd)


def synthetic_run(*, plain: bool = False) -> Run:
    """Return a run with the odd text wherever one is possible."""
    document = msgspec.to_builtins(synthetic.run())

    def odd(value: Any, key: str = "") -> Any:
        match value:
            case str() if plain or key in PLAIN:
                return printable.shown(value)
            case str():
                return f"{value}{ODD}" if value else value
            case list() | tuple():
                return [odd(item, "bench" if key == "flags" else key) for item in value]
            case dict():
                return {printable.shown(k) if plain else k: odd(v, k) for k, v in value.items()}
        return value

    return msgspec.convert(odd(document), Run)


@pytest.fixture(scope="module")
def document() -> bytes:
    return msgspec.json.encode(structs.replace(synthetic_run(), run_id="foreign"))


@pytest.fixture
def foreign(home: Path, document: bytes) -> str:
    """Store a run whose document came from elsewhere."""
    path = home / "runs" / "foreign"
    path.mkdir(parents=True)
    (path / "run.json").write_bytes(document)
    (path / "plan.json").touch()
    return "foreign"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "RUN"], ["show", "RUN", "--json"], ["show", "RUN", "--worst-case"],
        ["list", "runs"], ["compare", "RUN", "RUN"], ["guarantee", "RUN"],
        ["report", "RUN", "-o", "OUT"], ["check", "RUN", "--write-budget", "OUT"],
        ["export", "RUN", "--format", "csv"], ["export", "RUN", "--format", "openmetrics"],
    ],
)  # fmt: skip
def test_a_foreign_document(cli: Cli, foreign: str, tmp_path: Path, arguments: list[str]) -> None:
    out = tmp_path / "out"
    places = {"RUN": foreign, "OUT": str(out)}
    done = cli(*(places.get(word, word) for word in arguments))
    assert done.status in {0, 2, 3}
    assert done.out or done.err or out.exists()
    assert harmless(done.out.replace("\r\n", "\n"))  # as in CSV
    assert harmless(done.err)
    if out.exists() and "report" not in arguments:
        assert harmless(out.read_text())


def test_the_gate_of_a_foreign_document(cli: Cli, foreign: str, tmp_path: Path) -> None:
    file, out = tmp_path / "budget.toml", tmp_path / "gate.md"
    document = json.dumps(f"{ODD}", ensure_ascii=True)
    file.write_text(
        f'title = {document}\n[[case]]\nbench = "*"\nmax = "1ns"\np50 = "1ns"\n',
    )
    done = cli("check", foreign, "--budget", file, "--markdown", out)
    assert done.status in {1, 3}
    assert "?[31m" in done.out
    assert harmless(done.out + out.read_text())


def test_records_of_an_agent() -> None:
    document = {"t": "log", "level": "info", "text": ODD}
    for escaped in (True, False):
        data = json.dumps(document, ensure_ascii=escaped, separators=(",", ":")).encode()
        assert decode_body(data) == Log("info", SHOWN)


def test_a_file_of_another_tool(cli: Cli, tmp_path: Path) -> None:
    value = json.loads((DATA / "cyclictest-2.4-bare.json").read_text())
    value = {key.rstrip(":"): item for key, item in value.items()}
    value["sysinfo"]["release"] = ODD
    value["cmdline"] = f"cyclictest {ODD}"
    value["rt_test_version"] = "2.5 \ud800"
    file = tmp_path / "\x1b[31m.json"
    file.write_text(json.dumps(value))
    done = cli("import", file, "--format", "cyclictest-json", "--json")
    assert done.status == 0, done.err
    assert harmless(done.out)
    assert harmless((find("last") / "run.json").read_text())
    assert "?[31m" in json.dumps(done.document["conditions"])


# ---- bytes that are not UTF-8, closed streams ----------------------------------------------------

X = os.fsdecode(b"\xff\033")  # Python's form of such an argument or file name


def rtstone(script: str) -> subprocess.CompletedProcess[bytes]:
    """Run a shell line in which R is rtstone and X a name that is not UTF-8."""
    main = f"{sys.executable} -c 'from rtstone.cli.main import main; main()'"
    shell = f"X=$(printf '\\377\\033')\nR() {{ {main} \"$@\"; }}\n{script}"
    return subprocess.run(["bash", "-c", shell], capture_output=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        "show X", "X", "list X", "run X", "run null -p X=1", "run null --target X",
        "run null --load X", "import X", "check last --budget X", "compare last X",
        "export last --format X", "simulate X", "reproduce X", "guarantee X", "tune X",
    ],
)  # fmt: skip
def test_arguments_that_are_not_utf8(fake: Fake, cli: Cli, arguments: str) -> None:
    done = cli(*arguments.replace("X", X).split(" "))
    assert done.status == 2, done
    assert harmless(done.says)
    assert harmless(done.err)


def test_files_whose_names_are_not_utf8(
    fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"{X}.json").write_bytes((DATA / "cyclictest-2.4-bare.json").read_bytes())
    Path(f"{X}.toml").write_text('[[case]]\nbench = "null"\n')
    Path(f"{X}.b.toml").write_text('[[case]]\nbench = "null"\nmax = "1h"\n')
    for arguments, status in [
        ("run X.toml", 0),
        ("run X.toml --json", 0),
        ("run null --out X", 0),
        ("show X", 0),
        ("report X -o X.html", 0),
        ("check X --budget X.b.toml --json", 2),
        ("check X --budget X.toml", 2),
        ("import X.json", 0),
        ("import X.json --json", 0),
        ("show last --json", 0),
        ("list runs", 0),
    ]:
        done = cli(*arguments.replace("X", X).split(" "))
        assert done.status == status, (arguments, done)
        assert harmless(done.out + done.err)
    assert Path(f"{X}.html").stat().st_size


def test_a_process_whose_arguments_are_not_utf8(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text('[[case]]\nbench = "null"\n')
    for script, status in [
        ("cp suite.toml $X.toml; R run $X.toml", 0),
        ("R show last --json", 0),
        ("R show $X", 2),
    ]:
        done = rtstone(f"cd {tmp_path}\n{script}")
        assert done.returncode == status, (script, done)
        assert harmless((done.stdout + done.stderr).decode())
        assert status == 0 or done.stderr.startswith(b"rtstone: ")


@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", "<&- >&- 2>&-", "</dev/null >&- 2>&-"])
def test_closed_streams(fake: Fake, closed: str) -> None:
    for command, status in [("run null", 0), ("show last", 0), ("import -", 2)]:
        done = rtstone(f"R {command} {closed}")
        assert done.returncode == status, (command, done)
        assert b"defect" not in done.stderr
