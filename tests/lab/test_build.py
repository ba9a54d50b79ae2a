"""Building kernels of one's own, out of a tree whose Makefile takes no time."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rtstone import resources
from rtstone.errors import TargetError, UsageError
from rtstone.lab import build, kconfig, kernels, ready, removal, sources, systems
from rtstone.lab.kernels import Kernel
from rtstone.targets import qemu
from rtstone.targets.qemu import Qemu
from tests.agent.processes import gone
from tests.conftest import Cli
from tests.lab.test_kernels import ARM64, bz_image

# As Linux: options that it does not know are dropped silently, and a choice has one winner.
MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 1
SUBLEVEL = 9
EXTRAVERSION =
allnoconfig:
\t@grep -v -x -F -f dropped $(KCONFIG_ALLCONFIG) > $(O)/.config; \\
\tif grep -q -x CONFIG_PREEMPT_RT=y $(O)/.config; then sed -i /CONFIG_AIO=/d $(O)/.config; fi
Image:
\t@echo "$(ARCH) $(CROSS_COMPILE) $(CC)" >> $(O)/calls; $(MAKE) --no-print-directory -f script
\t@mkdir -p $(O)/arch/arm64/boot && cp image $(O)/arch/arm64/boot/Image
bzImage:
\t@mkdir -p $(O)/arch/x86/boot && cp image $(O)/arch/x86/boot/bzImage
"""
COMPILER = "#!/bin/sh\necho 'gcc (Fake) 12.2.0'\n"


class Place(NamedTuple):
    """A machine with a kernel tree and what is needed to build it."""

    tree: Path
    programs: Path
    said: list[str]

    def build(self, *fragments: str, name: str | None = "mine", board: str = "virt-a53") -> Kernel:
        return build.build(str(self.tree), board, fragments, name, self.said.append)

    def does(self, script: str) -> None:
        """Have the tree's make do something else while it builds."""
        (self.tree / "script").write_text(f"all:\n\t@{script}\n")

    def builds(self) -> list[str]:
        """Return a line for each time that make was run to build."""
        objects = kernels.cache() / "objects"
        return [line for file in objects.glob("*/calls") for line in _lines(file)]


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    programs, tree = tmp_path / "bin", tmp_path / "linux"
    for folder in (programs, tree):
        folder.mkdir()
    for name in ("make", "sh", "grep", "sed", "mkdir", "cp", "echo", "true", "sleep"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/false")
    for name in ("gcc", "flex", "bison", "bc", "aarch64-linux-gnu-gcc", "x86_64-linux-gnu-gcc"):
        (programs / name).write_text(COMPILER)
        (programs / name).chmod(0o755)
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "dropped").write_text("CONFIG_FOO=y\nCONFIG_HZ=300\n")
    (tree / "image").write_bytes(ARM64)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build_place = Place(tree, programs, [])
    build_place.does("true")
    return build_place


