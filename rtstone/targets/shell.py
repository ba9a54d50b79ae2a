"""The files of another machine, through one shell of POSIX that runs there.

The shell takes its commands from a pipe: it ends, and gives up what it holds, when this process or
the connection does.  Nothing is put there; `cat`, `dd`, `ls` and `xargs` of busybox will do.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import select
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property

from rtstone.errors import TargetError
from rtstone.system.files import NOT_OURS, Files
from rtstone.targets.process import ending, start

LARGEST = 256 << 20  # bytes of an answer
SILENT_S = 45.0  # time limit for the next byte of an answer: ssh reports a dead link before
CLOSE_S = 5.0  # time limit for the shell to end
_GLOB = re.compile(r"[\w./*\[\]-]+", re.ASCII)  # has nothing that a shell would take otherwise
_ERRORS = {os.strerror(number): number for number in errno.errorcode}
_FAILURE = re.compile(rb"(?:^|\n)cat: [^\n]*\n\Z")  # how `cat` ends where it could not read

# What the methods use.  Between files, `cat` is made to print its own environment, which holds a
# mark that nobody can foresee; reading each with a program of its own would take too long.
_FUNCTIONS = r"""
LC_ALL=C; export LC_ALL; umask 022
marked() { env -i PATH="$PATH" MARK={mark} "$@"; }
look() {
    printf '%s\000' "$@"
    marked cat /proc/self/environ
    printf '%s\000/proc/self/environ\000' "$@" | marked xargs -0 cat 2>&1
}
links() { for file; do [ ! -h "$file" ] || printf '%s\000' "$file"; done; }
put() {
    [ -e "$1" ] || { echo "$1: No such file or directory"; return 1; }
    printf %s "$2" | dd of="$1" bs=4096 2>&1
}
ours() {
    for file; do
        [ ! -h "$file" ] && { [ -f "$file" ] || [ -d "$file" ]; } || return 1
        case $(ls -ldn "$file") in ?????w* | ????????w*) return 1 ;; esac
        set -- $(ls -ldn "$file")
        [ "$3" = 0 ] || [ "$3" = "$(id -u)" ] || return 1
    done
}
kept() {
    [ ! -e "$1" ] || [ -x "$1" ] || { echo "$1: Permission denied"; return 1; }
    [ -e "$1/$2" ] || [ -h "$1/$2" ] || { echo "$2: No such file or directory"; return 1; }
    ours "$1" && ours "$1/$2" || { echo "$2: Operation not permitted"; return 1; }
    cat "$1/$2" 2>&1
}
held() {
    [ -d "$1" ] || mkdir -p "$1" 2>&1 || return 1
    ours "$1" || { echo "$1: Operation not permitted"; return 1; }
    command exec 9<"$1" || return 1
    flock -n 9 2>/dev/null && return
    case $? in
        1) echo "$1: Resource temporarily unavailable" ;;
        *) echo "flock, of util-linux or busybox, is not there" ;;
    esac
    exec 9<&-
    return 1
}
append() {
    [ ! -h "$1/$2" ] || { echo "$2: Operation not permitted"; return 1; }
    printf %s "$4" | dd of="$1/$2" bs=1 seek="$3" 2>&1 || return 1
    synced "$1/$2" "$1"
}
synced() { sync "$@" 2>/dev/null || sync; }
"""


class Shell:
    """A shell at the other end of a command.  Raises TargetError if it does not run.

    ``place``: where it runs, for messages.  ``lost`` says that its connection has ended, and how.
    """

    def __init__(
        self, command: Sequence[str], place: str, lost: Callable[[], str] | None = None
    ) -> None:
        self._place = place
        self._lost = lost or (lambda: f"the connection to {place} was lost")
        self.mark = secrets.token_hex(16)
        self._end = re.compile(rf"\x00{self.mark} (\d+)\n\Z".encode())
        self._process, self._words = start(command)
        self.run(_FUNCTIONS.replace("{mark}", self.mark))  # drops what a login prints

    def run(self, text: str) -> tuple[int, bytes]:
        """Return the status and the output of commands.  Raises TargetError if they get lost."""
        framed = f"{{ {text}\n}} </dev/null; printf '\\000%s %s\\n' {self.mark} $?\n"
        assert self._process.stdin is not None
        if self._process.stdin.closed:
            raise TargetError(self._lost())
        with suppress(BrokenPipeError):  # reading says why
            self._process.stdin.write(framed.encode(errors="surrogateescape"))
        assert self._process.stdout is not None
        output, waiting = bytearray(), select.poll()
        waiting.register(self._process.stdout, select.POLLIN)
        while not (end := self._end.search(output, max(0, len(output) - 64))):
            if len(output) > LARGEST:
                self.close()
                raise TargetError(f"{self._place} answers with more than {LARGEST >> 20} MiB")
            if not waiting.poll(SILENT_S * 1000):
                self.close()
                raise TargetError(
                    f"{self._place} did not answer within {SILENT_S:.0f} s; check its connection "
                    "and load"
                )
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                self._words.seek(0)
                said = ending(self._words.read())
                self.close()
                raise TargetError(f"{self._lost()}{said}")
            output += data
        return int(end[1]), bytes(output[: end.start()])

    def close(self) -> None:
        """End the shell; may be called again."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._words.close()


