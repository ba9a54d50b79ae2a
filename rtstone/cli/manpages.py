"""The manual pages: rtstone(1) and one page per command, from the commands themselves.

`make man` writes them into build/man; the Debian package installs them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from inspect import cleandoc
from pathlib import Path

import click

from rtstone import __version__
from rtstone.cli.group import COMMANDS, group
from rtstone.cli.pager import LESS
from rtstone.documentation import PACKAGED, packaged

EXITS = {
    0: "Success.",
    1: "A gate failed, or something is bad (check, doctor).",
    2: "The command line or an input file is wrong; nothing was measured.",
    3: "Inconclusive: some cases have no valid result.",
    4: "The target failed, or results could not be stored or restored.",
    70: "An internal error; the message names the file with its traceback.",
    130: "Interrupted.",
}
ENVIRONMENT = {
    "RTSTONE_HOME": "Where runs are stored; default: rtstone in $XDG_DATA_HOME, or in "
    "~/.local/share.",
    "RTSTONE_AGENT": "The agent for target local; default: that of the installation.",
    "RTSTONE_LABGRID_PYTHON": "The Python that has labgrid, for its places; default: that of "
    "labgrid-client.",
    "XDG_CACHE_HOME": "Where kernels of emulated targets are kept (in rtstone); default: ~/.cache.",
    "TMPDIR": "Where loads leave their files; default: /var/tmp.",
    "NO_COLOR": "If set, nothing is coloured.",
    "PAGER": "What shows output longer than a terminal; default: less, which q or Ctrl-C leaves; "
    "cat: none.",
    "LESS": f"Options of less; default: {LESS}.",
}
FILES = {
    "~/.local/share/rtstone/runs": "The runs, a directory each.",
    "/var/lib/rtstone/tune.journal": "What `rtstone tune` has changed and has yet to restore.",
    f"{PACKAGED}": "The documentation: begin with start/tutorial.md; "
    "guides/security.md says what the group rtstone may do.",
}


def pages(date: str) -> dict[str, str]:
    """Return the text of each page by file name."""
    texts = {"rtstone.1": _main_page(date)}
    for name, summary in COMMANDS.items():
        command = group.get_command(click.Context(group), name)
        assert command
        texts[f"rtstone-{name}.1"] = _page(f"rtstone {name}", command, summary, date)
    return {name: packaged(text) for name, text in texts.items()}


def _main_page(date: str) -> str:
    with _context(group, "rtstone") as context:
        lines = [
            *_head("rtstone", group.help or "", date),
            *_section("SYNOPSIS", *_synopsis(context)),
            *_section(
                "DESCRIPTION",
                *_paragraphs(
                    "rtstone measures how real-time an operating system is: one set of "
                    "measurements on Linux, on an RTOS, on emulated boards and on simulated "
                    "systems, under a defined load, with every sample accounted for.  Without a "
                    "command it prints what there is; `rtstone run` measures this system in about "
                    "a minute."
                ),
            ),
            *_section("COMMANDS", *_terms({f"rtstone-{n}(1)": t for n, t in COMMANDS.items()})),
            *_section("OPTIONS", *_options(context)),
        ]
    lines += _section("EXIT STATUS", *_terms({str(code): text for code, text in EXITS.items()}))
    lines += [*_section("ENVIRONMENT", *_terms(ENVIRONMENT)), *_section("FILES", *_terms(FILES))]
    return "\n".join([*lines, *_see([f"rtstone-{name}" for name in COMMANDS]), ""])


def _page(name: str, command: click.Command, summary: str, date: str) -> str:
    inner: dict[str, click.Command] = getattr(command, "commands", {})
    alone = not inner or getattr(command, "invoke_without_command", False)
    parts = {name: command} if alone else {}
    parts |= {f"{name} {part}": subcommand for part, subcommand in inner.items()}
    usage: list[str] = []
    options: list[str] = []
    for path, part in parts.items():
        with _context(part, path) as context:
            usage += [*([".br"] if usage else []), *_synopsis(context)]
            if part is not command:
                paragraphs = _paragraphs(part.help or "")
                options += _section(_text(path).upper(), *paragraphs, *_options(context))
            else:
                options += _section("OPTIONS", *_options(context))
    lines = [*_head(name, summary, date), *_section("SYNOPSIS", *usage)]
    lines += _section("DESCRIPTION", *_paragraphs(command.help or ""))
    lines += [*options, *(_section("NOTES", *_paragraphs(command.epilog or "")))]
    lines += _section("EXIT STATUS", "As described in rtstone(1).")
    return "\n".join([*lines, *_see(["rtstone"]), ""])


def _context(command: click.Command, name: str) -> click.Context:
    return click.Context(command, info_name=name, **group.context_settings)


# ---- parts --------------------------------------------------------------------------------------


def _head(name: str, summary: str, date: str) -> list[str]:
    page, title = name.replace(" ", "-"), summary.rstrip(".")
    return [
        '.\\" Made from the commands; see rtstone/cli/manpages.py.',
        f'.TH {page.upper()} 1 "{date}" "rtstone {__version__}" "User Commands"',
        ".SH NAME",
        f"{_text(page)} \\- {_text(title[:1].lower() + title[1:])}",
    ]


def _synopsis(context: click.Context) -> list[str]:
    pieces = context.command.collect_usage_pieces(context)
    assert context.info_name
    return [f".B {_text(context.info_name)}", _text(" ".join(pieces))]


def _options(context: click.Context) -> Iterator[str]:
    for param in context.command.get_params(context):
        record = param.get_help_record(context)
        if record and record[1]:
            yield from (".TP", f"\\fB{_text(record[0])}\\fR", *_paragraphs(record[1], tight=True))


def _terms(terms: dict[str, str]) -> Iterator[str]:
    for term, text in terms.items():
        yield from (".TP", f"\\fB{_text(term)}\\fR", *_paragraphs(text, tight=True))


def _see(names: list[str]) -> list[str]:
    last = len(names) - 1
    named = [f".BR {_text(n)} (1){',' if at < last else ''}" for at, n in enumerate(names)]
    return [".SH SEE ALSO", *named]


def _section(title: str, *lines: str) -> list[str]:
    """Return a section, none if there is nothing in it; it begins without the break of a line."""
    body = lines[1:] if lines[:1] == (".PP",) else lines
    return [f".SH {title}", *body] if body else []


def _paragraphs(text: str, *, tight: bool = False) -> Iterator[str]:
    """Yield the lines of a text; a paragraph that begins with \\b is left as it is."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", cleandoc(text)) if text else []):
        if number or not tight:
            yield ".IP" if tight else ".PP"
        if paragraph.startswith("\b"):
            verbatim = paragraph.splitlines()[1:]
            yield from (".nf", *map(_text, verbatim), ".fi")
        else:
            sentences = re.split(r"(?<=[.:;])\s{2,}", paragraph.replace("\n", " ").strip())
            yield from map(_text, sentences)  # each on a line of its own, as roff wants it


_ESCAPED = {"\\": "\\e", "-": "\\-", "~": "\\(ti", "^": "\\(ha", "'": "\\(aq"}


def _text(text: str) -> str:
    """Return a text as roff prints it; what stands between backticks is bold."""
    parts = ["".join(_ESCAPED.get(letter, letter) for letter in part) for part in text.split("`")]
    if len(parts) % 2 == 0:  # an odd backtick is one
        parts[-2:] = [f"{parts[-2]}\\(ga{parts[-1]}"]
    marked = "".join(
        f"\\fB{part}\\fR" if number % 2 else " ".join(part.split("  ")) if number else part
        for number, part in enumerate(parts)
    )
    return f"\\&{marked}" if marked.startswith(".") else marked


def main() -> None:
    """Write the pages into the directory that is named."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.now(UTC).timestamp())
    date = datetime.fromtimestamp(epoch, UTC).date().isoformat()
    for name, text in pages(date).items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
