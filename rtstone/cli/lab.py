"""`rtstone lab`."""

from __future__ import annotations

from pathlib import Path

import click

from rtstone.cli.parameters import BOARD, FILE, JSON, STORED, SYSTEM
from rtstone.cli.progress import working
from rtstone.documents.run import QEMU


@click.group("lab")
def command() -> None:
    """Manage the emulated targets: systems on boards that count instructions.

    Their numbers are the same on every host.
    """


@command.command("list")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--all", "everything", is_flag=True, help="A line for each target.")
@JSON
def list_command(words: tuple[str, ...], *, everything: bool, json: bool) -> None:
    """List the targets: which are ready, what the others lack and how to get it.

    With WORDs, only those that have them all in name, title, board or state: `rtstone lab list
    q35 rt`.
    """
    from rtstone.cli.lab_list import overview, systems, table_lines
    from rtstone.cli.listing import room, show

    listed = systems(words)
    if json:
        from rtstone.cli.output import print_document

        print_document({"schema": "rtstone.lab/1", "systems": [member for member, _ in listed]})
    elif words or everything:
        show(table_lines(listed, room(), whole=bool(words)))
    else:
        show(overview(listed, room()))


@command.command("fetch")
@click.argument("names", nargs=-1, type=SYSTEM)
def fetch_command(names: tuple[str, ...]) -> None:
    """Fetch the Debian kernels of these targets, or of all, and Xen; apt verifies them.

    linux-6.1@6.1.0-56 is that build, if Debian's archive has it; FILE.deb is the package of a
    build from elsewhere, which nobody verifies.
    """
    from rtstone.lab import fetch
    from rtstone.lab.kernels import PREFIX, Kernel

    def show(label: str, kernel: Kernel) -> None:
        click.echo(f"{label}: {kernel.package}, sha256 {kernel.sha256}")

    files = [name for name in names if name.endswith(".deb")]
    targets = tuple(name for name in names if name not in files)
    for name, arch in _wanted(targets) if targets or not names else ():
        label = PREFIX[arch] + name
        with working(f"fetching {label}") as line:
            kernel = fetch.fetch(name, arch, line.echo)
        show(label, kernel)
    for file in files:
        with working(f"unpacking {file}"):
            kernel = fetch.take(Path(file))
        show(PREFIX[kernel.arch] + kernel.name, kernel)


def _wanted(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return kernels and hypervisors with their architectures, each once.  Raises UsageError."""
    from rtstone.errors import UsageError
    from rtstone.lab import kernels, systems

    wanted = []
    for name in names or systems.SYSTEMS:
        plain = name.removeprefix(QEMU)
        if plain in kernels.HYPERVISORS:
            wanted.append((plain, systems.XEN.arch))
            continue
        system = systems.find(plain)
        if not system.fetched and names:
            raise UsageError(f"{system.name} is built, not fetched; run `rtstone lab build`")
        if system.kernel and system.kernel.startswith(f"{kernels.OWN}/"):
            raise UsageError(f"{system.name} was built here; run `rtstone lab build-kernel`")
        wanted += [(each, system.board.arch) for each in system.fetched]
    return list(dict.fromkeys(wanted))


@command.command("build")
@click.argument("names", nargs=-1, type=SYSTEM, metavar="[NAME]...")
def build_command(names: tuple[str, ...]) -> None:
    """Build the agents and images of these targets, or of all, from rtstone's source."""
    from rtstone.lab import ready, systems

    ready.build([systems.find(name.removeprefix(QEMU)) for name in names])


@command.command("build-kernel")
@click.argument("source", metavar="SOURCE", type=FILE)
@click.option("--board", type=BOARD, required=True, help="The board it is for: virt-a53 or q35.")
@click.option(
    "--config",
    "fragments",
    multiple=True,
    metavar="FRAGMENT",
    type=FILE,
    help="A file of options beyond the board's own, or one option, as CONFIG_NAME=value. May be "
    "given several times; of two values the later counts.",
)
@click.option(
    "--name", metavar="N", help="Name of the target, own/N.  Default: made of version and options."
)
def build_kernel_command(
    source: str, board: str, fragments: tuple[str, ...], name: str | None
) -> None:
    """Build a small Linux kernel from SOURCE, and list it as a target.

    SOURCE is a directory, or a package of Debian: linux-source-6.1, and linux-source-6.1-rt with
    the patches for PREEMPT_RT.
    """
    from rtstone.errors import unknown
    from rtstone.lab import build
    from rtstone.lab.kernels import PREFIX

    if board not in build.RECIPES:
        raise unknown("board", board, build.RECIPES)
    with working("building a kernel") as line:
        kernel = build.build(source, board, fragments, name, line.echo)
    click.echo(f"{QEMU}{PREFIX[kernel.arch]}{kernel.name}: sha256 {kernel.sha256}")


@command.command("remove")
@click.argument("names", nargs=-1, required=True, type=STORED)
def remove_command(names: tuple[str, ...]) -> None:
    """Remove kernels from the lab's cache.

    NAME is that of a target, such as own/mine or linux-6.1@6.1.0-50; `source` is all unpacked
    sources of kernels, `objects` all that was compiled from them; both can be made again.
    """
    from rtstone.lab import removal
    from rtstone.units import size

    for name in names:
        plain = name.removeprefix(QEMU)
        click.echo(f"removed {plain}, {size(removal.remove(plain))}")