@pytest.fixture(autouse=True)
def _open_temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have only the folders below the test's own judged: those above it are the machine's."""
    real = Path.stat

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        status = real(path, follow_symlinks=follow_symlinks)
        if path in tmp_path.parents:
            return os.stat_result((status.st_mode & ~0o22, *status[1:4], os.geteuid(), *status[5:]))
        return status

    monkeypatch.setattr(Path, "stat", stat)


def test_a_built_kernel_is_a_target(place: Place, cli: Cli) -> None:
    done = cli(
        "lab", "build-kernel", str(place.tree), "--board", "virt-a53", "--name", "mine",
        "--config", "CONFIG_HZ_1000=y",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1].startswith("qemu:own/mine: sha256 ")
    kernel = kernels.find("own/mine", "aarch64")
    assert kernel.image.read_bytes() == ARM64
    assert (kernel.release, kernel.modules, kernel.disk) == ("6.1.0-9-arm64", (), True)
    assert kernel.built is not None
    assert (kernel.built.board, kernel.built.source) == ("virt-a53", str(place.tree))
    assert kernel.built.compiler == "gcc (Fake) 12.2.0"
    assert "CONFIG_HZ_1000=y" in (kernel.image.parent / "config").read_text().splitlines()
    rows = {row["target"]: row for row in cli("lab", "list", "--json").document["systems"]}
    row = rows["qemu:own/mine"]
    assert row["board"] == "virt-a53"
    assert row["title"] == "Linux 6.1.0-9-arm64 built here, CONFIG_HZ_1000=y"
    assert "qemu:own/mine" in cli("list", "targets", "own").out
    target = Qemu("own/mine+seed=2+append=nosmt")
    assert target.kernel == kernel
    assert qemu._build(kernel)["kernel_options"] == "CONFIG_HZ_1000=y"
    assert qemu._build(None) == {}
    assert place.builds() == ["arm64 aarch64-linux-gnu- aarch64-linux-gnu-gcc"]


def test_a_kernel_for_the_pc(place: Place) -> None:
    (place.tree / "image").write_bytes(bz_image())
    kernel = place.build("CONFIG_PREEMPT_DYNAMIC=y", board="q35")
    assert kernel.arch == "x86_64"
    system = systems.find("q35/own/mine")
    assert (system.board.name, system.preempt) == ("q35", ("none", "voluntary", "full"))
    with pytest.raises(UsageError, match="unknown lab system 'own/mine'"):
        systems.find("own/mine")


def test_what_is_built_for_another_board(place: Place) -> None:
    (place.tree / "image").write_bytes(bz_image())
    with pytest.raises(TargetError, match="Image is for x86_64, not for aarch64"):
        place.build()
    assert kernels.own() == []


def test_the_same_is_not_built_twice(place: Place) -> None:
    first = place.build("CONFIG_HZ_100=y")
    place.build("CONFIG_HZ_1000=y", "CONFIG_HZ_100=y", name="other")
    assert len(place.builds()) == 2  # of two values the later counts, and both are given
    assert place.build("CONFIG_HZ_100=y") == first
    assert len(place.builds()) == 2
    assert place.said[-1] == "own/mine is there already, of the same sources, options and compiler"


def test_a_changed_source_is_built_in_its_place(place: Place) -> None:
    first = place.build()
    (place.tree / "image").write_bytes(ARM64 + b"changed")
    second = place.build()
    assert first.sha256 != second.sha256
    assert second.image.read_bytes() == ARM64 + b"changed"
    (place.programs / "aarch64-linux-gnu-gcc").write_text(COMPILER.replace("12.2", "13.1"))
    assert "13.1.0" in (place.build().built or pytest.fail()).compiler
    assert len(place.builds()) == 3
    folder = kernels.cache() / "own"
    assert [path.name for path in folder.iterdir()] == ["mine-aarch64"]  # no old one is kept


def test_a_damaged_kernel_is_built_again(place: Place) -> None:
    image = place.build().image
    image.write_bytes(b"")
    says = "is not what was built; `rtstone lab build-kernel` brings it again"
    with pytest.raises(TargetError, match=says):
        kernels.find("own/mine", "aarch64")
    (lack,) = (
        missing
        for missing in ready.missing(systems.find("own/mine"))
        if "kernel" in missing.component
    )
    assert lack.command == "rtstone lab build-kernel"
    assert place.build().image.read_bytes() == ARM64


def test_a_name_is_given_once(place: Place) -> None:
    place.build()
    says = (
        "name 'mine' is taken by a kernel of other options or sources; give another --name, or "
        "`rtstone lab remove own/mine`"
    )
    with pytest.raises(UsageError, match=says):
        place.build("CONFIG_HZ_100=y")
    assert place.build("CONFIG_HZ_100=y", name=None).name == "own/6.1.9-hz_100"
    assert place.build('CONFIG_CMDLINE="a b"', "CONFIG_AIO=n", name=None).name == (
        "own/6.1.9-cmdline-a-b-no-aio"
    )


@pytest.mark.parametrize("name", ["", "../x", "a b", "a+seed=1", ".new", "x" * 41])
def test_a_name_that_is_none(place: Place, name: str) -> None:
    with pytest.raises(UsageError, match="take up to 40 letters, digits"):
        place.build(name=name)


# ---- fragments ---------------------------------------------------------------------------------


def test_a_fragment(place: Place, tmp_path: Path) -> None:
    fragment = tmp_path / "my.config"
    fragment.write_text('# a remark\n\nCONFIG_CMDLINE="a \\" b"\n# CONFIG_EPOLL is not set\n')
    kernel = place.build(str(fragment), "CONFIG_NR_CPUS=2")
    set_ = kconfig.values((kernel.image.parent / "config").read_text())
    assert set_["CONFIG_CMDLINE"] == '"a \\" b"'
    assert set_["CONFIG_NR_CPUS"] == "2"
    assert set_["CONFIG_EPOLL"] == "n"  # which is as good as unset
    assert set_["CONFIG_AIO"] == "y"  # of the board's


@pytest.mark.parametrize(
    "line", ["CONFIG_A", "CONFG_A=y", "CONFIG_A=y z", 'CONFIG_A="', "# CONFIG_"]
)
def test_a_line_that_is_no_option(place: Place, tmp_path: Path, line: str) -> None:
    fragment = tmp_path / "my.config"
    fragment.write_text(f"CONFIG_AIO=y\n{line}\n")
    if line.startswith("#"):
        place.build(str(fragment))  # a remark
        return
    with pytest.raises(UsageError, match=r"my.config, line 2: '.*' is no option; write CONFIG_"):
        place.build(str(fragment))


def test_no_fragment(place: Place) -> None:
    with pytest.raises(UsageError, match="fragment '/no/such': No such file or directory; give a"):
        place.build("/no/such")
    with pytest.raises(UsageError, match="--config: 'CONFIG_A=' is no option"):
        place.build("CONFIG_A=")


def test_each_option_that_did_not_take_is_told(place: Place, tmp_path: Path) -> None:
    fragment = tmp_path / "my.config"
    fragment.write_text("CONFIG_HZ=300\nCONFIG_NR_CPUS=2\n")
    with pytest.raises(UsageError) as raised:
        place.build(str(fragment), "CONFIG_FOO=y")
    assert f"CONFIG_HZ=300 ({fragment}, line 1) is n" in str(raised.value)
    assert "CONFIG_FOO=y (--config) is n" in str(raised.value)
    assert "NR_CPUS" not in str(raised.value)
    assert place.builds() == []
    (place.tree / "dropped").write_text("CONFIG_NET=y\n")
    with pytest.raises(UsageError, match=r"CONFIG_NET=y \(.*virt-a53.config, line \d+\) is n"):
        place.build()


def test_an_option_of_the_board_that_yours_exclude_is_told(place: Place) -> None:
    place.build("CONFIG_PREEMPT_RT=y")
    assert "your options make CONFIG_AIO=n, which the board has as y" in place.said
    place.said.clear()
    place.build("CONFIG_NET=n", name="other")
    assert not any("your options" in line for line in place.said)  # it was asked for


@pytest.mark.parametrize("board", build.RECIPES)
def test_the_boards_own_fragments(board: str) -> None:
    file = resources.path("lab", "fragments", f"{board}.config")
    options = kconfig.read(str(file))
    assert len(kconfig.merged(options)) == len(options) > 40
    assert all(option.name not in {"CONFIG_PREEMPT", "CONFIG_HZ"} for option in options)


# ---- what is missing, and what fails -----------------------------------------------------------


def test_missing_programs_are_told_with_their_packages(place: Place) -> None:
    for name in ("flex", "bison", "aarch64-linux-gnu-gcc"):
        (place.programs / name).unlink()
    says = (
        "not installed: flex, bison, aarch64-linux-gnu-gcc; "
        "`apt-get install flex bison gcc-aarch64-linux-gnu` as root"
    )
    with pytest.raises(TargetError, match=says):
        place.build()


def test_a_missing_header_is_told_with_its_package(place: Place) -> None:
    (place.programs / "gcc").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(TargetError, match=r"not installed: gelf.h; `apt-get install libelf-dev`"):
        place.build(board="q35")
    place.build()  # which needs none


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo a.c:3:1: error: no such thing; false", "said: a.c:3:1: error: no such thing; all"),
        ("echo 'cannot write: No space left on device'; false", r"the disk of .* is full: make"),
        ("echo first; echo last; false", r"said: make.*Error 1; all of it: .*rtstone-build.log"),
    ],
)
def test_a_build_that_fails(place: Place, script: str, says: str) -> None:
    place.does(script)
    with pytest.raises(TargetError, match=says):
        place.build()
    assert kernels.own() == []


def test_no_room(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "ROOM", 1 << 60)
    with pytest.raises(
        TargetError, match=r"GiB left, and this takes up to 1073741824.0: make room"
    ):
        place.build()
    monkeypatch.undo()


def test_a_disk_that_is_full_at_the_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/cache/x")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(TargetError, match="the disk of /cache/x is full"):
        place.build()
    assert kernels.own() == []
    assert list((kernels.cache() / "own").iterdir()) == []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("/no/such", "kernel source '/no/such' does not exist; give a kernel's source directory"),
        (
            "linux-source-6.2",
            "unknown kernel source 'linux-source-6.2'; did you mean 'linux-source",
        ),
        ("image", "is a file; unpack it first"),
        (".", "is no source tree of Linux: its Makefile names no version"),
    ],
)
def test_sources_that_are_none(place: Place, source: str, says: str) -> None:
    (place.tree / "Makefile").write_text("all:\n")
    path = source if source.startswith(("/", "linux-")) else str(place.tree / source)
    with pytest.raises(UsageError, match=says):
        build.build(path, "virt-a53", (), "mine", place.said.append)


def test_an_unknown_board(place: Place, cli: Cli) -> None:
    done = cli("lab", "build-kernel", str(place.tree), "--board", "virt-a5")
    assert (done.status, done.says) == (
        2, "rtstone: unknown board 'virt-a5'; did you mean 'virt-a53'?"
    )  # fmt: skip


def test_a_folder_that_others_can_write_to(place: Place) -> None:
    folder = kernels.cache()
    folder.mkdir(parents=True)
    folder.chmod(0o775)
    with pytest.raises(TargetError, match=f"others can write to {folder}, and .*`chmod go-w"):
        place.build()
    folder.chmod(0o755)
    place.build()
    assert (folder / "objects").stat().st_mode & 0o77 == 0
    (folder / "own").rename(folder / "elsewhere")
    (folder / "own").symlink_to("elsewhere")
    (folder / "elsewhere").chmod(0o777)
    with pytest.raises(TargetError, match=f"others can write to {folder / 'elsewhere'}"):
        place.build("CONFIG_HZ_100=y", name="other")


def test_one_build_at_a_time(place: Place) -> None:
    place.does("sleep 30")
    errors: list[BaseException] = []

    def second() -> None:
        try:
            while not place.builds():
                time.sleep(0.01)
            place.build()
        except TargetError as error:
            errors.append(error)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=second)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        place.build()
    other.join()
    assert "is being built already" in str(errors[0])


@pytest.mark.parametrize("starts", [False, True], ids=["while it runs", "while it is started"])
def test_an_interrupt_leaves_nothing_listed_and_nothing_running(
    place: Place, cli: Cli, monkeypatch: pytest.MonkeyPatch, starts: bool
) -> None:
    place.does("echo $$$$ > $(O)/pid; exec sleep 60")
    running = kernels.cache() / "objects"
    struck = threading.Event()

    class Slow(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            while starts and "make" in words[0] and self.poll() is None and not struck.is_set():
                time.sleep(0.01)

    def strike() -> None:
        while not [file for file in running.glob("*/pid") if file.read_text().strip()]:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        struck.set()

    other = threading.Thread(target=strike)
    other.start()
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", Slow)
        done = cli("lab", "build-kernel", str(place.tree), "--board", "virt-a53", "--name", "mine")
    other.join()
    assert done.status == 130
    assert kernels.own() == []
    assert not (kernels.cache() / "own").exists()
    (file,) = running.glob("*/pid")
    assert gone([int(file.read_text())]), "make is still running"
    place.does("true")
    place.build()  # as if nothing had been


# ---- what is kept, and removed -----------------------------------------------------------------


def objects() -> list[Path]:
    return [path for path in (kernels.cache() / "objects").iterdir() if path.is_dir()]


def test_a_kernel_is_removed_with_its_objects(place: Place, cli: Cli) -> None:
    place.build()
    place.build("CONFIG_NR_CPUS=2", name="other")
    place.build(name="twin")  # of the same sources and options
    assert len(objects()) == 2
    done = cli("lab", "remove", "qemu:own/other", "own/mine")
    assert done.status == 0, done.err
    assert [line.split(", ")[0] for line in done.out.splitlines()] == [
        "removed own/other", "removed own/mine"
    ]  # fmt: skip
    assert [note.name for note in kernels.own()] == ["own/twin"]
    assert len(objects()) == 1
    assert place.build(name="twin") == kernels.find("own/twin", "aarch64")
    cli("lab", "remove", "own/twin")
    assert objects() == []
    assert [path.name for path in (kernels.cache() / "own").iterdir()] == []
    done = cli("lab", "remove", "own/twin")
    assert (done.status, "unknown kernel of the lab's 'own/twin'" in done.says) == (2, True)


def test_objects_are_removed_and_a_kernel_stays(place: Place, cli: Cli) -> None:
    kernel = place.build()
    assert removal.names() == ["own/mine", "source", "objects"]
    assert cli("lab", "remove", "objects", "source").status == 0
    assert removal.names() == ["own/mine"]
    assert kernels.find("own/mine", "aarch64") == kernel
    place.build("CONFIG_NR_CPUS=2", name="other")


def test_what_is_being_built_is_not_removed(place: Place) -> None:
    place.build()
    (parts,) = objects()
    for name in ("own/mine", "objects"):
        with build.locked(parts), pytest.raises(TargetError, match="is being built already"):
            removal.remove(name)
    assert objects() == [parts]
    assert [note.name for note in kernels.own()] == ["own/mine"]


# ---- the hash of the sources -------------------------------------------------------------------


@pytest.fixture
def settled(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Have the tree's files count as old, and return the trees that were read."""
    read: list[Path] = []
    real = sources._contents

    def contents(tree: Path) -> str:
        read.append(tree)
        return real(tree)

    monkeypatch.setattr(sources, "_contents", contents)
    monkeypatch.setattr(sources, "SETTLED_S", -1e9)
    return read


