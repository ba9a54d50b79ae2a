"""Kernels: recognizing kernel files, and checking fetched ones."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from rtstone.errors import TargetError, UsageError
from rtstone.lab import kernels
from rtstone.lab.kernels import NOTE, Note

RISCV = bytes(56) + b"RSC\x05" + bytes(64) + b"Linux version 7.2.13-riscv64 (x@y) gcc" + bytes(64)
ARM64 = bytes(56) + b"ARM\x64" + bytes(64) + b"Linux version 6.1.0-9-arm64 (x@y) gcc" + bytes(64)


def bz_image(flags: int = 1) -> bytes:
    """Return the header of a bzImage, with its version at 0x400."""
    image = bytearray(0x600)
    image[0x202:0x206] = b"HdrS"
    image[0x20E:0x210] = (0x200).to_bytes(2, "little")
    image[0x236] = flags
    text = b"6.1.0-9-amd64 (x@y) #1\0"
    image[0x400 : 0x400 + len(text)] = text
    return bytes(image)


@pytest.mark.parametrize(
    ("data", "arch", "release"),
    [
        (ARM64, "aarch64", "6.1.0-9-arm64"),
        (gzip.compress(ARM64, mtime=0), "aarch64", "6.1.0-9-arm64"),
        (RISCV, "riscv64", "7.2.13-riscv64"),
        (bz_image(), "x86_64", "6.1.0-9-amd64"),
    ],
)
def test_a_users_kernel_is_recognised(tmp_path: Path, data: bytes, arch: str, release: str) -> None:
    file = tmp_path / "vmlinuz"
    file.write_bytes(data)
    kernel = kernels.from_file(file)
    assert (kernel.arch, kernel.release, kernel.image) == (arch, release, file)
    assert kernel.sha256 == sha256(data).hexdigest()
    assert kernel.package is None
    assert kernel.modules == ()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is no kernel image; the lab boots"),
        (b"\x1f\x8bnonsense", "does not decompress"),
        (gzip.compress(b"something else", mtime=0), "is no kernel image"),
        (b"MZ\0\0zimg" + bytes(100), "is an EFI zboot image: unpack it first"),
        (bz_image(flags=0), "is for 32-bit x86"),
    ],
)
def test_another_file_is_refused_with_what_it_is(tmp_path: Path, data: bytes, says: str) -> None:
    file = tmp_path / "vmlinuz"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=says) as raised:
        kernels.from_file(file)
    assert str(file) in str(raised.value)


def test_no_file() -> None:
    with pytest.raises(UsageError, match="kernel '/no/such': No such file"):
        kernels.from_file(Path("/no/such"))


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the directory of a fetched kernel."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = kernels.folder("linux-6.1", "x86_64")
    place.mkdir(parents=True)
    files = {"vmlinuz-6.1": b"kernel", "b.ko": b"second", "a.ko": b"first"}
    for name, data in files.items():
        (place / name).write_bytes(data)
    hashes = {name: sha256(data).hexdigest() for name, data in files.items()}
    note = Note("linux-6.1", "x86_64", "6.1", "p 1", "vmlinuz-6.1", ("b.ko", "a.ko"), hashes)
    (place / NOTE).write_bytes(msgspec.json.encode(note))
    return place


def test_a_fetched_kernel(fetched: Path) -> None:
    kernel = kernels.find("linux-6.1", "x86_64")
    assert kernel.image == fetched / "vmlinuz-6.1"
    assert kernel.modules == (fetched / "b.ko", fetched / "a.ko")
    assert kernel.package == "p 1"
    assert kernel.sha256 == sha256(b"kernel").hexdigest()


@pytest.mark.parametrize("name", ["vmlinuz-6.1", "a.ko"])
def test_a_changed_file_is_told(fetched: Path, name: str) -> None:
    (fetched / name).write_bytes(b"another")
    says = f"{name} is not what was fetched; `rtstone lab fetch q35/linux-6.1` brings it again"
    with pytest.raises(TargetError, match=says):
        kernels.find("linux-6.1", "x86_64")


def test_what_has_not_been_fetched(fetched: Path) -> None:
    with pytest.raises(TargetError, match=r"not been fetched; `rtstone lab fetch linux-6.1-rt`"):
        kernels.find("linux-6.1-rt", "aarch64")
    (fetched / NOTE).write_text("{")
    with pytest.raises(TargetError, match=r"kernel.json: .*; `rtstone lab fetch q35/linux-6.1`"):
        kernels.find("linux-6.1", "x86_64")
