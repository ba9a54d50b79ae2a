"""Fetching a kernel, with a fake apt."""

from __future__ import annotations

import io
import lzma
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rtstone.errors import TargetError, UsageError
from rtstone.lab import fetch, kernels
from tests.conftest import Cli

TARGETS = """\
Debian|http://one/debian/|bookworm|bookworm|main
Debian|http://one/debian/|bookworm|bookworm|main
Debian|http://one/security/|bookworm-security|bookworm-security|main
Somebody|http://two/|bookworm|bookworm|main
"""
DEPENDS = """\
linux-image-rt-arm64
  Depends: linux-image-6.1.0-9-rt-arm64
  Conflicts: <somebody>
"""
APT_GET = """\
#!/bin/sh
echo "$@" >> "$PLANT/calls"
case "$*" in
*indextargets*) cat "$PLANT/targets" ;;
*" update") for word; do case "$word" in Dir::Etc::sourcelist=*) cat "${word#*=}" ;; esac; done \\
    > "$PLANT/sources"
    [ ! -e "$PLANT/offline" ] || { echo "W: a" >&2; echo "E: no route to host" >&2; exit 100; } ;;
*" download "*) touch linux-image.deb ;;
esac
"""
APT_CACHE = """\
#!/bin/sh
echo "$@" >> "$PLANT/calls"
case "$*" in
*" pkgnames "*) cat "$PLANT/names" ;;
*" show "*) echo "Package: any"; echo "Version: 6.1.9-1" ;;
*) cat "$PLANT/depends" ;;
esac
"""
DPKG_DEB = """\
#!/bin/sh
case "$1" in
--field) echo 6.1.9-1 ;;
--show) grep . "$4" || { echo "dpkg-deb: error: not a Debian format archive" >&2; exit 2; } ;;
*) cat "$PLANT/package.tar" ;;
esac
"""
NAMES = """\
linux-image-6.1.0-10-rt-arm64
linux-image-6.1.0-9-rt-arm64
linux-image-6.1.0-9-rt-arm64-unsigned
linux-image-6.1.0-9-arm64
linux-image-rt-arm64
"""
RELEASE = "6.1.0-9-rt-arm64"