class ShellFiles(Files):
    """The files that a shell reaches.

    ``place``: the machine, for messages; ``root``: the directory there that holds them.
    """

    to_become_root = "log in as root, or by sudo: ssh:USER@HOST+sudo=yes"

    def __init__(self, shell: Shell, place: str, root: str = "/") -> None:
        self._shell, self._place, self._root = shell, place, root
        status, said = shell.run(f"cd {shlex.quote(root)} && echo $$")
        if status or not said.strip().isdigit():
            raise TargetError(f"no shell answers on {place}; its user needs one that runs sh")
        self.pid = int(said)
        self._forget()

    def _forget(self) -> None:
        """Forget all that was read, as it may be different now."""
        self._patterns: list[str] = []
        self._seen: dict[str, bytes | OSError] = {}
        self._folders: dict[str, list[str]] = {}

    def _output(self, text: str) -> bytes:
        """Return the output of commands.  Raises OSError if they fail."""
        status, output = self._shell.run(text)
        if status:
            raise _error(output)
        return output

    @cached_property
    def _between(self) -> bytes:
        """The separator between files that are read at once."""
        status, printed = self._shell.run("marked cat /proc/self/environ")
        if status or self._shell.mark.encode() not in printed:
            raise TargetError(f"no files can be read on {self._place}: it needs cat, env and /proc")
        return printed

    def where(self, name: str) -> str:
        """Return the place of a file, for messages."""
        return f"{self._root.rstrip('/')}/{name} on {self._place}"

    # ---- reading ---------------------------------------------------------------------------

    def look(self, *patterns: str) -> None:
        """Read all at once what matches these patterns, by one program there."""
        assert all(_GLOB.fullmatch(pattern) for pattern in patterns)
        files = [pattern for pattern in patterns if not pattern.endswith("/")]
        output = self._output(
            f"look {' '.join(files)}; printf '%s\\000' "
            + " ".join(f"{pattern}*" for pattern in patterns if pattern.endswith("/"))
        )
        names, *contents, listed = output.split(self._between)
        paths = names.decode(errors="surrogateescape").split("\0")[:-1]
        if len(paths) != len(contents):
            raise TargetError(f"files could not be read on {self._place}: it needs xargs -0")
        # What these patterns matched before is forgotten.
        self._patterns = [*(old for old in self._patterns if old not in patterns), *patterns]
        self._seen = {n: seen for n, seen in self._seen.items() if not _match(patterns, n)}
        self._folders = {
            n: held for n, held in self._folders.items() if not _match(patterns, f"{n}/")
        }
        for name, data in zip(paths, contents, strict=True):
            failure = _FAILURE.search(data)
            error = _error(failure[0]) if failure else None
            self._seen[name] = error if error and error.errno else data
        for path in listed.decode(errors="surrogateescape").split("\0")[:-1]:
            folder, _, name = path.rpartition("/")
            self._folders.setdefault(folder, [])
            self._folders[folder] += [name] if name != "*" else []

    def read(self, name: str) -> bytes:
        """Return the content of a file, as it is now unless it was looked at."""
        content = self._seen.get(name)
        if isinstance(content, OSError):
            raise OSError(content.errno, content.strerror)  # itself would keep its callers
        if content is not None:
            return content
        if _match(self._patterns, name):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return self._output(f"cat {shlex.quote(name)} 2>&1")

    def names(self, folder: str) -> list[str]:
        """Return what a directory holds, in order."""
        if _match(self._patterns, f"{folder}/"):
            return sorted(self._folders.get(folder, []))
        listed = self._output(f"ls -1A {shlex.quote(folder)} 2>&1")
        return sorted(listed.decode(errors="surrogateescape").splitlines())

    def links(self, pattern: str) -> list[str]:
        """Return the symbolic links that match a pattern, in order."""
        assert _GLOB.fullmatch(pattern)
        links = self._output(f"links {pattern}").decode(errors="surrogateescape")
        return sorted(link for link in links.split("\0") if _match([pattern], link))

    def register(self, name: str, number: int) -> bytes:
        """Raise OSError: what `dd` and `od` read has another size."""
        raise OSError(errno.EOPNOTSUPP, "cannot be read from another machine")

    # ---- settings --------------------------------------------------------------------------

    def write(self, name: str, text: str) -> None:
        """Write to an existing file in one call: `dd` writes at once what it reads at once."""
        self._forget()
        self._output(f"put {shlex.join([name, text or chr(10)])}")

    def make(self, folder: str) -> None:
        """Create a control group."""
        self._forget()
        self._output(f"mkdir {shlex.quote(folder)} 2>&1")

    def remove(self, folder: str) -> None:
        """Remove an empty control group."""
        self._forget()
        self._output(f"rmdir {shlex.quote(folder)} 2>&1")

    # ---- what is kept there ----------------------------------------------------------------

    @contextmanager
    def locked(self, folder: str) -> Iterator[None]:
        """Hold a directory until the block or this process ends."""
        try:
            self._output(f"held {shlex.quote(folder)}")
        except PermissionError as error:
            raise _ours(error) from error
        try:
            yield
        finally:
            with suppress(TargetError):  # with the connection the shell has ended, too
                self._shell.run("exec 9<&-")

    def stored(self, name: str) -> bytes:
        """Return a file that was stored."""
        folder, _, file = name.rpartition("/")
        try:
            return self._output(f"kept {shlex.join([folder, file])}")
        except PermissionError as error:
            raise _ours(error) from error

    def append(self, name: str, line: bytes) -> None:
        """Add a line after the last whole one, and wait until it is on the disk there."""
        folder, _, file = name.rpartition("/")
        try:
            whole = self.stored(name).rfind(b"\n") + 1
        except FileNotFoundError:
            whole = 0
        self._output(f"append {shlex.join([folder, file, str(whole), line.decode()])}")

    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""
        folder = name.rpartition("/")[0]
        self._output(f"rm -f {shlex.quote(name)} 2>&1 && synced {shlex.quote(folder)}")


def _error(output: bytes) -> OSError:
    """Return the error that a program reported."""
    lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    for line in reversed(lines):
        text = line.rpartition(": ")[2]
        if text in _ERRORS:
            return OSError(_ERRORS[text], text)
    return OSError(0, lines[-1] if lines else "it failed there without a word")


def _ours(error: PermissionError) -> PermissionError:
    """Return the error with the reason that a script can only hint at."""
    return PermissionError(errno.EPERM, NOT_OURS) if error.errno == errno.EPERM else error


def _match(patterns: Sequence[str], name: str) -> bool:
    """Return whether a pattern matches a name, or a directory with a slash at its end."""
    return any(
        pattern.endswith("/") == name.endswith("/") and re.fullmatch(_regex(pattern), name)
        for pattern in patterns
    )


@cache
def _regex(pattern: str) -> str:
    return pattern.replace(".", r"\.").replace("*", "[^/]*")
