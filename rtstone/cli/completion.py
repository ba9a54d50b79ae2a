"""`rtstone completion`, and the answers to shells that complete a command line.

A shell's script starts rtstone with the variable ASKED and the line up to the cursor in COMP_LINE;
bash also tells in COMP_WORDBREAKS where it parts words.  The answer is a line per word: its kind
(`plain`, or `file` for any file), the word, what it is, parted by tabs.
Nothing is measured for it and nothing is kept; an error leaves the answer empty.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from typing import NamedTuple, NoReturn

import click

from rtstone.cli.group import COMMANDS, Lazy, group
from rtstone.errors import UsageError

ASKED = "_RTSTONE_COMPLETE"
LIMIT_S = 3  # then a shell gets no answer
HELP = 60  # characters of what a word is
RUNS = 50  # newest runs to choose from
_NAME = re.compile(r"[A-Za-z0-9][\w.:/+~-]*", re.ASCII)  # what no shell takes for more than a word

_BASH = """\
# bash completion of rtstone; made by `rtstone completion bash`
_rtstone() {
    local kind word what
    COMPREPLY=()
    while IFS=$'\\t' read -r kind word what; do
        case $kind in
            plain) COMPREPLY+=("$word") ;;
            file) compopt -o default ;;
        esac
    done < <(
        COMP_LINE=${COMP_LINE:0:COMP_POINT} COMP_WORDBREAKS=$COMP_WORDBREAKS \\
            _RTSTONE_COMPLETE=1 "$1" 2>/dev/null
    )
}
complete -o nosort -F _rtstone rtstone
"""

_ZSH = """\
#compdef rtstone
# zsh completion of rtstone; made by `rtstone completion zsh`
_rtstone() {
    local kind word what
    local -a found shown
    COMP_LINE="${(j: :)words[1,CURRENT]}" _RTSTONE_COMPLETE=1 ${words[1]} 2>/dev/null |
    while IFS=$'\\t' read -r kind word what; do
        case $kind in
            plain) found+=("$word"); shown+=("$word${what:+  -- $what}") ;;
            file) _files ;;
        esac
    done
    (( $#found )) && compadd -l -V rtstone -d shown -a found
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _rtstone "$@"
else
    compdef _rtstone rtstone
fi
"""

_FISH = """\
# fish completion of rtstone; made by `rtstone completion fish`
function __rtstone
    set -l tab (printf '\\t')
    set -l program (commandline -opc)[1]
    for line in (COMP_LINE=(commandline -cp) _RTSTONE_COMPLETE=1 $program 2>/dev/null)
        set -l parts (string split $tab -- $line)
        switch $parts[1]
            case plain
                printf '%s\\t%s\\n' $parts[2] $parts[3]
            case file
                __fish_complete_path (commandline -ct)
        end
    end
end
complete --keep-order --no-files --command rtstone --arguments '(__rtstone)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(list(SCRIPTS)))
def command(shell: str) -> None:
    """Print the completion script of a shell: bash, zsh or fish.

    It completes commands, options, and the names of benches, suites, loads, targets and runs.
    Debian's package installs it.  Otherwise:

    \b
        rtstone completion bash > ~/.local/share/bash-completion/completions/rtstone
        rtstone completion fish > ~/.config/fish/completions/rtstone.fish
        rtstone completion zsh > DIR/_rtstone   # DIR in fpath, before compinit
    """
    click.echo(SCRIPTS[shell], nl=False)


# ---- names --------------------------------------------------------------------------------------


class Word(NamedTuple):
    """A word to choose, and what it is."""

    word: str
    what: str = ""


Words = Iterator[Word]


def _rows(kind: str) -> Words:
    from rtstone.cli.list import KINDS

    rows, (name, *_) = KINDS[kind]
    for row in rows():
        yield Word(row[name], row["title"])


_benches, _loads, _suites = (partial(_rows, kind) for kind in ("benches", "loads", "suites"))


def _targets() -> Words:
    from rtstone.cli.list import kind_rows, named_rows

    with suppress(UsageError):  # a targets file has a mistake
        yield from [Word(row["name"], row["title"]) for row in named_rows()]
    yield from [Word(row["name"], row["title"]) for row in kind_rows()]


def _runs() -> Words:
    from rtstone.store.index import entries
    from rtstone.store.layout import runs

    if not runs().is_dir():
        return
    newest = entries()[::-1][:RUNS]
    if newest:
        yield Word("last", "the last run with results")
    for entry in newest:
        what = f"{entry.suite or entry.benches} on {entry.target}, {entry.status}"
        yield Word(entry.run_id, what)
        if entry.name:
            yield Word(entry.name, what)


def _kinds() -> Words:
    from rtstone.cli.list import KINDS
    from rtstone.cli.list import RUNS as RUNS_TOO

    yield from map(Word, [*KINDS, RUNS_TOO])


def _publications() -> Words:
    from rtstone.stats.published.layout import names

    yield from map(Word, names())


def _documents() -> Words:
    from rtstone.documents.schemas import DOCUMENTS

    yield from map(Word, DOCUMENTS)


def _writers() -> Words:
    from rtstone.formats.registry import WRITERS

    yield from map(Word, WRITERS)


def _explanations() -> Words:
    from rtstone.cli.explain import FORMATS

    yield from (Word(name, what) for name, what in FORMATS.items())


def _samples() -> Words:
    from rtstone.stats.explainable import MEDIAN, WORST
    from rtstone.summary import PERCENTILES

    yield from map(Word, [WORST, MEDIAN, *PERCENTILES])


def _readers() -> Words:
    from rtstone.formats.registry import READERS

    yield from map(Word, READERS)


def _figures() -> Words:
    from rtstone.plot.draw import KINDS

    yield from map(Word, KINDS)


def _systems() -> Words:
    from rtstone.lab.systems import SYSTEMS

    yield from map(Word, SYSTEMS)


def _stored() -> Words:
    from rtstone.lab.removal import names

    yield from map(Word, names())


def _boards() -> Words:
    from rtstone.lab.build import RECIPES
    from rtstone.lab.systems import BOARDS

    yield from (Word(name, BOARDS[name].title) for name in RECIPES)


def _architectures() -> Words:
    from rtstone.resources import architectures

    for one in architectures():
        yield Word(one.name, f"`uname -m` says {' or '.join(one.machines)}")


def _settings() -> Words:
    from rtstone.system.settings import SETTINGS

    yield from map(Word, (setting.name for setting in SETTINGS))


Source = Callable[[], Words]


class Value(NamedTuple):
    """What a parameter's value is: names from sources, a file or not, one of several in a list."""

    sources: tuple[Source, ...] = ()
    file: bool = False
    listed: bool = False  # values are parted by commas


_RUN = Value((_runs,), file=True, listed=True)
_FILE = Value(file=True)

# By metavar, as in the help.
VALUES = {
    "RUN": _RUN, "RUN...": _RUN, "[RUN]...": _RUN, "RUN[,RUN]...": _RUN, "RUN,RUN...": _RUN,
    "RUN[,RUN]... or SUITE or BENCH...": Value((_runs, _suites, _benches), True, True),
    "[SUITE or BENCH]...": Value((_suites, _benches), file=True),
    "SOURCE": Value((_publications,)),
    "B": Value((_benches,)),
    "BENCH...": Value((_benches,)),
    "L": Value((_loads,)),
    "T": Value((_targets,)),
    "A": Value((_architectures,)),
    "A B": Value((_targets,)),
    "FILE": _FILE, "FILE...": _FILE, "FILE.html": _FILE, "FILE.md": _FILE, "DIR": _FILE,
    "[benches|suites|loads|targets|runs|NAME]": Value((_kinds, _benches, _loads)),
}  # fmt: skip

# By command and parameter, where a metavar says too little.
OTHERS = {
    ("list", "suite"): Value((_suites,)),
    ("list", "bench"): Value((_benches,)),
    ("guarantee", "bench"): Value((_benches,)),
    ("schema", "name"): Value((_documents,)),
    ("export", "form"): Value((_writers,)),
    ("explain", "bench"): Value((_benches,)),
    ("explain", "sample"): Value((_samples,)),
    ("explain", "against"): Value((_samples,)),
    ("explain", "form"): Value((_explanations,)),
    ("plot", "kind"): Value((_figures,)),
    ("import", "form"): Value((_readers,)),
    ("fetch", "names"): Value((_systems,), file=True),
    ("remove", "names"): Value((_stored,)),
    ("build-kernel", "source"): _FILE,
    ("build-kernel", "board"): Value((_boards,)),
    ("build-kernel", "fragments"): _FILE,
    ("apply", "only"): Value((_settings,), listed=True),
}


class Names(click.ParamType[str]):
    """The type of a parameter whose value can be completed."""

    name = "text"

    def __init__(self, value: Value) -> None:
        self.value = value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Return the words that begin with the last one of ``incomplete``."""
        from click.shell_completion import CompletionItem

        before, comma, begun = incomplete.rpartition(",") if self.value.listed else ("", "", "")
        begun = begun if comma else incomplete
        found = {
            word: what
            for source in self.value.sources
            for word, what in source()
            if word.startswith(begun) and _NAME.fullmatch(word)
        }
        items = [CompletionItem(before + comma + word, help=what) for word, what in found.items()]
        return items or ([CompletionItem(incomplete, type="file")] if self.value.file else [])


class _Completing(Lazy):
    """The group, with types that complete values, and without an import for a list of commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        return completing(super().get_command(ctx, cmd_name))

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]


def completing(command: click.Command) -> click.Command:
    """Return a copy of a command whose parameters, and those of commands in it, are completed."""
    command = copy(command)
    if isinstance(command, click.Group):
        command.commands = {name: completing(one) for name, one in command.commands.items()}
    command.params = [_completing(param, command.name or "") for param in command.params]
    return command


def _completing(param: click.Parameter, command: str) -> click.Parameter:
    value = OTHERS.get((command, param.name or "")) or VALUES.get(param.metavar or "")
    if value and not isinstance(param.type, click.Choice):
        param = copy(param)
        param.type = Names(value)
    return param


# ---- the answer ---------------------------------------------------------------------------------


def answer(line: str, breaks: str = "") -> list[str]:
    """Return the lines of the answer to a line that ends at the cursor.

    ``breaks``: characters at which the shell parts words, so that it replaces only what follows.
    """
    from click.shell_completion import ShellComplete, split_arg_string

    words = split_arg_string(line)[1:]
    begun = "" if not words or line[-1:].isspace() else words.pop()
    whole = _Completing(name="rtstone", params=group.params, callback=group.callback)
    items = ShellComplete(whole, {}, "rtstone", ASKED).get_completions(words, begun)
    option = begun[: begun.find("=") + 1] if begun.startswith("--") else ""
    return list(_lines(items, option, max((begun.rfind(b) + 1 for b in breaks), default=0)))


def _lines(
    items: Sequence[click.shell_completion.CompletionItem], option: str, unasked: int
) -> Iterator[str]:
    from rtstone.printable import line

    for item in items:
        if item.type == "file":
            yield "file"
        else:
            what = line(item.help or "")[:HELP]
            yield f"plain\t{(option + str(item.value))[unasked:]}\t{what}"


def respond() -> NoReturn:
    """Answer the shell that has set ASKED, and end."""
    # Whatever happens, a shell that waits for it must not show anything else.
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
    signal.alarm(LIMIT_S)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        found = answer(os.environ.get("COMP_LINE", ""), os.environ.get("COMP_WORDBREAKS", ""))
        sys.stdout.write("".join(f"{line}\n" for line in found))
        sys.stdout.flush()
    finally:
        os._exit(0)