def package(*names: str, builtin: str = "") -> bytes:
    """Return the tar archive of a kernel package with these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        files = {
            name: lzma.compress(name[:-3].encode()) if name.endswith(".xz") else name.encode()
            for name in names
        }
        files[f"./lib/modules/{RELEASE}/modules.builtin"] = builtin.encode()
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def modules(*names: str) -> list[str]:
    return [f"./lib/modules/{RELEASE}/kernel/fs/{name}.ko" for name in names]


WHOLE = [f"./boot/vmlinuz-{RELEASE}", "./boot/config-6.1", *modules(*reversed(fetch.MODULES))]


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make fake programs of apt that print the files of a directory."""
    for name, text in (("apt-get", APT_GET), ("apt-cache", APT_CACHE), ("dpkg-deb", DPKG_DEB)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "targets").write_text(TARGETS)
    (tmp_path / "depends").write_text(DEPENDS)
    (tmp_path / "names").write_text(NAMES)
    (tmp_path / "package.tar").write_bytes(package(*WHOLE, *modules("xfs")))
    (tmp_path / "os-release").write_text("ID=debian\nVERSION_CODENAME=bookworm\n")
    monkeypatch.setattr(fetch, "OS_RELEASE", tmp_path / "os-release")
    monkeypatch.setenv("PLANT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def quiet(_: str) -> None:
    pass


def test_a_kernel_is_fetched(plant: Path) -> None:
    kernel = fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    assert kernel == kernels.find("linux-6.1-rt", "aarch64")
    assert kernel.release == RELEASE
    assert kernel.package == f"linux-image-{RELEASE} 6.1.9-1"
    assert kernel.image.read_bytes() == f"./boot/vmlinuz-{RELEASE}".encode()
    assert [path.stem for path in kernel.modules] == list(fetch.MODULES)
    names = {path.name for path in kernel.image.parent.iterdir()}
    assert names == {kernel.image.name, "kernel.json"} | {path.name for path in kernel.modules}
    assert [path.name for path in kernels.cache().iterdir()] == [kernel.image.parent.name]


def test_apt_works_on_a_root_of_its_own_with_debians_archives(plant: Path) -> None:
    fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    sources = (plant / "sources").read_text().splitlines()
    assert [line.split("] ")[1] for line in sources] == [
        "http://one/debian/ bookworm main",
        "http://one/security/ bookworm-security main",
    ]
    assert all("arch=arm64" in line for line in sources)
    for call in (plant / "calls").read_text().splitlines()[1:]:
        assert "APT::Architecture=arm64" in call
        assert f"Dir::State={kernels.cache()}" in call
        assert "Dir::Etc::sourceparts=-" in call


def test_another_release_comes_from_beside_the_machines_own(plant: Path) -> None:
    fetch.fetch("linux-6.12", "x86_64", quiet)
    (source,) = (plant / "sources").read_text().splitlines()
    assert source.split("] ")[1] == "http://one/debian/ trixie main"
    assert "depends linux-image-amd64" in (plant / "calls").read_text()


def test_modules_may_be_packed(plant: Path) -> None:
    (plant / "package.tar").write_bytes(package(*WHOLE[:2], *(f"{name}.xz" for name in WHOLE[2:])))
    kernel = fetch.fetch("linux-6.12", "aarch64", quiet)
    assert [path.name for path in kernel.modules] == [f"{name}.ko" for name in fetch.MODULES]
    assert kernel.modules[0].read_bytes() == modules(fetch.MODULES[0])[0].encode()


def test_a_module_may_be_built_in(plant: Path) -> None:
    files = [name for name in WHOLE if not name.endswith("/crc16.ko")]
    (plant / "package.tar").write_bytes(package(*files, builtin="kernel/lib/crc16.ko\n"))
    kernel = fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    assert [path.stem for path in kernel.modules] == list(fetch.MODULES[1:])


def test_a_second_fetch_replaces_the_first(plant: Path) -> None:
    fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    brings(plant, "10")
    assert fetch.fetch("linux-6.1-rt", "aarch64", quiet).release == "6.1.0-10-rt-arm64"
    assert len(list(kernels.folder("linux-6.1-rt", "aarch64").glob("vmlinuz-*"))) == 1


def downloads(plant: Path) -> int:
    return (plant / "calls").read_text().count(" download ")


def test_what_is_there_is_not_fetched_again(plant: Path, cli: Cli) -> None:
    kernel = fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    done = cli("lab", "fetch", "linux-6.1-rt")
    assert "linux-6.1-rt for aarch64 is there already, and is the newest" in done.out
    assert done.out.endswith(f"linux-6.1-rt: {kernel.package}, sha256 {kernel.sha256}\n")
    assert downloads(plant) == 1
    kernel.modules[0].write_bytes(b"changed")
    fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    assert downloads(plant) == 2
    assert kernels.find("linux-6.1-rt", "aarch64") == kernel
    brings(plant, "10")
    fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    assert downloads(plant) == 3


def test_what_is_there_needs_no_network(plant: Path) -> None:
    kernel = fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    (plant / "offline").touch()
    said: list[str] = []
    assert fetch.fetch("linux-6.1-rt", "aarch64", said.append) == kernel
    assert said[-1].startswith("linux-6.1-rt for aarch64 is there already; a newer one cannot be")
    assert "no route to host" in said[-1]


# ---- exact versions ----------------------------------------------------------------------------


def brings(plant: Path, version: str) -> None:
    """Have the archive's newest package be a kernel of that version."""
    (plant / "depends").write_text(DEPENDS.replace("6.1.0-9", f"6.1.0-{version}"))
    files = [name.replace("-9-", f"-{version}-") for name in WHOLE]
    (plant / "package.tar").write_bytes(package(*files))


def test_a_newer_build_leaves_the_older_one(plant: Path, cli: Cli) -> None:
    first = fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    same = fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    assert same == first
    assert kernels.exact_builds() == []
    assert kernels.find("linux-6.1-rt@6.1.0-9", "aarch64") == first  # under both names
    brings(plant, "10")
    second = fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    brings(plant, "11")
    third = fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    kernels_by_target = {
        name: kernels.find(f"linux-6.1-rt{name}", "aarch64").release
        for name in ("", "@6.1.0-9", "@6.1.0-10", "@6.1.0-11")
    }
    assert kernels_by_target == {
        "": third.release, "@6.1.0-9": first.release, "@6.1.0-10": second.release,
        "@6.1.0-11": third.release,
    }  # fmt: skip
    assert kernels.builds("linux-6.1-rt", "aarch64") == ["6.1.0-9", "6.1.0-10", "6.1.0-11"]
    rows = cli("lab", "list", "--json").document["systems"]
    versions = {row["target"]: row["version"] for row in rows if row["version"]}
    assert list(versions.items()) == [
        ("qemu:linux-6.1-rt", "6.1.0-11"),
        ("qemu:linux-6.1-rt@6.1.0-9", "6.1.0-9"),
        ("qemu:linux-6.1-rt@6.1.0-10", "6.1.0-10"),
    ]


def test_an_exact_version_is_fetched_once(plant: Path) -> None:
    kernel = fetch.fetch("linux-6.1-rt@6.1.0-9", "aarch64", quiet)
    assert kernel.release == RELEASE
    calls = (plant / "calls").read_text()
    assert f" download linux-image-{RELEASE}" in calls
    assert fetch.fetch("linux-6.1-rt@6.1.0-9", "aarch64", quiet) == kernel
    assert (plant / "calls").read_text() == calls
    with pytest.raises(TargetError, match=r"kernel linux-6.1-rt for aarch64 has not been fetched"):
        kernels.find("linux-6.1-rt", "aarch64")


def test_a_version_that_no_archive_has(plant: Path) -> None:
    fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    says = (
        r"Debian's archive has no linux-6.1-rt@6.1.0-50: it has 6.1.0-9, 6.1.0-10, and the lab "
        r"6.1.0-9; a package file of that build is taken by `rtstone lab fetch FILE.deb`"
    )
    with pytest.raises(TargetError, match=says):
        fetch.fetch("linux-6.1-rt@6.1.0-50", "aarch64", quiet)
    says = (
        r"linux-6.1-rt@6.1.0-50 for aarch64 has not been fetched; `rtstone lab fetch "
        r"linux-6.1-rt@6.1.0-50` brings it if Debian's archive has it, .*; of aarch64 the lab has "
        r"6.1.0-9$"
    )
    with pytest.raises(TargetError, match=says):
        kernels.find("linux-6.1-rt@6.1.0-50", "aarch64")


def deb(place: Path, name: str, arch: str = "arm64") -> Path:
    file = place / f"{name}.deb"
    file.write_text(f"{name} 6.1.9-1 {arch}\n")
    return file


def test_a_package_file_is_taken(plant: Path, cli: Cli) -> None:
    done = cli("lab", "fetch", str(deb(plant, f"linux-image-{RELEASE}")))
    assert done.status == 0, done.err
    assert done.out.startswith(f"linux-6.1-rt@6.1.0-9: linux-image-{RELEASE} 6.1.9-1, sha256 ")
    kernel = kernels.find("linux-6.1-rt@6.1.0-9", "aarch64")
    assert kernel.release == RELEASE
    assert not (plant / "calls").exists()  # apt was not asked
    assert cli("lab", "remove", "linux-6.1-rt@6.1.0-9").status == 0
    assert list(kernels.cache().iterdir()) == []


@pytest.mark.parametrize(
    ("name", "arch", "kernel"),
    [
        ("linux-image-6.1.0-50-arm64", "arm64", "linux-6.1@6.1.0-50"),
        ("linux-image-6.1.0-50-cloud-amd64-unsigned", "amd64", "q35/linux-6.1-cloud@6.1.0-50"),
        ("linux-image-6.12.57+deb13-amd64", "amd64", "q35/linux-6.12@6.12.57+deb13"),
        ("linux-image-5.10.0-33-rt-arm64", "arm64", "linux-5.10-rt@5.10.0-33"),
    ],
)
def test_the_kernel_in_a_package_file(plant: Path, name: str, arch: str, kernel: str) -> None:
    build, its = fetch._build_of(deb(plant, name, arch), name, arch)
    assert kernels.PREFIX[its] + build == kernel


@pytest.mark.parametrize(
    ("name", "arch", "says"),
    [
        ("linux-image-6.11.10-arm64", "arm64", "no kernel of the series 5.10, 6.1, 6.12; an image"),
        ("linux-image-6.1.0-50-686", "i386", "is linux-image-6.1.0-50-686 for i386, no kernel of"),
        ("bash", "arm64", "is bash for arm64, no kernel of the series"),
    ],
)
def test_another_package_file_is_refused(plant: Path, name: str, arch: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        fetch.take(deb(plant, name, arch))
    assert not kernels.cache().exists()


def test_a_file_that_is_no_package(plant: Path) -> None:
    (plant / "x.deb").touch()
    with pytest.raises(UsageError, match="dpkg-deb said: dpkg-deb: error: not a Debian format"):
        fetch.take(plant / "x.deb")
    with pytest.raises(UsageError, match=r"y.deb' does not exist, or is no file"):
        fetch.take(plant / "y.deb")


def _no_sources(plant: Path) -> None:
    (plant / "targets").write_text("|http://one/debian/|bookworm||main\n")


def _another_system(plant: Path) -> None:
    (plant / "os-release").write_text("ID=other\nVERSION_CODENAME=bookworm\n")


def _offline(plant: Path) -> None:
    (plant / "offline").touch()


def _no_kernel(plant: Path) -> None:
    (plant / "depends").write_text("linux-image-rt-arm64\n")


def _no_module(plant: Path) -> None:
    (plant / "package.tar").write_bytes(package(*[n for n in WHOLE if "brd" not in n]))


def _no_image(plant: Path) -> None:
    (plant / "package.tar").write_bytes(package(*WHOLE[1:]))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_no_sources, r"no archive of Debian: .*`apt-get update`.*qemu:kernel=FILE"),
        (_another_system, r"a kernel of Debian, and this is another.*qemu:kernel=FILE"),
        (_offline, r"apt-get failed and said: E: no route to host; without network, .*FILE"),
        (_no_kernel, r"package linux-image-rt-arm64 of Debian 12 names no kernel"),
        (_no_module, r"does not hold brd"),
        (_no_image, r"does not hold boot/vmlinuz-\*"),
    ],
)
def test_what_is_in_the_way_is_told(plant: Path, spoil: Callable[[Path], None], says: str) -> None:
    spoil(plant)
    with pytest.raises(TargetError, match=says):
        fetch.fetch("linux-6.1-rt", "aarch64", quiet)
    with pytest.raises(TargetError, match="has not been fetched"):
        kernels.find("linux-6.1-rt", "aarch64")
    assert not kernels.cache().exists() or not list(kernels.cache().iterdir())


