"""`rtstone completion`, and the answers to shells that complete a command line.

A shell's script starts rtstone with the variable ASKED and the line up to the cursor in COMP_LINE;
bash also says in COMP_WORDBREAKS where it parts words.  The answer is a line per word: its kind
(`plain`, or `file` for any file), the word, what it is, parted by tabs.
Nothing is measured for it and nothing is kept; an error leaves the answer empty.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

import click

from rtstone.cli.group import COMMANDS, Lazy, group

ASKED = "_RTSTONE_COMPLETE"
LIMIT_S = 3  # then a shell gets no answer
HELP = 60  # characters of what a word is

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


class _Completing(Lazy):
    """The group, whose commands are listed without an import."""

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


# ---- the answer ---------------------------------------------------------------------------------


def answer(line: str, breaks: str = "") -> list[str]:
    """Return the lines of the answer to a line that ends at the cursor.

    ``breaks``: characters at which the shell parts words, so that it replaces only what follows.
    """
    from click.shell_completion import ShellComplete, split_arg_string

    from rtstone.printable import line as printable

    words = split_arg_string(line)[1:]
    begin = "" if not words or line[-1:].isspace() else words.pop()
    commands = _Completing(name="rtstone", params=group.params, callback=group.callback)
    items = ShellComplete(commands, {}, "rtstone", ASKED).get_completions(words, begin)
    option = begin[: begin.find("=") + 1] if begin.startswith("--") else ""
    present = max((begin.rfind(letter) + 1 for letter in breaks), default=0)
    lines = []
    for item in items:
        if item.type == "file":
            lines.append("file")
        else:
            word = (option + str(item.value))[present:]
            lines.append(f"plain\t{word}\t{printable(item.help or '')[:HELP]}")
    return lines


def respond() -> NoReturn:
    """Answer the shell that has set ASKED, and end."""
    # Whatever happens, a shell that waits for it must not show anything else.
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
    signal.alarm(LIMIT_S)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        lines = answer(os.environ.get("COMP_LINE", ""), os.environ.get("COMP_WORDBREAKS", ""))
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
    finally:
        os._exit(0)