def test_sources_that_have_not_changed_are_read_once(place: Place, settled: list[Path]) -> None:
    first = sources.fingerprint(place.tree)
    assert sources.fingerprint(place.tree) == first
    assert settled == [place.tree]


@pytest.mark.parametrize("change", ["content", "name", "new", "gone", "mode", "link"])
def test_any_change_of_the_sources_is_seen(place: Place, settled: list[Path], change: str) -> None:
    folder = place.tree / "kernel"
    folder.mkdir()
    file = folder / "a.c"
    file.write_text("int a;\n")
    (folder / "link").symlink_to("a.c")
    before, state = sources.fingerprint(place.tree), file.stat()
    match change:
        case "content":  # of the same length, and with the same times
            file.write_text("int b;\n")
            os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
        case "name":
            file.rename(folder / "b.c")
        case "new":
            (folder / "c.c").write_text("")
        case "gone":
            file.unlink()
        case "mode":
            file.chmod(0o755)
        case "link":
            (folder / "link").unlink()
            (folder / "link").symlink_to("b.c")
    after = sources.fingerprint(place.tree)
    assert len(settled) == 2
    assert (after == before) == (change == "mode")  # which is no content


def test_what_was_changed_just_now_is_read_again(
    place: Place, settled: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file can change twice in one tick of the file system's clock."""
    monkeypatch.setattr(sources, "SETTLED_S", 60.0)
    assert sources.fingerprint(place.tree) == sources.fingerprint(place.tree)
    assert len(settled) == 2


def test_a_damaged_hash_is_made_again(place: Place, settled: list[Path]) -> None:
    first = sources.fingerprint(place.tree)
    (note,) = (kernels.cache() / sources.HASHES).iterdir()
    note.write_text("{")
    assert sources.fingerprint(place.tree) == first
    assert len(settled) == 2
    assert note.read_text() != "{"
