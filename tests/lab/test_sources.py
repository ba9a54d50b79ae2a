"""Sources of kernels: Debian's packages from /usr/src or a fake apt, and directories."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from rtstone.errors import TargetError
from rtstone.lab import fetch, kernels, sources

MAKEFILE = "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = {}\nEXTRAVERSION =\n"
PATCH = """\
--- a/Makefile
+++ b/Makefile
@@ -4 +4 @@
-EXTRAVERSION =
+EXTRAVERSION = -rt64
"""
APT_GET = """\
#!/bin/sh
echo "$@" >> "$PLANT/calls"
case "$*" in
*indextargets*) echo "Debian|http://one/debian/|bookworm|bookworm|main" ;;
*" update") for word; do case "$word" in Dir::Etc::sourcelist=*) cat "${word#*=}" ;; esac; done \\
    >> "$PLANT/sources" ;;
*" download "*) touch linux-source.deb ;;
*" source "*=6.1.192-2) echo "E: 404 Not Found" >&2; exit 100 ;;
*" source "*) cp "$PLANT/packaging.tar.xz" linux_6.1.187-1.debian.tar.xz ;;
esac
"""
APT_CACHE = (
    "#!/bin/sh\nprintf 'Version: 6.1.4-1\\n\\nVersion: 6.1.187-1\\n\\nVersion: 6.1.192-2\\n'\n"
)
DPKG_DEB = """\
#!/bin/sh
mkdir -p "$3/usr/src"
[ ! -e "$PLANT/archive.tar.xz" ] || cp "$PLANT/archive.tar.xz" "$3/usr/src/linux-source-6.1.tar.xz"
"""


def pack(path: Path, files: dict[str, str]) -> None:
    with tarfile.open(path, "w:xz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))


def archive(path: Path, sublevel: int = 192) -> None:
    pack(path, {"linux-source-6.1/Makefile": MAKEFILE.format(sublevel)})


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make fake programs of apt, and a /usr/src without anything."""
    for tool in (*sources.TOOLS, "patch"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    for name, text in (("apt-get", APT_GET), ("apt-cache", APT_CACHE), ("dpkg-deb", DPKG_DEB)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "os-release").write_text("ID=debian\n")
    (tmp_path / "src").mkdir()
    archive(tmp_path / "archive.tar.xz")
    series = "# all\n\none.patch\n"
    pack(
        tmp_path / "packaging.tar.xz",
        {"debian/patches-rt/series": series, "debian/patches-rt/one.patch": PATCH},
    )
    monkeypatch.setattr(fetch, "OS_RELEASE", tmp_path / "os-release")
    monkeypatch.setattr(sources, "PACKED", tmp_path / "src")
    monkeypatch.setattr(kernels, "private", lambda part: _new_directory(kernels.cache() / part))
    monkeypatch.setenv("PLANT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def _new_directory(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    return place


def quiet(_: str) -> None:
    pass


def test_a_package_is_unpacked_once(plant: Path) -> None:
    archive(plant / "src/linux-source-6.1.tar.xz")
    said: list[str] = []
    source = sources.find("linux-source-6.1", said.append)
    assert (source.name, source.version) == ("linux-source-6.1", "6.1.192")
    assert source.tree.is_relative_to(plant / "cache")
    assert said == ["unpacking linux-source-6.1"]
    assert sources.find("linux-source-6.1", said.append) == source
    assert len(said) == 1
    archive(plant / "src/linux-source-6.1.tar.xz", 193)  # a newer package
    assert sources.find("linux-source-6.1", quiet).version == "6.1.193"
    assert [path.name for path in (kernels.cache() / "source").iterdir()] == ["linux-source-6.1"]
    assert not (plant / "calls").exists()


def test_a_package_is_fetched(plant: Path) -> None:
    assert sources.find("linux-source-6.1", quiet).version == "6.1.192"
    calls = (plant / "calls").read_text()
    assert "download linux-source-6.1" in calls
    assert "deb [" in (plant / "sources").read_text()
    (plant / "calls").unlink()
    assert sources.find("linux-source-6.1", quiet).version == "6.1.192"
    assert not (plant / "calls").exists()


def test_a_package_without_the_sources(plant: Path) -> None:
    (plant / "archive.tar.xz").unlink()
    with pytest.raises(TargetError, match=r"does not hold /usr/src/linux-source-6\.1\.tar\.xz"):
        sources.find("linux-source-6.1", quiet)
    assert list((kernels.cache() / "source").iterdir()) == []


def test_the_real_time_patches_are_those_that_the_archive_has(plant: Path) -> None:
    archive(plant / "src/linux-source-6.1.tar.xz")
    source = sources.find("linux-source-6.1-rt", quiet)
    assert source.version == "6.1.192-rt64"
    assert (plant / "sources").read_text().startswith("deb-src [")
    tried = [line for line in (plant / "calls").read_text().splitlines() if "--diff-only" in line]
    assert [line.split("=")[-1] for line in tried] == ["6.1.192-2", "6.1.187-1"]
    assert sources.find("linux-source-6.1", quiet).version == "6.1.192"  # a tree of its own


def test_patches_that_do_not_apply(plant: Path) -> None:
    pack(plant / "src/linux-source-6.1.tar.xz", {"linux-source-6.1/Makefile": "VERSION = 7\n"})
    with pytest.raises(TargetError, match=r"`patch .*one.patch` in .* failed and said: "):
        sources.find("linux-source-6.1-rt", quiet)
    assert list((kernels.cache() / "source").iterdir()) == []


def test_a_release_without_real_time_patches(plant: Path) -> None:
    pack(plant / "packaging.tar.xz", {"debian/changelog": ""})
    archive(plant / "src/linux-source-6.12.tar.xz")
    says = "take linux-source-6.12 with --config CONFIG_PREEMPT_RT=y"
    with pytest.raises(TargetError, match=says):
        sources.find("linux-source-6.12-rt", quiet)


def test_an_archive_that_is_damaged(plant: Path) -> None:
    (plant / "src/linux-source-6.1.tar.xz").write_bytes(b"no archive")
    with pytest.raises(TargetError, match=r"`tar -xf .*` in .* failed and said: "):
        sources.find("linux-source-6.1", quiet)
    assert list((kernels.cache() / "source").iterdir()) == []


def test_a_fingerprint_is_of_names_and_contents(tmp_path: Path) -> None:
    tree = tmp_path / "a"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/file").write_text("one")
    (tree / "link").symlink_to("sub")
    first = sources.fingerprint(tree)
    shutil.copytree(tree, tmp_path / "b", symlinks=True)
    assert sources.fingerprint(tmp_path / "b") == first
    (tree / ".git").mkdir()
    (tree / ".git/index").write_text("x")
    assert sources.fingerprint(tree) == first
    seen = {first}
    for change in (
        lambda: (tree / "sub/file").write_text("two"),
        lambda: (tree / "sub/file").rename(tree / "sub/other"),
        (tree / "link").unlink,
        lambda: (tree / "link").symlink_to("sub/other"),
    ):
        change()
        seen.add(sources.fingerprint(tree))
    assert len(seen) == 5


def test_no_room(plant: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(plant / "src/linux-source-6.1.tar.xz")
    monkeypatch.setattr(sources, "ROOM", 1 << 60)
    with pytest.raises(TargetError, match="GiB left, and this takes up to"):
        sources.find("linux-source-6.1", quiet)