def test_a_kernel_in_two_packages() -> None:
    package_list = """linux-image-7.2.13+deb14-arm64
  PreDepends: linux-base
 |Depends: dracut
  Depends: linux-base-7.2.13+deb14-arm64
  Depends: linux-binary-7.2.13+deb14-arm64
  Depends: linux-modules-7.2.13+deb14-arm64
  Suggests: linux-doc-7.2
"""
    names = ["linux-binary-7.2.13+deb14-arm64", "linux-modules-7.2.13+deb14-arm64"]
    assert fetch.parts_of(package_list) == names
    assert not fetch.parts_of(DEPENDS)


def test_an_image_beside_its_modules_and_none_of_what_became_built_in(tmp_path: Path) -> None:
    release, root = "7.2.13+deb14-arm64", "./usr/lib/modules/7.2.13+deb14-arm64"
    module = {name: f"{root}/kernel/{name}.ko.xz" for name in fetch.MODULES}
    del module["crc32c_generic"]
    taken = fetch._Contents(tmp_path)
    for name in (f"{root}/vmlinuz", *module.values()):
        data = lzma.compress(name.encode()) if name.endswith(".xz") else name.encode()
        taken.take(Path(name), io.BytesIO(data))
    assert taken.image == f"vmlinuz-{release}"
    assert list(taken.modules) == list(module)
    assert (tmp_path / "ext4.ko").read_text() == module["ext4"]
    assert set(taken.hashes) == {taken.image, *(f"{name}.ko" for name in module)}
